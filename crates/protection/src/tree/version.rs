//! Nodes of versions: each child contains a MAC over itself, under the version that its parent holds for the child.
//!
//! Each write of the child to memory advances its version, so an old child has a MAC under an old version. The child's line
//! contains the MAC, in the field that its counters leave free. A child that was never written has version zero and is
//! all zeros; only the zero line fits version zero.

use crate::counter::{Counter, Counters};
use crate::memo::{MacInput, Memo};
use crate::planted::{Bug, PlantedBug};
use crate::verbs::{Role, Slot};
use crypto::{Cmac, Key, LineMac, Nonce};
use units::{Line, ZERO_LINE};

/// Encoding and MACs of the nodes of a counter tree.
pub(super) struct Versions {
    mac: Cmac,
    memo: Memo<u64>,
    leaves: Counters,
    /// Counters of each level, from the one above the leaves. The last element also applies to all levels above, and the root.
    levels: Vec<Counters>,
    planted: PlantedBug,
}

impl Versions {
    pub fn new(key: &Key, leaves: Counters, levels: Vec<Counters>, planted: PlantedBug) -> Versions {
        Versions { mac: Cmac::new(key), memo: Memo::default(), leaves, levels, planted }
    }

    /// Returns the number of MACs computed so far.
    pub fn computed(&self) -> u64 {
        self.memo.computed()
    }

    /// Returns the counters of the nodes at a level.
    pub fn at(&self, level: usize) -> &Counters {
        &self.levels[level.min(self.levels.len() - 1)]
    }

    /// Returns the organisation of the counters in lines of this role.
    fn of(&self, role: Role) -> &Counters {
        match role {
            Role::Node(level) => self.at(level as usize),
            _ => &self.leaves,
        }
    }

    /// Returns a line with its MAC under this version.
    pub fn seal(&self, slot: Slot, role: Role, content: &Line, version: Counter) -> Line {
        let counters = self.of(role);
        let version = if self.planted.has(Bug::MacWithoutVersion) { Counter(1) } else { version };
        let slot = if self.planted.has(Bug::MacAddressTruncated) { Slot(slot.0 % 4096) } else { slot };
        let mut sealed = *content;
        counters.set_embedded_mac(&mut sealed, 0);
        let nonce = Nonce::new(slot.0, version.0);
        let message = MacInput { line_number: slot.0, version: version.0, bitmap: 0, text: sealed };
        let mac = self.memo.of(&message, || self.mac.tag(&nonce, &sealed, counters.embedded_mac_bits()).low_word());
        counters.set_embedded_mac(&mut sealed, mac);
        sealed
    }

    /// Returns true if a line from memory contains its MAC under this version.
    pub fn fits(&self, slot: Slot, role: Role, content: &Line, version: Counter) -> bool {
        if version == Counter::default() {
            return *content == ZERO_LINE;
        }
        self.planted.has(Bug::EmbeddedMacUnchecked) || self.seal(slot, role, content, version) == *content
    }
}
