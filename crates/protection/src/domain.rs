//! The persistence domain: the part of a machine that survives a loss of power.
//!
//! ```text
//!   persist ─► open tuple ─ complete ─► write-pending queue ─► media
//!   store   ───────────────────────────► write-pending queue ─► media      registers: on the chip, non-volatile
//! ```
//! When power fails, stored energy empties the write-pending queue into the media (ADR). The lines of a tuple must
//! become durable as one: data, counters, tags and the root that vouches for them (PLP, Freij et al., MICRO 2020,
//! invariant 1). The lines of a tuple wait in the queue until the tuple is complete; at a loss of power, the queue
//! drops an incomplete tuple. The completion of a tuple sets the registers at the same instant, since queue and
//! registers are both in the memory controller. Each root of a forest has a register, and a tuple sets the registers of
//! the roots at which its paths end.
//!
//! Lines on their way to the queue may or may not arrive. Only a fence makes their arrival certain.
//!
//! In a machine without stored energy, the queue is outside the domain. A line is durable once the media hold it, and a
//! loss of power may leave a part of a tuple in memory. Only a fence then guarantees durability, and several writes in
//! place are no longer one atomic write.

use crate::media::Media;
use crate::slot::{Slot, Untrusted};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Line, LineAddr};

/// The non-volatile registers of the memory controller.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Registers {
    /// The root of the tree; empty if it was never set.
    pub root: Box<[Line]>,
    /// True if memory has changed since the root was set: the root is invalid until a battery sets a new one.
    pub outdated: bool,
    /// The other roots of a forest, by the slots of their nodes. A root that was never set is blank.
    pub forest: BTreeMap<Slot, Line>,
    /// The group that is being re-encrypted, if one is.
    pub renewal: Option<Renewal>,
    /// Lines with durable stores that the battery could not write to memory.
    pub lost: BTreeSet<LineAddr>,
}

impl Registers {
    /// Applies the register updates of a complete tuple.
    pub fn set(&mut self, completion: &RegisterUpdate) {
        if let Some(root) = &completion.root {
            self.root.clone_from(root);
            self.outdated = false;
        }
        self.outdated |= completion.outdates_root;
        for (slot, content) in &completion.forest {
            match content {
                Some(content) => self.forest.insert(*slot, *content),
                None => self.forest.remove(slot),
            };
        }
        match &completion.renewal {
            Renewing::AsBefore => {}
            Renewing::Begins(renewal) => self.renewal = Some(renewal.clone()),
            Renewing::Writes(lines) => {
                self.renewal.iter_mut().for_each(|renewal| renewal.written.extend(lines));
            }
            Renewing::Ends => self.renewal = None,
        }
        if let Some(lost) = &completion.lost {
            self.lost.clone_from(lost);
        }
    }
}

/// Register updates applied in one instant when a tuple completes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct RegisterUpdate {
    /// The root of the tree, if the tuple has changed it.
    pub root: Option<Box<[Line]>>,
    /// True if memory is about to change, which makes the root in the register outdated.
    pub outdates_root: bool,
    /// The other roots that the tuple has changed; `None` for a node that is no longer a root.
    pub forest: BTreeMap<Slot, Option<Line>>,
    /// Update of the register of the group that is being re-encrypted.
    pub renewal: Renewing,
    /// Lines with lost stores, if the tuple changes the set of these lines.
    pub lost: Option<BTreeSet<LineAddr>>,
}

/// Update of the register of the group that is being re-encrypted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Renewing {
    /// The register does not change.
    #[default]
    AsBefore,
    /// Re-encryption of this group begins.
    Begins(Renewal),
    /// The tuple writes these lines of the group, whose re-encryption has stopped.
    Writes(Vec<LineAddr>),
    /// Re-encryption of the group has ended.
    Ends,
}

impl RegisterUpdate {
    /// Returns whether the tuple sets a root: that of the tree, or one of a forest.
    pub fn reaches_a_root(&self) -> bool {
        self.root.is_some() || self.forest.values().any(Option::is_some)
    }
}

/// A group of lines under re-encryption from old counters to new ones. Memory already holds the new counters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Renewal {
    /// Slot of the group's counter line.
    pub counters: Slot,
    /// Content of that line before the renewal.
    pub old: Line,
    /// First position that is renewed.
    pub first: usize,
    /// Position after the last that is renewed.
    pub end: usize,
    /// The lines that were written since the counters are new; one of them in the same tuple as the counters. Memory
    /// holds these lines under their new versions, so content that matches the old version is a replay.
    pub written: BTreeSet<LineAddr>,
}

impl Renewal {
    /// Range of positions that are renewed.
    pub fn positions(&self) -> Range<usize> {
        self.first..self.end
    }
}

/// Place of the write-pending queue: inside or outside the persistence domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritePendingQueue {
    /// Stored energy empties the queue, and tuples gather in it.
    #[default]
    Inside,
    /// A loss of power clears the queue: each line is durable only when the media hold it.
    Outside,
}

/// Memory and registers at a loss of power.
pub struct PersistenceDomain {
    queue: WritePendingQueue,
    media: Media,
    open: Vec<(Slot, Untrusted)>,
    registers: Registers,
}

impl PersistenceDomain {
    /// Returns a domain with this content.
    pub fn new(queue: WritePendingQueue, media: Media, registers: Registers) -> PersistenceDomain {
        PersistenceDomain { queue, media, open: Vec::new(), registers }
    }

    /// Stores a line that belongs to no tuple.
    pub fn store(&mut self, slot: Slot, content: Untrusted) {
        self.media.store(slot, content);
    }

    /// Adds a line to the open tuple.
    pub fn persist(&mut self, slot: Slot, content: Untrusted) {
        match self.queue {
            WritePendingQueue::Inside => self.open.push((slot, content)),
            WritePendingQueue::Outside => self.media.store(slot, content),
        }
    }

    /// Completes the open tuple.
    pub fn complete(&mut self, completion: &RegisterUpdate) {
        for (slot, content) in self.open.drain(..) {
            self.media.store(slot, content);
        }
        self.registers.set(completion);
    }

    /// Returns the newest content of a slot that has arrived at the queue, as after a completion of the open tuple.
    pub fn newest(&self, slot: Slot) -> Untrusted {
        match self.open.iter().rfind(|(open, _)| *open == slot) {
            Some((_, content)) => *content,
            None => self.media.read(slot),
        }
    }

    /// Returns the media as they are now.
    pub fn media(&self) -> &Media {
        &self.media
    }

    /// Power fails: the open tuple is lost, and the remaining state is returned.
    pub fn lose_power(self) -> (Media, Registers) {
        (self.media, self.registers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(byte: u8) -> Box<[Line]> {
        [[byte; 64]].into()
    }

    #[test]
    fn a_loss_drops_an_open_persist_tuple_and_keeps_a_complete_tuple_with_its_registers() {
        let (slot, other) = (Slot(1), Slot(2));
        let before = Registers { root: root(0), ..Registers::default() };
        let mut domain = PersistenceDomain::new(WritePendingQueue::Inside, Media::new(4), before);
        domain.persist(slot, [1; 64].into());
        domain.complete(&RegisterUpdate { root: Some(root(1)), ..RegisterUpdate::default() });
        domain.persist(slot, [2; 64].into());
        domain.store(other, [3; 64].into());
        assert_eq!(domain.newest(slot).examine(), [2; 64]);
        let (media, kept) = domain.lose_power();
        assert_eq!((media.read(slot).examine(), media.read(other).examine()), ([1; 64], [3; 64]));
        assert_eq!(kept, Registers { root: root(1), ..Registers::default() });
    }

    #[test]
    fn only_a_new_root_ends_the_outdated_state_of_the_root_register() {
        let mut registers = Registers { root: root(1), ..Registers::default() };
        registers.set(&RegisterUpdate { outdates_root: true, ..RegisterUpdate::default() });
        registers.set(&RegisterUpdate::default());
        assert!(registers.outdated);
        registers.set(&RegisterUpdate { root: Some(root(2)), ..RegisterUpdate::default() });
        assert!(!registers.outdated);
    }

    /// Recovery must not encrypt any line that was written since the counters are new.
    #[test]
    fn a_tuple_in_a_stopped_renewal_adds_its_lines_to_those_that_are_written() {
        let renewal = Renewal { counters: Slot(9), old: [0; 64], first: 0, end: 64, written: [LineAddr(5)].into() };
        let mut registers = Registers::default();
        let set = |registers: &mut Registers, renewal| {
            registers.set(&RegisterUpdate { renewal, ..RegisterUpdate::default() });
        };
        set(&mut registers, Renewing::Begins(renewal));
        set(&mut registers, Renewing::Writes(vec![LineAddr(3)]));
        let written = registers.renewal.as_ref().map(|renewal| renewal.written.clone());
        assert_eq!(written, Some([LineAddr(3), LineAddr(5)].into()));
        set(&mut registers, Renewing::Ends);
        assert_eq!(registers.renewal, None);
    }

    #[test]
    fn completing_a_tuple_sets_only_the_forest_root_registers_that_it_names() {
        let mut registers = Registers { root: root(1), ..Registers::default() };
        registers.forest.extend([(Slot(1), [1; 64]), (Slot(2), [2; 64])]);
        let forest = [(Slot(2), None), (Slot(3), Some([3; 64]))].into();
        registers.set(&RegisterUpdate { forest, ..RegisterUpdate::default() });
        assert_eq!(registers.root, root(1));
        assert_eq!(registers.forest, [(Slot(1), [1; 64]), (Slot(3), [3; 64])].into());
    }

    #[test]
    fn a_write_pending_queue_outside_the_persistence_domain_tears_open_tuples() {
        let before = Registers { root: root(0), ..Registers::default() };
        let mut domain = PersistenceDomain::new(WritePendingQueue::Outside, Media::new(4), before.clone());
        domain.persist(Slot(1), [1; 64].into());
        let (media, kept) = domain.lose_power();
        assert_eq!((media.read(Slot(1)).examine(), kept), ([1; 64], before));
    }
}
