//! Rules 4 and 5 of lines that move, against a naive model of locks and permutations.

use super::moving::{LINES, Moving};
use crate::moving::{LockingCache, Room, SmallCache};
use crate::planted::Planted;
use crate::release::Release;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};

/// The rules for locks and permutations once more, line by line.
struct Naive {
    sets: Vec<Vec<(u64, bool, u64)>>,
    ways: usize,
    now: u64,
    permuted: Vec<u64>,
}

impl Naive {
    fn choose(&self, set: usize) -> u64 {
        let locked_of = |chunk: u64| self.sets.iter().flatten().filter(|way| way.1 && way.0 / 256 == chunk).count();
        let mut best: Option<(usize, u64, u64)> = None;
        for (line, locked, used) in &self.sets[set] {
            let found = (locked_of(line / 256), *used, line / 256);
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
        if self.ways - self.sets[set].iter().filter(|way| way.1).count() <= 1 {
            self.permute(self.choose(set));
        }
    }
}

/// A cache that writes down which chunks are permuted.
struct Watched(SmallCache, std::cell::RefCell<Vec<u64>>);

impl LockingCache for Watched {
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
fn rules_4_and_5_a_naive_model_permutes_the_same_chunks_at_the_same_accesses() {
    for (sets, ways, seed) in [(64, 4, 1), (16, 2, 2), (256, 3, 3), (32, 8, 4)] {
        let cache = Rc::new(Watched(SmallCache::new(sets, ways), std::cell::RefCell::default()));
        let memory = Moving::behind(cache.clone(), Release::Verified, Planted::NONE);
        let mut naive = Naive { sets: vec![Vec::new(); sets], ways, now: 0, permuted: Vec::new() };
        let mut random = Random::new(seed);
        for access in 0..2_000 {
            let (line, stores) = (random.below(LINES), random.below(3) == 0);
            if stores {
                assert_eq!(memory.write(line, &ZERO_LINE), None);
            } else {
                assert!(memory.read(line).is_ok());
            }
            naive.access(line, stores);
            assert_eq!(*cache.1.borrow(), naive.permuted, "{sets} sets of {ways} ways, access {access}");
        }
        assert!(naive.permuted.len() > 8, "{}", naive.permuted.len());
    }
}
