//! Fetches metadata to the chip and verifies it by a walk up the tree.
//!
//! ```text
//! lock the missing lines from the leaf up, and fetch and hash each meanwhile ─ compare from the top down
//!                                           └ what needs the leaf may start on what memory returned
//! ```
//! The walker checks a metadata line from memory against its parent, up to the first ancestor that is on the chip. The
//! module `update` writes it back.
//!
//! A counter line that was never written is blank in memory, and its parent vouches for that. A blank line may
//! represent non-zero counters: the starting values of an aged machine ([`Steady`](crate::counter::Steady)). Memory and
//! tree do not contain these values until the line is written; each fetch yields the same values.

use super::Metadata;
use crate::planted::Bug;
use crate::slot::{Role, Slot};
use crate::tree::{Node, Parent, Voucher};
use crate::verbs::{Cache, Fault, LockName, Verbs, Wanted};
use sim::Going;
use sim::lock::Mode;
use std::future::Future;
use units::{Line, ZERO_LINE};

/// Place where a look-up found a metadata line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FoundIn {
    /// In the L2 that requested the line of data.
    L2,
    /// In the controller's cache, or leaving this cache.
    Controller,
    /// In the last-level cache.
    LastLevel,
    /// In memory, or already being fetched from memory for another access.
    Memory,
}

/// Caches in which the access has already looked up a metadata line, whether it hit or missed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sought {
    /// No cache so far.
    Nowhere,
    /// The controller's cache: the latency of this look-up has already passed.
    InItsCache,
    /// The controller's cache and the last-level cache.
    Everywhere,
}

/// A step of the walk up the tree: a metadata line that is not on the chip, locked while it is fetched.
struct Missing<G> {
    slot: Slot,
    role: Role,
    parent: Option<Parent>,
    _guard: G,
}

impl Metadata {
    /// Returns the content that a metadata line from memory represents. A counter line that was never written
    /// represents the initial counters of an aged machine.
    pub fn begun(&self, slot: Slot, role: Role, content: &Line) -> Line {
        match &self.steady {
            Some(steady) if role == Role::Counter && *content == ZERO_LINE => *steady.of(slot),
            _ => *content,
        }
    }

    /// Returns true if lines of this role may be in the last-level cache.
    pub fn goes_on(&self, role: Role) -> bool {
        self.on_chip(|chip| chip.goes_on(role))
    }

    /// Ensures that a metadata line is on the chip, verified up to the first ancestor that was already on the chip.
    pub(super) async fn bring<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role) -> Result<(), Fault> {
        self.bring_sought(verbs, slot, role, Sought::Nowhere, |_| ()).await.map(|_| ())
    }

    /// Like [`Metadata::bring`], but skips the look-ups in `sought`. Calls `arrived` as soon as the content is on the chip or
    /// has arrived from memory. Returns the place where the line was found.
    pub(super) async fn bring_sought<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        sought: Sought,
        arrived: impl Fn(&Line),
    ) -> Result<FoundIn, Fault> {
        if sought == Sought::Nowhere {
            verbs.look_up(Cache::Controller(role)).await;
        }
        let mut found = self.on_chip(|chip| chip.look_up(role, slot)).map(|content| (content, FoundIn::Controller));
        let in_last_level = self.goes_on(role) && sought != Sought::Everywhere;
        if found.is_none() && in_last_level {
            verbs.look_up(Cache::LastLevel(slot)).await;
            found = self.on_chip(|chip| chip.caches.recall(role, slot)).map(|content| (content, FoundIn::LastLevel));
        }
        if let Some((content, found_in)) = found {
            arrived(&content);
            return Ok(found_in);
        }
        // Boxed: the future of a walk is large and most accesses need no walk, but each would contain it.
        let walk = TreeWalk { metadata: self, verbs };
        Box::pin(walk.bring((slot, role), in_last_level, arrived)).await.map(|()| FoundIn::Memory)
    }
}

/// A walk up the tree.
struct TreeWalk<'a, V> {
    metadata: &'a Metadata,
    verbs: &'a V,
}

impl<'a, V: Verbs> TreeWalk<'a, V> {
    /// Fetches a metadata line that is not on the chip, with its missing ancestors. `in_last_level` is true if the line was
    /// looked up in the last-level cache.
    async fn bring(&self, leaf: (Slot, Role), in_last_level: bool, arrived: impl Fn(&Line)) -> Result<(), Fault> {
        if self.metadata.on_chip(|chip| chip.power.rootless) {
            return Err(Fault::Root);
        }
        let fetch = async |step: (Slot, Role, bool)| {
            if self.metadata.planted.has(Bug::NodesFetchedTwice) && matches!(step.1, Role::Node(_)) {
                self.verbs.fetch(step.0, step.1, Wanted::LINE).await;
            }
            let content = self.verbs.fetch(step.0, step.1, Wanted::LINE).await.content.examine();
            let content = match &self.metadata.bitmaps {
                Some(bitmaps) if step.1 == Role::Bitmap => Box::pin(bitmaps.open(self.verbs, step.0, &content)).await,
                _ => content,
            };
            if step.0 == leaf.0 {
                arrived(&self.metadata.begun(step.0, step.1, &content));
            }
            if step.2 {
                self.verbs.hash().await;
            }
            content
        };
        let mut fetches = Going::default();
        let (path, anchor) = self.walk_up(leaf, in_last_level, &mut fetches, fetch).await;
        if path.is_empty() {
            // Another access has fetched the line meanwhile.
            let content = self.metadata.on_chip(|chip| chip.get(leaf.1, leaf.0).copied());
            content.iter().for_each(&arrived);
        }
        let fetched = fetches.all().await;
        let mut expected = anchor;
        for (index, (step, content)) in path.iter().zip(&fetched).enumerate().rev() {
            self.compare(step, content, expected)?;
            let begun = self.metadata.begun(step.slot, step.role, content);
            self.metadata.on_chip(|chip| chip.caches.admit(step.role, step.slot, &begun, false));
            let below = index.checked_sub(1).and_then(|below| path[below].parent);
            expected = self.voucher_in(below, content);
        }
        Ok(())
    }

    /// Locks the missing lines from a leaf upward, until an ancestor is found on the chip or the root is reached. Calls
    /// `fetch` as soon as a line is known to be missing, with true if the line has a parent. The fetches continue
    /// during the walk. Returns the lines, leaf first, and the voucher for the last line from its parent on the chip.
    ///
    /// A parent's voucher for a line that is not on the chip changes only under the line's lock. So the vouchers that are
    /// read here stay valid while the locks are held, even if the parent leaves meanwhile.
    async fn walk_up<F: Future<Output = Line>>(
        &self,
        (slot, role): (Slot, Role),
        mut in_last_level: bool,
        fetches: &mut Going<F>,
        fetch: impl Fn((Slot, Role, bool)) -> F,
    ) -> (Vec<Missing<V::Guard<'a>>>, Voucher) {
        let mut path: Vec<Missing<V::Guard<'a>>> = Vec::new();
        let (mut slot, mut role) = (slot, role);
        // True if the look-up found the line. Otherwise the access that has the lock may be fetching it.
        let mut was_there = false;
        loop {
            let guard = fetches.meanwhile(self.verbs.lock(LockName::Metadata(slot), Mode::Exclusive)).await;
            // The caller has already looked up the leaf, in the last-level cache too.
            let looked_up_above = !path.is_empty();
            let mut found = self.metadata.on_chip(|chip| match (looked_up_above, was_there) {
                (true, true) => chip.look_up(role, slot),
                (true, false) => chip.find(role, slot),
                (false, _) => chip.get(role, slot).copied(),
            });
            let mut counted = was_there && found.is_some();
            if found.is_none() && looked_up_above && self.metadata.goes_on(role) {
                in_last_level = true;
                fetches.meanwhile(self.verbs.look_up(Cache::LastLevel(slot))).await;
                found = self.metadata.on_chip(|chip| chip.caches.recall(role, slot));
                counted = found.is_some();
                // Another access may have recalled the line from the last-level cache meanwhile.
                found = found.or_else(|| self.metadata.on_chip(|chip| chip.get(role, slot).copied()));
            }
            if !counted {
                self.metadata.on_chip(|chip| chip.caches.not_found(role, found.is_some(), in_last_level));
            }
            if let Some(content) = found {
                let below = path.last().and_then(|step| step.parent);
                return (path, self.voucher_in(below, &content));
            }
            let parent = self.metadata.parent(slot);
            path.push(Missing { slot, role, parent, _guard: guard });
            fetches.begin(fetch((slot, role, parent.is_some())));
            match parent {
                None => return (path, Voucher::Nothing),
                Some(Parent { node: Node::Root(line), .. }) => {
                    let root = self.metadata.chip.borrow().root[line];
                    return (path, self.voucher_in(parent, &root));
                }
                Some(Parent { node: Node::Stored(above), level, .. }) => {
                    (slot, role) = (above, Role::Node(level as u8))
                }
            }
            fetches.meanwhile(self.verbs.look_up(Cache::Controller(role))).await;
            was_there = self.metadata.on_chip(|chip| chip.is_in_its_cache(role, slot));
            in_last_level = false;
        }
    }

    fn compare<G>(&self, step: &Missing<G>, content: &Line, expected: Voucher) -> Result<(), Fault> {
        let skipped = match step.parent.map(|parent| parent.node) {
            Some(Node::Root(_)) => self.metadata.planted.has(Bug::TreeStopsALevelEarly),
            _ if step.role == Role::Node(0) => self.metadata.planted.has(Bug::LowestNodesUnverified),
            _ => step.role == Role::Counter && self.metadata.planted.has(Bug::CounterUnverified),
        };
        match &self.metadata.tree {
            Some(tree) if !skipped && !tree.fits(step.slot, step.role, content, expected) => {
                Err(Fault::Tree(step.slot))
            }
            _ => Ok(()),
        }
    }

    /// Returns the voucher in a node's content for the line below it.
    fn voucher_in(&self, parent: Option<Parent>, content: &Line) -> Voucher {
        match (parent, &self.metadata.tree) {
            (Some(parent), Some(tree)) => tree.voucher(parent, content),
            _ => Voucher::Nothing,
        }
    }
}
