//! Whole runs of designs that permute lines: does each slot cross the bus once each way between two permutations, for
//! all programs, and does the simulation reproduce the paper's cycles?

use crate::common::kernel;
use casemate_runner::explain::{Lines, Of, OnChipMetadata, Scenario, Until, explain};
use casemate_runner::{CoreTime, Record, RunControl, RunOptions, run, run_planted};
use catalogue::{Design, Machine, design};
use protection::execution::ReadPart;
use protection::moving::{FirstSlot, MovingCounts, PermutationTime};
#[cfg(feature = "planted-bugs")]
use protection::planted::ChipBug;
use protection::planted::PlantedBug;
use protection::record::HashCharge;
use sim::span::Verb;
use std::collections::BTreeMap;
use units::{Bytes, Duration};

const SLOTS: u64 = 256;

fn machine() -> Machine {
    catalogue::machine("cryptopage-2006").unwrap()
}

fn ran(machine: Machine, design: Design, workload: &str, settings: &[(&str, &str)], instructions: u64) -> Record {
    let options = RunOptions { seed: 7, ledger: true, ..RunOptions::new(machine, design, instructions) };
    run(&options, kernel(workload, settings, 1), |_| RunControl::GoOn).unwrap()
}

fn changed(name: &str, change: impl FnOnce(&mut Design)) -> Design {
    let mut design = design(name).unwrap();
    change(&mut design);
    design
}

fn counted(record: &Record) -> MovingCounts {
    assert!(record.checks.passed, "{:?}", record.checks);
    assert_eq!(record.checks.pad_reused, Some(false));
    record.moving.unwrap()
}

#[test]
fn each_completed_permutation_epoch_reads_and_writes_every_slot_exactly_once() {
    let small: &[_] = &[("footprint", "8MB")];
    for (workload, settings) in [("stream", small), ("chase", small), ("gups", small), ("btree", &[])] {
        for name in ["cryptopage", "hide"] {
            let record = ran(machine(), design(name).unwrap(), workload, settings, 20_000);
            let MovingCounts { fills, permutations, read, written, twice, incomplete, .. } = counted(&record);
            assert_eq!((twice, incomplete), (0, 0), "{workload} under {name}");
            // The run ends with its last permutation.
            assert_eq!(written, SLOTS * permutations, "{workload} under {name}");
            assert!(read + fills >= SLOTS * permutations, "{workload} under {name}");
            assert!(permutations > 0 && fills > 0, "{workload} under {name}");
        }
    }
}

/// Runs a program that stores again and again to lines in the L1D. The last-level cache is so small that it would evict
/// lines of this kind.
fn ran_with_stores_above(planted: PlantedBug) -> Record {
    let mut machine = machine();
    machine.llc.size = Bytes(16 << 10);
    let options = RunOptions { ledger: true, ..RunOptions::new(machine, design("cryptopage").unwrap(), 10_000) };
    run_planted(&options, kernel("gups", &[("footprint", "32KB")], 1), planted).unwrap()
}

#[test]
fn a_permutation_reads_the_slot_of_a_line_that_is_dirty_in_a_private_cache() {
    let MovingCounts { twice, incomplete, permutations, .. } = counted(&ran_with_stores_above(PlantedBug::NONE));
    assert!((twice, incomplete) == (0, 0) && permutations > 10, "{permutations} permutations");
}

#[cfg(feature = "planted-bugs")]
#[test]
fn a_line_stored_above_that_counts_as_read_leaves_its_slot_unread() {
    let record = ran_with_stores_above(PlantedBug::new(ChipBug::StoredAboveCountsAsRead.into()));
    let MovingCounts { twice, incomplete, .. } = record.moving.unwrap();
    assert!(twice == 0 && incomplete > 0, "{incomplete} permutations without the read of a slot");
    assert_eq!((record.checks.lines.lines_wrong, record.checks.lines_lost), (0, 0));
}

/// A stream fetches each line once, and causes one permutation of each page.
#[test]
fn the_stream_kernel_causes_one_permutation_per_256_fills() {
    let settings = [("footprint", "16MB")];
    let through = |instructions| counted(&ran(machine(), design("hide").unwrap(), "stream", &settings, instructions));
    let (before, after) = (through(400_000), through(800_000));
    let (fills, permutations) = (after.fills - before.fills, after.permutations - before.permutations);
    let each = fills as f64 / permutations as f64;
    assert!((each - 256.0).abs() < 16.0, "{each} fills for each of {permutations} permutations");
}

#[test]
fn zero_time_permutations_have_the_counts_of_charged_ones_and_take_less_time() {
    let ran_with = |time| {
        // TLBs that hold all pages, so that no access waits for a second walk.
        let mut machine = machine();
        (machine.node.dtlb.entries, machine.node.dtlb.ways) = (2_048, 4);
        let design = changed("hide", |design| design.parts.permutation.as_mut().unwrap().time = time);
        ran(machine, design, "gups", &[("footprint", "8MB")], 20_000)
    };
    let (charged, free) = (ran_with(PermutationTime::Charged), ran_with(PermutationTime::Free));
    let (one, other) = (counted(&charged), counted(&free));
    assert!(free.cycles * 4 < charged.cycles * 3, "{} and {}", free.cycles, charged.cycles);
    let close = |one: u64, other: u64| one.abs_diff(other) * 20 <= one.max(other);
    // Slots written also count for permutations that are under way when the program ends.
    assert!(close(one.fills, other.fills) && close(one.written, other.written), "{one:?} and {other:?}");
}

#[test]
fn page_chunk_record_walks_are_caused_only_by_tlb_misses_and_permutations() {
    let record = ran(machine(), design("hide").unwrap(), "gups", &[("footprint", "8MB")], 20_000);
    let (misses, MovingCounts { walks, permutations, .. }) = (record.node.stlb.misses, counted(&record));
    assert!(misses > 1_000, "{misses}");
    let sought = walks.records + walks.hits.records;
    assert!((misses..=misses + permutations).contains(&sought), "{walks:?} for {misses} misses");
    assert!(walks.records > 100 && walks.hits.records > 100, "{walks:?}");
    // If the TLB holds all pages, each record is loaded once, by a walk to the record or to its sibling.
    let mut machine = machine();
    (machine.node.dtlb.entries, machine.node.dtlb.ways) = (2_048, 4);
    let kept = ran(machine, design("hide").unwrap(), "gups", &[("footprint", "8MB")], 20_000);
    let walks = counted(&kept).walks;
    assert_eq!(walks.records + walks.hits.records, kept.node.stlb.misses);
    assert!(walks.records >= kept.node.stlb.misses / 2, "{walks:?}");
    assert!(kept.node.stlb.misses <= 1_100 && kept.cycles < record.cycles, "{:?}", kept.node.stlb);
}

fn explained(design: &Design, of: Of, on_chip: OnChipMetadata) -> (u64, Until, usize) {
    let scenario = Scenario { of, on_chip, ..Scenario::default() };
    let found = explain(&machine(), design, scenario, Lines::Sample { lines: 5, seed: 1, no_conflict: false }).unwrap();
    let hashes = found.spans.iter().filter(|span| span.verb == Verb::Hash).count();
    (found.latency_fs / Duration::from_ns(1).as_fs(), found.until, hashes)
}

/// Figure 6: 80 cycles to the first word and 5 for each further one, 11 for a block of AES, one to add a pad.
#[test]
fn rule_6_cryptopage_decrypts_a_line_at_96_cycles_and_verifies_it_at_107() {
    let cycles = |name: &str| explained(&design(name).unwrap(), Of::Read, OnChipMetadata::All).0;
    assert_eq!(["hide", "cryptopage", "cryptopage-basic"].map(cycles), [95, 96, 107]);
}

/// A walk takes 115 cycles to the first pair, then 19 hashes of 80 cycles, or 28 if each block of 64 bytes counts. With the nodes above the
/// record on the chip, it takes ten lines of two records and one hash.
#[test]
fn rule_8_a_page_chunk_record_walk_takes_19_hashes_or_stops_at_an_on_chip_node() {
    let cryptopage = design("cryptopage").unwrap();
    assert_eq!(explained(&cryptopage, Of::Page, OnChipMetadata::Nothing), (115 + 19 * 80, Until::OnChip, 19));
    let by_blocks =
        changed("cryptopage", |design| design.parts.permutation.as_mut().unwrap().hash_charge = HashCharge::ByBlocks);
    assert_eq!(explained(&by_blocks, Of::Page, OnChipMetadata::Nothing), (115 + 28 * 80, Until::OnChip, 28));
    assert_eq!(explained(&cryptopage, Of::Page, OnChipMetadata::Tree), (115 + 9 * 40 + 80, Until::OnChip, 1));
    let basic = design("cryptopage-basic").unwrap();
    assert_eq!(explained(&basic, Of::Page, OnChipMetadata::Tree), explained(&basic, Of::Page, OnChipMetadata::Nothing));
    assert_eq!(explained(&cryptopage, Of::Permutation, OnChipMetadata::All).1, Until::Permuted);
}

/// The error for a machine that does not support a design names the wrong key.
#[test]
fn machines_unsuitable_for_permuted_lines_are_refused_with_the_key() {
    let refused = |change: fn(&mut Machine)| {
        let mut machine = machine();
        change(&mut machine);
        RunOptions::new(machine, design("cryptopage").unwrap(), 1_000).check_design().unwrap_err().to_string()
    };
    type Change = fn(&mut Machine);
    let cases: [(Change, &str); 6] = [
        (|machine| machine.cores = 2, "cores is 2"),
        (|machine| machine.memory.page = units::Bytes(4 << 10), "memory.page is \"4 KB\": expected \"8 KB\""),
        (|machine| machine.llc.inclusion = machine::llc::Inclusion::Neither, "llc.inclusion"),
        (|machine| machine.llc.ways = 1, "llc.ways is 1"),
        (|machine| machine.memory.critical_word_first = true.into(), "memory.critical_word_first"),
        (|machine| machine.memory.line = units::Bytes(64), "memory.line is \"64 B\": expected \"32 B\""),
    ];
    for (change, key) in cases {
        let said = refused(change);
        assert!(said.contains(key) && said.contains("cryptopage-2006"), "{said}");
    }
}

/// Latencies in cycles of reads of 1,000 addresses, in steps of an odd number of lines, with their counts.
fn of_many_addresses(design: &Design) -> BTreeMap<u64, u32> {
    let scenario = Scenario { of: Of::Read, on_chip: OnChipMetadata::All, ..Scenario::default() };
    let at = |line: u64| explain(&machine(), design, scenario, Lines::At(line * 32)).unwrap().latency_fs;
    let mut counted = BTreeMap::new();
    for number in 0..1_000_u64 {
        *counted.entry(at(number * 10_007 % (1 << 20)) / Duration::from_ns(1).as_fs()).or_default() += 1;
    }
    counted
}

fn under_a_tag(name: &str, slots_per_tag: usize, first: FirstSlot) -> Design {
    changed(name, |design| {
        let permutation = design.parts.permutation.as_mut().unwrap();
        (permutation.slots_per_tag, permutation.first) = (slots_per_tag, first);
    })
}

/// Groups of 80 or 144 bytes cross the ends of DRAM rows of 4 KB. The blocks of a group arrive in the order of its code
/// all the same. No read is verified later than 85 cycles for the first block and 11 for each block.
#[test]
fn the_verdict_of_each_of_1000_addresses_comes_at_107_129_or_173_cycles_by_slots_under_a_tag() {
    for (slots, verified) in [(1, 107), (2, 129), (4, 173)] {
        let design = under_a_tag("cryptopage-basic", slots, FirstSlot::GroupOrder);
        assert_eq!(of_many_addresses(&design), BTreeMap::from([(verified, 1_000)]), "{slots} slots");
    }
}

/// With the requested slot first, each line is decrypted when it is the first line on the bus. Its code waits for the first block of the
/// group, unless the first slot was requested. This block arrives 85 + 20 cycles after the request, or 10 later behind the burst of six
/// words of the last slot, since the tag is in this burst.
#[test]
fn a_requested_slot_that_is_fetched_first_is_decrypted_at_96_cycles_and_verified_at_173_to_203() {
    for (slots, verified) in [(1, vec![107]), (2, vec![129, 85 + 20 + 10 + 4 * 11]), (4, vec![173, 105 + 8 * 11, 203])]
    {
        let design = |name: &str| under_a_tag(name, slots, FirstSlot::Requested);
        assert_eq!(of_many_addresses(&design("cryptopage")), BTreeMap::from([(96, 1_000)]), "{slots} slots");
        let found = of_many_addresses(&design("cryptopage-basic"));
        assert_eq!(found.keys().copied().collect::<Vec<u64>>(), verified, "{slots} slots");
        if slots == 4 {
            assert!((400..600).contains(&found[&193]), "the second or third of four slots: {found:?}");
        }
    }
}

/// Section 3.3: a tag over two or four slots. The requested line follows other lines of its tag, and the verdict waits for all blocks: 85 +
/// 11 cycles for the first, 11 for each further one.
#[test]
fn a_tag_over_several_slots_is_verified_11_cycles_later_per_additional_block() {
    let design =
        |name: &str, slots| changed(name, |design| design.parts.permutation.as_mut().unwrap().slots_per_tag = slots);
    for (slots, verified) in [(1, 107), (2, 129), (4, 173)] {
        assert_eq!(
            explained(&design("cryptopage-basic", slots), Of::Read, OnChipMetadata::All).0,
            verified,
            "{slots} slots"
        );
    }
    let scenario = Scenario { of: Of::Read, on_chip: OnChipMetadata::All, ..Scenario::default() };
    for (slots, positions) in [(2, vec![96, 116]), (4, vec![96, 116, 136, 156])] {
        let design = design("cryptopage", slots);
        let at = |line: u64| explain(&machine(), &design, scenario, Lines::At(line * 32)).unwrap().latency_fs;
        let mut seen: Vec<u64> = (0..40_u64).map(|line| at(line) / Duration::from_ns(1).as_fs()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, positions, "by the place among {slots} slots");
    }
}

#[test]
fn each_fill_under_a_tag_over_several_slots_fetches_all_lines_of_the_tag() {
    use FirstSlot::{GroupOrder, Requested};
    for (slots, first, workload, instructions) in [
        (2, GroupOrder, "gups", 20_000),
        (4, GroupOrder, "gups", 20_000),
        (4, Requested, "gups", 20_000),
        (2, GroupOrder, "stream", 100_000),
        (2, Requested, "stream", 100_000),
        (4, GroupOrder, "stream", 400_000),
    ] {
        let design = under_a_tag("cryptopage", slots, first);
        let record = ran(machine(), design, workload, &[("footprint", "8MB")], instructions);
        let MovingCounts { fills, fetched, permutations, written, twice, incomplete, .. } = counted(&record);
        assert_eq!((twice, incomplete), (0, 0), "{workload}, {slots} slots");
        assert_eq!(written, SLOTS * permutations, "{workload}");
        assert_eq!(fetched, fills * slots as u64);
        assert!(permutations > 0 || workload == "stream" && fills > 4_000, "{workload}: {fills} fills");
    }
}

/// Cycles that a core loses to walks for its TLBs count only for the tree.
#[test]
fn waits_for_page_chunk_records_count_as_waiting_cycles_of_the_tree() {
    let core_time = |name: &str, entries| {
        let mut machine = machine();
        machine.node.dtlb.entries = entries;
        // Without a Merkle cache, so that each TLB miss walks.
        let design = changed(name, |design| design.parts.permutation.as_mut().unwrap().merkle_cache.entries = 0);
        ran(machine, design, "chase", &[("footprint", "8MB")], 20_000).core_time
    };
    let (few, many) = (core_time("hide", 16), core_time("hide", 2_048));
    let waited = |time: &CoreTime, part| time.waiting_cycles[part];
    let tree = waited(&few, ReadPart::Tree) - waited(&many, ReadPart::Tree);
    let slower = few.cycles as f64 - many.cycles as f64;
    assert!(slower > 0.1 * many.cycles as f64 && (tree - slower).abs() < 0.2 * slower, "{few:?} and {many:?}");
    let parts: f64 = few.waiting_cycles.values().sum();
    assert!((few.at_work_cycles + parts - few.cycles as f64).abs() < 1.0, "{few:?}");
}
