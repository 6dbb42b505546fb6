//! Rules 4, 5, 6 and 8 of permuted lines. Compares locks and permutations with a naive model, and checks how long
//! records stay on the chip if their pages are in TLBs.

use super::moving_memory::{LINES, Moving};
use crate::moving::{BackgroundStart, LockingCache, MovingPolicy, Room, SmallCache};
use crate::planted::PlantedBug;
use crate::release::Release;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};

/// A naive model of the rules for locks and permutations, line by line.
struct NaiveLocks {
    sets: Vec<Vec<(u64, bool, u64)>>,
    ways: usize,
    background: BackgroundStart,
    now: u64,
    permuted: Vec<u64>,
}

impl NaiveLocks {
    fn choose(&self, set: usize) -> u64 {
        let mut best: Option<(usize, u64, u64)> = None;
        for (line, locked, used) in &self.sets[set] {
            let found = (self.locked_of(line / 256), *used, line / 256);
            if *locked && best.is_none_or(|best| found.0 > best.0 || found.0 == best.0 && found.1 < best.1) {
                best = Some(found);
            }
        }
        best.unwrap().2
    }

    fn permute(&mut self, chunk: u64) {
        self.permuted.push(chunk);
        self.sets.iter_mut().flatten().filter(|way| way.0 / 256 == chunk).for_each(|way| way.1 = false);
    }

    fn access(&mut self, line: u64, stores: bool) {
        self.now += 1;
        let set = (line % self.sets.len() as u64) as usize;
        if let Some(way) = self.sets[set].iter_mut().find(|way| way.0 == line) {
            (way.1, way.2) = (way.1 || stores, self.now);
            return;
        }
        while self.sets[set].len() == self.ways {
            let oldest = self.sets[set].iter().filter(|way| !way.1).min_by_key(|way| way.2).map(|way| way.0);
            match oldest {
                Some(oldest) => self.sets[set].retain(|way| way.0 != oldest),
                None => self.permute(self.choose(set)),
            }
        }
        self.sets[set].push((line, true, self.now));
        match self.background {
            BackgroundStart::WaysLeft(left) if self.ways - self.locked_ways(set) <= left => {
                self.permute(self.choose(set));
            }
            BackgroundStart::LockedShare(thousandths) => {
                let all = self.sets.len() * self.ways;
                let locked: usize = (0..self.sets.len()).map(|set| self.locked_ways(set)).sum();
                if locked * 1000 >= all * usize::from(thousandths) {
                    let chunks = 0..LINES / 256;
                    let locked_of = |chunk: &u64| self.locked_of(*chunk);
                    self.permute(chunks.rev().max_by_key(locked_of).unwrap());
                }
            }
            _ => {}
        }
    }

    fn locked_ways(&self, set: usize) -> usize {
        self.sets[set].iter().filter(|way| way.1).count()
    }

    fn locked_of(&self, chunk: u64) -> usize {
        self.sets.iter().flatten().filter(|way| way.1 && way.0 / 256 == chunk).count()
    }
}

/// A cache that logs the page chunks that are permuted.
struct PermutationRecorder(SmallCache, std::cell::RefCell<Vec<u64>>);

impl LockingCache for PermutationRecorder {
    fn lock_stores_above(&self, is_one: &dyn Fn(u64) -> bool) {
        self.0.lock_stores_above(is_one);
    }

    fn drop_chunks(&self, is_one: &dyn Fn(u64) -> bool) {
        self.0.drop_chunks(is_one);
    }

    fn look_up(&self, line: LineAddr) -> Option<Line> {
        self.0.look_up(line)
    }

    fn was_read(&self, line: LineAddr) -> bool {
        self.0.was_read(line)
    }

    fn reserve(&self, line: LineAddr) -> Room {
        self.0.reserve(line)
    }

    fn give_back(&self, line: LineAddr) {
        self.0.give_back(line);
    }

    fn filled(&self, line: LineAddr, text: &Line) {
        self.0.filled(line, text);
    }

    fn enter_stored(&self, line: LineAddr, text: &Line) {
        self.0.enter_stored(line, text);
    }

    fn stored(&self, line: LineAddr, text: &Line) -> bool {
        self.0.stored(line, text)
    }

    fn unlocked_ways(&self, line: LineAddr) -> usize {
        self.0.unlocked_ways(line)
    }

    fn chunk_to_permute(&self, line: LineAddr) -> Option<u64> {
        self.0.chunk_to_permute(line)
    }

    fn locked_lines(&self) -> (usize, usize) {
        self.0.locked_lines()
    }

    fn chunk_with_most_locks(&self) -> Option<u64> {
        self.0.chunk_with_most_locks()
    }

    fn unlock(&self, chunk: u64) -> Vec<(LineAddr, Line)> {
        self.1.borrow_mut().push(chunk);
        self.0.unlock(chunk)
    }

    fn chunks_with_stores(&self) -> Vec<u64> {
        self.0.chunks_with_stores()
    }

    fn chunks_with_locks(&self) -> Vec<u64> {
        self.0.chunks_with_locks()
    }

    fn empty(&self) {
        self.0.empty();
    }

    fn twin(&self) -> Rc<dyn LockingCache> {
        self.0.twin()
    }
}

#[test]
fn rules_4_and_5_page_chunks_are_permuted_at_the_accesses_of_a_naive_model() {
    use BackgroundStart::{LockedShare, Never, WaysLeft};
    let shapes = [
        (64, 4, WaysLeft(1), 1),
        (16, 2, WaysLeft(1), 2),
        (256, 3, WaysLeft(0), 3),
        (32, 8, WaysLeft(3), 4),
        (64, 4, Never, 5),
        (64, 4, LockedShare(400), 6),
        (16, 2, LockedShare(1000), 7),
    ];
    for (sets, ways, background, seed) in shapes {
        let cache = Rc::new(PermutationRecorder(SmallCache::new(sets, ways), std::cell::RefCell::default()));
        let policy = MovingPolicy { background, ..MovingPolicy::default() };
        let memory = Moving::under(policy, cache.clone(), 1, PlantedBug::NONE);
        let mut naive = NaiveLocks { sets: vec![Vec::new(); sets], ways, background, now: 0, permuted: Vec::new() };
        let mut random = Random::new(seed);
        for access in 0..2_000 {
            let (line, stores) = (random.below(LINES), random.below(3) == 0);
            if stores {
                assert_eq!(memory.write(line, &ZERO_LINE), None);
            } else {
                assert!(memory.read(line).is_ok());
            }
            naive.access(line, stores);
            assert_eq!(
                *cache.1.borrow(),
                naive.permuted,
                "{sets} sets of {ways} ways, {background:?}, access {access}"
            );
        }
        assert!(naive.permuted.len() > 8, "{}", naive.permuted.len());
    }
}

/// Number of records that walks fetch for an access.
fn walks_of(memory: &Moving, access: impl FnOnce(&Moving)) -> u64 {
    let before = memory.walks();
    access(memory);
    memory.walks() - before
}

/// Reads this line of each other page chunk. Their records displace that of page chunk 0, unless a TLB has its page.
fn read_others(memory: &Moving, line: u64) {
    (1..LINES / 256).for_each(|chunk| assert!(memory.read(chunk * 256 + line).is_ok()));
}

#[test]
fn rules_6_and_8_a_page_chunk_record_is_on_the_chip_while_a_tlb_has_its_page() {
    let memory = Moving::behind(Rc::new(SmallCache::new(64, 4)), Release::Verified, 1, PlantedBug::NONE);
    // Two TLB entries need the record: those of the two pages of the page chunk, or those of one page in two TLBs.
    assert_eq!(walks_of(&memory, |memory| assert_eq!(memory.translate(3), None)), 1);
    assert_eq!(walks_of(&memory, |memory| assert_eq!(memory.translate(4), None)), 0);
    read_others(&memory, 1);
    memory.give_up(3);
    read_others(&memory, 2);
    assert_eq!(walks_of(&memory, |memory| assert!(memory.read(5).is_ok())), 0, "the other page is there");
    memory.give_up(4);
    assert_eq!(walks_of(&memory, |memory| assert!(memory.read(6).is_ok())), 1, "it left with the last page");
}

#[test]
fn permuting_a_page_chunk_walks_the_record_tree_only_if_no_tlb_has_its_page() {
    let memory = Moving::behind(Rc::new(SmallCache::new(64, 4)), Release::Verified, 1, PlantedBug::NONE);
    let stored = Random::new(1).line();
    let permute = |memory: &Moving| {
        assert_eq!(memory.write(9, &stored), None);
        memory.permute_chunk_of(9);
    };
    assert_eq!(memory.translate(9), None);
    read_others(&memory, 3);
    assert_eq!(walks_of(&memory, permute), 0);
    memory.give_up(9);
    assert_eq!(walks_of(&memory, permute), 1);
    assert_eq!(walks_of(&memory, permute), 0, "the record is in the buffer");
    read_others(&memory, 4);
    assert_eq!(walks_of(&memory, permute), 1, "others took its place there");
}
