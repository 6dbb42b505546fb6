//! Re-ordered lines at their release: the words that a core gets before the remaining ones, and the steps that wait for a bitmap.

use crate::common::{DATA_LINES, Machine, engines};
use casemate_campaign::frequent::VALUES;
use protection::design::{BitmapTrust, Parts};
use protection::execution::{Receiver, Timed};
use protection::planted::PlantedBug;
use protection::scheme::Demand;
use protection::slot::Kind;
use protection::speculation::Tracking;
use protection::verbs::{Fault, Plaintext};
use std::cell::{Cell, RefCell};
use std::future::ready;
use std::rc::Rc;
use units::random::Random;
use units::{Bytes, Duration, Line, LineAddr, WORD_BYTES, Words, ZERO_LINE};

/// A line, and one with its bitmap in another bitmap line: only one of the two is on the chip.
const LINE: LineAddr = LineAddr(5);
const OTHER: LineAddr = LineAddr(5 + 48);

/// A core that records the released line, and the words released before it.
#[derive(Default)]
struct Core {
    first: Cell<Option<(Line, Words)>>,
    released: Cell<Option<Line>>,
}

impl Receiver for Core {
    fn released_first(&self, _: LineAddr, text: &Plaintext, words: Words) {
        assert_eq!(self.released.get(), None, "they come before the rest");
        self.first.set(Some((text.bytes, words)));
    }

    fn released(&self, _: LineAddr, text: &Plaintext) {
        self.released.set(Some(text.bytes));
    }

    fn fault(&self, fault: Fault) {
        panic!("{fault:?}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

fn reordered(bitmap: BitmapTrust) -> Parts {
    let mut parts = catalogue::design("fvs-aes").unwrap().parts;
    (parts.speculation.tracking, parts.speculation.list) = (Tracking::Fixed, VALUES.map(u64::cast_signed).to_vec());
    parts.speculation.bitmap = bitmap;
    // The chip holds only the bitmap line that was requested last.
    (parts.caches.bitmaps, parts.caches.ways) = (Some(Bytes(64)), 1);
    parts
}

/// Returns a line with words of the table in these positions.
fn line_with(frequent: u8, random: &mut Random) -> Line {
    let mut line = random.line();
    for slot_bytes in (0..8).filter(|slot_bytes| frequent >> slot_bytes & 1 == 1) {
        let value = VALUES[random.below(VALUES.len() as u64) as usize];
        line[slot_bytes * WORD_BYTES..][..WORD_BYTES].copy_from_slice(&value.to_le_bytes());
    }
    line
}

/// Location of a line's bitmap when the line is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Where {
    OnTheChip,
    InMemory,
}

/// Returns the errors in the words that are released first, over lines of every order and every requested word; and the number of
/// early releases.
fn wrong_first(planted: PlantedBug, bitmap: BitmapTrust, at: Where) -> (Vec<String>, usize) {
    let scheme = reordered(bitmap).build_with(DATA_LINES, 1, planted).unwrap();
    let mut machine = Machine::in_beats(scheme, Core::default());
    let (core, verbs, scheme) = (machine.core.clone(), Timed::new(&machine.memory), machine.scheme.clone());
    let (wrong, arrived) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(0)));
    let (done, noted, counted) = (Rc::new(Cell::new(false)), wrong.clone(), arrived.clone());
    let ended = done.clone();
    machine.executor.clock().spawn(async move {
        let mut random = Random::new(3);
        for frequent in 0..=u8::MAX {
            let (line, content) = (LINE, line_with(frequent, &mut random));
            scheme.write(&verbs, line, &content).await;
            for word in Words::ALL.iter() {
                if at == Where::InMemory {
                    core.released.take();
                    scheme.read_by(&verbs, OTHER, 0).await;
                }
                core.first.take();
                core.released.take();
                let demand = Demand { word, ..Demand::of(line, 0) };
                scheme.read_from(&verbs, demand, ready(()), ready(true), None::<std::future::Ready<()>>).await;
                assert_eq!(core.released.get(), Some(content));
                let Some((first, words)) = core.first.get() else { continue };
                counted.set(counted.get() + 1);
                let are_right = words.iter().all(|word| word.of(&first) == word.of(&content));
                if !(are_right && words.contains(Words::of(word))) {
                    noted.borrow_mut().push(format!("{frequent:#010b}, {word:?}: {words:?}"));
                }
            }
        }
        done.set(true);
    });
    assert!(machine.run(Duration::from_ns(50_000_000), || ended.get()), "it ends");
    (wrong.take(), arrived.get())
}

#[test]
fn the_first_words_released_of_a_re_ordered_line_are_the_requested_ones() {
    for bitmap in [BitmapTrust::Bound, BitmapTrust::Loose] {
        for at in [Where::OnTheChip, Where::InMemory] {
            let (wrong, arrived) = wrong_first(PlantedBug::NONE, bitmap, at);
            assert_eq!(wrong, Vec::<String>::new(), "{bitmap:?}, {at:?}");
            assert_eq!(arrived, 256 * 8, "{bitmap:?}, {at:?}");
        }
    }
    #[cfg(feature = "planted-bugs")]
    for bug in [protection::planted::Bug::FirstWordsMisplaced, protection::planted::Bug::FirstWordsUnplaced] {
        assert!(!wrong_first(PlantedBug::new(bug), BitmapTrust::Bound, Where::OnTheChip).0.is_empty(), "{bug:?}");
    }
}

/// Returns a machine with room for several bitmap lines, with or without prefetching.
fn with_bitmap_prefetch(prefetches: bool) -> Machine<Core> {
    let mut parts = reordered(BitmapTrust::Bound);
    (parts.caches.bitmaps, parts.caches.bitmaps_ahead) = (Some(Bytes(8 << 10)), prefetches);
    Machine::in_beats(parts.build(DATA_LINES, 1).unwrap(), Core::default())
}

/// Returns the number of fetched bitmap lines after a read of a line, and after a read of one under the next bitmap line. The
/// memory is idle before each.
fn bitmaps_fetched(prefetches: bool) -> [u64; 2] {
    let mut machine = with_bitmap_prefetch(prefetches);
    let (core, verbs, scheme) = (machine.core.clone(), Timed::new(&machine.memory), machine.scheme.clone());
    let (memory, fetched) = (machine.memory.clone(), Rc::new(RefCell::new(Vec::new())));
    let noted = fetched.clone();
    machine.executor.clock().spawn(async move {
        for line in [LINE, OTHER] {
            core.released.take();
            scheme.read_by(&verbs, line, 0).await;
            noted.borrow_mut().push(memory.counts().fetched[Kind::Bitmaps]);
        }
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || fetched.borrow().len() == 2), "it ends");
    let fetched = fetched.take();
    [fetched[0], fetched[1]]
}

#[test]
fn a_miss_of_frequent_value_bitmaps_prefetches_the_next_bitmap_line_if_configured() {
    assert_eq!(bitmaps_fetched(false), [1, 2]);
    assert_eq!(bitmaps_fetched(true), [2, 2]);
}

/// Returns the nanoseconds of a read of a line that a preceding read, which missed its bitmap, has just released.
fn read_after_release(prefetches: bool) -> u64 {
    let mut machine = with_bitmap_prefetch(prefetches);
    let (core, scheme, clock) = (machine.core.clone(), machine.scheme.clone(), machine.executor.clock().clone());
    let (verbs, first, released) = (Timed::new(&machine.memory), Timed::new(&machine.memory), core.clone());
    let (took, before) = (Rc::new(Cell::new(None)), scheme.clone());
    let noted = took.clone();
    machine.executor.clock().spawn(async move { before.read_by(&first, LINE, 0).await });
    machine.executor.clock().spawn(async move {
        while released.released.get().is_none() {
            clock.sleep(Duration::from_ns(1)).await;
        }
        core.released.take();
        let began = clock.now();
        scheme.read_by(&verbs, LINE, 0).await;
        noted.set(Some(clock.now().since(began).as_fs() / 1_000_000));
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || took.get().is_some()), "it ends");
    took.get().unwrap()
}

#[test]
fn a_read_does_not_wait_for_the_prefetch_of_the_next_bitmap_line() {
    let (without, with) = (read_after_release(false), read_after_release(true));
    assert!(with <= without + 5, "{with} ns, {without} where nothing is fetched ahead");
}

/// Nanoseconds of a block in the cipher.
const BLOCK: u64 = 1_000;

/// Returns the nanoseconds of a read with its bitmap on the chip and of one without it, if a block takes longer than all of memory.
fn read_with_and_without(bitmap: BitmapTrust) -> [u64; 2] {
    let scheme = reordered(bitmap).build(DATA_LINES, 1).unwrap();
    let mut slow = engines();
    slow.aes.latency_ns = BLOCK as f64;
    let mut machine = Machine::in_beats_with(&slow, scheme, Core::default());
    let (core, verbs, scheme) = (machine.core.clone(), Timed::new(&machine.memory), machine.scheme.clone());
    let took = Rc::new(RefCell::new(Vec::new()));
    let (clock, noted) = (machine.executor.clock().clone(), took.clone());
    machine.executor.clock().spawn(async move {
        // A single word of the table forms no block of two: the line is stored in another order, and no candidate matches.
        let (line, other, mut random) = (LINE, OTHER, Random::new(3));
        for each in [other, line] {
            scheme.write(&verbs, each, &line_with(0b1000, &mut random)).await;
        }
        // Both lines are read once, so that their metadata is on the chip.
        for each in [other, line, line, other, line] {
            let began = clock.now();
            core.released.take();
            scheme.read_by(&verbs, each, 0).await;
            noted.borrow_mut().push((clock.now().as_fs() - began.as_fs()) / 1_000_000);
            clock.sleep(Duration::from_ns(10 * BLOCK)).await;
        }
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || took.borrow().len() == 5), "it ends");
    let took = took.take();
    [took[2], took[4]]
}

#[test]
fn fvs_rule_7_a_line_is_decrypted_while_its_bitmap_is_fetched() {
    // The bitmap takes as long as the line and two blocks; the line takes two blocks, one for its decryption and one for its tags.
    let [with, without] = read_with_and_without(BitmapTrust::Loose);
    assert!((2 * BLOCK..2 * BLOCK + 500).contains(&with), "{with}");
    assert!((with..with + BLOCK / 2).contains(&without), "release alone waits for it: {with}, {without}");
    let [with, without] = read_with_and_without(BitmapTrust::Bound);
    assert!((2 * BLOCK..2 * BLOCK + 500).contains(&with), "{with}");
    let one_more = with + BLOCK / 2..with + BLOCK + BLOCK / 2;
    assert!(one_more.contains(&without), "tags wait for it too, decryption does not: {with}, {without}");
}
