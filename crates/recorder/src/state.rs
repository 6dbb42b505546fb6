//! The recorder's state: one per process, created when QEMU loads the recorder, and never freed.

use crate::blocks::{CodeBlock, CodeBlocks, EntryEffect};
use crate::copies::{ProcessCopies, copies_process};
use crate::exec::{self, ExecOutcome};
use crate::flushes;
use crate::follow::Call;
use crate::memory::{ProcessMemory, ShownAccess, ThreadOutput};
use crate::oddities;
use crate::position::ReportedAccess;
use crate::qemu::guest;
use crate::reservation;
use crate::syscalls;
use crate::thread::{DrawOutcome, SystemCall, Thread};
use crate::thread_table::ThreadTable;
use crate::turns;
use std::ffi::OsString;
use std::sync::Once;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};
use wire::host::Oddity;
use wire::ring::{Ring, StrandId};
use wire::word::{self, ADDRESS_END, Birth, Control, LINE_BYTES, RecordingLoss};

/// Signals that an instruction raises itself, in the middle of its block.
const FAULTS: [i32; 5] = [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV];

/// State that all callbacks need.
pub struct Recorder {
    ring: Ring,
    ring_name: OsString,
    load_values: bool,
    blocks: CodeBlocks,
    memory: ProcessMemory,
    copies: ProcessCopies,
    /// Number of posted writes into the memory of processes that this recorder has taken up.
    remote_writes: AtomicU64,
    begun: Once,
    /// Number of the image; `pid` is its process.
    image: AtomicU32,
    pid: AtomicU32,
    threads: ThreadTable,
    threads_made: AtomicU32,
}

impl Recorder {
    /// Creates the state and announces this process to the simulator.
    pub fn new(ring_name: OsString, from: Option<u32>) -> std::io::Result<Recorder> {
        let ring = Ring::open(&ring_name)?;
        let pid = std::process::id();
        let image = ring.join(pid);
        let recorder = Recorder {
            load_values: ring.settings().load_values,
            remote_writes: AtomicU64::new(ring.between_processes().remote_writes.posted()),
            ring,
            ring_name,
            blocks: CodeBlocks::default(),
            memory: ProcessMemory::new()?,
            copies: ProcessCopies::default(),
            begun: Once::new(),
            image: AtomicU32::new(image),
            pid: AtomicU32::new(pid),
            threads: ThreadTable::new(),
            threads_made: AtomicU32::new(0),
        };
        if from.is_some() {
            recorder.ring.between_processes().baton.forget(pid, Some(StrandId { process: image, thread: 0 }));
        }
        let birth = if from.is_some() { Birth::Exec } else { Birth::First };
        recorder.announce(birth, from.unwrap_or(image).into());
        Ok(recorder)
    }

    /// Returns the number of this process's image.
    pub fn image(&self) -> u32 {
        self.image.load(Relaxed)
    }

    /// Returns true if the process has had several threads.
    pub fn has_several_threads(&self) -> bool {
        self.threads_made.load(Relaxed) > 1
    }

    /// Returns true if other threads or processes may see stores of this process. A child may not have announced itself
    /// yet when its parent makes its next call.
    fn is_shared(&self) -> bool {
        self.has_several_threads() || self.memory.mappings.has_objects() && self.has_other_processes()
    }

    fn has_other_processes(&self) -> bool {
        self.copies.any() || self.ring.images() > 1
    }

    /// Announces a call that copies the process, so that the simulator keeps the memory that the child will have.
    fn announce_copy(&self, thread: &mut Thread, number: i64, arguments: &[u64; 6]) {
        if copies_process(number, arguments) {
            thread.syscall.fork = self.copies.next();
            thread.push(&self.ring, &[word::control(Control::Fork, 0, thread.syscall.fork.into())]);
        }
    }

    /// Announces an image to the simulator, before any other word of it is sent.
    fn announce(&self, birth: Birth, parent: u64) {
        let word = word::control(Control::Process, birth as u8, parent);
        // If the ring is stopped, the first thread notices it again.
        let _ = self.ring.publish(self.image.load(Relaxed), 0, &[word]);
    }

    /// Learns the first mappings, once, when the program is loaded and about to begin.
    pub fn begin(&self) {
        self.begun.call_once(|| self.memory.mappings.learn_first());
    }

    /// Returns the ring that receives the words.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Returns the table of all code seen so far.
    pub fn blocks(&self) -> &CodeBlocks {
        &self.blocks
    }

    /// Creates the state of a new thread. Reports a thread that cannot be recorded.
    pub fn make_thread(&self, vcpu: u32) {
        let image = self.image.load(Relaxed);
        let number = self.threads_made.fetch_add(1, AcqRel);
        let mut thread = Thread::new(image, number);
        if number > 0 {
            thread.quota.set_clock(self.ring.between_processes().baton.expect(thread.strand()));
        }
        if !self.threads.enter(vcpu, thread) {
            let lost = word::control(Control::Lost, RecordingLoss::TooManyThreads as u8, 0);
            let _ = self.ring.publish(image, number, &[lost]);
        }
    }

    /// Returns the state of a thread, unless the process has too many threads.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn thread(&self, vcpu: u32) -> Option<&mut Thread> {
        self.threads.get(vcpu)
    }

    /// Records that a thread enters a block.
    #[inline]
    pub fn enter_block(&self, thread: &mut Thread, block: &CodeBlock) {
        let ran_before = thread.position.ran();
        if thread.must_draw() && thread.draw(&self.ring) == DrawOutcome::Unrecorded {
            // Unrecorded stores change memory unseen.
            self.memory.pages.become_blind();
        }
        thread.advance(block);
        if thread.recording {
            if block.entry() != EntryEffect::Plain as u8 || !thread.has_sent(block) {
                self.enter_special(thread, block, ran_before);
            }
            thread.push(&self.ring, &[word::block(block.id, block.instructions)]);
        } else if block.entry() != EntryEffect::Plain as u8 {
            self.memory.pages.forget_all();
        }
        thread.after_syscall = false;
    }

    /// Handles the first entry of a block by a thread, or an entry with a further effect.
    #[cold]
    fn enter_special(&self, thread: &mut Thread, block: &CodeBlock, ran_before: u16) {
        if block.entry() != EntryEffect::Plain as u8 {
            self.memory.pages.forget_all();
        }
        if block.entry() != EntryEffect::Plain as u8 {
            self.ring.host().note(Oddity::Handler);
        }
        if block.entry() == EntryEffect::FaultHandler as u8 && !thread.after_syscall {
            thread.push(&self.ring, &[word::control(Control::Cut, 0, ran_before.into())]);
        }
        if !thread.has_sent(block) {
            self.memory.show_code(&mut ThreadOutput { thread, ring: &self.ring }, block.addresses());
            thread.send_block(&self.ring, block);
        }
    }

    /// Records that a thread has loaded or stored `1 << log2_bytes` bytes.
    #[inline]
    pub fn access(&self, thread: &mut Thread, kind: ReportedAccess, log2_bytes: u8, address: u64, index: u16) {
        let (bytes, store) = (1 << log2_bytes, kind != ReportedAccess::Load);
        if address >= ADDRESS_END - bytes {
            return;
        }
        let (first, last) = (address / LINE_BYTES as u64, (address + bytes - 1) / LINE_BYTES as u64);
        if !self.memory.pages.knows(first, store) || !self.memory.pages.knows(last, store) {
            let touch = if store {
                ShownAccess::Store { bytes: address..address + bytes, loaded: thread.position.lines_loaded_by(index) }
            } else {
                ShownAccess::Load
            };
            self.memory.show(&mut ThreadOutput { thread, ring: &self.ring }, first..=last, &touch);
        }
        if kind == ReportedAccess::LoadAndStore {
            thread.push(&self.ring, &[word::access(false, log2_bytes, false, index, address)]);
        }
        if store {
            thread.position.store(index);
        } else {
            thread.position.load(index, address, bytes as u8);
        }
        if !store && !self.load_values {
            return thread.push(&self.ring, &[word::access(false, log2_bytes, false, index, address)]);
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

    /// Records the marker that a thread is about to run.
    pub fn pass_marker(&self, thread: &mut Thread, index: u16) {
        if thread.recording {
            thread.push(&self.ring, &[word::control(Control::Marker, 0, index.into())]);
        }
        if self.ring.settings().marked_region {
            self.ring.toggle_region();
            thread.redraw(&self.ring);
        }
    }

    /// Records a system call that a thread is about to make.
    pub fn enter_syscall(&self, thread: &mut Thread, number: i64, arguments: [u64; 6]) {
        thread.syscall = SystemCall { number, arguments, fork: 0 };
        thread.after_syscall = true;
        self.announce_copy(thread, number, &arguments);
        if thread.recording {
            thread.push(&self.ring, &[word::control(Control::Syscall, 0, number as u64)]);
        }
        turns::note_call(&self.ring, thread, number);
        reservation::enter(&self.ring, thread, number, &arguments);
        oddities::enter(self.ring.host(), number, &arguments);
        match number {
            libc::SYS_execve => self.follow_exec(thread, &arguments),
            libc::SYS_execveat => self.lose(thread),
            // The kernel is about to write to memory, to notify other threads that this thread has ended.
            libc::SYS_exit => {
                self.memory.pages.forget_all();
                thread.end(&self.ring);
            }
            libc::SYS_rt_sigaction if arguments[1] != 0 => {
                // SAFETY: the program passes this structure to the kernel; its first word is the handler.
                let handler = unsafe { guest::<u64>(arguments[1]) };
                let faults = FAULTS.contains(&(arguments[0] as i32));
                self.blocks
                    .mark_handler(handler, if faults { EntryEffect::FaultHandler } else { EntryEffect::Handler });
            }
            // Signals end processes without notice, and a child's batches must follow the earlier words of its parent.
            libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_fork
            | libc::SYS_vfork
            | libc::SYS_clone
            | libc::SYS_wait4
            | libc::SYS_waitid => self.let_others_go_on(thread),
            // Threads, and processes that share memory, synchronise through the kernel. The earlier words of each must
            // be readable before the later words of the other ones.
            _ if self.is_shared() => self.let_others_go_on(thread),
            _ => {}
        }
        turns::before_call(&self.ring, thread);
    }

    /// Publishes the words of a thread and gives its drawn instructions back. Until the thread continues, other threads
    /// may execute all instructions that remain to be recorded.
    fn let_others_go_on(&self, thread: &mut Thread) {
        thread.redraw(&self.ring);
        thread.publish(&self.ring);
    }

    /// Follows a system call from which a thread returns.
    pub fn leave_syscall(&self, vcpu: u32, number: i64, returned: i64) {
        let forks = matches!(number, libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3);
        if forks && returned == 0 && std::process::id() != self.pid.load(Relaxed) {
            return self.become_child(vcpu);
        }
        let Some(thread) = self.thread(vcpu) else {
            return self.memory.pages.forget_all();
        };
        turns::after_call(&self.ring, thread, returned);
        self.take_remote_writes(thread);
        let SystemCall { number: entered, arguments, .. } = thread.syscall;
        reservation::leave(&self.ring, number, &arguments, returned);
        if entered == number {
            oddities::follow(self.ring.host(), number, &arguments, returned);
            self.call(thread, returned).follow();
            // A process may map an object of another one only after it has waited for it.
            let has_others = self.has_several_threads() || self.has_other_processes();
            if has_others && syscalls::may_wait(number, &arguments) {
                thread.end_wait(&self.ring);
            }
        } else {
            self.memory.pages.forget_all();
        }
    }

    /// Takes up the bytes that other processes have written into the memory of this one, after each of its calls. The
    /// recorder does not see such a write before the next call of the written process.
    fn take_remote_writes(&self, thread: &mut Thread) {
        let writes = &self.ring.between_processes().remote_writes;
        let posted = writes.posted();
        let seen = self.remote_writes.swap(posted, AcqRel);
        if seen >= posted {
            return;
        }
        let output = &mut ThreadOutput { thread, ring: &self.ring };
        match writes.since(seen, posted, self.pid.load(Relaxed)) {
            Some(found) => found.iter().for_each(|(address, bytes)| self.memory.rewrite(output, *address, *bytes)),
            None => self.memory.pages.forget_all(),
        }
    }

    /// Returns the system call that a thread has made, with its return value.
    fn call<'a>(&'a self, thread: &'a mut Thread, returned: i64) -> Call<'a> {
        let SystemCall { number, arguments, .. } = thread.syscall;
        let output = ThreadOutput { thread, ring: &self.ring };
        let (image, of_several_threads) = (self.image(), self.has_several_threads());
        Call { image, of_several_threads, memory: &self.memory, output, number, arguments, returned }
    }

    /// Turns this recorder into that of a copy of the process that made the call. The parent sends the words that its
    /// threads have not published. If it had several threads, the simulator does not know all the content that its
    /// pages had at this moment.
    fn become_child(&self, vcpu: u32) {
        let parent = self.image.load(Relaxed);
        let Some(&mut Thread { recording, syscall, .. }) = self.thread(vcpu) else {
            return;
        };
        let pid = std::process::id();
        self.pid.store(pid, Relaxed);
        self.image.store(self.ring.join(pid), Relaxed);
        self.memory.become_copy(self.has_several_threads());
        self.copies.born_by(syscall.number, &syscall.arguments);
        self.threads_made.store(0, Relaxed);
        flushes::restart();
        self.threads.forget();
        self.announce(Birth::Fork, u64::from(syscall.fork) << 32 | u64::from(parent));
        self.make_thread(vcpu);
        if let Some(thread) = self.thread(vcpu) {
            turns::begin(&self.ring, thread);
            self.take_remote_writes(thread);
            // The thread is recorded as its parent was, until it draws instructions itself.
            thread.recording = recording;
            thread.syscall = syscall;
            self.call(thread, 0).follow_writes();
        }
    }

    fn follow_exec(&self, thread: &mut Thread, arguments: &[u64; 6]) {
        match exec::examine(&self.ring_name, self.image.load(Relaxed), arguments) {
            ExecOutcome::Fails => {}
            ExecOutcome::Native => self.lose(thread),
            ExecOutcome::Recorded(replacement) => {
                thread.redraw(&self.ring);
                thread.publish(&self.ring);
                replacement.start();
            }
        }
    }

    fn lose(&self, thread: &mut Thread) {
        thread.push(&self.ring, &[word::control(Control::Lost, RecordingLoss::NativeExec as u8, 0)]);
        thread.redraw(&self.ring);
        thread.publish(&self.ring);
        self.ring.between_processes().baton.forget(self.pid.load(Relaxed), None);
    }

    /// Ends the process: publishes the remaining words of its threads.
    pub fn end(&self) {
        if self.copies.is_borrower() {
            self.ring.host().note(Oddity::VforkedChild);
        }
        self.threads.for_each(|thread| thread.end(&self.ring));
        let gone = word::control(Control::Gone, 0, self.image().into());
        let _ = self.ring.publish(self.image(), 0, &[gone]);
        self.ring.between_processes().baton.forget(self.pid.load(Relaxed), None);
    }
}
