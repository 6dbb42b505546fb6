//! Permutations under way, and whether an access waits for them.

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
#[derive(Clone, Copy, Default)]
struct Requested {
    times: u32,
    /// True if an access waits for this permutation.
    is_awaited: bool,
}

/// Page chunks whose permutation was requested and has not ended.
#[derive(Clone, Default)]
pub(super) struct PermutationsUnderWay(FxHashMap<u64, Requested>);

impl PermutationsUnderWay {
    /// Notes a request to permute a page chunk.
    pub fn begin(&mut self, chunk: u64, cause: PermutationCause) {
        let requested = self.0.entry(chunk).or_default();
        requested.times += 1;
        requested.is_awaited |= cause == PermutationCause::Awaited;
    }

    /// Returns whether the permutation of a page chunk is under way.
    pub fn has(&self, chunk: u64) -> bool {
        self.0.contains_key(&chunk)
    }

    /// Notes that an access waits for the permutation of a page chunk, if the permutation is under way.
    pub fn wait(&mut self, chunk: u64) {
        if let Some(requested) = self.0.get_mut(&chunk) {
            requested.is_awaited = true;
        }
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
