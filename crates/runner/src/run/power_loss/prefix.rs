//! Whether what memory has of the stores that were on their way can be the first of each core's, in the order of its program.
//!
//! Of each line some of these stores are there, the first in the order in which they were accepted: as many as fit what was read.
//! That may be several numbers, since a store may change nothing. If a store is there, all stores of its core before it are.
//! The smallest numbers for which that holds are found by raising them step by step; if a line has none, it does not hold.

use chip::store_log::Store;

/// The stores that were under way to one line, and how many of them what was read fits.
pub(super) struct Fit {
    pub stores: Vec<Store>,
    /// In rising order; none is more than there are stores.
    pub counts: Vec<usize>,
}

impl Fit {
    /// How many are there if all of each core's before these numbers are.
    fn forced(&self, there: &[u64]) -> usize {
        let is_there = |store: &Store| store.number < there[store.core];
        self.stores.iter().rposition(is_there).map_or(0, |last| last + 1)
    }
}

/// The place of a line of which no number fits, if there is one. Of each core so many stores are `there` for certain: the one before
/// that number is.
pub(super) fn first_without(fits: &[Fit], mut there: Vec<u64>) -> Option<usize> {
    loop {
        let mut is_stable = true;
        for (place, fit) in fits.iter().enumerate() {
            let forced = fit.forced(&there);
            let Some(count) = fit.counts.iter().find(|count| **count >= forced) else { return Some(place) };
            for store in &fit.stores[..*count] {
                if there[store.core] <= store.number {
                    there[store.core] = store.number + 1;
                    is_stable = false;
                }
            }
        }
        if is_stable {
            return None;
        }
    }
}
