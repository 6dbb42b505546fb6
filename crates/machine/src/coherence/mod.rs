//! Coherence of several cores' private caches: at every moment one core may write a line, or several cores may read it.
//!
//! The protocol is MESI by invalidation, with a [`Directory`] at the last-level cache. A request is *claimed* when the
//! last-level cache handles it. In that instant every other core loses the line or keeps it read only, and the
//! requester gets the permission that it requested. The request is *answered* when the line arrives. Between claim and
//! answer the line is outstanding, and the owner of the last-level cache delays other requests for this line. So at
//! every moment at most one core may write a line, and then no other core holds it.
//!
//! Another module decides the latency of the messages: for its calculation a [`Claim`] lists the cores that were
//! probed.

pub mod directory;

#[cfg(test)]
mod tests;

use self::directory::{CORES_MAX, CoreSet, Directory, Holders};
use crate::node::{Node, NodeConfig, Permission, Request, RequestKind};
use std::cell::RefCell;
use units::{Duration, LineAddr, Time};

/// Component that supplies the line to the requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineSupplier {
    /// The requester holds the line, and needs only permission to write it.
    Itself,
    /// Another core with an exclusive or modified copy. A dirty copy becomes clean: the claimant must keep the written
    /// data.
    Core {
        /// Index of the core.
        core: usize,
        /// True if the copy was dirty.
        dirty: bool,
    },
    /// The last-level cache, or memory.
    Below,
}

/// Result of a request at the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// Permission of the requester on the line.
    pub permission: Permission,
    /// Cores that were probed to give the line up, or to share it.
    pub probed: CoreSet,
    /// Source of the line.
    pub supplier: LineSupplier,
}

/// The cores of a machine, which the directory keeps coherent.
pub struct CoherenceDomain {
    nodes: Box<[RefCell<Node>]>,
    /// A single core needs no directory.
    directory: Option<RefCell<Directory>>,
}

impl CoherenceDomain {
    /// Creates `cores` identical cores over a memory of `lines` lines.
    ///
    /// # Panics
    /// If there are no cores, or more than [`CORES_MAX`].
    pub fn new(config: &NodeConfig, cores: usize, lines: u64) -> CoherenceDomain {
        assert!((1..=CORES_MAX).contains(&cores), "{cores} cores: not between 1 and {CORES_MAX}");
        let node = || {
            let mut node = Node::new(config);
            node.caches_mut().l2.metadata.begin_at(LineAddr(lines));
            RefCell::new(node)
        };
        CoherenceDomain {
            nodes: (0..cores).map(|_| node()).collect(),
            directory: (cores > 1).then(|| RefCell::new(Directory::new(lines))),
        }
    }

    /// Returns the same cores, which also send clean victims ([`CleanVictims`](crate::node::CleanVictims)).
    #[must_use]
    pub fn sending_clean_victims(self) -> CoherenceDomain {
        self.nodes.iter().for_each(|node| node.borrow_mut().caches_mut().l2.clean_victims.send_all());
        self
    }

    /// Returns all cores of the machine.
    pub fn nodes(&self) -> &[RefCell<Node>] {
        &self.nodes
    }

    /// Prefetches the host memory that a claim of the line reads.
    pub fn prefetch_host(&self, line: LineAddr) {
        self.directory.iter().for_each(|directory| directory.borrow().prefetch_host(line));
    }

    /// Handles a request of `core` at the last-level cache, and changes the permissions of the other cores on the line.
    pub fn claim(&self, core: usize, line: LineAddr, kind: RequestKind) -> Claim {
        let from_below =
            Claim { permission: Permission::Exclusive, probed: CoreSet::default(), supplier: LineSupplier::Below };
        let Some(directory) = &self.directory else { return from_below };
        let mut directory = directory.borrow_mut();
        let holders = directory.holders(line);
        let others = holders.cores.without(core);
        let has_it = kind == RequestKind::Upgrade && holders.cores.contains(core);
        let alone = if has_it { Claim { supplier: LineSupplier::Itself, ..from_below } } else { from_below };
        if others.is_empty() {
            return alone;
        }
        match kind {
            RequestKind::ReadForOwnership | RequestKind::Upgrade => {
                directory.set(line, Holders::default());
                let supplier = self.probe(line, others, |node| node.caches_mut().invalidate(line), holders.exclusive);
                Claim { probed: others, supplier: if has_it { LineSupplier::Itself } else { supplier }, ..alone }
            }
            _ if !holders.exclusive => Claim { permission: Permission::Shared, ..alone },
            _ => {
                let supplier = self.probe(line, others, |node| node.caches_mut().downgrade(line), true);
                let cores = if supplier == LineSupplier::Below { CoreSet::default() } else { others };
                directory.set(line, Holders { cores, exclusive: false });
                let permission = if cores.is_empty() { Permission::Exclusive } else { Permission::Shared };
                Claim { permission, probed: others, supplier }
            }
        }
    }

    /// Changes the state of a line in other cores; returns the core that supplies it. A line that several cores hold is
    /// clean in all of them, so the last-level cache or memory supplies it.
    fn probe(
        &self,
        line: LineAddr,
        cores: CoreSet,
        change: impl Fn(&mut Node) -> Option<bool>,
        exclusive: bool,
    ) -> LineSupplier {
        let mut supplier = LineSupplier::Below;
        for core in cores.iter() {
            let held = change(&mut self.nodes[core].borrow_mut());
            debug_assert!(exclusive || held != Some(true), "core {core} wrote {line}, which it shares");
            if let Some(dirty) = held.filter(|_| exclusive) {
                supplier = LineSupplier::Core { core, dirty };
            }
        }
        supplier
    }

    /// Delivers a line to `core` at time `at`, with the permission of its claim. The core appends the requests that
    /// follow from the delivery to `out`. Returns the time for which the core could not retire instructions because of
    /// this line.
    ///
    /// # Panics
    /// If the core did not request the line.
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

    /// Removes a line from all cores; returns the core with a dirty copy, if any.
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
            if self.nodes[core].borrow_mut().caches_mut().invalidate(line) == Some(true) {
                dirty = Some(core);
            }
        }
        dirty
    }

    /// Marks a line as clean in all private caches and keeps it; the caller writes it to memory. Returns true if any
    /// copy was dirty.
    pub fn clean(&self, line: LineAddr) -> bool {
        let holders =
            self.directory.as_ref().map_or(CoreSet::of(0), |directory| directory.borrow().holders(line).cores);
        holders.iter().fold(false, |dirty, core| dirty | self.nodes[core].borrow_mut().caches_mut().clean(line))
    }

    /// Returns every line that is dirty in a private cache of any core, in the order of addresses.
    pub fn dirty_lines(&self) -> Vec<LineAddr> {
        let mut lines: Vec<LineAddr> =
            self.nodes.iter().flat_map(|node| node.borrow().caches().dirty_lines()).collect();
        lines.sort_unstable();
        lines
    }

    /// Returns the size of the directory in the memory of this process, in bytes.
    pub fn footprint_bytes(&self) -> u64 {
        self.directory.as_ref().map_or(0, |directory| directory.borrow().footprint_bytes())
    }
}
