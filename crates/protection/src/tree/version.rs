//! Nodes of versions: each child carries a MAC of itself under the version that its parent counts for it.
//!
//! A version moves on whenever the child goes to memory, so an old child has a MAC under an old version. The MAC lies in
//! the child's own line, in the field that its counters leave free. A child that was never written has version zero and is
//! all zeros; no other line fits version zero.

use crate::counter::{Counter, Counters};
use crate::memo::{Memo, Message};
use crate::planted::{Bug, Planted};
use crate::verbs::{Role, Slot};
use crypto::{Cmac, Key, LineMac, Nonce};
use units::{Line, ZERO_LINE};

/// How the nodes of a counter tree are made.
pub(super) struct Versions {
    mac: Cmac,
    memo: Memo<u64>,
    leaves: Counters,
    /// By level, from the one above the leaves; the last stands for all above it, the root included.
    levels: Vec<Counters>,
    planted: Planted,
}

impl Versions {
    pub fn new(key: &Key, leaves: Counters, levels: Vec<Counters>, planted: Planted) -> Versions {
        Versions { mac: Cmac::new(key), memo: Memo::default(), leaves, levels, planted }
    }

    /// MACs computed so far.
    pub fn computed(&self) -> u64 {
        self.memo.computed()
    }

    /// The counters of the nodes at a level.
    pub fn at(&self, level: usize) -> &Counters {
        &self.levels[level.min(self.levels.len() - 1)]
    }

    /// The counters that lines of this role are made of.
    fn of(&self, role: Role) -> &Counters {
        match role {
            Role::Node(level) => self.at(level as usize),
            _ => &self.leaves,
        }
    }

    /// A line with its MAC under this version.
    pub fn seal(&self, slot: Slot, role: Role, content: &Line, version: Counter) -> Line {
        let counters = self.of(role);
        let version = if self.planted.has(Bug::MacWithoutVersion) { Counter(1) } else { version };
        let slot = if self.planted.has(Bug::MacPlaceTruncated) { Slot(slot.0 % 4096) } else { slot };
        let mut sealed = *content;
        counters.set_embedded_mac(&mut sealed, 0);
        let nonce = Nonce::new(slot.0, version.0);
        let message = Message { place: slot.0, version: version.0, bitmap: 0, text: sealed };
        let mac = self.memo.of(&message, || self.mac.tag(&nonce, &sealed, counters.embedded_mac_bits()).low_word());
        counters.set_embedded_mac(&mut sealed, mac);
        sealed
    }

    /// Whether a line from memory carries the MAC of this version.
    pub fn fits(&self, slot: Slot, role: Role, content: &Line, version: Counter) -> bool {
        if version == Counter::default() {
            return *content == ZERO_LINE;
        }
        self.planted.has(Bug::EmbeddedMacUnchecked) || self.seal(slot, role, content, version) == *content
    }
}
