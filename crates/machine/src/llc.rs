//! The last-level cache's tags: what is in it, and what has to leave.
//!
//! How it stands to the private caches above it is its [`Inclusion`]. Who owns it carries lines about; here it is only
//! decided which lines enter, and which are displaced by them.

use crate::cache::{Replacement, TagArray};
use serde::{Deserialize, Serialize};
use units::LineAddr;

/// How the last-level cache stands to the private caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inclusion {
    /// Lines from memory enter it, and may leave it while private caches keep them.
    #[default]
    Neither,
    /// A line that leaves it leaves all private caches too.
    Inclusive,
    /// Lines from memory pass it by; what L2 evicts enters it, clean or dirty. A line that is found in it stays there. So
    /// are Skylake-SP's non-inclusive caches (Intel 248966, section on the Skylake server microarchitecture).
    Victim,
}

/// A line that had to make room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Displaced {
    /// Which.
    pub line: LineAddr,
    /// Whether memory does not have what it holds.
    pub dirty: bool,
}

/// The tags of the last-level cache.
#[derive(Clone, Debug)]
pub struct Llc {
    tags: TagArray,
    inclusion: Inclusion,
}

impl Llc {
    /// An empty cache.
    ///
    /// # Panics
    /// If `sets` is not a power of two, or `ways` is zero or above 65535.
    pub fn new(sets: usize, ways: usize, replacement: Replacement, inclusion: Inclusion) -> Llc {
        Llc { tags: TagArray::with_replacement(sets, ways, replacement), inclusion }
    }

    /// How it stands to the private caches.
    pub fn inclusion(&self) -> Inclusion {
        self.inclusion
    }

    /// Whether a line is there; that is a use of it.
    pub fn look_up(&mut self, line: LineAddr) -> bool {
        self.tags.lookup(line.0).is_some()
    }

    /// Whether a line is there; that is no use of it.
    pub fn holds(&self, line: LineAddr) -> bool {
        self.tags.probe(line.0).is_some()
    }

    /// A line comes by on its way up from memory; what it displaces.
    pub fn fetched(&mut self, line: LineAddr) -> Option<Displaced> {
        match self.inclusion {
            Inclusion::Victim => None,
            Inclusion::Neither | Inclusion::Inclusive => self.enter(line, false),
        }
    }

    /// A line comes down from private caches; what it displaces.
    pub fn taken_back(&mut self, line: LineAddr, dirty: bool) -> Option<Displaced> {
        self.enter(line, dirty)
    }

    /// Drops a line, if it is there.
    pub fn invalidate(&mut self, line: LineAddr) {
        self.tags.invalidate(line.0);
    }

    /// Every dirty line, in the order of their places.
    pub fn dirty_lines(&self) -> impl Iterator<Item = LineAddr> + '_ {
        self.tags.dirty_keys().map(LineAddr)
    }

    fn enter(&mut self, line: LineAddr, dirty: bool) -> Option<Displaced> {
        match self.tags.lookup(line.0) {
            Some(slot) => {
                if dirty {
                    self.tags.mark_dirty(slot);
                }
                None
            }
            None => {
                let (_, evicted) = self.tags.insert(line.0, dirty);
                evicted.map(|victim| Displaced { line: LineAddr(victim.key), dirty: victim.dirty })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SETS: u64 = 4;
    const WAYS: usize = 3;

    /// The obvious thing: each set a list of lines and their dirt, most recent first.
    struct Naive {
        inclusion: Inclusion,
        sets: Vec<Vec<(u64, bool)>>,
    }

    impl Naive {
        fn use_of(&mut self, line: u64) -> Option<&mut (u64, bool)> {
            let set = &mut self.sets[(line % SETS) as usize];
            let at = set.iter().position(|held| held.0 == line)?;
            let held = set.remove(at);
            set.insert(0, held);
            set.first_mut()
        }

        fn enter(&mut self, line: u64, dirty: bool) -> Option<Displaced> {
            if let Some(held) = self.use_of(line) {
                held.1 |= dirty;
                return None;
            }
            let set = &mut self.sets[(line % SETS) as usize];
            set.insert(0, (line, dirty));
            let displaced = (set.len() > WAYS).then(|| set.pop())?;
            displaced.map(|(line, dirty)| Displaced { line: LineAddr(line), dirty })
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        LookUp,
        Fetched,
        TakenBack { dirty: bool },
        Invalidated,
    }

    fn some_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::LookUp),
            Just(Event::Fetched),
            any::<bool>().prop_map(|dirty| Event::TakenBack { dirty }),
            Just(Event::Invalidated),
        ]
    }

    proptest! {
        #[test]
        fn each_inclusion_lets_in_and_displaces_as_a_plain_list_does(
            inclusion in prop::sample::select(vec![Inclusion::Neither, Inclusion::Inclusive, Inclusion::Victim]),
            script in prop::collection::vec((some_event(), 0..24u64), 1..300),
        ) {
            let mut llc = Llc::new(SETS as usize, WAYS, Replacement::Lru, inclusion);
            let mut naive = Naive { inclusion, sets: vec![Vec::new(); SETS as usize] };
            for (event, line) in script {
                match event {
                    Event::LookUp => prop_assert_eq!(llc.look_up(LineAddr(line)), naive.use_of(line).is_some()),
                    Event::Fetched => {
                        let expected = if naive.inclusion == Inclusion::Victim { None } else { naive.enter(line, false) };
                        prop_assert_eq!(llc.fetched(LineAddr(line)), expected);
                    }
                    Event::TakenBack { dirty } => {
                        prop_assert_eq!(llc.taken_back(LineAddr(line), dirty), naive.enter(line, dirty));
                    }
                    Event::Invalidated => {
                        llc.invalidate(LineAddr(line));
                        naive.sets[(line % SETS) as usize].retain(|held| held.0 != line);
                    }
                }
                let mut dirty: Vec<u64> = llc.dirty_lines().map(|line| line.0).collect();
                dirty.sort_unstable();
                let mut expected: Vec<u64> = naive.sets.iter().flatten().filter(|held| held.1).map(|held| held.0).collect();
                expected.sort_unstable();
                prop_assert_eq!(dirty, expected);
            }
        }
    }
}
