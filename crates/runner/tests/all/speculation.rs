//! Frequent-value speculation on the machine of 2005 (Shi and Lee, Computing Frontiers 2007, figure 3). The first word of a row hit arrives
//! after 100 ns, one more every 5 ns, and a comparison of a chunk with its candidates takes 1 ns.
//!
//! The simulated code contains no latency: each expected time is a sum of values of the machine file.

use crate::common::kernel;
use casemate_runner::explain::{Explanation, LineValue, Lines, OnChipMetadata, RowState, Scenario, explain};
use casemate_runner::{RunControl, RunOptions, run};
use catalogue::{Design, Machine};
use protection::design::SpeculationDesign;
use protection::speculation::{COMPUTED_ONE_IN, Chunks, Target};
use sim::span::{Span, Verb};
use units::Duration;

/// A line whose metadata is in other banks than the line.
const ONE_LINE: Lines = Lines::At(0x123_5640);
/// Nanoseconds from the start of a read to its counter and its offset, which are on the chip.
const LOOK_UP: u64 = 1;

fn design(name: &str, change: impl Fn(&mut SpeculationDesign)) -> Design {
    let mut design = catalogue::design(name).unwrap();
    change(&mut design.parts.speculation);
    design
}

fn read_on(machine: &Machine, design: &Design, value: &str) -> Explanation {
    let value: LineValue = value.parse().unwrap();
    let scenario = Scenario { on_chip: OnChipMetadata::All, row: RowState::Hit, value, ..Scenario::default() };
    explain(machine, design, scenario, ONE_LINE).unwrap()
}

fn machine(change: impl Fn(&mut Machine)) -> Machine {
    let mut machine = catalogue::machine("simplescalar-2005").unwrap();
    change(&mut machine);
    machine
}

/// A read of a line with this content: latency of the requested chunk and of the whole line, in nanoseconds.
fn read(name: &str, value: &str) -> (u64, u64) {
    steps(&read_on(&machine(|_| ()), &design(name, |_| ()), value))
}

fn steps(explanation: &Explanation) -> (u64, u64) {
    let whole = |fs: u64| (fs as f64 / 1e6).round() as u64;
    (whole(explanation.latency_fs), whole(explanation.rest_fs.unwrap_or(explanation.latency_fs)))
}

/// Spans of the candidates of each position, in the order in which they entered the units.
fn candidates(explanation: &Explanation) -> Vec<&Span> {
    explanation.spans.iter().filter(|span| span.verb == Verb::Speculate).collect()
}

#[test]
fn fvs_rule_3_a_hit_releases_the_requested_chunk_one_comparison_after_arrival() {
    // Without speculation: decryption, then the tag. With speculation: arrival of the words, and a comparison.
    assert_eq!(read("ocb-tdes", "frequent"), (100 + 96 + 96, 135 + 96 + 96));
    assert_eq!(read("fvs-tdes", "frequent"), (100 + 1, 135 + 1));
    assert_eq!(read("ocb-aes", "frequent"), (105 + 65 + 65, 135 + 65 + 65));
    assert_eq!(read("fvs-aes-plain", "frequent").0, 105 + 1);
    // Counter mode has its pads by then, and saves only the tag.
    let without = design("fvs-counter", |speculation| speculation.values = 0);
    assert_eq!(steps(&read_on(&machine(|_| ()), &without, "frequent")), (105 + 65, 135 + 65));
    assert_eq!(read("fvs-counter", "frequent").0, 105 + 1);
}

#[test]
fn speculation_on_ciphertext_only_saves_decryption_as_in_the_paper() {
    // FVS8: 196 to 101 and 170 to 106, if the read waits for no other part of the line.
    let decrypted = |name: &str, values: usize| {
        let mut design = design(name, |speculation| {
            *speculation = SpeculationDesign { values, of: vec![Target::Ciphertext], ..SpeculationDesign::default() };
        });
        design.parts.mac = protection::design::MacDesign::default();
        steps(&read_on(&machine(|_| ()), &design, "frequent")).0
    };
    assert_eq!([decrypted("ocb-tdes", 0), decrypted("ocb-tdes", 8)], [196, 101]);
    assert_eq!([decrypted("ocb-aes", 0), decrypted("ocb-aes", 8)], [170, 106]);
}

#[test]
fn fvs_rule_3_a_miss_takes_as_long_as_without_speculation() {
    for (with, without) in [("fvs-tdes", "ocb-tdes"), ("fvs-aes-plain", "ocb-aes")] {
        // A block on demand may follow a candidate that has just entered the unit: at most one interval for each in
        // turn.
        let (late, never) = (read(with, "other"), read(without, "other"));
        let intervals = if with == "fvs-tdes" { 2 * 2 } else { 2 * 7 };
        assert!((never.0..=never.0 + intervals).contains(&late.0), "{with}: {late:?}, {without}: {never:?}");
    }
}

#[test]
fn the_time_until_all_candidates_are_ready_follows_from_units_and_interval() {
    // FVS7T: latency + (ceil(n / units) - 1) x interval, n for the whole line.
    for (values, expected) in [(8, 110), (16, 126), (32, 158)] {
        let of_ciphertext = design("fvs-tdes", |speculation| {
            (speculation.values, speculation.of) = (values, vec![Target::Ciphertext]);
        });
        let read = read_on(&machine(|_| ()), &of_ciphertext, "other");
        let out = candidates(&read).iter().map(|span| span.end.as_fs() / 1_000_000).max().unwrap();
        assert_eq!(out, LOOK_UP + expected);
        // The formula also holds for other units and intervals.
        for (units, interval) in [(4, 2.0), (8, 1.0), (1, 0.25)] {
            let machine = machine(|machine| {
                let tdes = machine.engines.tdes.as_mut().unwrap();
                (tdes.units, tdes.interval_ns) = (units, interval);
            });
            let read = read_on(&machine, &of_ciphertext, "other");
            let last = 96.0 + ((8 * values).div_ceil(units) - 1) as f64 * interval;
            let out = candidates(&read).iter().map(|span| span.end.as_fs()).max().unwrap();
            let expected = ((LOOK_UP as f64 + last) * 1e6) as u64;
            // After words have arrived, candidates share the units with their blocks, one for each chunk.
            let blocks = if last - 96.0 < 100.0 { 0 } else { (8.0 / units as f64 * interval * 1e6) as u64 };
            let found = format!("{values} on {units} at {interval}: {out}, expected {expected}");
            assert!((expected..=expected + blocks).contains(&out), "{found}");
        }
    }
}

#[test]
fn fvs_rule_3_a_late_candidate_still_releases_the_chunk_until_its_verification() {
    // One unit accepts a candidate every 12 ns: the tag of the eighth enters as the sixteenth block, long after the words arrived.
    let slow = |values: usize| {
        let machine = machine(|machine| {
            let tdes = machine.engines.tdes.as_mut().unwrap();
            (tdes.units, tdes.interval_ns) = (1, 12.0);
        });
        read_on(&machine, &design("fvs-tdes", |speculation| speculation.values = values), "rarest")
    };
    // Decryption blocks enter in between, one for each chunk that has arrived by then.
    let last_out = |blocks: u64| LOOK_UP + (blocks - 1) * 12 + 96;
    let late = slow(4);
    let waits = late.spans.iter().filter(|span| span.verb == Verb::Match && span.what == "0-7");
    let comparison = Duration::from_ns(1).as_fs();
    assert_eq!(waits.map(|span| span.end.as_fs()).collect::<Vec<_>>(), [late.latency_fs - comparison]);
    let late = steps(&late).0;
    assert!((last_out(8)..last_out(8) + 24).contains(&late), "{late}");
    let verified = steps(&slow(64)).0;
    assert!(verified < last_out(2 * 64) && verified > 292, "decrypted and verified before: {verified}");
}

#[test]
fn fvs_rule_4_candidates_of_the_requested_chunk_are_first_and_resolved_ones_are_cancelled() {
    let read = read_on(&machine(|_| ()), &design("fvs-aes-plain", |_| ()), "frequent");
    let spans = candidates(&read);
    assert_eq!(spans.len(), 4);
    let first = spans.iter().min_by_key(|span| span.end).unwrap();
    // The requested word is the first of the line; of its 128 blocks, those that entered before 106 ns were encrypted.
    assert!(first.what.starts_with("0-15"), "{}", first.what);
    let gone_in = 4 * (((106 - LOOK_UP) as f64 / 6.4).ceil() as u64);
    let words = format!("0-15, {gone_in} of 128");
    assert!(first.what == words, "{} is not {words}", first.what);
}

#[test]
fn re_ordering_lets_speculation_match_two_separate_frequent_words_in_one_block() {
    // Every other word is frequent, and the request is for the first. In this order, no block of two words is a
    // candidate.
    let alternating = "00000000000000005a5a5a5a5a5a5a5a";
    assert_eq!(read("fvs-aes", alternating).0, 105 + 1);
    assert!(read("fvs-aes-plain", alternating).0 >= 105 + 65 + 65);
    // If the requested word is not frequent, re-ordering moves it to the second half, where the read begins.
    let (late, never) = (read("fvs-aes", "5a5a5a5a5a5a5a5a0000000000000000").0, read("ocb-aes", "other").0);
    assert!((never..=never + 2 * 7).contains(&late), "{late}, {never}");
    // Re-ordering does not change a line with only frequent words.
    assert_eq!(
        [read("fvs-aes", "frequent"), read("fvs-aes-loose", "frequent")],
        [read("fvs-aes-plain", "frequent"); 2]
    );
}

#[test]
fn candidates_wait_for_the_computation_of_ocb_offsets_that_are_not_cached() {
    let mut anew = design("fvs-aes-plain", |_| ());
    anew.parts.caches.offsets = false;
    let read = read_on(&machine(|_| ()), &anew, "frequent");
    // R is complete after one block, and the first candidates one block later.
    let out = LOOK_UP + 65 + 65;
    assert!((out..out + 8).contains(&steps(&read).0), "{:?}", steps(&read));
}

/// Outcomes of the chunks of a pointer chase on `units` Triple-DES units. Each unit accepts a candidate every
/// `interval_ns`.
fn chunks((units, interval_ns): (usize, f64)) -> Chunks {
    let machine = machine(|machine| {
        let tdes = machine.engines.tdes.as_mut().unwrap();
        (tdes.units, tdes.interval_ns) = (units, interval_ns);
    });
    let program = kernel("chase", &[("footprint", "384 KB")], 1);
    let options = RunOptions::new(machine, design("fvs-tdes", |_| ()), 20_000);
    let record = run(&options, program, |_| RunControl::GoOn).unwrap();
    assert!(record.checks.passed, "{:?}", record.checks);
    record.speculation.unwrap().chunks
}

/// The 128 candidates and tags of a line are complete 96 ns after the last has entered. The words of the line arrive after 100 to 135 ns,
/// and without candidates they are verified after about 300 ns. If the counter must be fetched first, candidates enter later by that time.
#[test]
fn fvs_rule_3_a_hit_is_late_if_the_chunk_arrived_before_its_candidate() {
    let [fast, slow, hopeless] = [(64, 0.25), (1, 2.0), (1, 1_000.0)].map(chunks);
    assert!(fast.hits > 1_000 && fast.squashed == 0, "{fast:?}");
    assert!(4 * slow.hits < fast.hits && slow.late_hits > 1_000 && slow.squashed > 1_000, "{slow:?}");
    assert!(hopeless.hits + hopeless.late_hits == 0 && hopeless.squashed > 1_000, "{hopeless:?}");
    // The number of predictable chunks does not depend on time.
    let predictable = |chunks: Chunks| chunks.hits + chunks.late_hits + chunks.squashed;
    assert_eq!([slow, hopeless].map(predictable), [predictable(fast); 2]);
}

#[test]
fn encrypting_the_candidates_of_one_in_a_thousand_lines_confirms_the_fast_matching() {
    for name in ["fvs-aes-plain", "fvs-aes-loose"] {
        let program = kernel("chase", &[("footprint", "16 MB")], 1);
        let options = RunOptions::new(machine(|_| ()), design(name, |_| ()), 60_000);
        let record = run(&options, program, |_| RunControl::GoOn).unwrap();
        let (lines, checked) = (record.speculation.unwrap().predictable.lines, record.checks.candidates.unwrap());
        assert!(lines > 2 * COMPUTED_ONE_IN, "{name}: {lines}");
        assert_eq!((checked.lines, checked.disagreeing), (lines / COMPUTED_ONE_IN, 0), "{name}: of {lines}");
    }
}
