//! Tickets for the slots of the ring, which producers draw in turn, and the processes that hold them.

use super::SLOTS;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// Drawn tickets with a known process: those of all slots, and of threads that wait for a slot.
const HOLDERS: usize = 4 * SLOTS;

/// Tickets in shared memory. All-zero is a valid state: no ticket is drawn.
#[repr(C)]
pub(super) struct Tickets {
    /// Number of drawn tickets.
    drawn: AtomicU64,
    /// The last drawn tickets in the upper halves, and their processes' numbers on the host in the lower halves.
    holders: [AtomicU64; HOLDERS],
}

impl Tickets {
    /// Draws the next ticket for a process. The reader passes over the ticket if the process dies before it has filled its
    /// slot, also while it waits for the slot.
    pub fn draw(&self, process: u32) -> u64 {
        let ticket = self.drawn.fetch_add(1, AcqRel);
        self.holders[ticket as usize % HOLDERS].store(ticket << 32 | u64::from(process), Release);
        ticket
    }

    /// Returns the number of drawn tickets.
    pub fn drawn(&self) -> u64 {
        self.drawn.load(Acquire)
    }

    /// Returns the process that drew a ticket, unless very many tickets have been drawn since.
    pub fn holder(&self, ticket: u64) -> Option<u32> {
        let holder = self.holders[ticket as usize % HOLDERS].load(Acquire);
        (holder >> 32 == ticket & 0xffff_ffff && holder != 0).then_some(holder as u32)
    }
}
