//! Bugs that occur only with some places of tags and some locations of caches.

use crate::common::{DATA_LINES, Machine};
use casemate_campaign::bus::Structure;
use casemate_campaign::victim::Victim;
use casemate_campaign::{Finding, Options, attack, honest};
use catalogue::{Attack, Verdict};
use protection::execution::{Everything, Explained, Receiver, Timed};
use protection::planted::{Bug, PlantedBug};
use protection::verbs::{Fault, Plaintext};
use sim::span::Verb;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Time};

/// Bugs that are caught here.
pub const BUGS: [Bug; 4] =
    [Bug::OthersUnchecked, Bug::DisplacedCountersDropped, Bug::VerdictsNotAwaited, Bug::CopiesOutliveWrites];

/// Flips a line, then writes another line under the same tag, so that both get a new tag. Returns the verdict on the first
/// line.
fn tampered_during_a_write(planted: PlantedBug) -> Verdict {
    const BIT: usize = 99;
    let design = catalogue::design("sc64-bmt-mac4").unwrap();
    let mut victim = Victim::blank(&design.parts, 1, planted).unwrap();
    let (target, neighbour) = (LineAddr(4), LineAddr(6));
    victim.write(target, &[1; 64]);
    victim.machine().flush();
    victim.attacked(|bus| bus.flip_bit_of(Structure::Data, target, BIT));
    victim.write(neighbour, &[2; 64]);
    let oracle = victim.oracle();
    let wished = oracle.wished_bytes(target, casemate_campaign::oracle::Wish::Flipped(BIT));
    oracle.judge(target, &victim.read(target).0, wished)
}

#[test]
fn a_write_that_skips_checking_a_grouped_neighbour_gives_its_forgery_a_valid_tag() {
    let planted = PlantedBug::new(Bug::OthersUnchecked);
    assert_eq!(tampered_during_a_write(PlantedBug::NONE), Verdict::Detected);
    assert_eq!(tampered_during_a_write(planted), Verdict::Forged);
    let design = catalogue::design("sc64-bmt-mac4").unwrap();
    let flips = attack(&design, Attack::FlipData, &Options { trials: 60, seed: 1, planted });
    assert_eq!(flips.worst, Verdict::Detected, "but without a write it is found out");
    assert_eq!(honest(&design.parts, 2_000, 1, planted).unwrap().finding, None);
}

#[test]
fn dirty_counters_dropped_by_the_last_level_cache_cause_pad_reuse() {
    let planted = PlantedBug::new(Bug::DisplacedCountersDropped);
    let parts = catalogue::design("sc64-bmt-llc").unwrap().parts;
    assert_eq!(honest(&parts, 2_000, 1, PlantedBug::NONE).unwrap().finding, None);
    assert_eq!(honest(&parts, 2_000, 1, planted).unwrap().finding, Some(Finding::PadReuse));
    let elsewhere = catalogue::design("sc64-bmt").unwrap().parts;
    assert_eq!(honest(&elsewhere, 2_000, 1, planted).unwrap().finding, None, "others have nothing to forget");
}

#[test]
fn an_l2_copy_of_counters_that_outlives_a_write_admits_stale_data() {
    let planted = PlantedBug::new(Bug::CopiesOutliveWrites);
    let emcc = catalogue::design("emcc").unwrap();
    let replayed = |planted| attack(&emcc, Attack::StaleCopy, &Options { trials: 60, seed: 1, planted }).worst;
    assert_eq!((replayed(PlantedBug::NONE), replayed(planted)), (Verdict::Detected.into(), Verdict::Stale.into()));
    assert_eq!(honest(&emcc.parts, 2_000, 1, PlantedBug::NONE).unwrap().finding, None);
    let alarm = honest(&emcc.parts, 2_000, 1, planted).unwrap().finding;
    assert_eq!(alarm, Some(Finding::FalseAlarmOfTag), "without an attacker, what is new does not fit the copy");
    let elsewhere = catalogue::design("morphable-llc").unwrap();
    assert_eq!(honest(&elsewhere.parts, 2_000, 1, planted).unwrap().finding, None, "others have no copies");
}

#[test]
fn an_l2_whose_tags_omit_the_address_accepts_crossed_replies() {
    let planted = PlantedBug::new(Bug::TagWithoutAddress);
    let emcc = catalogue::design("emcc").unwrap();
    let crossed = |planted| attack(&emcc, Attack::CrossedReplies, &Options { trials: 200, seed: 1, planted }).worst;
    assert_eq!(crossed(PlantedBug::NONE), Verdict::Detected);
    assert!(!crossed(planted).is_stopped(), "{}", crossed(planted));
}

/// A core that waits for a line.
#[derive(Default)]
struct Core {
    has_it: Cell<bool>,
    faults: RefCell<Vec<Fault>>,
}

impl Receiver for Core {
    fn released(&self, _: LineAddr, _: &Plaintext) {
        self.has_it.set(true);
    }

    fn fault(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        [7; 64]
    }
}

/// Results of a read that was released before its verdict, and of a write that arrived before the verdict.
struct ReadAndWrite {
    /// Time of the line's verdict.
    verdict: Time,
    /// Time at which the write began to encrypt, if it did.
    write: Option<Time>,
    /// Faults of the run.
    faults: Vec<Fault>,
}

/// Reads a line without metadata on the chip, tampered with if `forged`. When the core receives the line, it immediately
/// writes another line with all its metadata on the chip.
fn verdict_and_write(planted: PlantedBug, forged: bool) -> ReadAndWrite {
    let parts = catalogue::design("sc64-bmt-speculative").unwrap().parts;
    let mut machine = Machine::new(&parts, 1, Core::default());
    machine.scheme = Rc::new(parts.build_with(DATA_LINES, 1, planted).unwrap());
    let (read, written) = (LineAddr(DATA_LINES - 1), LineAddr(5));
    let done = Rc::new(Cell::new(0));
    let (reader, reads) = Explained::recording(Timed::new(&machine.memory));
    let (writer, writes) = Explained::recording(Timed::new(&machine.memory));
    let (scheme, finished) = (machine.scheme.clone(), done.clone());
    let memory_of_reader = machine.memory.clone();
    machine.executor.clock().spawn(async move {
        scheme.write(&Timed::new(&memory_of_reader), written, &[1; 64]).await;
        if forged {
            memory_of_reader.media().borrow_mut().write(scheme.layout().data_slot(read).slot(), &[3; 64]);
        }
        scheme.read(&reader, read).await;
        finished.set(finished.get() + 1);
    });
    let (scheme, finished) = (machine.scheme.clone(), done.clone());
    let (core, clock) = (machine.core.clone(), machine.executor.clock().clone());
    machine.executor.clock().spawn(async move {
        while !core.has_it.get() {
            clock.sleep(Duration::from_ns(1)).await;
        }
        scheme.write(&writer, written, &[2; 64]).await;
        finished.set(finished.get() + 1);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || done.get() == 2));
    let when = |records: &Everything, verb| Some(records.take_spans().iter().find(|span| span.verb == verb)?.start);
    let faults = machine.core.faults.take();
    ReadAndWrite { verdict: when(&reads, Verb::Settle).unwrap(), write: when(&writes, Verb::Pad), faults }
}

#[test]
fn a_write_that_awaits_the_verdict_of_a_speculative_read_is_discarded_if_it_fails() {
    let honest = verdict_and_write(PlantedBug::NONE, false);
    assert_eq!((honest.write.is_some(), honest.faults), (true, vec![]));
    let forged = verdict_and_write(PlantedBug::NONE, true);
    assert_eq!(forged.write, None);
    assert_eq!(forged.faults, [Fault::Tag(LineAddr(DATA_LINES - 1)), Fault::Tainted(LineAddr(5))]);
    let unwaited = verdict_and_write(PlantedBug::new(Bug::VerdictsNotAwaited), true);
    assert!(unwaited.write.is_some() && unwaited.faults.len() == 1, "with the bug it leaves");
}

#[test]
fn a_write_derived_from_an_unverified_line_precedes_the_verdict_only_with_the_planted_bug() {
    let ReadAndWrite { verdict, write, .. } = verdict_and_write(PlantedBug::NONE, false);
    assert!(write >= Some(verdict));
    let planted = PlantedBug::new(Bug::VerdictsNotAwaited);
    let ReadAndWrite { verdict, write, faults } = verdict_and_write(planted, false);
    assert!(write < Some(verdict) && faults.is_empty());
    let parts = catalogue::design("sc64-bmt-speculative").unwrap().parts;
    assert_eq!(honest(&parts, 2_000, 1, planted).unwrap().finding, None, "without time nothing shows");
}
