//! The recorder's state: one per process, made when QEMU loads it and never freed.

use crate::blocks::{Block, Blocks, Entry};
use crate::exec::{self, Outcome};
use crate::known::KnownLines;
use crate::qemu::guest;
use crate::shared::SharedFiles;
use crate::syscalls;
use crate::thread::Thread;
use std::ffi::OsString;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use wire::ring::Ring;
use wire::word::{self, ADDRESS_END, Birth, Control, LINE_BYTES, LineCause, Loss, MAPPED};

/// The most threads of one process at a time. Further ones run unrecorded.
const THREADS: usize = 4096;
/// Signals that an instruction raises itself, in the middle of its block.
const FAULTS: [i32; 5] = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];

/// Everything that callbacks need.
pub struct Recorder {
    ring: Ring,
    ring_name: OsString,
    load_values: bool,
    blocks: Blocks,
    known: KnownLines,
    files: SharedFiles,
    /// The image's number and its process.
    image: AtomicU32,
    pid: AtomicU32,
    threads: [AtomicPtr<Thread>; THREADS],
    threads_made: AtomicU32,
    program_break: AtomicU64,
}

impl Recorder {
    /// Announces this process to the simulator.
    pub fn new(ring_name: OsString, from: Option<u32>) -> std::io::Result<Recorder> {
        let ring = Ring::open(&ring_name)?;
        let pid = std::process::id();
        let image = ring.join(pid);
        let recorder = Recorder {
            load_values: ring.settings().load_values,
            ring,
            ring_name,
            blocks: Blocks::default(),
            known: KnownLines::new()?,
            files: SharedFiles::new()?,
            image: AtomicU32::new(image),
            pid: AtomicU32::new(pid),
            threads: [const { AtomicPtr::new(ptr::null_mut()) }; THREADS],
            threads_made: AtomicU32::new(0),
            program_break: AtomicU64::new(0),
        };
        let birth = if from.is_some() { Birth::Exec } else { Birth::First };
        recorder.announce(birth, from.unwrap_or(image));
        Ok(recorder)
    }

    /// Sends the simulator that an image begins, before anything else of it is sent.
    fn announce(&self, birth: Birth, parent: u32) {
        let word = word::control(Control::Process, birth as u8, parent.into());
        // A stopped ring is noticed again by the first thread.
        let _ = self.ring.publish(self.image.load(Relaxed), 0, &[word]);
    }

    /// All code seen so far.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// A new thread under this number of QEMU's, which an earlier one may have had.
    pub fn make_thread(&self, vcpu: u32) {
        let Some(place) = self.threads.get(vcpu as usize) else {
            return;
        };
        let number = self.threads_made.fetch_add(1, AcqRel);
        let thread = Box::new(Thread::new(self.image.load(Relaxed), number));
        let old = place.swap(Box::into_raw(thread), AcqRel);
        if !old.is_null() {
            // SAFETY: made here, and its thread has ended, or QEMU would not give out its number again.
            drop(unsafe { Box::from_raw(old) });
        }
    }

    /// The thread's state, unless there are too many.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn thread(&self, vcpu: u32) -> Option<&mut Thread> {
        // SAFETY: made by `make_thread`; only the thread itself asks for it, in callbacks that do not nest, and when
        // the process ends, the one thread that QEMU lets run.
        unsafe { self.threads.get(vcpu as usize)?.load(Acquire).as_mut() }
    }

    /// A thread enters a block.
    #[inline]
    pub fn enter_block(&self, thread: &mut Thread, block: &Block) {
        let ran_before = thread.last_access;
        if thread.must_draw() && thread.draw(&self.ring) {
            // Stores that were not recorded have changed memory since its lines were sent.
            self.known.forget_all();
        }
        thread.advance(block);
        if thread.recording {
            if block.entry() != Entry::Plain as u8 || !thread.has_told(block) {
                self.enter_special(thread, block, ran_before);
            }
            thread.push(&self.ring, &[word::block(block.id, block.instructions)]);
        } else if block.entry() != Entry::Plain as u8 {
            self.known.forget_all();
        }
        thread.after_syscall = false;
    }

    /// The first entry of a block, or an entry that means more than that.
    #[cold]
    fn enter_special(&self, thread: &mut Thread, block: &Block, ran_before: u16) {
        if block.entry() != Entry::Plain as u8 {
            self.known.forget_all();
        }
        if block.entry() == Entry::FaultHandler as u8 && !thread.after_syscall {
            thread.push(&self.ring, &[word::control(Control::Cut, 0, ran_before.into())]);
        }
        if !thread.has_told(block) {
            thread.tell(&self.ring, block);
        }
    }

    /// A thread has loaded or stored `1 << log2_bytes` bytes.
    #[inline]
    pub fn access(&self, thread: &mut Thread, store: bool, log2_bytes: u8, address: u64, index: u16) {
        let bytes = 1 << log2_bytes;
        if address >= ADDRESS_END - bytes {
            return;
        }
        let (first, last) = (address / LINE_BYTES as u64, (address + bytes - 1) / LINE_BYTES as u64);
        if !self.known.holds(first) || !self.known.holds(last) {
            self.tell_lines(thread, first, last);
        }
        thread.last_access = index + 1;
        if !store && !self.load_values {
            return thread.push(&self.ring, &[word::access(false, log2_bytes, false, index, address)]);
        }
        if store {
            self.files.store(&(address..address + bytes));
        }
        let word = word::access(store, log2_bytes, true, index, address);
        // SAFETY: the access just succeeded, so its bytes are mapped.
        let value = unsafe {
            match log2_bytes {
                0 => guest::<u8>(address).into(),
                1 => guest::<u16>(address).into(),
                2 => guest::<u32>(address).into(),
                _ => guest::<u64>(address),
            }
        };
        thread.push(&self.ring, &[word, value]);
    }

    #[cold]
    fn tell_lines(&self, thread: &mut Thread, first: u64, last: u64) {
        for line in first..=last {
            if self.known.holds(line) {
                continue;
            }
            let cause = if self.known.tell(line) { LineCause::FirstTouch } else { LineCause::Kernel };
            let address = line * LINE_BYTES as u64;
            let detail = cause as u8 | if self.files.holds(address) { MAPPED } else { 0 };
            let mut record = [word::control(Control::Line, detail, address); 1 + LINE_BYTES / 8];
            // SAFETY: the line holds a byte that was just accessed, and no line crosses a page.
            record[1..].copy_from_slice(&unsafe { guest::<[u64; LINE_BYTES / 8]>(address) });
            thread.push(&self.ring, &record);
        }
    }

    /// A thread is about to run the marker.
    pub fn pass_marker(&self, thread: &mut Thread, index: u16) {
        if thread.recording {
            thread.push(&self.ring, &[word::control(Control::Marker, 0, index.into())]);
        }
        if self.ring.settings().marked_region {
            self.ring.toggle_region();
            thread.redraw(&self.ring);
        }
    }

    /// A thread makes a system call.
    pub fn enter_syscall(&self, thread: &mut Thread, number: i64, arguments: [u64; 6]) {
        thread.syscall = (number, arguments);
        thread.after_syscall = true;
        if thread.recording {
            thread.push(&self.ring, &[word::control(Control::Syscall, 0, number as u64)]);
        }
        match number {
            libc::SYS_execve => self.follow_exec(thread, &arguments),
            libc::SYS_execveat => self.lose(thread),
            // The kernel is about to write the thread's number somewhere, so that others learn that it is gone.
            libc::SYS_exit => {
                self.known.forget_all();
                thread.end(&self.ring);
            }
            libc::SYS_rt_sigaction if arguments[1] != 0 => {
                // SAFETY: the program passes this structure, whose first word is the handler, to the kernel.
                let handler = unsafe { guest::<u64>(arguments[1]) };
                let faults = FAULTS.contains(&(arguments[0] as i32));
                self.blocks.mark_handler(handler, if faults { Entry::FaultHandler } else { Entry::Handler });
            }
            // Signals end processes without notice, and a child's chunks must come after what its parent did before.
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_fork
            | libc::SYS_vfork
            | libc::SYS_clone => {
                thread.publish(&self.ring);
            }
            // Threads agree through the kernel; what each did before must be readable before what others do after.
            _ if self.threads_made.load(Relaxed) > 1 => thread.publish(&self.ring),
            _ => {}
        }
    }

    /// A thread returns from a system call.
    pub fn leave_syscall(&self, vcpu: u32, number: i64, returned: i64) {
        let forks = matches!(number, libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3);
        if forks && returned == 0 && std::process::id() != self.pid.load(Relaxed) {
            return self.become_child(vcpu);
        }
        let Some(thread) = self.thread(vcpu) else {
            return self.known.forget_all();
        };
        let (entered, arguments) = thread.syscall;
        if entered != number {
            self.known.forget_all();
        } else if number == libc::SYS_brk {
            let old = self.program_break.swap(returned as u64, AcqRel);
            let (low, high) = (old.min(returned as u64), old.max(returned as u64));
            self.known.remap(if old == 0 { high } else { low }, high - low);
        } else {
            syscalls::forget_written(&self.known, number, &arguments, returned);
            self.files.follow(number, &arguments, returned);
            if thread.recording {
                self.tell_made_durable(thread, number, &arguments, returned);
            }
        }
    }

    /// Tells what a system call has made durable, if it is such a one. It is the last instruction of its block, and its own
    /// word has been sent.
    fn tell_made_durable(&self, thread: &mut Thread, number: i64, arguments: &[u64; 6], returned: i64) {
        let flush = |address| thread.push(&self.ring, &[word::control(Control::Flush, 0, address)]);
        if self.files.made_durable(number, arguments, returned, flush) {
            thread.push(&self.ring, &[word::control(Control::Fence, 0, 0)]);
        }
    }

    /// This is a copy of the process that made the call: what it inherited is its parent's to send.
    fn become_child(&self, vcpu: u32) {
        let parent = self.image.load(Relaxed);
        let pid = std::process::id();
        self.pid.store(pid, Relaxed);
        self.image.store(self.ring.join(pid), Relaxed);
        self.threads_made.store(0, Relaxed);
        self.known.restart();
        self.files.restart();
        for thread in &self.threads {
            // Not freed: the copy may be in any state.
            thread.store(ptr::null_mut(), Release);
        }
        self.announce(Birth::Fork, parent);
        self.make_thread(vcpu);
    }

    fn follow_exec(&self, thread: &mut Thread, arguments: &[u64; 6]) {
        match exec::examine(&self.ring_name, self.image.load(Relaxed), arguments) {
            Outcome::Fails => {}
            Outcome::Native => self.lose(thread),
            Outcome::Recorded(replacement) => {
                thread.redraw(&self.ring);
                thread.publish(&self.ring);
                replacement.start();
            }
        }
    }

    fn lose(&self, thread: &mut Thread) {
        thread.push(&self.ring, &[word::control(Control::Lost, Loss::NativeExec as u8, 0)]);
        thread.redraw(&self.ring);
        thread.publish(&self.ring);
    }

    /// The process ends: publishes what its threads still hold.
    pub fn end(&self) {
        for vcpu in 0..THREADS as u32 {
            if let Some(thread) = self.thread(vcpu) {
                thread.end(&self.ring);
            }
        }
    }
}
