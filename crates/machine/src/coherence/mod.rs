//! Coherence: several cores' private caches, kept so that a line is written by one or read by many.
//!
//! MESI by invalidation, with a [`Directory`] at the last-level cache. A request is *claimed* when the last-level cache
//! handles it: in that one moment every other core loses the line or keeps it to be read only, and the requester learns
//! what it may do with it. It is *answered* when the line arrives. In between the line is under way, and the owner of
//! the last-level cache lets other requests for it wait. So at every moment at most one core may write a line, and then
//! no other core has it.
//!
//! What the messages cost in time is not decided here: a [`Claim`] says which cores were asked.

pub mod directory;

#[cfg(test)]
mod tests;

use self::directory::{CORES_MAX, CoreSet, Directory, Holders};
use crate::node::{Node, NodeConfig, Permission, Request, RequestKind};
use std::cell::RefCell;
use units::{Duration, LineAddr, Time};

/// Where the requester gets the line from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supplier {
    /// It has it, and asked only to write it.
    Itself,
    /// Another core, whose copy was exclusive, and perhaps dirty. A dirty copy is clean from now on: the claimant has
    /// to keep what was written.
    Core {
        /// Which.
        core: usize,
        /// Whether it had been written to.
        dirty: bool,
    },
    /// The last-level cache, or memory.
    Below,
}

/// What a request came to at the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// What the requester may do with the line.
    pub permission: Permission,
    /// Cores that were asked to give the line up, or to share it.
    pub probed: CoreSet,
    /// Where the line comes from.
    pub supplier: Supplier,
}

/// The cores of a machine, kept coherent.
pub struct Domain {
    nodes: Box<[RefCell<Node>]>,
    /// A core by itself needs none.
    directory: Option<RefCell<Directory>>,
}

impl Domain {
    /// `cores` alike cores over a memory of `lines`.
    ///
    /// # Panics
    /// If there are no cores, or more than [`CORES_MAX`].
    pub fn new(config: &NodeConfig, cores: usize, lines: u64) -> Domain {
        assert!((1..=CORES_MAX).contains(&cores), "{cores} cores: not between 1 and {CORES_MAX}");
        Domain {
            nodes: (0..cores).map(|_| RefCell::new(Node::new(config).beside_metadata(lines))).collect(),
            directory: (cores > 1).then(|| RefCell::new(Directory::new(lines))),
        }
    }

    /// The same cores, sending clean victims as well ([`Node::sending_clean_victims`]).
    #[must_use]
    pub fn sending_clean_victims(self) -> Domain {
        let nodes = self.nodes.into_iter().map(|node| RefCell::new(node.into_inner().sending_clean_victims()));
        Domain { nodes: nodes.collect(), ..self }
    }

    /// All cores.
    pub fn nodes(&self) -> &[RefCell<Node>] {
        &self.nodes
    }

    /// Asks the host for what a claim of the line takes.
    pub fn look_ahead(&self, line: LineAddr) {
        self.directory.iter().for_each(|directory| directory.borrow().look_ahead(line));
    }

    /// The last-level cache handles a request of `core`: changes what others may do with the line.
    pub fn claim(&self, core: usize, line: LineAddr, kind: RequestKind) -> Claim {
        let from_below =
            Claim { permission: Permission::Exclusive, probed: CoreSet::default(), supplier: Supplier::Below };
        let Some(directory) = &self.directory else { return from_below };
        let mut directory = directory.borrow_mut();
        let holders = directory.holders(line);
        let others = holders.cores.without(core);
        let has_it = kind == RequestKind::Upgrade && holders.cores.contains(core);
        let alone = if has_it { Claim { supplier: Supplier::Itself, ..from_below } } else { from_below };
        if others.is_empty() {
            return alone;
        }
        match kind {
            RequestKind::ReadForOwnership | RequestKind::Upgrade => {
                directory.set(line, Holders::default());
                let supplier = self.probe(line, others, |node| node.invalidate(line), holders.exclusive);
                Claim { probed: others, supplier: if has_it { Supplier::Itself } else { supplier }, ..alone }
            }
            _ if !holders.exclusive => Claim { permission: Permission::Shared, ..alone },
            _ => {
                let supplier = self.probe(line, others, |node| node.downgrade(line), true);
                let cores = if supplier == Supplier::Below { CoreSet::default() } else { others };
                directory.set(line, Holders { cores, exclusive: false });
                let permission = if cores.is_empty() { Permission::Exclusive } else { Permission::Shared };
                Claim { permission, probed: others, supplier }
            }
        }
    }

    /// Asks cores to change what they have; returns which supplies the line. A line that several have is clean
    /// everywhere, and comes from below.
    fn probe(
        &self,
        line: LineAddr,
        cores: CoreSet,
        change: impl Fn(&mut Node) -> Option<bool>,
        exclusive: bool,
    ) -> Supplier {
        let mut supplier = Supplier::Below;
        for core in cores.iter() {
            let held = change(&mut self.nodes[core].borrow_mut());
            debug_assert!(exclusive || held != Some(true), "core {core} wrote {line}, which it shares");
            if let Some(dirty) = held.filter(|_| exclusive) {
                supplier = Supplier::Core { core, dirty };
            }
        }
        supplier
    }

    /// A line arrives at `core` at `at`, with the permission of its claim. Requests that follow from that go to `out`. Returns
    /// for how long nothing had retired there because of this line.
    ///
    /// # Panics
    /// If the core did not ask for it.
    pub fn answer(
        &self,
        core: usize,
        line: LineAddr,
        at: Time,
        permission: Permission,
        out: &mut Vec<Request>,
    ) -> Duration {
        if let Some(directory) = &self.directory {
            let mut directory = directory.borrow_mut();
            let cores = directory.holders(line).cores.with(core);
            directory.set(line, Holders { cores, exclusive: permission == Permission::Exclusive });
        }
        self.nodes[core].borrow_mut().answered(line, at, permission, out)
    }

    /// Takes a line from all cores; the core whose copy was dirty, if one was.
    pub fn recall(&self, line: LineAddr) -> Option<usize> {
        let holders = match &self.directory {
            None => CoreSet::of(0),
            Some(directory) => {
                let mut directory = directory.borrow_mut();
                let holders = directory.holders(line).cores;
                if !holders.is_empty() {
                    directory.set(line, Holders::default());
                }
                holders
            }
        };
        let mut dirty = None;
        for core in holders.iter() {
            if self.nodes[core].borrow_mut().invalidate(line) == Some(true) {
                dirty = Some(core);
            }
        }
        dirty
    }

    /// What is dirty of a line in any private cache goes to memory, and the line stays; whether any of it was.
    pub fn clean(&self, line: LineAddr) -> bool {
        let holders =
            self.directory.as_ref().map_or(CoreSet::of(0), |directory| directory.borrow().holders(line).cores);
        holders.iter().fold(false, |dirty, core| dirty | self.nodes[core].borrow_mut().clean(line))
    }

    /// Every line that some core has changed and not written back, by address.
    pub fn dirty_lines(&self) -> Vec<LineAddr> {
        let mut lines: Vec<LineAddr> = self.nodes.iter().flat_map(|node| node.borrow().dirty_lines()).collect();
        lines.sort_unstable();
        lines
    }

    /// Bytes of this process that the directory takes.
    pub fn footprint_bytes(&self) -> u64 {
        self.directory.as_ref().map_or(0, |directory| directory.borrow().footprint_bytes())
    }
}
