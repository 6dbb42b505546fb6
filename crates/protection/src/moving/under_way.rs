//! Permutations under way, and whether an access waits for them.

use crate::verbs::BusPriority;
use rustc_hash::FxHashMap;

/// Reason for which a permutation begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PermutationCause {
    /// An access waits for it.
    Awaited,
    /// It is to prevent that a later access waits.
    Background,
}

/// Requests for the permutation of one page chunk that have not ended.
#[derive(Clone)]
struct Requested {
    times: u32,
    /// True if an access waits for this permutation.
    is_awaited: bool,
    /// Number of permutations of the page chunk before the first of the requests.
    permuted_before: u64,
    priority: BusPriority,
}

/// Page chunks with a requested permutation that has not ended.
#[derive(Clone, Default)]
pub(super) struct PermutationsUnderWay(FxHashMap<u64, Requested>);

impl PermutationsUnderWay {
    /// Notes a request to permute a page chunk that was permuted `permuted_before` times. `priority` makes the priority of its
    /// transfers, unless the permutation is under way: then the permutation keeps its own.
    pub fn begin(
        &mut self,
        chunk: u64,
        cause: PermutationCause,
        permuted_before: u64,
        priority: impl FnOnce() -> BusPriority,
    ) {
        let new = || Requested { times: 0, is_awaited: false, permuted_before, priority: priority() };
        self.0.entry(chunk).or_insert_with(new).times += 1;
        if cause == PermutationCause::Awaited {
            self.wait(chunk);
        }
    }

    /// Returns whether the permutation of a page chunk is under way.
    pub fn has(&self, chunk: u64) -> bool {
        self.0.contains_key(&chunk)
    }

    /// Number of page chunks.
    pub fn page_chunks(&self) -> usize {
        self.0.len()
    }

    /// Number of permutations of a page chunk before the requests for its permutation.
    pub fn permuted_before(&self, chunk: u64) -> Option<u64> {
        self.0.get(&chunk).map(|requested| requested.permuted_before)
    }

    /// Priority of the transfers for a page chunk: that of all other requests, unless a permutation in the background is
    /// under way.
    pub fn priority(&self, chunk: u64) -> BusPriority {
        self.0.get(&chunk).map(|requested| requested.priority.clone()).unwrap_or_default()
    }

    /// Notes that an access waits for the permutation of a page chunk, if the permutation is under way. Raises the priority of its
    /// transfers.
    pub fn wait(&mut self, chunk: u64) {
        if let Some(requested) = self.0.get_mut(&chunk) {
            requested.is_awaited = true;
            requested.priority.raise_to_demand();
        }
    }

    /// Raises the priority of all permutations under way.
    pub fn raise_all(&self) {
        self.0.values().for_each(|requested| requested.priority.raise_to_demand());
    }

    /// Ends a request to permute a page chunk; `is_permuted` if this request has permuted it. Returns true if an access waited
    /// for the permutation.
    pub fn end(&mut self, chunk: u64, is_permuted: bool) -> bool {
        let Some(requested) = self.0.get_mut(&chunk) else { return false };
        requested.times -= 1;
        let was_awaited = is_permuted && std::mem::take(&mut requested.is_awaited);
        if requested.times == 0 {
            self.0.remove(&chunk);
        }
        was_awaited
    }
}
