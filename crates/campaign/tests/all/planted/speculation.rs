//! Bugs in the speculation on values. The controller never decrypts or verifies lines of frequent values: it releases the value of
//! a candidate. A faulty comparison then passes content that a design without speculation refuses.

use crate::common::crowd::{Scene, crowd};
use crate::common::{DATA_LINES, Machine, engines, with_caches};
use crate::values::{Search, seen_after};
use casemate_campaign::bus::{Bus, Structure};
use casemate_campaign::victim::Victim;
use casemate_campaign::{Options, attack, honest};
use catalogue::{Attack, End, Verdict};
use protection::design::{CounterChoice, Parts};
use protection::execution::{CipherEngine, Engine, Engines, Receiver, Timed};
use protection::planted::{Bug, PlantedBug};
use protection::scheme::Scheme;
use protection::speculation::Tracking;
use protection::verbs::{Fault, Plaintext};
use std::cell::Cell;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Word};

/// Bugs that are caught here.
pub const BUGS: [Bug; 10] = [
    Bug::CandidateTagNotCompared,
    Bug::CandidateComparedShort,
    Bug::CandidatesOfVersionBefore,
    Bug::CandidatesOfLineBefore,
    Bug::CandidatePositionMissing,
    Bug::CandidateOfLaterTable,
    Bug::CandidatesNotGivenUp,
    Bug::CandidatesOnDemand,
    Bug::TrailingChunksUnchecked,
    Bug::TableSpilled,
];

/// Content of the table, which never changes.
const FREQUENT: [u64; 4] = [0, u64::MAX, 0x1111_1111_1111_1111, 7];
/// The first of the lines with tags in one line.
const LINE: LineAddr = LineAddr(8);
const NEIGHBOUR: LineAddr = LineAddr(7);

fn parts(name: &str) -> Parts {
    let mut parts = catalogue::design(name).unwrap().parts;
    // Lines with equal numbers of writes have the same version.
    parts.counters = CounterChoice::Mono56;
    let speculation = &mut parts.speculation;
    (speculation.values, speculation.tracking) = (FREQUENT.len(), Tracking::Fixed);
    speculation.list = FREQUENT.map(u64::cast_signed).to_vec();
    parts
}

/// Returns a line of one frequent value.
fn filled(value: u64) -> Line {
    std::array::from_fn(|byte| value.to_le_bytes()[byte % 8])
}

/// Content of a line at the pins: its data, and its tag.
struct Stored {
    data: Vec<u8>,
    tag: Vec<u8>,
}

fn stored(bus: &Bus<'_>, line: LineAddr) -> Stored {
    let [data, tag] = [Structure::Data, Structure::Tag].map(|structure| {
        let (slot, bytes) = bus.map().slot_bytes(structure, line).unwrap();
        bus.read(slot)[bytes].to_vec()
    });
    Stored { data, tag }
}

fn put(bus: &mut Bus<'_>, line: LineAddr, stored: &Stored) {
    for (structure, source) in [(Structure::Data, &stored.data), (Structure::Tag, &stored.tag)] {
        let (slot, bytes) = bus.map().slot_bytes(structure, line).unwrap();
        bus.write_bytes(slot, bytes, source);
    }
}

/// State of the attacker: the line before its last write, its neighbour, and the chunk length of the cipher.
struct Loot {
    chunk_bytes: usize,
    old: Stored,
    neighbour: Stored,
}

/// Returns the verdict on a line of frequent values that was written twice and then tampered with.
fn verdict(name: &str, planted: PlantedBug, tamper: impl FnOnce(&mut Bus<'_>, Loot)) -> Verdict {
    verdict_by(|_| (), name, planted, tamper)
}

/// Like [`verdict`], for a victim after `prepare`.
fn verdict_by(
    prepare: impl FnOnce(&Victim),
    name: &str,
    planted: PlantedBug,
    tamper: impl FnOnce(&mut Bus<'_>, Loot),
) -> Verdict {
    let mut victim = Victim::blank(&parts(name), 1, planted).unwrap();
    victim.write(LINE, &filled(FREQUENT[0]));
    victim.machine().flush();
    let old = victim.attacked(|bus| stored(bus, LINE));
    // Written as often as the line, so that both have the same version.
    for value in [FREQUENT[3], FREQUENT[1]] {
        victim.write(NEIGHBOUR, &filled(value));
    }
    victim.write(LINE, &filled(FREQUENT[2]));
    victim.machine().flush();
    prepare(&victim);
    victim.attacked(|bus| {
        let neighbour = stored(bus, NEIGHBOUR);
        let chunk_bytes = if name == "fvs-tdes" { 8 } else { 16 };
        tamper(bus, Loot { chunk_bytes, old, neighbour });
    });
    victim.oracle().judge(LINE, &victim.read(LINE).0, None)
}

/// Flips a bit of the tag of the last chunk, which is at the bottom.
fn flip_tag(bus: &mut Bus<'_>, _: Loot) {
    bus.flip_bit_of(Structure::Tag, LINE, 3);
}

/// Flips a bit in the second half of a chunk of either length.
fn flip_second_half(bus: &mut Bus<'_>, _: Loot) {
    bus.flip_bit_of(Structure::Data, LINE, 8 * 15 + 2);
}

/// Copies the first chunk over the second, with its tag.
fn copy_first_chunk(bus: &mut Bus<'_>, loot: Loot) {
    let mut line = stored(bus, LINE);
    line.data.copy_within(0..loot.chunk_bytes, loot.chunk_bytes);
    let tag_bytes = line.tag.len() * loot.chunk_bytes / line.data.len();
    let top = line.tag.len() - tag_bytes;
    line.tag.copy_within(top.., top - tag_bytes);
    put(bus, LINE, &line);
}

/// Flips a bit in the first half of a later chunk, of either length.
fn flip_later_chunk(bus: &mut Bus<'_>, _: Loot) {
    bus.flip_bit_of(Structure::Data, LINE, 8 * 48);
}

type Tampering = fn(&mut Bus<'_>, Loot);

/// The attack, the bug that lets it pass, and the verdict under this bug.
const TAMPERINGS: [(Tampering, Bug, Verdict); 6] = [
    (flip_tag, Bug::CandidateTagNotCompared, Verdict::Harmless),
    (flip_second_half, Bug::CandidateComparedShort, Verdict::Harmless),
    (|bus, loot| put(bus, LINE, &loot.old), Bug::CandidatesOfVersionBefore, Verdict::Stale),
    (|bus, loot| put(bus, LINE, &loot.neighbour), Bug::CandidatesOfLineBefore, Verdict::Garbled),
    (copy_first_chunk, Bug::CandidatePositionMissing, Verdict::Harmless),
    (flip_later_chunk, Bug::TrailingChunksUnchecked, Verdict::Garbled),
];

const DESIGNS: [&str; 2] = ["fvs-tdes", "fvs-aes-plain"];

#[test]
fn tampered_lines_of_frequent_values_are_detected_despite_speculation() {
    for name in DESIGNS.into_iter().chain(["fvs-counter"]) {
        for (number, (tamper, ..)) in TAMPERINGS.into_iter().enumerate() {
            assert_eq!(verdict(name, PlantedBug::NONE, tamper), Verdict::Detected, "{name}, tampering {number}");
        }
        assert_eq!(verdict(name, PlantedBug::NONE, |_, _| ()), Verdict::Harmless, "{name}");
    }
}

/// Most lines of a timed run are matched this way: the controller encrypts no candidate.
#[test]
fn tampered_lines_are_detected_if_candidates_are_matched_without_encrypting_them() {
    // The controller always computes the matches of the first line.
    let prepare = |victim: &Victim| {
        victim.read(NEIGHBOUR);
        victim.machine().flush();
        // From the next line on, the permutation decides which candidates match.
        victim.machine().speculation().unwrap().compute_one_in(u64::MAX);
    };
    for name in DESIGNS.into_iter().chain(["fvs-counter"]) {
        for (number, (tamper, ..)) in TAMPERINGS.into_iter().enumerate() {
            let found = verdict_by(prepare, name, PlantedBug::NONE, tamper);
            assert_eq!(found, Verdict::Detected, "{name}, tampering {number}");
        }
        assert_eq!(verdict_by(prepare, name, PlantedBug::NONE, |_, _| ()), Verdict::Harmless, "{name}");
    }
}

#[test]
fn fvs_rule_5_each_planted_comparison_bug_admits_exactly_one_kind_of_tampering() {
    for name in DESIGNS {
        for (bug, expected) in TAMPERINGS.map(|(_, bug, expected)| (bug, expected)) {
            for (tamper, of, _) in TAMPERINGS {
                let found = verdict(name, PlantedBug::new(bug), tamper);
                // The controller releases the content of unchecked chunks.
                let expected = match bug {
                    _ if of == bug => expected,
                    Bug::TrailingChunksUnchecked => continue,
                    _ => Verdict::Detected,
                };
                assert_eq!(found, expected, "{name}: {bug:?} under what {of:?} lets through");
            }
        }
    }
}

/// Returns the end of the row about copied chunks, and the kinds of chunks that were released.
fn spliced(name: &str, planted: PlantedBug, trials: u64) -> (End, Vec<String>) {
    let mut design = catalogue::design(name).unwrap();
    // Lines with equal numbers of writes have the same version.
    design.parts.counters = CounterChoice::Mono56;
    let outcome = attack(&design, Attack::CandidateSplice, &Options { trials, planted, ..Options::default() });
    let output = outcome.counts.into_iter().filter(|(what, count)| what.contains("came out") && *count > 0);
    (outcome.worst, output.map(|(what, _)| what).collect())
}

#[test]
fn a_spliced_chunk_passes_only_candidates_of_its_old_position_line_or_version() {
    for name in DESIGNS {
        let old = "chunks of an earlier time that came out under its counters";
        assert_eq!(spliced(name, PlantedBug::NONE, 20), (Verdict::Stale.into(), vec![old.to_owned()]), "{name}");
        for (bug, what, trials) in [
            // The other position is seldom the first one, and the other line seldom the previous one with as many writes.
            (Bug::CandidatePositionMissing, "chunks of another position that came out", 60),
            (Bug::CandidatesOfLineBefore, "chunks of another line that came out", 100),
            (Bug::CandidatesOfVersionBefore, "chunks of an earlier time that came out", 20),
        ] {
            let (end, mut output) = spliced(name, PlantedBug::new(bug), trials);
            output.retain(|what| what != old);
            assert_eq!((end, output), (Verdict::Forged.into(), vec![what.to_owned()]), "{name}: {bug:?}");
        }
        for bug in [Bug::CandidateTagNotCompared, Bug::CandidateComparedShort] {
            assert_eq!(spliced(name, PlantedBug::new(bug), 20).0, Verdict::Stale, "{name}: {bug:?} is another matter");
        }
    }
}

/// Returns the errors of crowds that read values which the table has just learned.
fn wrongs(planted: PlantedBug) -> Vec<String> {
    let mut parts = catalogue::design("fvs-tdes").unwrap().parts;
    (parts.speculation.values, parts.speculation.tracking) = (64, Tracking::Lru);
    let crowds = (0..4).map(|seed| crowd(&with_caches(&parts, seed), Scene { seed, planted, ..Scene::default() }));
    crowds.filter_map(Result::err).collect()
}

#[test]
fn speculation_uses_the_frequent_values_of_the_time_of_the_miss() {
    assert_eq!(wrongs(PlantedBug::NONE), Vec::<String>::new());
    let found = wrongs(PlantedBug::new(Bug::CandidateOfLaterTable));
    assert!(found.len() > 2 && found.iter().all(|wrong| wrong.contains("another version")), "{found:?}");
    let alone = honest(&parts("fvs-tdes"), 2_000, 1, PlantedBug::new(Bug::CandidateOfLaterTable)).unwrap();
    assert_eq!(alone.finding, None, "one access after the other, nothing is learned in between");
}

/// A core with memory that starts with lines of one value.
struct Core(u64);

impl Receiver for Core {
    fn released(&self, _: LineAddr, plaintext: &Plaintext) {
        assert!(plaintext.verified);
    }

    fn fault(&self, fault: Fault) {
        panic!("nothing was tampered with, and yet: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        filled(self.0)
    }
}

/// Nanoseconds between two blocks of a slow unit.
const INTERVAL_NS: u64 = 10;

fn one_slow_unit() -> Engines {
    let tdes = CipherEngine::from(Engine { units: 1, latency_ns: 20.0, interval_ns: INTERVAL_NS as f64 });
    Engines { tdes: Some(tdes), ..engines() }
}

/// Returns the blocks of candidates that were offered for a line, and all blocks of one slow unit, long after the line was
/// released.
fn offered_and_taken(planted: PlantedBug) -> (u64, u64) {
    let mut parts = parts("fvs-tdes");
    parts.speculation.values = 64;
    let scheme = parts.build_with(DATA_LINES, 1, planted).unwrap();
    let mut machine = Machine::in_beats_with(&one_slow_unit(), scheme, Core(FREQUENT[0]));
    let (scheme, memory, done) = (machine.scheme.clone(), machine.memory.clone(), Rc::new(Cell::new(false)));
    let (finished, clock) = (done.clone(), machine.executor.clock().clone());
    machine.executor.clock().spawn(async move {
        let verbs = Timed::new(&memory);
        scheme.read_at_controller(&verbs, LINE, Word::FIRST).await;
        clock.sleep(Duration::from_ns(100_000)).await;
        // A write makes the units check again; all blocks that could enter until now have entered.
        scheme.write(&verbs, NEIGHBOUR, &filled(FREQUENT[0])).await;
        finished.set(true);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || done.get()), "it ends");
    let offered = offered(&machine.scheme);
    (offered, machine.memory.counts().tdes_blocks)
}

fn offered(scheme: &Scheme) -> u64 {
    scheme.speculation().unwrap().counted().offered
}

#[test]
fn aes_units_skip_candidates_that_no_chunk_needs_any_more() {
    // Four values, eight chunks, ciphertext and tag.
    let (offered, taken) = offered_and_taken(PlantedBug::NONE);
    assert!(offered == 4 * 8 * 2 && taken < offered, "{taken} of {offered}");
    let (offered, taken) = offered_and_taken(PlantedBug::new(Bug::CandidatesNotGivenUp));
    assert!(taken > offered, "{taken} of {offered}");
}

/// Returns the nanoseconds of a read of a line without frequent words, with one slow unit.
fn read_in_vain(values: usize, planted: PlantedBug) -> u64 {
    let mut parts = parts("fvs-tdes");
    parts.speculation.values = values;
    parts.speculation.list.truncate(values);
    let scheme = parts.build_with(DATA_LINES, 1, planted).unwrap();
    let mut machine = Machine::in_beats_with(&one_slow_unit(), scheme, Core(0x5a5a));
    let (scheme, memory, took) = (machine.scheme.clone(), machine.memory.clone(), Rc::new(Cell::new(None)));
    let (finished, clock) = (took.clone(), machine.executor.clock().clone());
    machine.executor.clock().spawn(async move {
        let verbs = Timed::new(&memory);
        // The first read puts the line into memory.
        scheme.read_at_controller(&verbs, LINE, Word::FIRST).await;
        clock.sleep(Duration::from_ns(100_000)).await;
        let began = clock.now();
        scheme.read_at_controller(&verbs, LINE, Word::FIRST).await;
        finished.set(Some(clock.now().since(began).as_fs() / 1_000_000));
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || took.get().is_some()), "it ends");
    took.get().unwrap()
}

#[test]
fn useless_candidates_delay_each_aes_block_of_a_read_by_at_most_one_interval() {
    let (without, with) = (read_in_vain(0, PlantedBug::NONE), read_in_vain(4, PlantedBug::NONE));
    // Sixteen blocks decrypt and verify the line, and each may have to wait for a block that has just entered.
    assert!(with <= without + 16 * INTERVAL_NS, "{with} ns, {without} without candidates");
    let overtaken = read_in_vain(4, PlantedBug::new(Bug::CandidatesOnDemand));
    assert!(overtaken > with + 16 * INTERVAL_NS, "{overtaken} ns, {with} as idle work");
}

#[test]
fn a_frequent_value_table_spilled_to_memory_is_visible_at_the_memory_pins() {
    for name in DESIGNS.into_iter().chain(["fvs-counter"]) {
        let [(one, _), (other, _)] = [0, 1].map(|lot| seen_after(name, lot, PlantedBug::new(Bug::TableSpilled)));
        let differing: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).collect();
        assert!(one.len() == other.len() && !differing.is_empty(), "{name}");
        assert!(differing.iter().all(|(one, _)| one.line == LineAddr(DATA_LINES - 1)), "{name}: nothing else differs");
    }
}

#[test]
fn random_forged_chunks_find_each_planted_bug_of_the_candidate_comparison() {
    for name in DESIGNS {
        for bug in [
            Bug::CandidateTagNotCompared,
            Bug::CandidateComparedShort,
            Bug::CandidatePositionMissing,
            Bug::CandidatesOfVersionBefore,
            Bug::TrailingChunksUnchecked,
        ] {
            assert!(Search::new(name, PlantedBug::new(bug)).released(4_000) > 0, "{name}: {bug:?}");
        }
    }
}
