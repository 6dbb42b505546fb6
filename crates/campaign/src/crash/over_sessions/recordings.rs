//! The memories that an attacker has recorded on the bus.

use crate::bus::{Recording, cell};
use protection::media::Media;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// One recording after each step of a history.
#[derive(Clone, Default)]
pub struct Recordings {
    all: Vec<Rc<Recording>>,
    /// Hashes of all contents that slots have had.
    contents: BTreeSet<u64>,
}

impl Recordings {
    /// Records the memory after a step.
    pub fn record(&mut self, media: &Media) {
        let now = Recording::of(media);
        let is_as_before = self.all.last().is_some_and(|last| **last == now);
        let last = self.all.last().filter(|_| is_as_before).cloned();
        if last.is_none() {
            self.contents.extend(now.slots().map(|(slot, content)| hash_of(&(slot, cell(content)))));
        }
        self.all.push(last.unwrap_or_else(|| Rc::new(now)));
    }

    /// Returns all recordings, the earliest first.
    pub fn all(&self) -> &[Rc<Recording>] {
        &self.all
    }
}

impl Hash for Recordings {
    /// Hashes the present memory, and the contents that each slot has had.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        let now = self.all.last().into_iter().flat_map(|now| now.slots());
        now.for_each(|(slot, content)| (slot, cell(content)).hash(hash));
        self.contents.hash(hash);
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    value.hash(&mut hash);
    hash.finish()
}
