//! The prefetchers of L1D and L2, and the accesses that train them.

use crate::node::caches::prefetch::Prefetcher;
use crate::node::config::{CacheConfig, NodeConfig};
use crate::node::interface::UNKNOWN;
use crate::node::lines::LineSize;

/// The prefetchers of one core.
#[derive(Clone, Debug)]
pub struct Prefetchers {
    /// True if L1D or L2 has a prefetcher.
    exist: bool,
    pub(super) of_l1d: Option<Prefetcher>,
    pub(super) of_l2: Option<Prefetcher>,
    /// Number of the latest instruction with a load (index 0) or a store (index 1) that the prefetchers saw.
    latest_seen: [u64; 2],
}

impl Prefetchers {
    pub(super) fn new(config: &NodeConfig) -> Prefetchers {
        let prefetcher = |cache: &CacheConfig| {
            cache
                .prefetcher
                .map(|prefetcher| Prefetcher::new(prefetcher, LineSize::new(cache.line, config.memory_line)))
        };
        Prefetchers {
            exist: config.l1d.prefetcher.or(config.l2.prefetcher).is_some(),
            of_l1d: prefetcher(&config.l1d),
            of_l2: prefetcher(&config.l2),
            latest_seen: [UNKNOWN; 2],
        }
    }

    /// Returns true if L1D or L2 has a prefetcher, which must see accesses.
    #[inline]
    pub fn exist(&self) -> bool {
        self.exist
    }

    /// Returns true if an access is the first load or the first store of its instruction, so it trains the prefetchers.
    pub(super) fn see_first(&mut self, instruction: u64, store: bool) -> bool {
        std::mem::replace(&mut self.latest_seen[usize::from(store)], instruction) != instruction
    }
}
