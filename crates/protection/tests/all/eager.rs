//! Reads that L2s begin: tests at which component each step is executed, and that no L2 continues with outdated
//! counters.

use casemate_protection::design::{
    CacheDesign, CipherChoice, CounterChoice, MacChoice, MacDesign, Parts, Persistence, SpeculationDesign, TagLocation,
    TreeDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Operation, RecordedMemory, run_now};
use casemate_protection::on_chip::{ChipState, Copies, Geometry, SecondLevel};
use casemate_protection::ownership::Ownership;
use casemate_protection::scheme::{Demand, FixedScheme, Release, Scheme};
use casemate_protection::slot::Kind;
use casemate_protection::verbs::{AesUnits, Fault, Leg, Slot, Untrusted};
use std::cell::Cell;
use std::future::{Ready, ready};
use units::{Bytes, LINE_BYTES, Line, LineAddr};

fn parts() -> Parts {
    let caches = CacheDesign { counters_in_llc: true, counters_in_l2: Some(Bytes(256)), ..CacheDesign::default() };
    Parts {
        cipher: CipherChoice::Aes128Counter,
        counters: CounterChoice::Morphable,
        mac: MacDesign { code: MacChoice::Gmac, place: TagLocation::Ecc, ..MacDesign::default() },
        tree: TreeDesign { levels: vec![CounterChoice::Morphable], ..TreeKind::Counters.into() },
        ownership: Ownership::None,
        caches: caches.resized(Bytes(256), 2),
        persistence: Persistence::default(),
        release: Release::Verified,
        speculation: SpeculationDesign::default(),
        permutation: None,
    }
}

/// A memory, its protection, and a log of operations.
struct Bench {
    scheme: Scheme,
    recorded: RecordedMemory,
}

impl Bench {
    fn new() -> Bench {
        Bench::of(&parts())
    }

    fn of(parts: &Parts) -> Bench {
        let scheme = parts.build(1 << 14, 3).unwrap();
        let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
        Bench { scheme, recorded }
    }

    /// The scheme, whose lines have fixed slots.
    fn fixed(&self) -> &FixedScheme {
        self.scheme.fixed().unwrap()
    }

    fn write(&self, line: u64, byte: u8) {
        run_now(self.scheme.write(&self.recorded.verbs(), LineAddr(line), &content(byte)));
    }

    /// Reads a line for a core. Returns the result and the operations of the read.
    fn read(&self, core: usize, line: u64) -> (Result<Line, Fault>, Vec<Operation>) {
        self.recorded.take_operations();
        run_now(self.scheme.read_by(&self.recorded.verbs(), LineAddr(line), core));
        let memory = self.recorded.memory();
        let outcome = match memory.take_fault() {
            Some(fault) => Err(fault),
            None => Ok(memory.take_released().unwrap().1.bytes),
        };
        (outcome, self.recorded.take_operations())
    }

    /// Reads a line for a core that finds it on the chip.
    fn find(&self, core: usize, line: u64) {
        run_now(self.scheme.read_from(
            &self.recorded.verbs(),
            Demand::of(LineAddr(line), core),
            ready(()),
            ready(false),
            None::<Ready<()>>,
        ));
    }

    fn useless(&self) -> u64 {
        self.fixed().on_chip(ChipState::copy_counts).unwrap().useless
    }

    fn invalidated(&self) -> u64 {
        self.fixed().on_chip(ChipState::copy_counts).unwrap().invalidated
    }
}

fn content(byte: u8) -> Line {
    [byte; LINE_BYTES]
}

fn in_l2(operations: &[Operation]) -> bool {
    operations.iter().any(|operation| matches!(operation, Operation::Pad(AesUnits::L2(_), _)))
}

fn at_controller(operations: &[Operation]) -> bool {
    operations.iter().any(|operation| matches!(operation, Operation::Pad(AesUnits::Controller, _)))
}

/// Moves the counters of a line to the last-level cache, as if another line had taken their entry.
fn hand_on_counters(scheme: &Scheme, line: LineAddr) {
    let slot = scheme.fixed().unwrap().counter_slot(line).unwrap();
    scheme.fixed().unwrap().on_chip(|chip| chip.caches.hand_on_counters(slot));
}

#[test]
fn an_l2_decrypts_no_line_whose_counters_are_fetched_from_memory() {
    let bench = Bench::new();
    bench.write(5, 1);
    bench.write(6, 1);
    run_now(bench.scheme.flush(&bench.recorded.verbs()));
    let (bytes, operations) = bench.read(0, 5);
    assert_eq!(bytes, Ok(content(1)));
    assert!(at_controller(&operations) && !in_l2(&operations));
    assert!(operations.contains(&Operation::Hash), "the counters are verified");
    // The controller has sent a copy, so the L2 decrypts the next line. The controller verifies no counters for it.
    let (bytes, operations) = bench.read(0, 6);
    assert_eq!(bytes, Ok(content(1)));
    assert!(in_l2(&operations) && !at_controller(&operations) && !operations.contains(&Operation::Hash));
}

#[test]
fn an_l2_without_a_copy_of_counters_requests_it_from_the_llc_and_caches_it() {
    let bench = Bench::new();
    bench.write(5, 1);
    hand_on_counters(&bench.scheme, LineAddr(5));
    let asks = |operations: &[Operation]| {
        let counters = bench.fixed().counter_slot(LineAddr(5)).unwrap();
        operations.contains(&Operation::Travel(Leg::Request(2, counters.on_chip())))
    };
    let (bytes, operations) = bench.read(2, 5);
    assert_eq!(bytes, Ok(content(1)));
    assert!(asks(&operations) && in_l2(&operations) && !at_controller(&operations));
    let (bytes, operations) = bench.read(2, 5);
    assert_eq!(bytes, Ok(content(1)));
    assert!(!asks(&operations) && in_l2(&operations));
}

#[test]
fn an_l2_counter_copy_invalidated_by_a_write_before_use_counts_as_useless() {
    let bench = Bench::new();
    for (used, useless) in [(false, 1), (true, 1)] {
        bench.write(5, 1);
        hand_on_counters(&bench.scheme, LineAddr(5));
        bench.find(0, 5);
        if used {
            assert_eq!(bench.read(0, 5).0, Ok(content(1)));
        }
        assert_eq!(bench.useless(), 1 - u64::from(!used), "it is still there");
        bench.write(7, 2);
        assert_eq!(bench.useless(), useless);
    }
}

#[test]
fn an_l2_counter_copy_evicted_before_use_counts_as_useless() {
    let bench = Bench::new();
    let each = bench.fixed().lines_per_counter_line().unwrap();
    for line in (0..10).map(|group| group * each) {
        bench.write(line, 1);
        hand_on_counters(&bench.scheme, LineAddr(line));
        bench.find(0, line);
    }
    // An L2 keeps four copies here, which may still be used.
    assert_eq!((bench.fixed().on_chip(ChipState::copy_counts).unwrap().entered, bench.useless()), (10, 6));
}

#[test]
fn an_l2_request_for_absent_counters_counts_as_useless_if_the_data_is_on_the_chip() {
    let bench = Bench::new();
    bench.write(5, 1);
    assert_eq!(bench.read(0, 5).0, Ok(content(1)));
    assert_eq!(bench.useless(), 0, "whoever reads from memory needs them");
    bench.find(1, 5);
    assert_eq!(bench.useless(), 1);
    let found = bench.scheme.counted().counters_found;
    assert_eq!((found.looked_up_in_last_level, found.at_controller), (2, 1));
}

#[test]
fn an_l2_that_stops_decrypting_drops_its_counter_copies_and_refetches_them_later() {
    let bench = Bench::new();
    bench.write(5, 1);
    hand_on_counters(&bench.scheme, LineAddr(5));
    assert!(in_l2(&bench.read(2, 5).1));
    bench.fixed().on_chip(|chip| chip.let_begin(2, false));
    let (bytes, operations) = bench.read(2, 5);
    assert_eq!(bytes, Ok(content(1)));
    assert!(at_controller(&operations) && !in_l2(&operations));
    hand_on_counters(&bench.scheme, LineAddr(5));
    assert!(in_l2(&bench.read(1, 5).1), "the other L2s go on");
    bench.fixed().on_chip(|chip| chip.let_begin(2, true));
    let before = bench.fixed().on_chip(ChipState::copy_counts).unwrap();
    assert!(in_l2(&bench.read(2, 5).1));
    let after = bench.fixed().on_chip(ChipState::copy_counts).unwrap();
    assert_eq!((after.hits, after.entered), (before.hits, before.entered + 1), "its copy was gone");
}

#[test]
fn a_write_back_invalidates_the_copies_of_its_counters_in_all_l2s() {
    let bench = Bench::new();
    bench.write(5, 1);
    for core in [0, 1, 1, 3] {
        assert_eq!(bench.read(core, 5).0, Ok(content(1)));
    }
    assert_eq!((bench.invalidated(), bench.fixed().on_chip(ChipState::copy_counts).unwrap().entered), (0, 3));
    // A line of the same counters: the first write invalidates all copies, and the second finds no copy.
    bench.write(6, 2);
    assert_eq!(bench.invalidated(), 3);
    bench.write(5, 3);
    assert_eq!(bench.invalidated(), 3);
    for core in [0, 1, 2, 3] {
        assert_eq!(bench.read(core, 5).0, Ok(content(3)), "core {core}");
    }
}

#[test]
fn all_l2s_read_right_after_repeated_counter_overflows() {
    let bench = Bench::new();
    bench.write(5, 1);
    bench.write(6, 1);
    // Far more writes than a morphable counter takes before its group is renewed.
    for turn in 0..2000u64 {
        bench.write(5, turn as u8);
        assert_eq!(bench.read(turn as usize % 4, 6).0, Ok(content(1)), "turn {turn}");
        assert_eq!(bench.read(turn as usize % 4, 5).0, Ok(content(turn as u8)), "turn {turn}");
    }
}

#[test]
fn decryption_in_an_l2_detects_every_flipped_bit_of_a_line_and_of_its_tag() {
    flips_are_refused(&Bench::new(), &[1000, 1001, 1055]);
    let mut wide = parts();
    wide.mac = MacDesign { place: TagLocation::Inline, ..wide.mac }.with_line_bits(128);
    flips_are_refused(&Bench::of(&wide), &Vec::from_iter(1000..1128));
}

/// Flips each bit of a line in turn, and the spare bits in `spare`, which contains their numbers plus 1000.
fn flips_are_refused(bench: &Bench, spare: &[usize]) {
    bench.write(5, 1);
    assert_eq!(bench.read(0, 5).0, Ok(content(1)));
    let slot = Slot(5);
    for bit in (0..8 * LINE_BYTES).chain(spare.iter().copied()) {
        let honest = bench.recorded.memory().media.borrow().read(slot);
        let mut bytes = honest.examine();
        let mut spare_bits = honest.spare_bits();
        match bit {
            1000.. => spare_bits ^= 1 << (bit - 1000),
            _ => bytes[bit / 8] ^= 1 << (bit % 8),
        }
        let forged = Untrusted::with(bytes, spare_bits);
        bench.recorded.memory().media.borrow_mut().store(slot, forged);
        let (outcome, operations) = bench.read(0, 5);
        assert_eq!(outcome, Err(Fault::Tag(LineAddr(5))), "bit {bit}");
        assert!(in_l2(&operations));
        bench.recorded.memory().media.borrow_mut().store(slot, honest);
    }
    assert_eq!(bench.read(0, 5).0, Ok(content(1)));
}

#[test]
fn an_l2_has_no_more_counter_copies_than_its_capacity() {
    // 32 KB are 512 lines.
    let mut copies = Copies::new(Geometry { sets: 64, ways: 8 });
    for slot in 0..5_000 {
        copies.enter(1, Slot(slot), &content(1), true);
    }
    let held = (0..5_000).filter(|slot| copies.look_up(1, Slot(*slot)).is_some()).count();
    assert_eq!(held, 512);
    assert!(copies.look_up(0, Slot(4_999)).is_none(), "another core's L2 has none of them");
}

#[test]
fn a_read_in_an_l2_is_notified_if_its_counters_change_meanwhile() {
    let mut copies = Copies::new(Geometry { sets: 1, ways: 2 });
    let (begun, other) = (copies.begin(0, Slot(7)).unwrap(), copies.begin(0, Slot(8)).unwrap());
    copies.drop_all(Slot(7));
    assert_eq!((begun.get(), other.get()), (true, false));
    copies.end(&other);
    copies.drop_all(Slot(8));
    assert!(!other.get(), "what is over is not told");
}

/// The L2s of a machine in which the next copy evicts data. The data takes the entry of this slot in the last-level
/// cache.
struct Crowded(Cell<Option<Slot>>);

impl SecondLevel for Crowded {
    fn enter(&self, _: usize, _: Slot) -> Option<Slot> {
        self.0.take()
    }

    fn touch(&self, _: usize, _: Slot) {}

    fn leave(&self, _: usize, _: Slot) {}

    fn displaced(&self, _: usize) -> Vec<Slot> {
        Vec::new()
    }
}

#[test]
fn dirty_counters_evicted_from_the_llc_by_an_l2_victim_are_written_to_memory() {
    let bench = Bench::new();
    let other = bench.fixed().lines_per_counter_line().unwrap();
    [5, other].into_iter().for_each(|line| bench.write(line, 1));
    hand_on_counters(&bench.scheme, LineAddr(5));
    let counters = bench.fixed().counter_slot(LineAddr(5)).unwrap();
    bench.fixed().on_chip(|chip| chip.copies_lie_in(Box::new(Crowded(Cell::new(Some(counters))))));
    let (bytes, operations) = bench.read(0, other);
    assert_eq!(bytes, Ok(content(1)));
    let stored = |operation: &Operation| matches!(operation, Operation::Store(_, slot, _) if *slot == counters);
    assert!(operations.iter().any(stored), "{operations:?}");
    assert_eq!(bench.fixed().on_chip(|chip| chip.shared_counts()).unwrap()[Kind::Counters].writebacks, 1);
    assert_eq!(bench.read(0, 5).0, Ok(content(1)));
}

#[test]
#[should_panic = "a machine's L2s are not copied"]
fn a_scheme_with_counter_copies_in_the_l2s_of_a_machine_cannot_be_cloned() {
    let bench = Bench::new();
    drop(bench.scheme.twin());
    bench.fixed().on_chip(|chip| chip.copies_lie_in(Box::new(Crowded(Cell::new(None)))));
    bench.scheme.twin();
}

#[test]
fn parts_that_are_incompatible_with_decryption_in_l2s_are_refused_with_the_rule() {
    let refused = |change: fn(&mut Parts), rule: &str| {
        let mut parts = parts();
        change(&mut parts);
        let error = parts.check().unwrap_err();
        assert!(error.contains(rule), "{error}");
    };
    assert_eq!(parts().check(), Ok(()));
    refused(|parts| parts.caches.counters_in_llc = false, "set caches.counters_in_llc = true");
    refused(|parts| parts.cipher = CipherChoice::Aes128Xts, "set cipher = \"aes128-counter\"");
    refused(|parts| parts.mac.code = MacChoice::SgxCw, "set mac.code = \"gmac\"");
    refused(|parts| parts.caches.counters_in_l2 = Some(Bytes(100)), "caches.counters_in_l2 = \"100 B\"");
}
