//! Effects of other cores on the private caches: invalidations, downgrades and clean-ups.
//!
//! A line has one of three states in all private caches of a core: shared, exclusive or modified. The coherence
//! directory (`crate::coherence`) decides the permission of each core on each line, event by event. The directory
//! notifies the node through [`Node::answered`], [`Node::downgrade`] and [`Node::invalidate`]. The node sends a request
//! before it writes to a shared line.

use crate::cache::{MesiState, TagArray};
use crate::node::Node;
use crate::node::caches::Caches;
use crate::node::lines::{LineSize, WordAddr};
use units::LineAddr;

use crate::node::interface::Permission;

impl Node {
    /// Returns the node with an L2 that also sends its clean victims to the next level, for a last-level victim cache.
    #[must_use]
    pub fn sending_clean_victims(mut self) -> Node {
        self.core.caches.sends_clean_victims = true;
        self
    }

    /// Announces a line that is encrypted and unverified below L2. If L2 evicts the line clean, L2 nevertheless sends
    /// it to the next level, unless another core's request for the line arrives first. Source: EMCC, MICRO 2022,
    /// section IV-F, "Inclusive Cache Hierarchy": a bit for each line of L2.
    pub fn owe(&mut self, line: LineAddr) {
        self.core.caches.owed.insert(line);
    }

    /// Drops a line from all private caches, because another core writes it. Returns true if any copy was dirty, and
    /// `None` if no cache held one.
    pub fn invalidate(&mut self, line: LineAddr) -> Option<bool> {
        self.core.caches.invalidate(line)
    }

    /// Makes a line read only, because another core reads it. Returns true if any copy was dirty, and `None` if no
    /// cache held one.
    pub fn downgrade(&mut self, line: LineAddr) -> Option<bool> {
        self.core.caches.downgrade(line)
    }

    /// Marks a line as clean and keeps it; the caller writes the dirty words to memory. Returns true if any copy was
    /// dirty.
    pub fn clean(&mut self, line: LineAddr) -> bool {
        self.core.caches.clean(line)
    }

    /// Returns the permission of a line, or `None` if no private cache holds it.
    pub fn permission(&self, line: LineAddr) -> Option<Permission> {
        self.core.caches.permission(line)
    }

    /// Returns true if any private cache holds the line.
    pub fn holds(&self, line: LineAddr) -> bool {
        self.core.caches.holds(line)
    }
}

/// Combines the results for several copies of a line: true if any copy is dirty, `None` if there is no copy.
fn any_dirty(found: impl Iterator<Item = bool>) -> Option<bool> {
    found.reduce(|one, other| one | other)
}

impl Caches {
    /// Applies `change` to all parts of a line in each cache. Returns true if any part was dirty, and `None` if no
    /// cache held one.
    fn everywhere(
        &mut self,
        line: LineAddr,
        change: impl Fn(&mut TagArray, LineSize, WordAddr) -> Option<bool>,
    ) -> Option<bool> {
        let caches =
            [(&mut self.l1i.tags, self.l1i_lines), (&mut self.l1d.tags, self.l1d_lines), (&mut self.l2, self.l2_lines)];
        let of = |(tags, lines): (&mut TagArray, LineSize)| {
            any_dirty(lines.within(line).filter_map(|word| change(tags, lines, word)))
        };
        any_dirty(caches.into_iter().filter_map(of))
    }

    fn invalidate(&mut self, line: LineAddr) -> Option<bool> {
        self.owed.remove(&line);
        self.everywhere(line, |tags, lines, word| tags.invalidate(lines.key(word)))
    }

    fn downgrade(&mut self, line: LineAddr) -> Option<bool> {
        self.owed.remove(&line);
        self.has_shared = true;
        self.everywhere(line, |tags, lines, word| tags.probe(lines.key(word)).map(|slot| tags.share(slot)))
    }

    fn clean(&mut self, line: LineAddr) -> bool {
        self.everywhere(line, |tags, lines, word| tags.probe(lines.key(word)).map(|slot| tags.clean(slot)))
            == Some(true)
    }

    fn permission(&self, line: LineAddr) -> Option<Permission> {
        let caches = [(&self.l1i.tags, self.l1i_lines), (&self.l1d.tags, self.l1d_lines), (&self.l2, self.l2_lines)];
        let states = caches.into_iter().flat_map(|(tags, lines)| {
            lines.within(line).filter_map(move |word| Some(tags.state(tags.probe(lines.key(word))?)))
        });
        let highest = states.max()?;
        Some(if highest == MesiState::Shared { Permission::Shared } else { Permission::Exclusive })
    }

    /// Applies the permission of an arriving line to every part of the line that the caches already hold. Returns the
    /// MESI state of the permission.
    pub(in crate::node) fn granted(&mut self, line: LineAddr, permission: Permission) -> MesiState {
        match permission {
            Permission::Shared => {
                self.has_shared = true;
                MesiState::Shared
            }
            Permission::Exclusive => {
                if self.has_shared {
                    let own = |tags: &mut TagArray, lines: LineSize| {
                        for word in lines.within(line) {
                            if let Some(slot) = tags.probe(lines.key(word)) {
                                tags.raise(slot, MesiState::Exclusive);
                            }
                        }
                    };
                    own(&mut self.l1d.tags, self.l1d_lines);
                    own(&mut self.l2, self.l2_lines);
                }
                MesiState::Exclusive
            }
        }
    }
}
