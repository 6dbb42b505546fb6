//! Verdicts of losses of power on programs written by hand, with stores past the caches and changes by the kernel. Bugs
//! are planted in the machine, and the verdict must find each for its own reason.

use crate::common::machine_for;
use crate::common::swept::side_by_side;
use crate::programs_by_hand::{ByHand, Op, addr, filled};
use casemate_runner::power_loss::{At, LossOptions, LossOutcome, count_events, lose_power};
use casemate_runner::{RunControl, RunError, RunOptions};
use units::Bytes;
use workload::Persistent;

/// Designs with each way to make stores durable.
const DESIGNS: [&str; 9] = [
    "bbb",
    "secpb-cobcm",
    "secpb-cm",
    "secpb-nogap",
    "eadr",
    "secure-eadr",
    "plp-sp",
    "plp-pipelined",
    "plp-coalesced",
];

/// Ordinary stores to a few lines in turn.
fn ordinary() -> Vec<Op> {
    (0..40).flat_map(|store| [Op::Store(addr(store % 5 * 3), store + 1), Op::Work]).collect()
}

/// Whole and partial lines past the caches, between ordinary stores to the same and other lines, with flushes and
/// fences.
fn past_caches() -> Vec<Op> {
    let mut ops = Vec::new();
    for line in 0..40 {
        let at = addr(line * 7 % 64);
        let words = if line % 3 == 2 { 5 } else { 8 };
        ops.extend((0..words).map(|word| Op::StorePastCaches(at + 8 * word, line * 100 + word + 1)));
        if line % 4 == 1 {
            ops.push(Op::Store(at + 16, line + 7));
        }
        if line % 5 == 4 {
            ops.extend([Op::Flush(at), Op::Fence, Op::Store(addr(100 + line % 3), line)]);
        }
    }
    ops
}

/// Lines that the program only loads, and that the kernel changes again and again. `shows` passes the content of a line
/// to the program.
fn changed(shows: fn(u64, units::Line) -> Op) -> Vec<Op> {
    let mut ops = Vec::new();
    for line in 0..12 {
        ops.extend([shows(addr(line), filled(line + 1)), Op::Load(addr(line))]);
    }
    ops.extend([shows(addr(50), filled(1)), shows(addr(55), filled(1)), shows(addr(60), filled(1))]);
    ops.extend([Op::Work; 600]);
    for round in 1..6 {
        for line in (0..12).filter(|line| (line + round) % 3 == 0) {
            let at = addr(line);
            ops.extend([shows(at, filled(round * 1000 + line)), Op::Load(at), Op::Flush(at), Op::Fence]);
        }
        ops.extend([50, 55, 60].map(|line| Op::Store(addr(line), round)));
        ops.extend([Op::Work; 300]);
    }
    ops
}

/// Stores to lines that the kernel changes soon afterwards, behind stores to other lines.
fn stored_and_changed() -> Vec<Op> {
    let mut ops: Vec<Op> = (0..10).map(|line| Op::Shows(addr(line), filled(1000 + line))).collect();
    for round in 0..60 {
        let line = round % 10;
        ops.push(Op::Store(addr(line), round + 1));
        ops.extend([Op::Work; 40]);
        ops.extend((0..4).map(|store| Op::Store(addr(20 + store * 16 + line), round + 1)));
        ops.push(Op::Shows(addr(line), filled(round)));
    }
    ops
}

/// A program, and the part of its memory that is durable.
#[derive(Clone)]
struct Program {
    ops: Vec<Op>,
    persistent: Persistent,
}

impl Program {
    fn of(ops: Vec<Op>) -> Program {
        Program { ops, persistent: Persistent::All }
    }

    /// Cuts the power at `times` events, spread over a run of the program.
    fn cuts(&self, design: &str, times: u64, loss: LossOptions) -> Vec<LossOutcome> {
        let options = options(design);
        let source = || vec![ByHand::of(&self.ops, self.persistent)];
        let events = count_events(&options, source(), |_| RunControl::GoOn).unwrap();
        let cut = |time| {
            let loss = LossOptions { at: At::Events(events * time / times), ..loss };
            match lose_power(&options, source(), loss, |_| RunControl::GoOn) {
                // The loss precedes the first store to the durable part of memory.
                Err(RunError::NothingPersistentYet { .. }) => None,
                outcome => Some(outcome.unwrap()),
            }
        };
        (1..=times).filter_map(cut).collect()
    }

    /// Cuts the power under every design; the verdict must find no mismatch.
    fn loses_nothing(&self, designs: &[&'static str], times: u64) {
        side_by_side(designs.to_vec(), |design| {
            for loss in self.cuts(design, times, LossOptions::new(At::Events(0))) {
                assert!(loss.passed(), "{design}: {loss:?}");
            }
        });
    }
}

/// A machine with 64 MB of memory and small caches.
fn options(design: &str) -> RunOptions {
    let mut machine = machine_for(design);
    machine.memory.size = Bytes(64 << 20);
    (machine.node.l1d.size, machine.node.l1d.ways) = (Bytes(4 << 10), 4);
    (machine.node.l2.size, machine.node.l2.ways) = (Bytes(16 << 10), 4);
    (machine.llc.size, machine.llc.ways) = (Bytes(64 << 10), 4);
    RunOptions { ledger: true, ..RunOptions::new(machine, catalogue::design(design).unwrap(), 100_000) }
}

#[test]
fn ordinary_stores_of_a_program_by_hand_survive_every_loss_of_power() {
    Program::of(ordinary()).loses_nothing(&DESIGNS, 20);
}

/// A line may leave past the caches before its stores have left the store queue. The battery, or the flush of the line,
/// must then write the line once more.
#[test]
fn stores_past_the_caches_survive_every_loss_of_power() {
    Program::of(past_caches()).loses_nothing(&DESIGNS, 60);
}

#[test]
fn memory_has_the_changes_by_the_kernel_to_lines_that_no_program_stored_to() {
    Program::of(changed(Op::Shows)).loses_nothing(&DESIGNS, 30);
    let persistent = Persistent::Mapped;
    let mapped = Program { ops: changed(Op::ShowsMapped), persistent };
    mapped.loses_nothing(&["bbb", "secpb-cobcm", "plp-sp", "plp-pipelined"], 30);
}

/// The caches drop such a line before the clock reaches the change: its stores must survive until then.
#[test]
fn stores_to_a_line_survive_until_a_later_change_by_the_kernel() {
    Program::of(stored_and_changed()).loses_nothing(&DESIGNS, 60);
}

/// The verdict compares the content of a line with its stores under way, one after the other. If the verdict began anew
/// with each number of stores, this test would take minutes.
#[test]
fn a_verdict_about_a_line_with_many_stores_under_way_applies_each_store_once() {
    let stores = (0..60_000).map(|store| Op::Store(addr(store % 2), store + 1)).collect();
    for loss in Program::of(stores).cuts("plp-coalesced", 2, LossOptions::new(At::Events(0))) {
        assert!(loss.passed(), "{loss:?}");
        assert!(loss.stores.accepted > 20_000, "{:?}", loss.stores);
    }
}

#[test]
fn an_early_loss_of_power_is_named_as_the_reason_why_nothing_is_persistent() {
    let program = Program { ops: changed(Op::ShowsMapped), persistent: Persistent::Heap };
    let cut = |at| {
        let source = vec![ByHand::of(&program.ops, program.persistent)];
        lose_power(&options("secpb-cobcm"), source, LossOptions::new(at), |_| RunControl::GoOn).unwrap_err()
    };
    let early = cut(At::Instructions(10)).to_string();
    assert!(early.contains("power failed after") && early.contains("before it stored to its heap"), "{early}");
    assert!(early.contains("expected a later --power-loss"), "{early}");
    let ended = cut(At::Instructions(u64::MAX)).to_string();
    assert!(ended.contains("a higher --limit") && !ended.contains("power failed"), "{ended}");
}

#[cfg(feature = "planted-bugs")]
mod planted {
    use super::*;
    use casemate_runner::power_loss::Wrong;
    use protection::planted::{ChipBug, PlantedBug};

    fn wrong(design: &str, program: &Program, times: u64, bug: ChipBug) -> Vec<Wrong> {
        let loss = LossOptions { planted: PlantedBug::new(bug.into()), ..LossOptions::new(At::Events(0)) };
        let losses = program.cuts(design, times, loss);
        losses.into_iter().flat_map(|loss| loss.mismatches).map(|mismatch| mismatch.wrong).collect()
    }

    fn are_bytes(wrong: &[Wrong]) -> bool {
        !wrong.is_empty() && wrong.iter().all(|wrong| matches!(wrong, Wrong::Byte { .. }))
    }

    #[test]
    fn a_store_that_a_buffer_accepts_before_an_earlier_one_is_reported() {
        let found = wrong("secpb-cobcm", &Program::of(ordinary()), 20, ChipBug::StoresSwapped);
        assert!(found.contains(&Wrong::AcceptedEarly), "{found:?}");
        assert!(found.contains(&Wrong::NeverAccepted), "the last store waits for ever: {found:?}");
    }

    #[test]
    fn a_store_that_the_chip_drops_behind_a_core_that_continues_is_reported() {
        for design in ["eadr", "secure-eadr", "bbb"] {
            let found = wrong(design, &Program::of(past_caches()), 200, ChipBug::QueuedStoresDropped);
            let is_left_out = |wrong: &Wrong| *wrong == Wrong::NeverAccepted;
            assert!(!found.is_empty() && found.iter().all(is_left_out), "{design}: {found:?}");
        }
    }

    #[test]
    fn a_line_that_leaves_past_the_caches_and_is_dropped_at_the_loss_is_missed() {
        let found = wrong("eadr", &Program::of(past_caches()), 100, ChipBug::PastCachesDropped);
        assert!(are_bytes(&found), "{found:?}");
        // The root counts the missing line.
        let found = wrong("secure-eadr", &Program::of(past_caches()), 100, ChipBug::PastCachesDropped);
        assert!(!found.is_empty(), "secure-eadr");
    }

    #[test]
    fn a_change_by_the_kernel_that_memory_lacks_is_missed() {
        for design in DESIGNS {
            let found = wrong(design, &Program::of(changed(Op::Shows)), 10, ChipBug::KernelChangesNotWritten);
            assert!(are_bytes(&found), "{design}: {found:?}");
        }
        for design in ["bbb", "secpb-cobcm", "plp-sp", "plp-pipelined"] {
            let mapped = Program { ops: changed(Op::ShowsMapped), persistent: Persistent::Mapped };
            let found = wrong(design, &mapped, 10, ChipBug::KernelChangesNotWritten);
            assert!(are_bytes(&found), "{design}, mapped: {found:?}");
        }
    }

    #[test]
    fn a_store_to_a_line_that_is_dropped_for_a_later_change_is_missed() {
        for design in ["eadr", "secure-eadr"] {
            let found = wrong(design, &Program::of(stored_and_changed()), 600, ChipBug::DroppedLinesForgotten);
            assert!(are_bytes(&found), "{design}: {found:?}");
        }
    }

    #[test]
    fn an_account_without_the_changes_by_the_kernel_contradicts_memory() {
        for design in DESIGNS {
            let found = wrong(design, &Program::of(changed(Op::Shows)), 10, ChipBug::KernelChangesNotNoted);
            assert!(are_bytes(&found), "{design}: {found:?}");
        }
    }
}
