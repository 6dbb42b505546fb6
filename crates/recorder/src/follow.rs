//! Follows system calls: memory that the kernel writes, maps or makes durable, and processes that the kernel copies or
//! ends.

use crate::copies::copies_process;
use crate::mappings::{file_behind, whole_pages};
use crate::memory::{ProcessMemory, ThreadOutput};
use crate::objects::{self, ObjectChange};
use crate::process_writes;
use crate::qemu::guest;
use crate::syscalls::{self, WrittenMemory};
use libc::c_int;
use std::ops::Range;
use wire::process::is_alive;
use wire::word::{self, Control, PAGE_BYTES};

/// A system call that has returned, in the process that made it.
pub struct Call<'a> {
    /// Number of the process's image.
    pub image: u32,
    /// True if the process has had several threads.
    pub of_several_threads: bool,
    /// Memory of the process.
    pub memory: &'a ProcessMemory,
    /// Output for the words of the thread that made the call.
    pub output: ThreadOutput<'a>,
    /// Number of the system call.
    pub number: i64,
    /// Arguments of the system call.
    pub arguments: [u64; 6],
    /// Return value of the system call.
    pub returned: i64,
}

impl Call<'_> {
    /// Follows all effects of the call.
    pub fn follow(&mut self) {
        let returned = self.returned;
        let has_failed = returned < 0 && returned > -(PAGE_BYTES as i64);
        if copies_process(self.number, &self.arguments) && !has_failed {
            self.memory.pages.share_all();
        }
        self.follow_writes();
        if has_failed {
            return;
        }
        let has_changed = self.follow_mappings();
        let change = objects::change(self.number, &self.arguments, returned);
        self.follow_process_writes(change.as_ref());
        self.follow_objects(change);
        self.follow_ends();
        if has_changed && self.of_several_threads {
            // Other threads may use the new mappings before this thread would publish again.
            self.output.thread.publish(self.output.ring);
        }
    }

    /// Follows the kernel's writes into the memory of the process.
    pub fn follow_writes(&mut self) {
        match syscalls::written(self.number, &self.arguments, self.returned) {
            WrittenMemory::Anything => self.memory.pages.forget_all(),
            WrittenMemory::Parts(parts) => parts.iter().for_each(|(address, bytes)| self.rewrite(*address, *bytes)),
        }
    }

    /// Handles addresses that the kernel may have written.
    fn rewrite(&mut self, address: u64, bytes: u64) {
        self.memory.rewrite(&mut self.output, address, bytes);
    }

    /// Follows changes of mappings. Returns true if the recorder has sent a change to the simulator.
    fn follow_mappings(&mut self) -> bool {
        let [address, bytes, new_bytes, ..] = self.arguments;
        let returned = self.returned as u64;
        let old = address..address.saturating_add(whole_pages(bytes));
        match self.number {
            libc::SYS_mmap => {
                let addresses = returned..returned.saturating_add(whole_pages(bytes));
                let was_shown = self.unmap(&addresses);
                if let Some(object) = self.memory.mappings.map(addresses, &self.arguments, self.image) {
                    self.output.ring.between_processes().objects.insert(object);
                }
                was_shown
            }
            libc::SYS_munmap => {
                self.memory.mappings.unmap(&old);
                self.unmap(&old)
            }
            libc::SYS_madvise if new_bytes as c_int == libc::MADV_DONTNEED => self.unmap(&old),
            libc::SYS_mremap => self.follow_remap(old, returned..returned + whole_pages(new_bytes)),
            libc::SYS_brk => {
                // If the heap grows within a page that it had given back in part, the kernel clears the gained bytes.
                if let Some(before) = self.memory.mappings.program_break().filter(|before| *before < returned) {
                    self.rewrite(before, returned - before);
                }
                let (gained, lost) = self.memory.mappings.set_break(returned);
                self.unmap(if lost.is_empty() { &gained } else { &lost })
            }
            libc::SYS_shmat => {
                let Some((addresses, object)) = self.memory.mappings.attach(address as c_int, returned) else {
                    return false;
                };
                self.output.ring.between_processes().objects.insert(object);
                self.unmap(&addresses)
            }
            libc::SYS_shmdt => {
                let Some(addresses) = self.memory.mappings.addresses_from(address) else { return false };
                self.memory.mappings.unmap(&addresses);
                self.unmap(&addresses)
            }
            _ => false,
        }
    }

    fn follow_remap(&mut self, old: Range<u64>, new: Range<u64>) -> bool {
        self.memory.mappings.remap(old.clone(), new.clone());
        let kept = (old.end - old.start).min(new.end - new.start);
        let (lost, gained) = (old.start + kept..old.end, new.start + kept..new.end);
        let moves = new.start != old.start;
        let replaced = moves && self.unmap(&(new.start..new.start + kept));
        let moved = moves && self.memory.pages.move_to(&(old.start..old.start + kept), new.start);
        if moved {
            self.output.push(&[word::control(Control::Move, 0, old.start), new.start, kept]);
        }
        self.unmap(&lost) | self.unmap(&gained) | moved | replaced
    }

    /// Forgets the pages at these addresses, which now contain other memory. Returns true if the simulator knew any of
    /// them.
    fn unmap(&mut self, addresses: &Range<u64>) -> bool {
        let mut any = false;
        self.memory.pages.unmap(addresses, |pages| {
            any = true;
            let bytes = PAGE_BYTES as u64;
            let word = word::control(Control::Unmap, 0, pages.start * bytes);
            self.output.push(&[word, (pages.end - pages.start) * bytes]);
        });
        any
    }

    /// Follows kernel writes to the memory of a process by its number. If it is another process, its recorder takes the
    /// write up when that process leaves its next system call.
    fn follow_process_writes(&mut self, change: Option<&ObjectChange>) {
        let Some(write) = change.and_then(process_writes::written) else { return };
        let (address, bytes) = (write.addresses.start, write.addresses.end - write.addresses.start);
        if write.pid == std::process::id() {
            self.rewrite(address, bytes);
        } else {
            self.output.ring.between_processes().remote_writes.post(write.pid, address, bytes);
        }
    }

    /// Follows kernel writes to files that are mapped, and calls that make objects durable.
    fn follow_objects(&mut self, change: Option<ObjectChange>) {
        let arguments = self.arguments;
        if !self.output.thread.recording {
            return;
        }
        match change {
            Some(ObjectChange::Written(file, bytes)) if !bytes.is_empty() => {
                if let Some(found) =
                    file_behind(file).filter(|found| self.output.ring.between_processes().objects.may_contain(found.id))
                {
                    objects::send_lines(found.id, file, &bytes, |record| self.output.push(record));
                }
            }
            Some(ObjectChange::Cut(object, end))
                if self.output.ring.between_processes().objects.may_contain(object) =>
            {
                self.output.push(&[word::control(Control::ObjectCut, 0, 0), object, end]);
            }
            _ => {}
        }
        let synced: Vec<(u64, Range<u64>)> = match self.number {
            libc::SYS_msync if arguments[2] as c_int & libc::MS_SYNC != 0 => {
                let synced = arguments[0]..arguments[0].saturating_add(whole_pages(arguments[1]));
                self.memory.mappings.objects_in(&synced).into_iter().map(|part| (part.id, part.bytes)).collect()
            }
            libc::SYS_fsync | libc::SYS_fdatasync => {
                let found = file_behind(arguments[0] as c_int)
                    .filter(|found| self.output.ring.between_processes().objects.may_contain(found.id));
                found.map(|found| (found.id, 0..u64::MAX)).into_iter().collect()
            }
            _ => Vec::new(),
        };
        for (object, part) in synced {
            self.output.push(&[word::control(Control::Sync, 0, 0), object, part.start, part.end]);
        }
    }

    /// Follows the ends of child processes. A child that a signal has killed could not send its end itself.
    fn follow_ends(&mut self) {
        let child = match self.number {
            libc::SYS_wait4 if self.returned > 0 => self.returned as u32,
            // SAFETY: the successful call wrote this structure, which contains the child's number at this offset.
            libc::SYS_waitid if self.arguments[2] != 0 => unsafe { guest::<u32>(self.arguments[2] + 16) },
            _ => return,
        };
        // A child that has only stopped or continued is still alive.
        if child > 0
            && !is_alive(child)
            && let Some(image) = self.output.ring.image_of(child)
        {
            self.output.push(&[word::control(Control::Gone, 0, image.into())]);
        }
    }
}
