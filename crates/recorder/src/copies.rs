//! System calls that copy a process.

use libc::{c_int, c_long};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32};

/// Mask of the number of a copy: copies of a process are numbered with 16 bits.
const NUMBERS: u32 = (1 << 16) - 1;

/// Copies that a process has made, and whether it is one that would borrow its parent's memory.
#[derive(Default)]
pub struct ProcessCopies {
    made: AtomicU32,
    is_borrower: AtomicBool,
}

impl ProcessCopies {
    /// Returns the number of the next copy.
    pub fn next(&self) -> u32 {
        self.made.fetch_add(1, AcqRel).wrapping_add(1) & NUMBERS
    }

    /// Returns true if the process has made a copy.
    pub fn any(&self) -> bool {
        self.made.load(Relaxed) > 0
    }

    /// Notes the call that has made this process.
    pub fn born_by(&self, number: c_long, arguments: &[u64; 6]) {
        self.is_borrower.store(borrows_memory(number, arguments), Relaxed);
    }

    /// Returns true if this process would borrow its parent's memory, until it executes a program or ends.
    pub fn is_borrower(&self) -> bool {
        self.is_borrower.load(Relaxed)
    }
}

/// Returns true if Linux would let the child of this call use its parent's memory, until the child executes a program.
fn borrows_memory(number: c_long, arguments: &[u64; 6]) -> bool {
    let flags = if number == libc::SYS_clone { arguments[0] as c_int } else { 0 };
    number == libc::SYS_vfork || flags & libc::CLONE_VM != 0 && flags & libc::CLONE_VFORK != 0
}

/// Returns true if a call copies the process; false if it only starts a thread.
pub fn copies_process(number: c_long, arguments: &[u64; 6]) -> bool {
    match number {
        libc::SYS_fork | libc::SYS_vfork => true,
        // QEMU makes a copy in cases in which Linux would let the child borrow its parent's memory.
        libc::SYS_clone => {
            let flags = arguments[0] as c_int;
            flags & libc::CLONE_VM == 0 || flags & libc::CLONE_VFORK != 0
        }
        _ => false,
    }
}
