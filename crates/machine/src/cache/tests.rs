//! Checks that the array holds and evicts the same keys as a simple reference model.

use super::*;
use proptest::prelude::*;

/// Reference model: each set is a list, most recent first.
struct Naive {
    ways: usize,
    sets: Vec<Vec<(u64, bool)>>,
}

impl Naive {
    fn set(&mut self, key: u64) -> &mut Vec<(u64, bool)> {
        let sets = self.sets.len() as u64;
        &mut self.sets[(key % sets) as usize]
    }

    fn access(&mut self, key: u64, write: bool) -> (bool, Option<Eviction>) {
        let ways = self.ways;
        let set = self.set(key);
        if let Some(at) = set.iter().position(|entry| entry.0 == key) {
            let (key, dirty) = set.remove(at);
            set.insert(0, (key, dirty || write));
            return (true, None);
        }
        set.insert(0, (key, write));
        let victim = (set.len() > ways).then(|| set.pop().unwrap());
        (false, victim.map(|(key, dirty)| Eviction { key, dirty }))
    }

    fn invalidate(&mut self, key: u64) -> Option<bool> {
        let set = self.set(key);
        let at = set.iter().position(|entry| entry.0 == key)?;
        Some(set.remove(at).1)
    }
}

proptest! {
    #[test]
    fn replacement_is_least_recently_used(
        sets in 0..3u32, ways in 1..11usize, uses_left in 0..200u32,
        script in proptest::collection::vec((0..80u64, 0..8u8), 1..400),
    ) {
        let sets = 1usize << sets;
        let mut array = TagArray::new(sets, ways);
        // Most generated access sequences overflow the counter of uses.
        array.uses = u32::MAX - uses_left;
        let mut naive = Naive { ways, sets: vec![Vec::new(); sets] };
        for (key, action) in script {
            if action == 0 {
                prop_assert_eq!(array.invalidate(key), naive.invalidate(key));
                continue;
            }
            if action == 2 && key == 0 {
                array.drop_clean();
                naive.sets.iter_mut().for_each(|set| set.retain(|(_, dirty)| *dirty));
                continue;
            }
            let write = action == 1;
            let found = array.lookup(key);
            let evicted = match found {
                Some(slot) => {
                    if write {
                        array.mark_dirty(slot);
                    }
                    None
                }
                None => array.insert(key, write).1,
            };
            prop_assert_eq!((found.is_some(), evicted), naive.access(key, write));
        }
        let mut dirty: Vec<u64> = array.dirty_keys().collect();
        let mut expected: Vec<u64> = naive.sets.iter().flatten().filter(|e| e.1).map(|e| e.0).collect();
        dirty.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(dirty, expected);
    }
}

#[test]
fn a_cache_probe_does_not_update_the_lru_order() {
    let mut array = TagArray::new(1, 2);
    array.insert(1, false);
    array.insert(2, false);
    assert!(array.probe(1).is_some());
    assert_eq!(array.insert(3, false).1, Some(Eviction { key: 1, dirty: false }));
}

/// SRRIP as its paper defines it: a list of ways with predictions from 0 (at once) to 3 (in the distant future).
fn naive_srrip(ways: usize, keys: &[u64]) -> Vec<bool> {
    let mut set: Vec<Option<(u64, u8)>> = vec![None; ways];
    let mut access = |key: u64| {
        if let Some(entry) = set.iter_mut().flatten().find(|entry| entry.0 == key) {
            entry.1 = 0;
            return true;
        }
        let way = loop {
            if let Some(way) = set.iter().position(|entry| entry.is_none_or(|entry| entry.1 == 3)) {
                break way;
            }
            set.iter_mut().flatten().for_each(|entry| entry.1 += 1);
        };
        set[way] = Some((key, 2));
        false
    };
    keys.iter().map(|key| access(*key)).collect()
}

fn hits(array: &mut TagArray, keys: &[u64]) -> Vec<bool> {
    let mut access = |key: u64| {
        let hit = array.lookup(key).is_some();
        if !hit {
            array.insert(key, false);
        }
        hit
    };
    keys.iter().map(|key| access(*key)).collect()
}

proptest! {
    #[test]
    fn srrip_replacement_has_the_hits_of_a_naive_model_of_its_paper(ways in 1..6usize, keys in proptest::collection::vec(0..12u64, 1..300)) {
        let mut array = TagArray::with_replacement(1, ways, Replacement::Srrip);
        prop_assert_eq!(hits(&mut array, &keys), naive_srrip(ways, &keys));
    }
}

#[test]
fn a_short_scan_evicts_the_working_set_under_lru_and_not_under_srrip() {
    let working_set: Vec<u64> = (0..4).chain(0..4).collect();
    let scan: Vec<u64> = (100..110).collect();
    let survivors = |replacement| {
        let mut array = TagArray::with_replacement(1, 8, replacement);
        hits(&mut array, &working_set);
        hits(&mut array, &scan);
        hits(&mut array, &[0, 1, 2, 3]).into_iter().filter(|hit| *hit).count()
    };
    assert_eq!((survivors(Replacement::Lru), survivors(Replacement::Srrip)), (0, 4));
}
