//! Memory that begins ordered, in time: the first fetch of a bitmap line, and the words that a first read fetches first.

use crate::common::{DATA_LINES, Machine, engines};
use casemate_campaign::frequent::VALUES;
use protection::execution::{Receiver, Timed};
use protection::scheme::Demand;
use protection::speculation::Tracking;
use protection::verbs::{Fault, Plaintext};
use sim::Clock;
use std::cell::{Cell, OnceCell, RefCell};
use std::future::{Ready, ready};
use std::rc::Rc;
use units::random::Random;
use units::{Bytes, Duration, Line, LineAddr, Time, WORD_BYTES, Word, Words};

/// A core that records the time at which the requested word of a read arrives.
struct Core {
    clock: OnceCell<Clock>,
    first: Cell<Option<Time>>,
    /// Frequent words of the start-up content of a line, one bit for each.
    frequent: fn(LineAddr) -> u8,
}

impl Core {
    fn new(frequent: fn(LineAddr) -> u8) -> Core {
        Core { clock: OnceCell::new(), first: Cell::default(), frequent }
    }

    fn arrives(&self) {
        let now = self.clock.get().unwrap().now();
        self.first.set(self.first.get().or(Some(now)));
    }
}

impl Receiver for Core {
    fn released_first(&self, _: LineAddr, _: &Plaintext, _: Words) {
        self.arrives();
    }

    fn released(&self, line: LineAddr, text: &Plaintext) {
        assert_eq!(text.bytes, self.start_up_content(line));
        self.arrives();
    }

    fn fault(&self, fault: Fault) {
        panic!("{fault:?}");
    }

    fn start_up_content(&self, line: LineAddr) -> Line {
        let (mut random, frequent) = (Random::new(line.0), (self.frequent)(line));
        let mut content = random.line();
        for (position, word) in content.chunks_exact_mut(WORD_BYTES).enumerate() {
            if frequent >> position & 1 == 1 {
                word.copy_from_slice(&random.pick(&VALUES).unwrap_or_default().to_le_bytes());
            }
        }
        content
    }
}

/// Bytes of the bitmap cache, for one line or for many.
const ONE_LINE: Bytes = Bytes(64);
const MANY_LINES: Bytes = Bytes(8 << 10);

/// Picoseconds of a read to its requested word, and the cipher blocks of the read.
type Cost = (u64, u64);

/// Returns the cost of each read. The memory is idle before each read.
fn costs(core: Core, (bitmaps, aes_ns): (Bytes, u64), ordered: bool, reads: Vec<(LineAddr, Word)>) -> Vec<Cost> {
    let mut parts = catalogue::design("fvs-aes").unwrap().parts;
    (parts.speculation.tracking, parts.speculation.list) = (Tracking::Fixed, VALUES.map(u64::cast_signed).to_vec());
    (parts.caches.bitmaps, parts.caches.ways) = (Some(bitmaps), 1);
    let mut scheme = parts.build(DATA_LINES, 1).unwrap();
    if ordered {
        scheme.fixed_mut().unwrap().begin_ordered(&VALUES.map(|value| (value, 1)));
    }
    let mut engines = engines();
    engines.aes.latency_ns = aes_ns as f64;
    let mut machine = Machine::in_beats_with(&engines, scheme, core);
    let clock = machine.executor.clock().clone();
    assert!(machine.core.clock.set(clock.clone()).is_ok());
    let (core, verbs, scheme) = (machine.core.clone(), Timed::new(&machine.memory), machine.scheme.clone());
    let (memory, costs, count) = (machine.memory.clone(), Rc::new(RefCell::new(Vec::new())), reads.len());
    let noted = costs.clone();
    machine.executor.clock().spawn(async move {
        for (line, word) in reads {
            clock.sleep(Duration::from_ns(20 + 3 * aes_ns)).await;
            let (began, blocks) = (clock.now(), memory.counts().aes_blocks);
            core.first.take();
            let demand = Demand { word, ..Demand::of(line, 0) };
            scheme.read_from(&verbs, demand, ready(()), ready(true), None::<Ready<()>>).await;
            let took = core.first.get().unwrap().since(began).as_fs() / 1_000;
            noted.borrow_mut().push((took, memory.counts().aes_blocks - blocks));
        }
    });
    assert!(machine.run(Duration::from_ns(1_000_000_000), || costs.borrow().len() == count), "it ends");
    costs.take()
}

/// Nanoseconds of a block in the cipher, longer than an access to memory.
const BLOCK: u64 = 1_000;

#[test]
fn every_fetch_of_a_bitmap_line_is_decrypted_from_the_first_on_if_memory_begins_ordered() {
    // Lines without frequent words have no bitmaps: both bitmap lines are blank in memory.
    let reads = [5, 5 + 48, 5].map(|line| (LineAddr(line), Word::FIRST)).to_vec();
    let of = |ordered| costs(Core::new(|_| 0), (ONE_LINE, BLOCK), ordered, reads.clone());
    let [program, ordered]: [[Cost; 3]; 2] = [false, true].map(|ordered| of(ordered).try_into().unwrap());
    // Four chunks and their first offset.
    assert_eq!(ordered.map(|(_, blocks)| blocks), program.map(|(_, blocks)| blocks + 5));
    // The third read has the first offset of its line: one block decrypts the line and one computes its tags, which
    // cover the bitmap. Two blocks decrypt the bitmap.
    let took = [program, ordered].map(|costs| costs[2].0 / (1_000 * BLOCK));
    assert_eq!(took, [2, 3], "{program:?} {ordered:?}");
}

#[test]
fn a_first_read_of_an_ordered_line_fetches_the_requested_word_as_early_as_a_later_read() {
    const LINES: u64 = 40;
    let lines = (0..LINES).map(|line| (LineAddr(line), Word::at(line as usize % 8 * WORD_BYTES)));
    // The requested word of each line is its only frequent one, which is stored first: no block is a candidate.
    // The first two reads fetch the bitmap line and the counters of all lines. No read meets a refresh.
    let reads = [(LineAddr(LINES), Word::FIRST); 2].into_iter().chain(lines.flat_map(|read| [read; 2])).collect();
    let costs = costs(Core::new(|line| 1 << (line.0 % 8)), (MANY_LINES, 1), true, reads);
    let mut compared = 0;
    for (line, pair) in costs[2..].chunks(2).enumerate() {
        let [(first, _), (later, _)] = [pair[0], pair[1]];
        // The first read of each tag line fetches that line, too.
        if line % 4 != 0 {
            compared += 1;
            assert!(first <= later + 1_000, "line {line}: {first} ps, then {later} ps");
        }
    }
    assert_eq!(compared, LINES * 3 / 4);
}
