//! The test of the tests: the check of the promise that a planted bug breaks finds the bug, for that reason. The check of
//! another promise does not find it.

use crate::checks::{Broken, CHECKS};
use context::planted::{Bug, PlantedContextBug};

/// Runs a check on a unit with a bug.
fn run(name: &str, bug: Bug) -> Result<(), Broken> {
    let (_, check) = CHECKS.iter().find(|(check, _)| *check == name).expect("the check exists");
    check(PlantedContextBug::new(bug))
}

/// A test for each bug, and the list of the bugs that have one.
macro_rules! found {
    ($($test:ident: $bug:ident by $check:literal, as $reason:literal, past $other:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let broken = run($check, Bug::$bug).expect_err("the check does not find its bug");
                assert!(broken.0.contains($reason), "{broken:?}");
                assert!(run($other, Bug::$bug).is_ok());
            }
        )*

        const FOUND: &[(Bug, &str)] = &[$((Bug::$bug, $check)),*];
    };
}

found! {
    a_register_that_stays_is_found: RegisterNotBlanked
        by "hidden registers are blanked", as "r12 with", past "visibility ends with its interrupt";
    a_visible_set_that_stays_is_found: VisibleKept
        by "visibility ends with its interrupt", as "rax was visible", past "hidden registers are blanked";
    a_system_call_without_result_is_found: VisibleNotTaken
        by "visible registers take the system's values", as "did not take", past "hidden registers are blanked";
    a_jump_by_the_system_is_found: RipFromSystem
        by "hidden registers ignore the system's values", as "rip) took", past "visibility ends with its interrupt";
    a_signal_that_loses_rip_is_found: SignalLosesRip
        by "a process returns from a signal", as "did not continue", past "a second signal waits";
    a_signal_in_a_signal_is_found: SignalNests
        by "a second signal waits", as "SignalPending", past "a process returns from a signal";
    a_root_that_stays_behind_is_found: RootNotExported
        by "a root leaves and returns", as "came back otherwise", past "a context comes back once";
    a_root_that_is_not_changed_is_found: ForcedRootLost
        by "a forced permutation changes a root in a buffer", as "old root", past "a root leaves and returns";
    an_export_with_locked_lines_is_found: LockedLinesIgnored
        by "locked lines keep a context", as "LockedLines", past "an exported context leaves its buffer";
    a_context_in_its_buffer_and_outside_is_found: BufferKept
        by "an exported context leaves its buffer", as "BufferEmpty", past "locked lines keep a context";
    an_unchecked_number_is_found: NumberUnchecked
        by "a forgotten context stays outside", as "NotOutside", past "a number is never used again";
    a_context_that_comes_back_twice_is_found: AcceptedTwice
        by "a context comes back once", as "NotOutside", past "a forgotten context stays outside";
    an_import_of_anothers_number_is_found: OtherNumberTaken
        by "an import takes its own number", as "another number", past "a context comes back once";
    a_table_that_forgets_is_found: TableForgets
        by "a full table keeps its numbers", as "TableFull", past "a context comes back once";
    a_number_given_twice_is_found: NumberReused
        by "a number is never used again", as "given twice", past "a forgotten context stays outside";
    a_key_that_survives_a_reset_is_found: KeySurvivesReset
        by "a reset ends every context outside", as "NotAuthentic", past "a context comes back once";
    an_import_into_the_last_buffer_is_found: ReservedBufferFilled
        by "an interrupt always finds a buffer", as "NoFreeBuffer", past "a full table keeps its numbers";
    a_process_number_given_twice_is_found: ProcessNumberReused
        by "process numbers differ", as "one number", past "a root leaves and returns";
}

#[test]
fn every_planted_context_bug_has_a_test_with_a_different_check() {
    let bugs: Vec<Bug> = FOUND.iter().map(|(bug, _)| *bug).collect();
    assert_eq!(bugs, Bug::ALL);
    let checks: std::collections::HashSet<&str> = FOUND.iter().map(|(_, check)| *check).collect();
    assert_eq!(checks.len(), CHECKS.len());
    assert_eq!(checks.len(), Bug::ALL.len());
}
