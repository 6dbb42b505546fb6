//! Levels below the cores of the tests: only memory, or an inclusive last-level cache before encrypted memory.
//!
//! The model tracks both the marks of the last-level cache and its real content, so the tests detect an answer that
//! contains ciphertext. The test program decides whether an L2 or the controller verifies a line.

use super::*;
use crate::cache::Replacement;
use crate::llc::{Displaced, Inclusion, Llc};
use std::collections::BTreeSet;

/// A last-level cache with fewer lines than the test uses.
pub(super) struct LastLevel {
    tags: Llc,
    /// Lines that the cache holds as ciphertext, with or without the mark `unverified`.
    encrypted: BTreeSet<LineAddr>,
}

impl LastLevel {
    pub(super) fn new() -> LastLevel {
        LastLevel { tags: Llc::new(2, 4, Replacement::Lru, Inclusion::Inclusive), encrypted: BTreeSet::new() }
    }

    /// Returns true if the cache answers a request that no core supplies, and false if memory must answer it.
    fn answers(&mut self, line: LineAddr) -> Result<bool, String> {
        if self.tags.is_unverified(line) {
            return Err(format!("{line} is below as ciphertext, and no L2 has it"));
        }
        match self.tags.look_up(line) {
            true if self.encrypted.contains(&line) => Err(format!("{line} was answered with ciphertext")),
            found => Ok(found),
        }
    }

    /// Enters a line into the cache, decrypted or encrypted; returns the line that it displaces.
    fn enter(
        &mut self,
        line: LineAddr,
        encrypted: bool,
        change: impl FnOnce(&mut Llc) -> Option<Displaced>,
    ) -> Option<LineAddr> {
        self.encrypted.remove(&line);
        self.encrypted.extend(encrypted.then_some(line));
        let displaced = change(&mut self.tags)?.line;
        self.encrypted.remove(&displaced);
        Some(displaced)
    }
}

impl Harness {
    /// Returns the same cores over a last-level cache.
    pub(super) fn over_last_level(mut self) -> Harness {
        self.last_level = Some(LastLevel::new());
        self
    }

    /// Returns true if memory answers a claimed request, and false if the chip answers it.
    pub(super) fn comes_from_memory(&mut self, line: LineAddr, supplier: LineSupplier) -> Result<bool, String> {
        let Some(below) = &mut self.last_level else { return Ok(false) };
        match supplier {
            LineSupplier::Itself => Ok(false),
            LineSupplier::Below => Ok(!below.answers(line)?),
            LineSupplier::Core { core, dirty } => {
                if self.planted == Planted::CleanVictimRemembered {
                    self.domain.nodes()[core].borrow_mut().caches_mut().l2.clean_victims.owe(line);
                }
                self.comes_down(line, dirty);
                Ok(false)
            }
        }
    }

    /// Takes a decrypted line that a core writes back.
    pub(super) fn comes_down(&mut self, line: LineAddr, dirty: bool) {
        let Some(below) = &mut self.last_level else { return };
        if self.planted == Planted::MarkKept && !dirty {
            return;
        }
        let displaced = below.enter(line, false, |tags| tags.taken_back(line, dirty));
        self.leaves(displaced);
    }

    /// Takes a clean line that a core evicts. Only the core with the sole decrypted copy may send it.
    pub(super) fn comes_down_clean(&mut self, line: LineAddr) -> Verdict {
        if self.last_level.as_ref().is_some_and(|below| !below.tags.is_unverified(line)) {
            return Err(format!("{line} came down clean, and nobody waited for it"));
        }
        self.comes_down(line, false);
        Ok(())
    }

    /// Handles a line on its way to a core: from memory, to be verified by the core's L2 or not, or from the chip.
    pub(super) fn comes_by(&mut self, core: usize, line: LineAddr, from_memory: bool, in_l2: bool) {
        let Some(below) = &mut self.last_level else { return };
        if !from_memory && self.planted == Planted::MarkKept {
            return;
        }
        if !from_memory || !in_l2 {
            let displaced = below.enter(line, false, |tags| tags.fetched(line));
            return self.leaves(displaced);
        }
        let marked = self.planted != Planted::MarkForgotten;
        let come_by = |tags: &mut Llc| if marked { tags.fetched_unverified(line) } else { tags.fetched(line) };
        let displaced = below.enter(line, true, come_by);
        let owes = below.tags.is_unverified(line);
        self.leaves(displaced);
        if owes && self.planted != Planted::CleanVictimForgotten {
            self.domain.nodes()[core].borrow_mut().caches_mut().l2.clean_victims.owe(line);
        }
    }

    /// Drops a line from the last-level cache.
    pub(super) fn is_dropped(&mut self, line: LineAddr) {
        let Some(below) = &mut self.last_level else { return };
        below.encrypted.remove(&line);
        below.tags.invalidate(line);
    }

    /// Recalls the displaced line from all cores.
    fn leaves(&mut self, displaced: Option<LineAddr>) {
        if let Some(line) = displaced {
            self.recalled(line);
        }
    }
}

fn run_over_last_level(cores: usize, short_lines: bool, planted: Planted, actions: &[Action]) -> Verdict {
    Harness::new(cores, short_lines, planted).over_last_level().run(actions)
}

proptest! {
    #[test]
    fn two_cores_whose_l2s_verify_lines_read_as_a_flat_memory(actions in some_actions(2)) {
        prop_assert_eq!(run_over_last_level(2, false, Planted::Nothing, &actions), Ok(()));
    }

    #[test]
    fn four_cores_whose_l2s_verify_lines_read_as_a_flat_memory(actions in some_actions(4)) {
        prop_assert_eq!(run_over_last_level(4, false, Planted::Nothing, &actions), Ok(()));
    }

    #[test]
    fn one_core_whose_l2_verifies_lines_reads_as_a_flat_memory(actions in some_actions(1)) {
        prop_assert_eq!(run_over_last_level(1, false, Planted::Nothing, &actions), Ok(()));
    }

    #[test]
    fn cores_with_32_byte_l1d_lines_whose_l2s_verify_lines_read_as_a_flat_memory(actions in some_actions(2)) {
        prop_assert_eq!(run_over_last_level(2, true, Planted::Nothing, &actions), Ok(()));
    }
}

/// Returns the failure of random programs of `cores` cores with a planted bug, if they find it.
fn found(cores: usize, planted: Planted) -> Option<String> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let verdict =
        |actions: Vec<Action>| run_over_last_level(cores, false, planted, &actions).map_err(TestCaseError::fail);
    runner.run(&some_actions(cores), verdict).err().map(|failure| failure.to_string())
}

#[test]
fn the_coherence_test_finds_a_skipped_write_back_of_the_only_decrypted_copy() {
    for cores in [1, 2] {
        let why = found(cores, Planted::CleanVictimForgotten).unwrap();
        assert!(why.contains("as ciphertext, and no L2 has it"), "{cores} cores: {why}");
    }
}

#[test]
fn the_coherence_test_finds_a_needless_write_back_of_a_clean_copy() {
    assert!(found(2, Planted::CleanVictimRemembered).unwrap().contains("nobody waited for it"));
}

#[test]
fn the_coherence_test_finds_an_llc_ciphertext_line_not_marked_as_unverified() {
    assert!(found(2, Planted::MarkForgotten).unwrap().contains("answered with ciphertext"));
}

#[test]
fn the_coherence_test_finds_an_unverified_mark_kept_after_the_l2_copy_is_gone() {
    assert!(found(2, Planted::MarkKept).unwrap().contains("as ciphertext, and no L2 has it"));
}
