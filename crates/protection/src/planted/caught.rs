//! Which check catches what, where it is not any campaign.

use super::{Bug, ChunkBug};

impl Bug {
    /// Bugs that only a loss of power brings to light.
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

    /// Bugs in single parts that the conformance kit catches and no campaign: in a small memory they take too long to
    /// show, or show as others do.
    pub const ONLY_IN_THE_KIT: &[Bug] = &[
        // A core finds a resident line in its buffer before it asks for it.
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
        // Whatever is written next below the node notifies all nodes above.
        Bug::FoldKeepsNews,
        // No line of data lies where a line of the tree does, so the two never have a message in common.
        Bug::OneKeyForTagsAndTree,
        // Campaigns begin with new counters, which are zeros.
        Bug::BlankChildStaysZeros,
        // In a memory under attack, others show first that a record or a line of a chunk is not as it should be.
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
        // One process alone meets no buffer or cache of another, and no permutation in the middle of its walk.
        Bug::OfChunks(ChunkBug::DepthUnchecked),
        Bug::OfChunks(ChunkBug::VerificationBufferKept),
        Bug::OfChunks(ChunkBug::MerkleCacheKept),
        Bug::OfChunks(ChunkBug::VerificationBufferStale),
        Bug::OfChunks(ChunkBug::HardwareWalksEvict),
        // Nodes of lines that were never written; a later write of them raises an alarm.
        Bug::RecoveryKeepsUnknownNodes,
    ];
}
