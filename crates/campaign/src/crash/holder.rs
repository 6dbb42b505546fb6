//! Components with a battery that hold stores which memory lacks: persist buffers or caches.
//!
//! The two components treat stores differently ([`buffered`](super::buffered), [`cached`](super::cached)). The
//! interface is the same: the holder lists the durable stores, and its battery writes them to memory.

use super::bench::Bench;
use units::LineAddr;

/// A holder while stores are carried out.
pub(super) trait Holder {
    /// Number of stores after which their core continued.
    fn went_on(&self) -> usize;

    /// Returns the numbers of the stores that the holder has received, in the order of receipt.
    ///
    /// # Panics
    /// If the scheme has accepted more or fewer stores than have entered.
    fn taken(&self) -> Vec<usize>;

    /// Returns the operations issued before a store entered, and when its core continued.
    fn span(&self, number: usize) -> (usize, usize);

    /// Returns true if this many stores are complete and no line is on its way out.
    fn is_idle_after(&self, stores: usize) -> bool;

    /// Returns the lines that only the holder has, the oldest first.
    fn resident(&self) -> Vec<LineAddr>;

    /// Stops the cores; the work that they and the controller have begun completes.
    fn stop(&self, bench: &mut Bench);

    /// Cuts the power: the cores stop, and the battery does its work.
    fn die(&self, bench: &mut Bench);
}
