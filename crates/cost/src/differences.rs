//! Named differences between a counted drain and the closed form. The paper charges operations that no tree needs, and
//! does not charge some operations of a real memory.

use crate::closed_form;
use crate::geometry::{Renewed, SharedLines};
use crate::operations::{DrainTraffic, Operations};
use crate::profile::Profile;
use crate::scheme::{Accounting, SecPbScheme, Step, System};
use serde::Serialize;
use units::LINE_BYTES;

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;
/// Bits of the minor counter of a line, the only part of a line of split counters that other lines do not use.
const COUNTER_BITS: u64 = 7;

/// A difference between two accounts.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// Name of the difference.
    pub name: &'static str,
    /// Reason for the difference, in a sentence.
    pub why: &'static str,
    /// True if the counted drain executes fewer operations, false if it executes more.
    pub is_less: bool,
    /// The operations of the difference.
    pub operations: Operations,
    /// Energy of the operations, in nanojoules; negative if the counted drain executes fewer operations.
    pub energy_nj: f64,
}

/// Creates the differences for a profile.
#[derive(Clone, Copy)]
pub(crate) struct DifferenceBuilder<'a> {
    pub profile: &'a Profile,
}

impl DifferenceBuilder<'_> {
    fn more(&self, name: &'static str, why: &'static str, operations: Operations) -> Difference {
        let energy_nj = self.profile.energy(&operations).nanojoules();
        Difference { name, why, is_less: false, operations, energy_nj }
    }

    fn less(&self, name: &'static str, why: &'static str, operations: Operations) -> Difference {
        let more = self.more(name, why, operations);
        Difference { is_less: true, energy_nj: -more.energy_nj, ..more }
    }

    /// The differences of `alone` from the closed form, for each entry and the store in flight. `levels` is the height
    /// of the tree, including counters and root.
    pub fn of_alone(&self, scheme: SecPbScheme, entries: u32, levels: u32) -> Vec<Difference> {
        let is_early = |step| scheme.early().contains(&step);
        let entries = u64::from(entries);
        let (drains, edges) = (entries + 1, u64::from(levels) - 1);
        let late_roots = 1 + if is_early(Step::Root) { 0 } else { entries };
        // With an early root, the drain of an entry reads no node above the counters, and writes only the entry's bits of the counters.
        let (verifying, again) =
            if is_early(Step::Root) { (1, 0) } else { (drains, u64::from(is_early(Step::Counter))) };
        let of_counters = if is_early(Step::Root) { COUNTER_BITS } else { LINE_BITS };
        let written = DrainTraffic { from_controller_bits: LINE_BITS + of_counters, ..DrainTraffic::default() };
        let none = Operations::default();
        let all = [
            self.edges(late_roots),
            self.verified(edges * verifying),
            self.more(
                "counters-again",
                "early counters are fetched again, since memory holds whole lines of them",
                Operations { fetched_lines: again, ..none } * entries,
            ),
            self.tags(drains),
            self.more(
                "written",
                "the drain writes counter and tag lines too; with an early root, only 7 counter bits",
                Operations { moved: written, ..none } * drains,
            ),
            self.more(
                "in-flight-moved",
                "the store in flight is moved to memory too: the paper charges only its tuple",
                closed_form::moved(scheme, &self.profile.entry),
            ),
        ];
        all.into_iter().filter(|difference| difference.operations != none).collect()
    }

    /// The differences of `together` from `alone`, for lines that share this metadata.
    pub fn of_together(
        &self,
        scheme: SecPbScheme,
        shared: SharedLines,
        (alone, together): (Operations, Operations),
    ) -> Vec<Difference> {
        let SharedLines { covered, tags } = shared;
        // With an early root, only the store in flight fetches a path.
        let covered = if scheme.early().contains(&Step::Root) { 0 } else { covered };
        let sharing = Operations { fetched_lines: covered + tags, hashed_lines: covered, ..Operations::default() };
        self.of_sharing(sharing, (alone, together))
    }

    /// The differences of `alone` from the closed form, for `lines` lines of durable caches under a tree of `levels`
    /// levels.
    pub fn of_caches_alone(&self, accounting: Accounting, lines: u64, levels: u32) -> Vec<Difference> {
        let closed = |accounting| closed_form::operations(System::SecureEadr(accounting), self.profile, 0, levels);
        let (edges, nodes) = (u64::from(levels) - 1, u64::from(levels).saturating_sub(2));
        let from_controller = |lines| Operations {
            moved: DrainTraffic { from_controller_bits: LINE_BITS * lines, ..DrainTraffic::default() },
            ..Operations::default()
        };
        let all = [
            self.more(
                "uncharged",
                "the published volume charges a line 2 hashes, not one a level and the tag's",
                closed(Accounting::Consistent).beyond(closed(accounting)),
            ),
            self.edges(lines),
            self.verified(edges * lines),
            self.tags(lines),
            self.more("written", "the drain writes counter and tag lines too", from_controller(2 * lines)),
            self.more(
                "nodes-written",
                "without tuples, the drain writes all metadata, nodes too, before it saves the root",
                from_controller(nodes * lines),
            ),
        ];
        all.into_iter().filter(|difference| difference.operations != Operations::default()).collect()
    }

    /// The differences of `together` from `alone`, for lines of durable caches that share this metadata. The drain fetches, verifies,
    /// changes and writes a shared metadata line once.
    pub fn of_caches_together(
        &self,
        SharedLines { covered, tags }: SharedLines,
        (alone, together): (Operations, Operations),
    ) -> Vec<Difference> {
        let moved = DrainTraffic { from_controller_bits: (covered + tags) * LINE_BITS, ..DrainTraffic::default() };
        let sharing = Operations { moved, fetched_lines: covered + tags, hashed_lines: 2 * covered, pads: 0 };
        self.of_sharing(sharing, (alone, together))
    }

    fn edges(&self, late_roots: u64) -> Difference {
        self.less(
            "edges",
            "the paper hashes once a level; counters contain no hashes, so edges are one fewer",
            Operations { hashed_lines: late_roots, ..Operations::default() },
        )
    }

    fn verified(&self, edges: u64) -> Difference {
        self.more(
            "verified",
            "counters and nodes from memory are hashed, to be compared with their parents",
            Operations { hashed_lines: edges, ..Operations::default() },
        )
    }

    fn tags(&self, drains: u64) -> Difference {
        self.more(
            "tags",
            "a line holds several tags, so it is fetched before one of them changes",
            Operations { fetched_lines: drains, ..Operations::default() },
        )
    }

    /// The differences of `together` from `alone`, if shared metadata saves these operations.
    fn of_sharing(&self, sharing: Operations, (alone, together): (Operations, Operations)) -> Vec<Difference> {
        // Evictions depend on the sets of the caches. So this difference has no formula; it is the remainder.
        let all = [
            self.less("shared", "later drains find on the chip the lines that one drain has fetched", sharing),
            self.more(
                "room",
                "the cache evicts nodes to memory, and fetches some of them again",
                (together + sharing).beyond(alone),
            ),
        ];
        all.into_iter().filter(|difference| difference.operations != Operations::default()).collect()
    }

    /// The differences of a drain that renews groups from `together`.
    pub fn of_overflowing(
        &self,
        scheme: SecPbScheme,
        Renewed { groups, others, tag_lines }: Renewed,
        (together, overflowing): (Operations, Operations),
    ) -> Vec<Difference> {
        // With an early root, a drain writes only its bits of a counter line, but it writes renewed counters as a
        // whole line.
        let whole = if scheme.early().contains(&Step::Root) { LINE_BITS - COUNTER_BITS } else { 0 };
        let from_controller_bits = (others + tag_lines) * LINE_BITS + whole;
        let renewed = Operations {
            moved: DrainTraffic { from_controller_bits, ..DrainTraffic::default() },
            // One tag line is on the chip: that of the line that causes the renewal.
            fetched_lines: others + tag_lines - 1,
            hashed_lines: 2 * others,
            pads: 2 * others,
        } * groups;
        let shares = "the first line of a group that overflows renews the counters of all its lines";
        let all = [
            self.more(
                "renewed",
                "a group's other lines and tags are fetched, verified, decrypted and encrypted again",
                renewed,
            ),
            self.more("groups-shared", shares, overflowing.beyond(together + renewed)),
            self.less("groups-shared", shares, (together + renewed).beyond(overflowing)),
        ];
        all.into_iter().filter(|difference| difference.operations != Operations::default()).collect()
    }
}
