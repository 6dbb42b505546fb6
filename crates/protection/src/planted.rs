//! Planted bugs: the weaknesses that implementations of memory protection really have, one at a time.
//!
//! A campaign that finds nothing proves nothing unless it would have found something. With the feature `planted-bugs`
//! a scheme can be built with exactly one of these; the test of the tests is that each is caught. Without the feature
//! they do not exist in the program.

/// One deliberate weakness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bug {
    /// The tag of a line does not say where the line belongs.
    TagWithoutAddress,
    /// The tag of a line does not say which version of the line it vouches for.
    TagWithoutCounter,
    /// Only eight bits of the tag are compared.
    ShortComparison,
    /// Data leaves the chip's checker before the verdict.
    ReleaseBeforeVerdict,
    /// The pad of a line does not depend on where the line is.
    PadWithoutAddress,
    /// A write does not advance the counter.
    CounterStandsStill,
    /// A minor counter wraps to zero without telling anybody.
    MinorWraps,
    /// Overflow clears the minor counters but keeps the major one.
    MajorStandsStill,
    /// Overflow advances the major counter but leaves the minor ones.
    MinorsNotReset,
    /// Morphable counters: more minors in use are written smaller, but the line still states the size that they had.
    ZccSizeNotStepped,
    /// Morphable counters: an overflow on the way to the uniform format clears the minors but keeps the major.
    MorphableToUniformKeepsMajor,
    /// Morphable counters: rebasing lowers the minors but does not raise their base.
    MorphableRebaseLosesBase,
    /// Morphable counters: the overflow of one half clears the minors of the other too.
    SetOverflowForgetsOtherHalf,
    /// Re-encryption takes what it finds in memory without checking it.
    ReencryptionTrustsMemory,
    /// The walk trusts the last stored level below the root without checking it.
    TreeStopsALevelEarly,
    /// A fetched counter line is used without asking its parent.
    CounterUnverified,
    /// The tag of a tree node does not say where the node belongs.
    NodeWithoutAddress,
    /// A dirty line of metadata is written back without telling its parent.
    ParentNotUpdated,
    /// A dirty line of tags is dropped instead of written back.
    TagsDropped,
    /// The root register ignores what the last level tells it.
    RootNotUpdated,
    /// The MAC in a line of a counter tree does not say which version of the line it vouches for.
    MacWithoutVersion,
    /// After an overflow in a tree node, children get new MACs without being checked.
    RenewalTrustsMemory,
    /// A tuple is completed without waiting until its lines have arrived.
    FenceDropped,
    /// A tuple is completed before its lines are sent.
    CompleteBeforePersist,
    /// The counters of a tuple are left to be written back some time.
    CounterNotPersisted,
    /// The tags of a tuple are left to be written back some time.
    TagNotPersisted,
    /// No register knows of a re-encryption under way.
    RenewalNotRegistered,
    /// Recovery forgets about a re-encryption under way before it has ended it.
    RenewalForgottenEarly,
    /// A tuple takes the nodes as they are on the chip, with what tuples behind it have changed.
    StagesShareNodes,
    /// Recovery takes the root that it computes for the right one.
    RecoveryAcceptsAnyRoot,
    /// Recovery leaves the nodes in memory as they are.
    RecoveryKeepsNodes,
}

impl Bug {
    /// Every planted bug.
    pub const ALL: [Bug; 31] = [
        Bug::TagWithoutAddress,
        Bug::TagWithoutCounter,
        Bug::ShortComparison,
        Bug::ReleaseBeforeVerdict,
        Bug::PadWithoutAddress,
        Bug::CounterStandsStill,
        Bug::MinorWraps,
        Bug::MajorStandsStill,
        Bug::MinorsNotReset,
        Bug::ZccSizeNotStepped,
        Bug::MorphableToUniformKeepsMajor,
        Bug::MorphableRebaseLosesBase,
        Bug::SetOverflowForgetsOtherHalf,
        Bug::ReencryptionTrustsMemory,
        Bug::TreeStopsALevelEarly,
        Bug::CounterUnverified,
        Bug::NodeWithoutAddress,
        Bug::ParentNotUpdated,
        Bug::TagsDropped,
        Bug::RootNotUpdated,
        Bug::MacWithoutVersion,
        Bug::RenewalTrustsMemory,
        Bug::FenceDropped,
        Bug::CompleteBeforePersist,
        Bug::CounterNotPersisted,
        Bug::TagNotPersisted,
        Bug::RenewalNotRegistered,
        Bug::RenewalForgottenEarly,
        Bug::StagesShareNodes,
        Bug::RecoveryAcceptsAnyRoot,
        Bug::RecoveryKeepsNodes,
    ];
}

/// The weakness built into one part, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Planted(Option<Bug>);

impl Planted {
    /// As designed.
    pub const NONE: Planted = Planted(None);

    /// With this weakness.
    #[cfg(feature = "planted-bugs")]
    pub const fn new(bug: Bug) -> Planted {
        Planted(Some(bug))
    }

    /// Whether this weakness is built in. Without the feature, the compiler knows that it is not.
    pub fn has(self, bug: Bug) -> bool {
        cfg!(feature = "planted-bugs") && self.0 == Some(bug)
    }
}
