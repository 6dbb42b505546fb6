//! The ledger of a timed run in which power may fail: it notes each pad, although the tag of the line has a mask.

use crate::common::{DATA_LINES, Machine};
use crypto::Nonce;
use protection::execution::{Functional, Receiver, Timed, Untimed, run_now};
use protection::ledger::Reuse;
use protection::planted::{Bug, PlantedBug};
use protection::verbs::{ExitVerbs, Fault, Keystream, MemoryVerbs, Plaintext, Role, Slot};
use std::future::Future;
use std::rc::Rc;
use std::{cell::Cell, iter};
use units::{Duration, Line, LineAddr, ZERO_LINE};

/// Bug that is caught here.
pub const BUGS: [Bug; 1] = [Bug::MaskReplacesPad];

const DESIGNS: [&str; 3] = ["plp-sp", "plp-coalesced", "secure-eadr"];
const LINES: u64 = 8;

struct Core;

impl Receiver for Core {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        panic!("tampering without an attacker: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// Returns a machine whose power may fail.
fn machine(design: &str, planted: PlantedBug) -> Machine<Core> {
    let machine = Machine::new(&catalogue::design(design).unwrap().parts, 1, Core);
    let memory = Rc::into_inner(machine.memory).unwrap().with_planted(planted);
    memory.expect_power_loss();
    Machine { memory: Rc::new(memory), ..machine }
}

/// Runs one task to its end.
fn run(machine: &mut Machine<Core>, task: impl Future<Output = ()> + 'static) {
    let done = Rc::new(Cell::new(false));
    let ended = done.clone();
    machine.executor.clock().spawn(async move {
        task.await;
        ended.set(true);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || done.get()));
}

/// Lines and texts of a program that writes each line three times.
fn writes() -> impl Iterator<Item = (LineAddr, Line)> {
    (1..4_u8).flat_map(|text| iter::repeat(text).zip(0..LINES)).map(|(text, line)| (LineAddr(line), [text; 64]))
}

/// Numbers of pads in the ledger after the writes: of a timed run, and of an untimed one.
fn pads(design: &str, planted: PlantedBug) -> (usize, usize) {
    let mut machine = machine(design, planted);
    let (memory, scheme) = (machine.memory.clone(), machine.scheme.clone());
    run(&mut machine, async move {
        let verbs = Timed::new(&memory);
        for (line, text) in writes() {
            scheme.write(&verbs, line, &text).await;
        }
    });
    let scheme = catalogue::design(design).unwrap().parts.build(DATA_LINES, 1).unwrap();
    let untimed = Functional::new(scheme.layout().total_lines());
    writes().for_each(|(line, text)| run_now(scheme.write(&untimed.verbs(), line, &text)));
    (machine.memory.ledger().unwrap().pads(), untimed.ledger().pads())
}

#[test]
fn the_ledger_of_a_timed_run_has_as_many_pads_as_that_of_an_untimed_run() {
    for design in DESIGNS {
        let (timed, untimed) = pads(design, PlantedBug::NONE);
        assert_eq!(timed, untimed, "{design}");
        assert!(timed >= 3 * LINES as usize, "{design}: {timed}");
        let (timed, _) = pads(design, PlantedBug::new(BUGS[0]));
        assert_eq!(timed, 0, "{design}: the masks replace the pads");
    }
}

/// Keystream that was used twice, after two lines under one pad and under two masks were written to one slot.
fn reused(planted: PlantedBug) -> Option<Reuse> {
    let mut machine = machine("secure-eadr", planted);
    let memory = machine.memory.clone();
    run(&mut machine, async move {
        let verbs = Timed::new(&memory);
        for text in [[1; 64], [2; 64]] {
            verbs.spend(Slot(3), || Some(Keystream::Pad(Nonce::new(3, 1), text)));
            let masks = iter::once((Nonce::new(3, u128::from(text[0])), text)).collect();
            verbs.spend(Slot(3), || Some(Keystream::Masks(masks)));
            verbs.store(Slot(3), Role::Data, text.into()).await;
        }
    });
    machine.memory.keystream_reuse()
}

#[test]
fn a_pad_that_hides_two_texts_is_reported_in_a_timed_run_with_fresh_masks() {
    assert_eq!(reused(PlantedBug::NONE), Some(Reuse::Pad(Nonce::new(3, 1))));
    assert_eq!(reused(PlantedBug::new(BUGS[0])), None);
}
