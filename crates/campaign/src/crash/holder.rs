//! What holds stores that memory does not have yet, and has a battery: persist buffers, or the caches.
//!
//! What a store meets there differs ([`buffered`](super::buffered), [`cached`](super::cached)). What is asked of either is one:
//! which stores are durable, and that the battery brings them to memory.

use super::bench::Bench;
use units::LineAddr;

/// It, while stores are carried out.
pub(super) trait Holder {
    /// How many stores went on.
    fn went_on(&self) -> usize;

    /// The numbers of the stores that it has had, in the order in which it got them.
    ///
    /// # Panics
    /// If the scheme has accepted more than has entered, or less.
    fn taken(&self) -> Vec<usize>;

    /// How much had been done before a store entered, and when it went on.
    fn span(&self, number: usize) -> (usize, usize);

    /// Whether so many stores went on, and nothing is on its way out.
    fn is_idle_after(&self, stores: usize) -> bool;

    /// The lines that it has and memory has not, the oldest first.
    fn resident(&self) -> Vec<LineAddr>;

    /// The cores stop, and what they and the controller have begun ends.
    fn stop(&self, bench: &mut Bench);

    /// Power fails: the cores stop, and the battery does its work.
    fn die(&self, bench: &mut Bench);
}
