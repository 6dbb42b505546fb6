//! Requests for permutations: by an access that waits for one, or in the background.

use super::under_way::PermutationCause;
use super::{MovingLines, PermutationTime, report};
use crate::verbs::{BusPriority, Fault, Verbs};

/// Interface by which accesses, and the tasks of a machine, request and execute permutations.
#[derive(Clone, Copy)]
pub struct PermutationRequests<'a>(pub(super) &'a MovingLines);

impl PermutationRequests<'_> {
    /// Permutes a page chunk for an access that waits, unless another access has permuted it by the time this one has the lock.
    pub(super) async fn permute_again<V: Verbs>(self, verbs: &V, chunk: u64) -> Result<(), Fault> {
        let before = self.0.counted.borrow().permutations_of(chunk);
        self.0.under_way.borrow_mut().begin(chunk, PermutationCause::Awaited, before, BusPriority::default);
        self.permute_requested(verbs, chunk, before).await
    }

    /// Permutes a page chunk in the background, unless it is being permuted or too many are. Another task executes the
    /// permutation, if the machine has one.
    pub(crate) async fn permute_in_background<V: Verbs>(self, verbs: &V, chunk: u64) -> Result<(), Fault> {
        let before = self.0.counted.borrow().permutations_of(chunk);
        if !self.begins_in_background(verbs, chunk, before) {
            return Ok(());
        }
        if self.0.policy.time != PermutationTime::Free && verbs.pass_on(chunk) {
            return Ok(());
        }
        self.permute_requested(verbs, chunk, before).await
    }

    /// Requests a permutation in the background, of a page chunk that was permuted `before` times. Returns false if the page
    /// chunk is being permuted, or too many are.
    fn begins_in_background<V: Verbs>(self, verbs: &V, chunk: u64, before: u64) -> bool {
        let mut under_way = self.0.under_way.borrow_mut();
        if under_way.has(chunk) || under_way.page_chunks() >= self.0.policy.at_once {
            return false;
        }
        under_way.begin(chunk, PermutationCause::Background, before, || match self.0.policy.time {
            PermutationTime::IdleBus => verbs.background(),
            PermutationTime::Charged | PermutationTime::Free => BusPriority::default(),
        });
        true
    }

    /// Permutes a page chunk for an access that [has passed this on](crate::verbs::ExitVerbs::pass_on).
    pub async fn permute_passed_on<V: Verbs>(self, verbs: &V, chunk: u64) {
        let before = self.0.under_way.borrow().permuted_before(chunk);
        if let Some(before) = before {
            report(verbs, self.permute_requested(verbs, chunk, before).await);
        }
    }

    /// Ends a request: permutes the page chunk, unless it was permuted more often than `before` times.
    async fn permute_requested<V: Verbs>(self, verbs: &V, chunk: u64, before: u64) -> Result<(), Fault> {
        let outcome = self.0.permute(verbs, chunk, Some(before)).await;
        let is_permuted = matches!(outcome, Ok(true));
        let was_awaited = self.0.under_way.borrow_mut().end(chunk, is_permuted);
        self.0.counted.borrow_mut().counts_mut().permutations_awaited += u64::from(was_awaited);
        outcome.map(|_| ())
    }

    /// Maximum number of permutations under way at which another one begins in the background.
    pub fn at_once(self) -> usize {
        self.0.policy.at_once
    }

    /// Number of page chunks with a permutation under way.
    #[cfg(test)]
    pub(crate) fn under_way(self) -> usize {
        self.0.under_way.borrow().page_chunks()
    }

    /// Gives all permutations under way the priority of other requests.
    pub fn hurry(self) {
        self.0.under_way.borrow().raise_all();
    }
}
