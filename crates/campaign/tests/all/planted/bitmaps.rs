//! Bugs in the bitmaps of re-ordered lines.

use super::Case;
use super::checks::Check::{Honest, Row};
use super::checks::Found::{Dishonest, Ended};
use super::codes::REORDERED_COUNTER;
use crate::common::crowd::{Scene, crowd};
use crate::common::{DATA_LINES, Machine, with_caches};
use casemate_campaign::Finding;
use casemate_campaign::frequent::VALUES;
use catalogue::{Attack, Verdict};
use protection::counter::Age;
use protection::design::{CacheDesign, CounterChoice, Parts};
use protection::execution::{Receiver, Timed};
use protection::planted::{Bug, PlantedBug};
use protection::scheme::Release;
use protection::slot::Kind;
use protection::speculation::{Target, Tracking};
use protection::verbs::{Fault, Plaintext};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr, WORD_BYTES, ZERO_LINE};

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let garbled = Ended(Verdict::Garbled.into(), Vec::new());
    vec![
        // The verified words of a line change places.
        Case::new(Bug::TagWithoutBitmap, row(Attack::FlipBitmap), garbled, Honest).of("fvs-aes"),
        // The tags belong to another order of the words.
        Case::new(Bug::BitmapNotWritten, Honest, Dishonest(Finding::FalseAlarmOfTag), row(Attack::FlipData))
            .of("fvs-aes"),
        // A line is released in another order than it was written in, and verified.
        Case::new(Bug::OrderOfPresentTable, Honest, Dishonest(Finding::WrongValue), row(Attack::FlipData))
            .of("fvs-aes"),
        // Two bitmap lines have one pad.
        Case::new(Bug::BitmapValueRepeats, Honest, Dishonest(Finding::PadReuse), row(Attack::FlipData))
            .of(REORDERED_COUNTER),
    ]
}

/// Bugs that appear only with concurrent accesses, and those in the words that a core gets before the remaining ones
/// (`reordered.rs`).
pub const BUGS: [Bug; 4] =
    [Bug::BitmapDepartureUnchecked, Bug::ReleasedOrderUnjudged, Bug::FirstWordsMisplaced, Bug::FirstWordsUnplaced];

/// Returns the errors of crowds over re-ordered lines, with and without renewed counters, released with their verdict or
/// before it; `ordered` if memory begins re-ordered.
fn wrongs(ordered: bool, planted: PlantedBug) -> Vec<String> {
    let mut wrongs = Vec::new();
    for seed in 0..8 {
        for (counters, age) in [(CounterChoice::Rv64, None), (CounterChoice::Sc64, Some(Age::BeforeRenewal))] {
            for (release, bitmaps_ahead) in [(Release::Verified, true), (Release::Speculative, false)] {
                let mut parts = reordered(release);
                (parts.counters, parts.caches.bitmaps_ahead) = (counters, bitmaps_ahead);
                let scene = Scene { seed, age, ordered, planted, ..Scene::default() };
                let parts =
                    Parts { caches: CacheDesign { bitmaps_ahead, ..with_caches(&parts, seed).caches }, ..parts };
                wrongs.extend(crowd(&parts, scene).err());
            }
        }
    }
    wrongs
}

fn reordered(release: Release) -> Parts {
    let mut parts = catalogue::design("fvs-aes").unwrap().parts;
    parts.release = release;
    if release == Release::Speculative {
        parts.speculation.of = vec![Target::Ciphertext];
    }
    parts
}

#[test]
fn re_ordered_lines_read_right_under_concurrent_accesses_and_renewals() {
    assert_eq!(wrongs(false, PlantedBug::NONE), Vec::<String>::new());
    assert!(!wrongs(false, PlantedBug::new(Bug::BitmapDepartureUnchecked)).is_empty());
}

#[test]
fn memory_that_begins_ordered_reads_right_under_concurrent_accesses_of_four_cores() {
    assert_eq!(wrongs(true, PlantedBug::NONE), Vec::<String>::new());
    assert!(!wrongs(true, PlantedBug::new(Bug::BitmapDepartureUnchecked)).is_empty());
}

/// A core that records releases and refusals.
#[derive(Default)]
struct Core {
    released: RefCell<BTreeMap<LineAddr, Line>>,
    faults: RefCell<BTreeMap<LineAddr, u64>>,
}

impl Receiver for Core {
    fn released(&self, line: LineAddr, text: &Plaintext) {
        self.released.borrow_mut().insert(line, text.bytes);
    }

    fn fault(&self, fault: Fault) {
        if let Fault::Tag(line) = fault {
            *self.faults.borrow_mut().entry(line).or_default() += 1;
        }
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// Lines that are read at the same time, each by a separate task.
const TASKS: u64 = 12;
/// Number of reads of each line.
const READS: u64 = 200;

/// Flips a bit of a bitmap line from time to time, and flips it back a moment later.
fn start_flips(machine: &Machine<Core>, seed: u64) {
    let bitmaps = machine.scheme.layout().region(Kind::Bitmaps).unwrap();
    let (memory, clock, mut random) = (machine.memory.clone(), machine.executor.clock().clone(), Random::new(!seed));
    machine.executor.clock().spawn(async move {
        loop {
            clock.sleep(Duration::from_ns(random.below(100))).await;
            let slot = bitmaps.slot(3 * random.below(TASKS));
            let content = memory.media().borrow().read(slot).examine();
            if content == ZERO_LINE {
                continue;
            }
            let mut changed = content;
            changed[0] ^= 1;
            memory.media().borrow_mut().write(slot, &changed);
            clock.sleep(Duration::from_ns(random.below(100))).await;
            if memory.media().borrow().read(slot).examine() == changed {
                memory.media().borrow_mut().write(slot, &content);
            }
        }
    });
}

/// Counts the reads that returned a wrong line without a refusal, and the refused reads. Meanwhile bitmaps change in memory
/// and leave a cache of one line all the time.
fn wrong_and_refused(release: Release, seed: u64, planted: PlantedBug) -> (u64, u64) {
    let mut parts = reordered(release);
    (parts.speculation.tracking, parts.speculation.list) = (Tracking::Fixed, VALUES.map(u64::cast_signed).to_vec());
    let scheme = with_caches(&parts, 2).build_with(DATA_LINES, seed, planted).unwrap();
    let mut machine = Machine::in_beats(scheme, Core::default());
    let [finished, written, wrong, refused] = std::array::from_fn(|_| Rc::new(Cell::new(0)));
    let add = |to: &Rc<Cell<u64>>| to.set(to.get() + 1);
    for task in 0..TASKS {
        let (core, verbs, scheme) = (machine.core.clone(), Timed::new(&machine.memory), machine.scheme.clone());
        let [finished, written, wrong, refused] = [&finished, &written, &wrong, &refused].map(Rc::clone);
        let (clock, mut random) = (machine.executor.clock().clone(), Random::new(seed ^ task << 32));
        machine.executor.clock().spawn(async move {
            let line = LineAddr(48 * task * 3 + 5);
            let content = alternating(&mut random);
            scheme.write(&verbs, line, &content).await;
            add(&written);
            while written.get() < TASKS {
                clock.sleep(Duration::from_ns(10)).await;
            }
            scheme.flush(&verbs).await;
            for _ in 0..READS {
                let faults = || core.faults.borrow().get(&line).copied();
                let before = faults();
                core.released.borrow_mut().remove(&line);
                scheme.read_by(&verbs, line, 0).await;
                if faults() != before {
                    add(&refused);
                } else if core.released.borrow().get(&line).is_some_and(|released| *released != content) {
                    add(&wrong);
                }
                clock.sleep(Duration::from_ns(random.below(60))).await;
            }
            add(&finished);
        });
    }
    start_flips(&machine, seed);
    assert!(machine.run(Duration::from_ns(50_000_000), || finished.get() == TASKS), "it ends");
    (wrong.get(), refused.get())
}

/// Returns a line that alternates between random words and words of the table.
fn alternating(random: &mut Random) -> Line {
    let mut line = random.line();
    for word in line.chunks_exact_mut(2 * WORD_BYTES) {
        let value = VALUES[usize::from(word[1]) % VALUES.len()];
        word[WORD_BYTES..].copy_from_slice(&value.to_le_bytes());
    }
    line
}

#[test]
fn a_frequent_value_bitmap_tampered_during_a_read_never_misplaces_accepted_words() {
    for release in [Release::Verified, Release::Speculative] {
        let (wrong, refused) = wrong_and_refused(release, 1, PlantedBug::NONE);
        assert!(wrong == 0 && refused > 20, "{release:?}: {wrong} wrong, {refused} refused");
    }
    let (wrong, _) = wrong_and_refused(Release::Speculative, 1, PlantedBug::new(Bug::ReleasedOrderUnjudged));
    assert!(wrong > 0);
}
