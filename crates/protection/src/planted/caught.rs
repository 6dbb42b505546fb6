//! Planted bugs that only particular checks catch, and not every campaign.

use super::{Bug, ChunkBug};

impl Bug {
    /// Bugs that show only after a loss of power.
    pub const AFTER_LOSSES: &[Bug] = &[
        Bug::FenceDropped,
        Bug::CompleteBeforePersist,
        Bug::CounterNotPersisted,
        Bug::TagNotPersisted,
        Bug::RenewalNotRegistered,
        Bug::RenewalForgottenEarly,
        Bug::LeavesAmongTuples,
        Bug::GivenUpGoesOn,
        Bug::TagsCopiedEarly,
        Bug::RecoveryRenewsWritten,
        Bug::StagesShareNodes,
        Bug::RecoveryAcceptsAnyRoot,
        Bug::RecoveryKeepsNodes,
        Bug::RefusalLeavesBlankRoot,
        Bug::RecoveryComparesHalf,
        Bug::RecoveryStoresLowestNodes,
        Bug::RecoveryKeepsUnknownNodes,
        Bug::RecoveryForgetsRoot,
        Bug::RecoverySkipsRenewal,
        Bug::CiphertextOfOlderText,
        Bug::TagOfOlderText,
        Bug::CountedByEachStore,
        Bug::CountedOnceMore,
        Bug::NotCounted,
        Bug::DrainedEntryWritten,
        Bug::EntryDrainedBeforeRoot,
        Bug::EntryOutlivesTuple,
        Bug::OverflowLosesStore,
        Bug::RenewalForgetsEntries,
        Bug::BatteryStopsEarly,
        Bug::BatteryMovesData,
        Bug::DirtyLineForgotten,
        Bug::MetadataNotFlushed,
        Bug::MetadataBeforeLines,
        Bug::RootNotSaved,
        Bug::RootSavedUnrecovered,
        Bug::ForestNotRegistered,
        Bug::RootsAsOnChip,
        Bug::ReshapedAmongTuples,
        Bug::PromotedStaysInParent,
        Bug::FoldedStaysRegistered,
        Bug::RecoveryComparesOwnRoot,
        Bug::RecoveryForgetsForest,
        Bug::LossNotRegistered,
        Bug::LossForgotten,
        Bug::RootSavedDespiteFaults,
        Bug::RootOutlivesSession,
        Bug::RootValidUntilWritten,
        Bug::BootsAfterRecovery,
    ];

    /// Bugs in single parts that only the conformance kit catches: in a small memory they take too long to show, or
    /// show as other bugs do.
    pub const ONLY_IN_THE_KIT: &[Bug] = &[
        // A core finds a resident line in its buffer before it requests the line.
        Bug::BufferPassedByReads,
        Bug::TagCounterTruncated,
        Bug::TagCutShort,
        Bug::OneTagKey,
        Bug::ExhaustedWraps,
        Bug::GroupOffByOne,
        Bug::MorphableBaseWraps,
        Bug::MorphableNextBlockOnly,
        Bug::NodeAddressTruncated,
        Bug::ShortHashComparison,
        Bug::ChildrenShareEntries,
        Bug::RootLinesShared,
        Bug::EmbeddedMacUnchecked,
        Bug::SealedUnderOldVersion,
        Bug::MajorCutShort,
        Bug::RaiseStopsEarly,
        // The next write below the node notifies all nodes above.
        Bug::FoldKeepsNews,
        // Data and the tree have different slots, so the two never have a message in common.
        Bug::OneKeyForTagsAndTree,
        // Campaigns begin with new counters, which are zeros.
        Bug::BlankChildStaysZeros,
        // In a memory under attack, other checks show first that a record or a line of a chunk is wrong.
        Bug::OfChunks(ChunkBug::CodeOfFirstLine),
        Bug::OfChunks(ChunkBug::BufferKeepsTranslated),
        Bug::OfChunks(ChunkBug::RecordVectorRepeats),
        Bug::OfChunks(ChunkBug::RecordVectorUnhashed),
        Bug::OfChunks(ChunkBug::RecordSpareIgnored),
        Bug::OfChunks(ChunkBug::RecordWalkALevelShort),
        Bug::OfChunks(ChunkBug::MerkleCacheUnverified),
        Bug::OfChunks(ChunkBug::MerkleCacheStale),
        Bug::OfChunks(ChunkBug::CodeWithoutRecord),
        Bug::OfChunks(ChunkBug::PermutationTrustsMemory),
        Bug::OfChunks(ChunkBug::StoreLeavesUnlocked),
        Bug::OfChunks(ChunkBug::PermutationIgnoresCache),
        Bug::OfChunks(ChunkBug::CachedSlotsNotRead),
        Bug::OfChunks(ChunkBug::HaltIgnored),
        // A campaign with one process meets no buffer or cache of another, and no permutation in the middle of its
        // walk.
        Bug::OfChunks(ChunkBug::DepthUnchecked),
        Bug::OfChunks(ChunkBug::VerificationBufferKept),
        Bug::OfChunks(ChunkBug::MerkleCacheKept),
        Bug::OfChunks(ChunkBug::VerificationBufferStale),
        Bug::OfChunks(ChunkBug::HardwareWalksEvict),
        Bug::OfChunks(ChunkBug::ContextLeavesLocks),
        Bug::OfChunks(ChunkBug::ContextLeavesLines),
        Bug::OfChunks(ChunkBug::SwitchKeepsRecords),
        // Nodes of lines that were never written; a later write of these lines raises an alarm.
        Bug::RecoveryKeepsUnknownNodes,
    ];
}
