//! What other cores do to the lines in private caches: take them away, or look at what was written.
//!
//! A line is in one of three states in all the private caches of a core: shared, exclusive or modified. Which core may
//! have what is decided elsewhere (`crate::coherence`), at the moment of one event; the node is notified through
//! [`Node::answered`], [`Node::downgrade`] and [`Node::invalidate`], and asks before it writes to a shared line.

use crate::cache::{State, TagArray};
use crate::node::Node;
use crate::node::caches::Caches;
use crate::node::lines::{LineSize, WordAddr};
use units::{LineAddr, Time};

use crate::node::interface::Permission;

impl Node {
    /// The same node, sending clean lines that L2 evicts as well: a victim cache wants them.
    #[must_use]
    pub fn sending_clean_victims(mut self) -> Node {
        self.core.caches.sends_clean_victims = true;
        self
    }

    /// L2 is about to get a line that is encrypted and unverified below it. If L2 evicts it clean it sends it all the same,
    /// unless another request for the line came before (EMCC, MICRO 2022, section IV-F, "Inclusive Cache Hierarchy": a
    /// bit for each line of L2).
    pub fn owe(&mut self, line: LineAddr) {
        self.core.caches.owed.insert(line);
    }

    /// Goes on after [`Pause::Idle`](super::Pause::Idle): nothing enters the window before `at`.
    pub fn resume(&mut self, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.resume(cycle);
        self.idled(cycle);
    }

    /// Drops a line from all private caches, because another core writes it; whether any copy was dirty, or nothing if
    /// there was none.
    pub fn invalidate(&mut self, line: LineAddr) -> Option<bool> {
        self.core.caches.invalidate(line)
    }

    /// Keeps a line to be read only, because another core reads it; whether any copy was dirty, or nothing if there is
    /// none.
    pub fn downgrade(&mut self, line: LineAddr) -> Option<bool> {
        self.core.caches.downgrade(line)
    }

    /// What is dirty of a line goes to memory, and the line stays; whether any of it was.
    pub fn clean(&mut self, line: LineAddr) -> bool {
        self.core.caches.clean(line)
    }

    /// What may be done with a line, if any private cache has it.
    pub fn permission(&self, line: LineAddr) -> Option<Permission> {
        self.core.caches.permission(line)
    }

    /// Whether any private cache has the line.
    pub fn holds(&self, line: LineAddr) -> bool {
        self.core.caches.holds(line)
    }
}

/// What was found of a line in one cache: whether any was dirty, or nothing if none was there.
fn any_dirty(found: impl Iterator<Item = bool>) -> Option<bool> {
    found.reduce(|one, other| one | other)
}

impl Caches {
    /// Does something to all of a line in each cache; whether any of it was dirty, or nothing if none was there.
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
        Some(if highest == State::Shared { Permission::Shared } else { Permission::Exclusive })
    }

    /// A line arrives with a permission, which holds for every part of it that is there already.
    pub(in crate::node) fn granted(&mut self, line: LineAddr, permission: Permission) -> State {
        match permission {
            Permission::Shared => {
                self.has_shared = true;
                State::Shared
            }
            Permission::Exclusive => {
                if self.has_shared {
                    let own = |tags: &mut TagArray, lines: LineSize| {
                        for word in lines.within(line) {
                            if let Some(slot) = tags.probe(lines.key(word)) {
                                tags.raise(slot, State::Exclusive);
                            }
                        }
                    };
                    own(&mut self.l1d.tags, self.l1d_lines);
                    own(&mut self.l2, self.l2_lines);
                }
                State::Exclusive
            }
        }
    }
}
