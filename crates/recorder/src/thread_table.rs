//! Table of a process's threads, by the numbers that QEMU gives to them.
//!
//! QEMU gives a new number to each thread, also if few threads are alive at once. So the table grows by parts, and the
//! state of an ended thread takes few bytes. The first part is in the table itself, so that each access of a program with
//! few threads finds its thread by one load.

use crate::thread::Thread;
use std::ptr;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// Threads in a part of the table, and most parts: together more threads than a process can ever start in a recording.
const PART: usize = 4096;
const PARTS: usize = 4096;

type TablePart = [AtomicPtr<Thread>; PART];

/// States of all threads of a process.
pub struct ThreadTable {
    first: TablePart,
    /// The parts by their number; the entry of the first part is not used.
    parts: [AtomicPtr<TablePart>; PARTS],
}

impl ThreadTable {
    /// Returns a table without threads.
    pub fn new() -> ThreadTable {
        ThreadTable {
            first: [const { AtomicPtr::new(ptr::null_mut()) }; PART],
            parts: [const { AtomicPtr::new(ptr::null_mut()) }; PARTS],
        }
    }

    /// Enters a thread. QEMU may have used its number for an earlier thread, which has ended. Returns false if the
    /// number is beyond the table.
    pub fn enter(&self, number: u32, thread: Thread) -> bool {
        let Some(entry) = self.made(number) else { return false };
        let old = entry.swap(Box::into_raw(Box::new(thread)), AcqRel);
        if !old.is_null() {
            // SAFETY: the state was made here, and its thread has ended, or QEMU would not use its number again.
            drop(unsafe { Box::from_raw(old) });
        }
        true
    }

    /// Returns the state of a thread, if the thread is in the table. Only the thread itself may use the state, in callbacks
    /// that do not nest. When the process ends, only the one thread that QEMU lets run may use it.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub fn get(&self, number: u32) -> Option<&mut Thread> {
        // SAFETY: `enter` made the state, and the users are as stated above.
        unsafe { self.entry(number)?.load(Acquire).as_mut() }
    }

    /// Calls `end` with each thread.
    pub fn for_each(&self, mut end: impl FnMut(&mut Thread)) {
        for number in 0..(PARTS * PART) as u32 {
            if self.entry(number).is_none() {
                return;
            }
            self.get(number).into_iter().for_each(&mut end);
        }
    }

    /// Forgets all threads, in a copy of the process. The states are not freed: the copy may be in any state.
    pub fn forget(&self) {
        self.first.iter().for_each(|entry| entry.store(ptr::null_mut(), Release));
        self.parts.iter().for_each(|part| part.store(ptr::null_mut(), Release));
    }

    #[inline]
    fn entry(&self, number: u32) -> Option<&AtomicPtr<Thread>> {
        self.first.get(number as usize).or_else(|| self.later(number))
    }

    /// Returns the entry of a number behind the first part.
    #[cold]
    fn later(&self, number: u32) -> Option<&AtomicPtr<Thread>> {
        // SAFETY: parts are made by `made` and never freed.
        let part = unsafe { self.parts.get(number as usize / PART)?.load(Acquire).as_ref() };
        Some(&part?[number as usize % PART])
    }

    /// Returns the entry of a number, with a new part if necessary.
    fn made(&self, number: u32) -> Option<&AtomicPtr<Thread>> {
        let part = self.parts.get(number as usize / PART)?;
        if number as usize >= PART && part.load(Acquire).is_null() {
            let new: Box<TablePart> = Box::new([const { AtomicPtr::new(ptr::null_mut()) }; PART]);
            let new = Box::into_raw(new);
            if part.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire).is_err() {
                // SAFETY: another thread was faster, so nobody knows this part.
                drop(unsafe { Box::from_raw(new) });
            }
        }
        self.entry(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_thread_of_any_number_and_of_no_other() {
        let threads = ThreadTable::new();
        for number in [0, 4095, 4096, 1_000_000] {
            assert!(threads.enter(number, Thread::new(7, number)));
        }
        assert!([0, 4095, 4096, 1_000_000].iter().all(|number| threads.get(*number).is_some()));
        assert!([1, 4097, 999_999, u32::MAX].iter().all(|number| threads.get(*number).is_none()));
        assert!(!threads.enter(u32::MAX, Thread::new(7, 1)));
        threads.forget();
        assert!(threads.get(0).is_none());
    }
}
