//! Effects of other cores on the private caches: invalidations, downgrades and clean-ups.
//!
//! A line has one of three states in all private caches of a core: shared, exclusive or modified. The coherence
//! directory (`crate::coherence`) decides the permission of each core on each line, event by event. The directory
//! notifies the node through [`Node::answered`](crate::node::Node::answered), and its caches through
//! [`Caches::downgrade`] and [`Caches::invalidate`]. The node sends a request
//! before it writes to a shared line.

use crate::cache::{MesiState, TagArray};
use crate::node::caches::Caches;
use crate::node::interface::Permission;
use crate::node::lines::{LineSize, WordAddr};
use units::LineAddr;

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
        let caches = [self.l1i.tags_mut(), self.l1d.tags_mut(), self.l2.tags_mut()];
        let of = |(tags, lines): (&mut TagArray, LineSize)| {
            any_dirty(lines.within(line).filter_map(|word| change(tags, lines, word)))
        };
        any_dirty(caches.into_iter().filter_map(of))
    }

    /// Drops a line from all private caches, because another core writes it. Returns true if any copy was dirty, and
    /// `None` if no cache held one.
    pub fn invalidate(&mut self, line: LineAddr) -> Option<bool> {
        self.l2.clean_victims.forget(line);
        self.everywhere(line, |tags, lines, word| tags.invalidate(lines.key(word)))
    }

    /// Makes a line read only, because another core reads it. Returns true if any copy was dirty, and `None` if no
    /// cache held one.
    pub fn downgrade(&mut self, line: LineAddr) -> Option<bool> {
        self.l2.clean_victims.forget(line);
        self.has_shared = true;
        self.everywhere(line, |tags, lines, word| tags.probe(lines.key(word)).map(|slot| tags.share(slot)))
    }

    /// Marks a line as clean and keeps it; the caller writes the dirty words to memory. Returns true if any copy was
    /// dirty.
    pub fn clean(&mut self, line: LineAddr) -> bool {
        self.everywhere(line, |tags, lines, word| tags.probe(lines.key(word)).map(|slot| tags.clean(slot)))
            == Some(true)
    }

    /// Returns the permission of a line, or `None` if no private cache holds it.
    pub fn permission(&self, line: LineAddr) -> Option<Permission> {
        let caches = [self.l1i.tags(), self.l1d.tags(), self.l2.tags()];
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
                    for (tags, lines) in [self.l1d.tags_mut(), self.l2.tags_mut()] {
                        for word in lines.within(line) {
                            if let Some(slot) = tags.probe(lines.key(word)) {
                                tags.raise(slot, MesiState::Exclusive);
                            }
                        }
                    }
                }
                MesiState::Exclusive
            }
        }
    }
}
