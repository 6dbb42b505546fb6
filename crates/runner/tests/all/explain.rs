//! The timeline of a read must depend on the design and the machine, not on the chosen line. The metadata of a single
//! line may share a bank with another access by chance, and a sample removes this effect.

use casemate_runner::check_latency::check_latency;
use casemate_runner::explain::{
    Explanation, Lines, Of, OnChipMetadata, RowState, Scenario, TimelineStart, Until, explain,
};
use catalogue::Machine;
use protection::layout::Layout;
use protection::slot::Kind;
use protection::verbs::Slot;
use sim::span::Verb;
use units::random::Random;
use units::{Bytes, LINE_BYTES, LineAddr};

/// The default machine with this much memory.
fn machine(name: &str, gigabytes: u64) -> Machine {
    let mut machine = catalogue::machine(name).unwrap();
    machine.memory.size = Bytes(gigabytes << 30);
    machine
}

fn read(gigabytes: u64, scenario: Scenario, lines: Lines) -> Explanation {
    explain(&machine("modern", gigabytes), &catalogue::design("sc64-bmt").unwrap(), scenario, lines).unwrap()
}

#[test]
fn the_explained_median_read_latency_does_not_depend_on_the_memory_size() {
    // All memories have the same number of tree levels.
    for on_chip in [OnChipMetadata::Nothing, OnChipMetadata::Tree, OnChipMetadata::Counter] {
        let scenario = Scenario { on_chip, ..Scenario::default() };
        let medians = [2, 3, 4].map(|gigabytes| read(gigabytes, scenario, Lines::default()).latency_fs as f64 / 1e6);
        let apart = medians.iter().map(|median| (median / medians[0] - 1.0).abs()).fold(0.0, f64::max);
        assert!(apart < 0.03, "{on_chip:?}: {medians:?} ns");
    }
}

#[test]
fn the_line_that_explain_reports_has_the_median_latency_of_its_sample() {
    let scenario = Scenario::default();
    let all = read(4, scenario, Lines::default());
    let spread = all.spread.unwrap();
    let order = [spread.shortest_fs, spread.p5_fs, all.latency_fs, spread.p95_fs, spread.longest_fs];
    assert!(order.is_sorted() && spread.p5_fs < spread.p95_fs, "{order:?}");
    // A measurement of only the line that the sample chose.
    let alone = read(4, scenario, Lines::At(all.address));
    assert_eq!((alone.latency_fs, &alone.spans, alone.spread), (all.latency_fs, &all.spans, None));
    // In the middle of a memory whose regions start at powers of two, most of a line's metadata is in one bank.
    let middle = |gigabytes: u64| {
        let line = Lines::At((gigabytes << 29) + 323 * LINE_BYTES as u64);
        read(gigabytes, scenario, line).latency_fs as f64 / spread.p50_fs as f64
    };
    assert!(middle(4) > 1.3 && middle(3) < 1.0, "{} {}", middle(4), middle(3));
}

#[test]
fn explain_with_another_seed_samples_other_lines_with_nearly_the_same_median() {
    let sample = |seed| read(4, Scenario::default(), Lines::Sample { lines: 499, seed, no_conflict: false });
    let (first, again, other) = (sample(1), sample(1), sample(2));
    assert_eq!(first, again);
    assert_ne!(first.address, other.address);
    let apart = first.latency_fs as f64 / other.latency_fs as f64 - 1.0;
    assert!(apart.abs() < 0.05, "{apart}");
}

#[test]
fn an_explained_read_is_faster_for_a_row_hit_than_for_a_closed_or_conflicting_row() {
    let at =
        |row| read(4, Scenario { row, on_chip: OnChipMetadata::All, ..Scenario::default() }, Lines::At(0x1234_5640));
    let [hit, closed, conflict] = [RowState::Hit, RowState::Closed, RowState::Conflict].map(|row| at(row).latency_fs);
    assert!(hit < closed && closed < conflict, "{hit} {closed} {conflict}");
}

/// Without conflicts, the requested state of the rows must hold for all fetches of the explained access, not only for the
/// line of data: the parents of the line's counter are in other rows.
#[test]
fn all_fetches_of_an_explained_read_find_the_requested_row_state() {
    for (name, gigabytes) in [("sc64-bmt", 4), ("vault", 3), ("vault", 4), ("ctr-mac-version", 4), ("merkle-full", 2)] {
        let design = catalogue::design(name).unwrap();
        let at = |row| {
            let scenario = Scenario { row, ..Scenario::default() };
            let lines = Lines::Sample { lines: 999, seed: 1, no_conflict: true };
            explain(&machine("modern", gigabytes), &design, scenario, lines).unwrap()
        };
        let [hit, closed, conflict] = [RowState::Hit, RowState::Closed, RowState::Conflict].map(at);
        let outcomes = |explanation: &Explanation| -> Vec<_> {
            let fetches = explanation.spans.iter().filter(|span| span.verb == Verb::Fetch);
            fetches.map(|span| span.outcome.unwrap()).collect()
        };
        assert!(outcomes(&hit).iter().all(|row| *row == "row hit"), "{name}: {:?}", outcomes(&hit));
        // The first fetch of a row opens it for later ones.
        assert!(!outcomes(&closed).contains(&"row conflict"), "{name}: {:?}", outcomes(&closed));
        assert!(!outcomes(&conflict).contains(&"row closed"), "{name}: {:?}", outcomes(&conflict));
        assert!(hit.latency_fs < closed.latency_fs && closed.latency_fs < conflict.latency_fs, "{name}");
    }
}

/// GMAC multiplies under a pad that was computed during the fetch. CMAC chains four AES blocks after it, and OCB decrypts
/// before its sum is encrypted. A tag over four lines encrypts
/// the sum of their four hashes, after the last of them has arrived.
#[test]
fn a_line_is_checked_after_its_arrival_by_the_passes_of_its_mac() {
    let checked = |design: &str, machine: &Machine| {
        check_latency(machine, &catalogue::design(design).unwrap()).map(|latency| latency.as_fs() / 1_000_000)
    };
    let modern = machine("modern", 4);
    let mut slow_aes = modern.clone();
    slow_aes.engines.aes.latency_ns = 25.0;
    let expected = [
        ("none", None, None),
        ("xts", None, None),
        ("sc64-bmt", Some(5), Some(5)),
        ("ctr-mac-version", Some(5), Some(5)),
        ("ctr-mac", Some(4 * 14), Some(4 * 25)),
        ("ocb-bmt", Some(2 * 14), Some(2 * 25)),
        ("sc64-bmt-mac4", Some(14), Some(25)),
    ];
    for (design, usual, slow) in expected {
        assert_eq!((checked(design, &modern), checked(design, &slow_aes)), (usual, slow), "{design}");
    }
}

/// The slots that a read of a line fetches if the chip holds no metadata.
fn slots(layout: &Layout, line: u64) -> Vec<Slot> {
    let share = |region: &protection::layout::Region, of: u64| region.slot(line / of);
    let counters = layout.region(Kind::Counters).unwrap();
    let tags = layout.region(Kind::Tags).unwrap();
    let mut slots =
        vec![layout.data_slot(LineAddr(line)).slot(), share(&counters, counters.serves), share(&tags, tags.serves)];
    let mut lines = counters.serves;
    for level in layout.levels() {
        lines *= level.serves;
        slots.push(share(level, lines));
    }
    slots
}

/// The starts of regions need not be spread over the banks. A region that starts at a multiple of all banks' rows puts its first lines into
/// the bank of another region's first lines. But other address bits decide the bank of a metadata line than that of the data line. On
/// average over the memory, two accesses of a read share a bank no more often than with random banks.
#[test]
fn data_and_metadata_accesses_of_a_read_share_a_dram_bank_only_by_chance() {
    const LINES: usize = 20_000;
    for (name, gigabytes) in [("modern", 2), ("modern", 3), ("modern", 4), ("modern-ddr5", 3), ("modern-ddr5", 4)] {
        let machine = machine(name, gigabytes);
        let memory = machine.memory_config();
        let organisation = machine.dram.as_ref().unwrap().organisation;
        let banks = (organisation.banks() * memory.channels as u64) as f64;
        let data_lines = machine.memory.size.0 / LINE_BYTES as u64;
        for design in ["sc64-bmt", "sc128-tree"] {
            let scheme = catalogue::design(design).unwrap().parts.build(data_lines, 1).unwrap();
            let layout = scheme.layout();
            let mut random = Random::new(7);
            let count = slots(layout, 0).len();
            let mut met = vec![vec![0; count]; count];
            for _ in 0..LINES {
                let rows: Vec<_> = slots(layout, random.below(data_lines))
                    .iter()
                    .map(|slot| memory.row(layout.shape().lines(*slot).0).unwrap())
                    .collect();
                for (one, other) in (0..count).flat_map(|one| (0..one).map(move |other| (one, other))) {
                    met[one][other] += usize::from(rows[one].conflicts_with(&rows[other]));
                }
            }
            let most = met.concat().into_iter().max().unwrap() as f64 / LINES as f64;
            assert!(most < 1.3 / banks, "{name}, {gigabytes} GB, {design}: {most} of {met:?}");
        }
    }
}

const FEW: Lines = Lines::Sample { lines: 99, seed: 1, no_conflict: false };

fn write(design: &str, on_chip: OnChipMetadata) -> Explanation {
    let scenario = Scenario { of: Of::Write, on_chip, ..Scenario::default() };
    explain(&machine("modern", 4), &catalogue::design(design).unwrap(), scenario, FEW).unwrap()
}

/// End of the first span of a verb.
fn done(write: &Explanation, verb: Verb) -> u64 {
    write.spans.iter().find(|span| span.verb == verb).unwrap_or_else(|| panic!("no {verb:?}")).end.as_fs()
}

#[test]
fn every_design_explains_a_write_with_exactly_one_store_of_the_line() {
    for design in catalogue::designs() {
        let scenario = Scenario { of: Of::Write, ..Scenario::default() };
        let machine = machine("modern", 4);
        if machine.admits(&design.parts).is_err() || machine.has_engine_for(&design.parts).is_err() {
            continue;
        }
        let name = &design.name;
        let written =
            explain(&machine, &design, scenario, Lines::Sample { lines: 5, seed: 1, no_conflict: false }).unwrap();
        let durable = design.parts.persistence.is_in_tuples();
        assert_eq!(written.until, if durable { Until::Durable } else { Until::Taken }, "{name}");
        let stores = |span: &&sim::span::Span| matches!(span.verb, Verb::Store | Verb::Persist) && span.what == "data";
        assert_eq!(written.spans.iter().filter(stores).count(), 1, "{name}");
        let last = written.spans.iter().map(|span| span.end.as_fs()).max().unwrap();
        assert!(last >= written.latency_fs, "{name}: the latency ends with something");
        assert!(durable || last == written.latency_fs, "{name}: {last} and {}", written.latency_fs);
        assert!(!written.spans.iter().any(|span| span.verb == Verb::Release), "{name}");
    }
}

/// A store under a scheme of SecPB on its machine, with all metadata on the chip.
fn store(design: &str) -> Explanation {
    let scenario = Scenario { of: Of::Store, on_chip: OnChipMetadata::All, ..Scenario::default() };
    explain(&machine("secpb-pcm", 4), &catalogue::design(design).unwrap(), scenario, FEW).unwrap()
}

#[test]
fn an_explained_store_waits_for_its_early_steps_and_its_entry_drains_afterwards() {
    let found = ["cobcm", "obcm", "bcm", "cm", "m", "nogap"].map(|scheme| store(&format!("secpb-{scheme}")));
    let latencies = found.each_ref().map(|store| store.latency_fs);
    assert_eq!(latencies[0], 500_000, "nothing is early but the buffer's look-up, of two cycles at 4 GHz");
    assert!(latencies.is_sorted() && latencies[3] > latencies[2] && latencies[5] >= latencies[4], "{latencies:?}");
    for store in &found {
        assert_eq!(store.until, Until::Accepted);
        let persists = store.spans.iter().filter(|span| span.verb == Verb::Persist);
        assert!(persists.clone().count() == 3 && persists.clone().all(|span| span.start.as_fs() >= store.latency_fs));
    }
    // Seven edges of a tree of eight levels, one after the other, each a look-up of its parent and a hash.
    let hashes = found[3].spans.iter().filter(|span| span.verb == Verb::Hash && span.end.as_fs() <= latencies[3]);
    assert_eq!(hashes.count(), 7);
}

#[test]
fn explain_refuses_a_store_without_a_persist_buffer_and_a_write_with_one() {
    let refused = |design: &str, of| {
        let scenario = Scenario { of, ..Scenario::default() };
        explain(&machine("secpb-pcm", 4), &catalogue::design(design).unwrap(), scenario, FEW).unwrap_err()
    };
    assert!(refused("secpb-cm", Of::Write).contains("--of store"));
    assert!(refused("plp-sp", Of::Store).contains("--of write"));
}

#[test]
fn an_explained_write_is_shorter_the_more_metadata_is_on_the_chip() {
    assert_eq!(write("none", OnChipMetadata::Nothing).latency_fs, 0);
    let latencies = [OnChipMetadata::Nothing, OnChipMetadata::Tree, OnChipMetadata::Counter, OnChipMetadata::All]
        .map(|on_chip| write("sc64-bmt", on_chip).latency_fs);
    assert!(latencies.is_sorted_by(|longer, shorter| longer > shorter), "{latencies:?}");
}

#[test]
fn a_write_is_durable_when_its_tuple_is_complete_and_no_earlier() {
    let written = write("plp-pipelined", OnChipMetadata::All);
    assert_eq!(written.latency_fs, done(&written, Verb::Complete));
    assert!(
        written
            .spans
            .iter()
            .filter(|span| span.verb == Verb::Persist)
            .all(|span| span.end.as_fs() <= written.latency_fs)
    );
    assert!(write("plp-sp", OnChipMetadata::All).latency_fs > write("sc64-bmt", OnChipMetadata::All).latency_fs);
}

#[test]
fn the_content_of_an_explained_line_changes_no_latency_without_speculation() {
    let of = |value: &str, of: Of| {
        let scenario = Scenario { of, value: value.parse().unwrap(), ..Scenario::default() };
        explain(&machine("modern", 4), &catalogue::design("sc64-bmt").unwrap(), scenario, Lines::At(64)).unwrap()
    };
    for access in [Of::Read, Of::Write] {
        let (zeros, other) = (of("zeros", access), of("0123456789abcdef", access));
        assert_eq!((zeros.latency_fs, &zeros.spans), (other.latency_fs, &other.spans));
        assert_eq!(other.scenario.value.line()[..9], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01]);
    }
}

#[test]
fn explain_refuses_a_write_that_starts_in_an_l2() {
    let scenario = Scenario { of: Of::Write, start: TimelineStart::L2, ..Scenario::default() };
    let refused = explain(&machine("modern", 4), &catalogue::design("none").unwrap(), scenario, FEW).unwrap_err();
    assert!(refused.contains("no L2 waits for it"), "{refused}");
}

#[test]
fn an_explained_pad_begins_when_its_counter_is_decoded() {
    let mut machine = machine("modern", 4);
    machine.engines.counter_decode_ns = Some(50.0);
    let scenario = Scenario { on_chip: OnChipMetadata::All, ..Scenario::default() };
    let read = explain(&machine, &catalogue::design("morphable").unwrap(), scenario, Lines::At(0x1234_5640)).unwrap();
    let of = |verb| read.spans.iter().filter(move |span| span.verb == verb);
    let [decoded] = of(Verb::Decode).collect::<Vec<_>>()[..] else { panic!("{:?}", read.spans) };
    let pads: Vec<_> = of(Verb::Pad).map(|pad| (pad.start, pad.waited_for)).collect();
    assert_eq!(pads, [(decoded.end, None)]);
}
