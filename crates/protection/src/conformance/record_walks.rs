//! Walks to page chunk records in timed runs: the duration of one walk, and whether many concurrent walks end.

use super::{Checked, hold};
use crate::execution::{AtOnce, CounterTags, Engine, Engines, Receiver, Timed, TimedMemory, Untimed, run_now};
use crate::layout::{Layout, Needs, with_records};
use crate::planted::PlantedBug;
use crate::record::{HashCharge, LEAF_LINES, MerkleCacheDesign, Records, SLOTS, WalkDesign};
use crate::verbs::{Fault, Plaintext};
use crypto::Key;
use machine::channel::Channel;
use machine::dram::{BurstLength, DramConfig, Organisation, PagePolicy, Timing};
use sim::Executor;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Frequency, Line, LineAddr, ZERO_LINE};

/// A receiver without releases and faults: both panic.
struct NoReceiver;

impl Receiver for NoReceiver {
    fn released(&self, line: LineAddr, _: &Plaintext) {
        panic!("line {line} was released");
    }

    fn fault(&self, fault: Fault) {
        panic!("{fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// CryptoPage's memory (its Table 1): 80 cycles of a core at 1 GHz to the first word, and 5 for each further one.
pub(super) fn cryptopage_memory() -> DramConfig {
    let timing = Timing {
        cl: 14,
        cwl: 1,
        trcd: 1,
        trp: 1,
        tras: 1,
        trc: 2,
        twr: 1,
        trtp: 1,
        tccd_s: 8,
        tccd_l: 8,
        trrd_s: 1,
        trrd_l: 1,
        twtr_s: 0,
        twtr_l: 0,
        tfaw: 0,
        trfc: 0,
        trefi: 0,
        trtrs: 0,
        burst_clocks: 8,
    };
    DramConfig {
        clock_mhz: Frequency::from_mhz(200),
        organisation: Organisation { ranks: 1, bank_groups: 1, banks_per_group: 16, rows: 1 << 16, lines_per_row: 128 },
        timing,
        page_policy: PagePolicy::OpenWithTimeout { idle_clocks: 1 },
        bursts: BurstLength::Any,
        ..DramConfig::ddr4_3200()
    }
}

/// CryptoPage's units (its section 3): AES takes 11 cycles in a pipeline, SHA-1 takes 80.
pub(super) fn cryptopage_engines() -> Engines {
    let engine = |latency_ns, interval_ns| Engine { units: 1, latency_ns, interval_ns };
    Engines {
        aes: engine(11.0, 1.0).into(),
        tdes: None,
        mac: engine(11.0, 1.0),
        hash: engine(80.0, 80.0),
        metadata_cache: engine(1.0, 1.0),
        counter_tags: CounterTags::Hash,
        counter_decode_ns: None,
        candidates_ns: None,
        xor_ns: None,
    }
}

/// Records of `chunks` page chunks, on a clock.
struct RecordMachine {
    executor: Executor,
    memory: Rc<TimedMemory>,
    records: Rc<Records>,
}

impl RecordMachine {
    fn of_chunks(chunks: u64, walks: WalkDesign) -> RecordMachine {
        RecordMachine::planted(chunks, walks, PlantedBug::NONE)
    }

    fn planted(chunks: u64, walks: WalkDesign, planted: PlantedBug) -> RecordMachine {
        let nothing_else = Needs { lines_per_counter_line: None, tags: None, tree: None };
        let layout = Layout::new(chunks * SLOTS as u64, nothing_else).unwrap();
        let layout = with_records(layout, SLOTS as u64, LEAF_LINES as u64);
        let executor = Executor::new();
        let channel = Channel::start(executor.clock(), cryptopage_memory());
        let memory = TimedMemory::new(
            executor.clock(),
            channel,
            layout.shape(),
            &cryptopage_engines(),
            false,
            Rc::new(NoReceiver),
        );
        let records = Records::new(&layout, &Key([5; 16]), Random::new(9), walks, planted);
        RecordMachine { executor, memory: Rc::new(memory), records: Rc::new(records) }
    }

    /// Duration of one walk on an idle machine, in cycles of 1 ns.
    fn walk(&mut self, chunk: u64) -> u64 {
        let (records, verbs, clock) = (self.records.clone(), Timed::new(&self.memory), self.executor.clock().clone());
        let took = Rc::new(Cell::new(None));
        let taken = took.clone();
        self.executor.clock().spawn(async move {
            let began = clock.now();
            assert_eq!(records.bring(&verbs, chunk).await.map(|_| ()), Ok(()));
            taken.set(Some(clock.now().since(began)));
        });
        self.executor.run_until(|| took.get().is_some());
        took.get().unwrap().as_fs() / Duration::from_ns(1).as_fs()
    }
}

/// Writes two records at once: those of one pair, and distant ones. The commit of each must build on the commit before, so
/// that walks bring both.
pub(super) fn two_writes_at_once(planted: PlantedBug) -> Checked {
    for (entries, other) in [(0, 1), (0, 15), (64, 1), (64, 15)] {
        let machine = RecordMachine::planted(16, with_cache(entries, true), planted);
        let (RecordMachine { mut executor, memory, records }, written) = (machine, Rc::new(RefCell::new(Vec::new())));
        for chunk in [0, other] {
            let (records, verbs, written) = (records.clone(), Timed::new(&memory), written.clone());
            executor.clock().spawn(async move {
                let record = records.renew(&verbs, chunk, None).await;
                written.borrow_mut().push((chunk, record));
            });
        }
        executor.run();
        records.forget_nodes();
        for (chunk, record) in written.take() {
            let found = run_now(records.bring(&AtOnce::new(&memory).verbs(), chunk));
            hold(record.is_ok() && found == record.map(Some), || {
                format!("two writes at once leave a record that is not the last: page chunk {chunk} next to {other}")
            })?;
        }
    }
    Ok(())
}

fn with_cache(entries: usize, in_pairs: bool) -> WalkDesign {
    WalkDesign { merkle_cache: MerkleCacheDesign { entries, in_pairs }, ..WalkDesign::default() }
}

#[test]
fn rule_6_a_record_tree_walk_of_depth_19_takes_19_hashes_after_the_first_fetch() {
    // The first pair arrives after 80 + 7 x 5 cycles. From then on the hash unit is always busy.
    assert_eq!(RecordMachine::of_chunks(1 << 19, WalkDesign::default()).walk(77_777), 115 + 19 * 80);
    let by_blocks = WalkDesign { hash_charge: HashCharge::ByBlocks, ..WalkDesign::default() };
    // Eighteen pairs of one block each, and ten blocks of two records.
    assert_eq!(RecordMachine::of_chunks(1 << 19, by_blocks).walk(77_777), 115 + (18 + 10) * 80);
}

#[test]
fn a_walk_does_not_wait_while_a_renewal_computes_its_path() {
    let mut machine = RecordMachine::of_chunks(1 << 19, with_cache(64, true));
    // The record of this walk is in the Merkle cache, so it needs only the lock.
    let verbs = AtOnce::new(&machine.memory);
    run_now(machine.records.renew(&verbs.verbs(), 1 << 18, None)).unwrap();
    let (records, timed) = (machine.records.clone(), Timed::new(&machine.memory));
    let renewed = Rc::new(Cell::new(false));
    let ends = renewed.clone();
    machine.executor.clock().spawn(async move {
        assert!(records.renew(&timed, 5, None).await.is_ok());
        ends.set(true);
    });
    let mut walks = Vec::new();
    while !renewed.get() {
        walks.push(machine.walk(1 << 18));
    }
    // The renewal verifies its path for 19 hashes and computes it for 20; only the stores of the commit exclude walks.
    let undisturbed = walks.iter().filter(|cycles| **cycles == 11 + 17).count();
    assert!(undisturbed * 28 > 2_500 && undisturbed + 10 > walks.len(), "{undisturbed} of {} walks", walks.len());
}

#[test]
fn concurrent_record_walks_and_renewals_end_and_return_the_last_drawn_records() {
    const CHUNKS: u64 = 16;
    let mut machine = RecordMachine::of_chunks(CHUNKS, with_cache(8, false));
    let (left, clock) = (Rc::new(Cell::new(CHUNKS)), machine.executor.clock().clone());
    let wrong = Rc::new(RefCell::new(Vec::new()));
    for chunk in 0..CHUNKS {
        let (records, verbs, clock) = (machine.records.clone(), Timed::new(&machine.memory), clock.clone());
        let (left, wrong, mut random) = (left.clone(), wrong.clone(), Random::new(chunk));
        machine.executor.clock().spawn(async move {
            let mut current = None;
            for _ in 0..12 {
                clock.sleep(Duration::from_ns(random.below(4_000))).await;
                if random.below(2) == 0 {
                    current = records.renew(&verbs, chunk, current.as_ref()).await.ok();
                }
                let (own, other) = (records.bring(&verbs, chunk).await, random.below(CHUNKS));
                if own != Ok(current.clone()) || records.bring(&verbs, other).await.is_err() {
                    wrong.borrow_mut().push(chunk);
                }
            }
            left.set(left.get() - 1);
        });
    }
    let end = clock.now() + Duration::from_ns(10_000_000);
    machine.executor.run_until(|| left.get() == 0 || clock.now() > end);
    assert_eq!((left.get(), wrong.take()), (0, vec![]));
}

#[test]
fn rule_6_a_record_in_the_merkle_cache_takes_its_decryption_and_no_access_to_memory() {
    for (entries, in_pairs) in [(0, false), (4, false), (2, true)] {
        let mut machine = RecordMachine::of_chunks(1 << 19, with_cache(entries, in_pairs));
        let renew = |machine: &RecordMachine, chunk| {
            run_now(machine.records.renew(&AtOnce::new(&machine.memory).verbs(), chunk, None)).unwrap();
        };
        renew(&machine, 77_777);
        let fetched = |machine: &RecordMachine| machine.memory.counts().fetched;
        let before = fetched(&machine);
        let took = machine.walk(77_777);
        if entries == 0 {
            assert!(took > 1_600 && fetched(&machine) != before, "{took}");
        } else {
            // AES takes 11 cycles in a pipeline, for 18 blocks.
            assert_eq!((took, fetched(&machine)), (11 + 17, before), "{entries} entries");
            renew(&machine, 77_776);
            assert_eq!(machine.walk(77_777), 11 + 17, "the pair was written because of its sibling");
        }
    }
}

#[test]
fn rule_6_a_record_tree_walk_stops_at_the_first_ancestor_in_the_merkle_cache() {
    let mut machine = RecordMachine::of_chunks(1 << 19, with_cache(512, false));
    assert_eq!(machine.walk(77_777), 115 + 19 * 80, "it is empty");
    assert_eq!([77_777, 77_776].map(|record| machine.walk(record)), [0, 0], "the cache has both records");
    // Ten lines of 64 bytes in sequence, and one hash of a pair of records.
    let of_neighbour = machine.walk(77_778);
    assert_eq!(of_neighbour, 80 + 80 * 5 - 5 + 80, "the pair beside it has a sibling of the node above");
    let with_one_pair = machine.walk(77_780);
    assert!((of_neighbour..=of_neighbour + 80).contains(&with_one_pair), "one node more: {with_one_pair}");
    assert_eq!(machine.walk(1 << 18), 115 + 18 * 80, "only the two nodes below the root are common");
}
