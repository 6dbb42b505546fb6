//! Entries of the caches on the chip at one moment, which show whether a run begins with full caches.

use crate::counts::Meters;
use protection::scheme::Permutations;
use serde::Serialize;

/// Numbers of entries of the caches on the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CacheContent {
    /// Lines in the last-level cache.
    pub llc_lines: u64,
    /// Lines in the last-level cache that are locked until their page chunk is permuted.
    pub llc_locked: u64,
    /// Pages in the TLBs of all cores.
    pub tlb_pages: u64,
    /// Page records that the chip keeps for pages in TLBs.
    pub records: u64,
    /// Entries of the Merkle cache.
    pub merkle_entries: u64,
}

impl CacheContent {
    /// Counts the entries now.
    pub fn now(meters: &Meters) -> CacheContent {
        let Meters { chip, scheme, .. } = meters;
        let locked = if chip.llc.locks_lines() { chip.llc.with_locks(|locked| locked.locked().0) } else { 0 };
        let tlb_pages = chip.cores.nodes().iter().map(|node| node.borrow_mut().tlbs_mut().pages() as u64).sum();
        let (records, merkle_entries) = Permutations::of(scheme).map(Permutations::records_on_chip).unwrap_or_default();
        CacheContent {
            llc_lines: chip.llc.lines(|_| true).len() as u64,
            llc_locked: locked as u64,
            tlb_pages,
            records: records as u64,
            merkle_entries: merkle_entries as u64,
        }
    }
}
