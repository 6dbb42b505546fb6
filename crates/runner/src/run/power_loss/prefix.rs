//! Checks whether the stores in memory that were under way can be the first stores of each core in the order of its program.
//!
//! For each line, memory contains the first n of these stores in the order of their acceptance, with an n that fits the
//! content that was read. Several values of n may fit, since a store may change no byte. If memory contains a store, it
//! must contain all earlier stores of its core. The algorithm finds the smallest consistent numbers by raising them
//! step by step; the check fails if a line has no number that is large enough.

use chip::store_log::Store;

/// The stores that were under way to one line, and the values of n for which the first n of these stores fit the
/// content that was read.
pub(super) struct Fit {
    pub stores: Vec<Store>,
    /// The fitting values of n, in rising order, each at most the number of stores.
    pub counts: Vec<usize>,
}

impl Fit {
    /// Number of these stores that must be in memory, if memory contains the first `there` stores of each core.
    fn forced(&self, there: &[u64]) -> usize {
        let is_there = |store: &Store| store.number < there[store.core];
        self.stores.iter().rposition(is_there).map_or(0, |last| last + 1)
    }
}

/// Index of a line without a consistent value of n; `None` if each line has one. Memory certainly contains the first
/// `there` stores of each core.
pub(super) fn first_without(fits: &[Fit], mut there: Vec<u64>) -> Option<usize> {
    loop {
        let mut is_stable = true;
        for (index, fit) in fits.iter().enumerate() {
            let forced = fit.forced(&there);
            let Some(count) = fit.counts.iter().find(|count| **count >= forced) else { return Some(index) };
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
