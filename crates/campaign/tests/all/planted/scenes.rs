//! Bugs that no campaign finds: each has a separate scene.

use catalogue::design;
use protection::execution::{Functional, Untimed, run_now};
use protection::planted::{Bug, PlantedBug};
use protection::scheme::{ObservedState, Observers, PersistBufferHandle, Scheme};
use protection::verbs::{Fault, Slot};
use units::{Line, LineAddr};

/// Bugs that are caught here.
pub const BUGS: [Bug; 4] =
    [Bug::HaltedIsConsistent, Bug::ExhaustedLineDropped, Bug::RefusedLinesLearned, Bug::GroupedRenewalUnspent];

const LINES: u64 = 1 << 10;
/// One more than the number of versions of a 7-bit counter.
const OVERFLOWS: u8 = 129;

struct Machine {
    scheme: Scheme,
    memory: Functional,
}

impl Machine {
    fn of(name: &str, planted: PlantedBug) -> Machine {
        let scheme = design(name).unwrap().parts.build_with(LINES, 1, planted).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        Machine { scheme, memory }
    }

    fn write(&self, line: u64, content: Line) {
        run_now(self.scheme.write(&self.memory.verbs(), LineAddr(line), &content));
    }

    fn read(&self, line: u64) -> Result<Line, Fault> {
        run_now(self.scheme.read(&self.memory.verbs(), LineAddr(line)));
        let released = self.memory.take_released().map(|(_, plaintext)| plaintext.bytes);
        self.memory.take_fault().map_or_else(|| Ok(released.unwrap()), Err)
    }
}

/// Runs a scene without its bug and with it.
fn with_and_without<T>(bug: Bug, scene: impl Fn(PlantedBug) -> T) -> [T; 2] {
    [scene(PlantedBug::NONE), scene(PlantedBug::new(bug))]
}

/// A garbled line halts the chip in the middle of a renewal, while a line of another group is in the buffer.
#[test]
fn observers_of_a_chip_halted_by_a_fault_are_warned_of_undrained_entries() {
    let sight = |planted| {
        let machine = Machine::of("secpb-cobcm", planted);
        machine.write(4, [4; 64]);
        (0..OVERFLOWS - 2).for_each(|content| machine.write(5, [content; 64]));
        machine.memory.media.borrow_mut().write(Slot(4), &[7; 64]);
        let buffer = PersistBufferHandle::of(&machine.scheme);
        run_now(buffer.accept(&machine.memory.verbs(), LineAddr(900), &[9; 64]));
        machine.write(5, [200; 64]);
        assert!(machine.scheme.fixed().unwrap().on_chip(|chip| chip.power.halted), "the scene is not set");
        run_now(buffer.admit(&machine.memory.verbs(), Observers::Blocked))
    };
    assert_eq!(
        with_and_without(Bug::HaltedIsConsistent, sight),
        [ObservedState::Behind { entries: 1 }, ObservedState::Consistent]
    );
}

/// The versions in the root are exhausted, so that no node below it can leave the chip.
#[test]
fn a_dirty_line_is_kept_if_exhausted_versions_prevent_its_write_back() {
    let read = |planted| {
        let machine = Machine::of("mono-tree", planted);
        machine.write(5, [1; 64]);
        machine.write(5, [2; 64]);
        machine.scheme.fixed().unwrap().on_chip(|chip| chip.root.iter_mut().for_each(|line| *line = [0xff; 64]));
        run_now(machine.scheme.flush(&machine.memory.verbs()));
        assert!(matches!(machine.memory.take_fault(), Some(Fault::Exhausted(_))), "the scene is not set");
        machine.read(5)
    };
    let [kept, dropped] = with_and_without(Bug::ExhaustedLineDropped, read);
    assert_eq!(kept, Ok([2; 64]));
    assert!(dropped.is_err(), "{dropped:?}");
}

/// An attacker garbles a line again and again. The results of speculation on other lines must not depend on that.
#[test]
fn lines_that_fail_verification_do_not_change_speculation_on_frequent_values() {
    let resolved = |planted| {
        let after = |garbles: bool| {
            let machine = Machine::of("fvs-aes", planted);
            let frequent: Line = std::array::from_fn(|byte| (byte % 8) as u8 / 4 * 3);
            (0..40).for_each(|line| machine.write(line, frequent));
            for _ in 0..if garbles { 200 } else { 0 } {
                machine.memory.media.borrow_mut().write(Slot(900), &[0x5a; 64]);
                assert!(machine.read(900).is_err());
            }
            let before = machine.scheme.counted().speculation;
            (0..40).for_each(|line| assert_eq!(machine.read(line), Ok(frequent)));
            format!("{:?}", machine.scheme.counted().speculation - before)
        };
        after(false) == after(true)
    };
    assert_eq!(with_and_without(Bug::RefusedLinesLearned, resolved), [true, false]);
}

/// Eight lines of two tags are in memory when the counter of one overflows.
#[test]
fn the_ledger_records_all_pads_of_a_renewal_under_a_tag_over_several_lines() {
    let spent = |planted| {
        let machine = Machine::of("sc64-bmt-mac4", planted);
        (0..8).for_each(|line| machine.write(line, [line as u8; 64]));
        loop {
            let before = machine.memory.ledger().pads();
            machine.write(0, [9; 64]);
            if machine.scheme.counted().renewals.groups > 0 {
                return machine.memory.ledger().pads() - before;
            }
        }
    };
    let [all, few] = with_and_without(Bug::GroupedRenewalUnspent, spent);
    assert_eq!((all, few), (9, 1), "seven others, the line as its group moves on, and as it is written");
}
