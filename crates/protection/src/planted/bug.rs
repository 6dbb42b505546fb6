//! The weaknesses, by the part that has them.

use super::chunk_bug::ChunkBug;

bugs! {
    /// One deliberate weakness.
    Bug(OfChunks(ChunkBug)):
    // In ciphers.
    /// The pad of a line does not depend on where the line is.
    PadWithoutAddress,
    /// The pad of a line depends on the line's place in its page only.
    PadAddressTruncated,
    /// The pad of a line does not depend on the line's version.
    PadWithoutCounter,
    /// Of the counter, only as many bits as a minor has go into the pad.
    PadCounterTruncated,
    /// The highest bit of every byte of a pad is zero.
    PadTopBitsMissing,
    /// Every block of a line is encrypted as if it was the first: one pad, tweak or offset for all.
    BlockIndexMissing,
    /// The keys that a machine draws at boot are those of the boot before.
    KeysSurviveReset,
    /// The round keys of the encryption lie in memory.
    ScheduleSpilled,
    /// The key of the encryption lies in memory.
    KeySpilled,
    /// The cipher gets of a line's place what addresses of 32 bits say of it.
    PlaceWithoutHighBits,
    /// The key that encrypts data also encrypts the places that XTS tweaks with.
    OneKeyForDataAndTweak,
    /// The key that encrypts data also authenticates it.
    OneKeyForDataAndTags,
    /// The key that authenticates data also makes the nodes of the tree.
    OneKeyForTagsAndTree,
    /// What the machine started with lies in memory under the counter that comes next.
    BootUnderNextCounter,

    /// Words of a line are used before they have come.
    WordsNotAwaited,
    /// Words that are small numbers go on without waiting for their decryption, as if they were stored shorter.
    SmallNumbersEarly,
    /// Nodes of the tree are fetched once more than they are needed: no hole, but time.
    NodesFetchedTwice,

    // In codes.
    /// The piece of a line that the core asked for goes to it before its own tag is checked.
    FirstPieceUnchecked,
    /// The tag of a line does not say where the line belongs.
    TagWithoutAddress,
    /// The tag names a line by its place in its page.
    TagAddressTruncated,
    /// The tag names the line of tags that it lies in, not its own line.
    TagNamesLineOfTags,
    /// The tag of a line does not say which version of the line it vouches for.
    TagWithoutCounter,
    /// Of the counter, only as many bits as a minor has go into the tag.
    TagCounterTruncated,
    /// The tag does not cover the last block of the line.
    TagWithoutLastBlock,
    /// Tags are cut to half their length.
    TagCutShort,
    /// Only eight bits of the tag are compared.
    ShortComparison,
    /// The bits that a tag leaves unused are not compared.
    SpareTagBitsIgnored,
    /// Of a tag that is longer than a word, the first 64 bits are compared.
    WideTagComparedShort,
    /// Of the tags of a line's chunks, the last is not compared.
    LastChunkTagNotCompared,
    /// The tags of a line's chunks are compared as a set: whichever chunk each is of.
    ChunkTagsComparedAsSet,
    /// Every chunk of a line has the tag that it would have as the first.
    ChunkIndexMissing,
    /// A stored tag of zero fits every line, as if nothing had been written yet.
    ZeroTagFits,
    /// All machines have the same key for tags.
    OneTagKey,
    /// A line of zeros in memory needs no tag, as if nothing had been written yet.
    BlankLinePasses,
    /// Data leaves the chip's checker before the verdict.
    ReleaseBeforeVerdict,
    /// What does not fit is kept from the core, but no fault is reported.
    FaultSwallowed,

    // In speculation.
    /// A chunk that has the ciphertext of a candidate is taken for authentic, whatever its tag.
    CandidateTagNotCompared,
    /// Of a candidate's ciphertext the first half is compared.
    CandidateComparedShort,
    /// Candidates are encrypted under the version before the line's.
    CandidatesOfVersionBefore,
    /// Candidates are encrypted for the line before.
    CandidatesOfLineBefore,
    /// Candidates are encrypted as if every chunk of the line was the first, and have its tag.
    CandidatePositionMissing,
    /// What a candidate stands for is looked up when it matches, in a table that has learned since.
    CandidateOfLaterTable,
    /// What a resolved chunk no longer needs is not given up.
    CandidatesNotGivenUp,
    /// Candidates also go in as work on demand, and so before what decrypts and verifies.
    CandidatesOnDemand,
    /// The line is released when the chunk that the core asked for is verified.
    TrailingChunksUnchecked,
    /// Tags are made as if their lines had no bitmaps.
    TagWithoutBitmap,
    /// A line is put back in the order that the table of now would give it.
    OrderOfPresentTable,
    /// A write does not change the bitmap of its line.
    BitmapNotWritten,
    /// Lines of bitmaps are encrypted under one value whenever they leave the chip.
    BitmapValueRepeats,
    /// A line of bitmaps that is called back while it is being encrypted goes to memory all the same, and is clean.
    BitmapDepartureUnchecked,
    /// A line that is released before its verdict may have been put in order by another bitmap than the verdict is about.
    ReleasedOrderUnjudged,
    /// The words of a re-ordered line that reach the core first are named by the places where they lie.
    FirstWordsMisplaced,
    /// The word that was asked for is looked for where it would lie in a line that is not re-ordered.
    FirstWordsUnplaced,
    /// The table of frequent values goes to memory with the metadata of the chip.
    TableSpilled,

    // In counters.
    /// A write does not advance the counter.
    CounterStandsStill,
    /// A monolithic counter at its full width begins again.
    ExhaustedWraps,
    /// A minor counter wraps to zero without a renewal.
    MinorWraps,
    /// Overflow clears the minor counters but keeps the major one.
    MajorStandsStill,
    /// Overflow advances the major counter but leaves the minor ones.
    MinorsNotReset,
    /// The last line of each group counts for the next group.
    GroupOffByOne,
    /// Two lines of a group share a counter.
    PositionTruncated,
    /// Morphable counters: more minors in use are written smaller, but the line still states the size that they had.
    ZccSizeNotStepped,
    /// Morphable counters: an overflow adds the largest minor as it was before the write.
    MorphableLargestBeforeWrite,
    /// Morphable counters: an overflow on the way to the uniform format clears the minors but keeps the major.
    MorphableToUniformKeepsMajor,
    /// Morphable counters: rebasing lowers the minors but does not raise their base.
    MorphableRebaseLosesBase,
    /// Morphable counters: the write that made rebasing necessary is not counted.
    MorphableRebaseLosesWrite,
    /// Morphable counters: the overflow of one half clears the minors of the other too.
    SetOverflowForgetsOtherHalf,
    /// Morphable counters: a base at its end begins again.
    MorphableBaseWraps,
    /// Morphable counters: a base at its end leads to the next block of counters, into which the old ones reach.
    MorphableNextBlockOnly,
    /// Re-encryption takes what it finds in memory without checking it.
    ReencryptionTrustsMemory,
    /// A line that is first read gets into memory under the counter that memory returns, before that is verified.
    BootTrustsMemory,
    /// A tag over several lines is also over those that are not in memory yet, so that their masks serve once more when they
    /// come.
    TagOverBlankLines,
    /// A line that comes under a tag over several lines takes the others as they lie there.
    BootBesideForgery,
    /// A write under a tag over several lines takes the others as it finds them.
    OthersUnchecked,
    /// Of a major counter, only 32 bits count.
    MajorCutShort,
    /// A number that is drawn at random is always the same.
    DrawsRepeat,
    /// Re-encryption leaves the last line of the group as it was.
    RenewalSkipsLast,
    /// Re-encryption lets others at the lines of its group meanwhile.
    RenewalLetsOthersIn,
    /// A tag over several lines does not cover the last of them.
    GroupTagWithoutLast,
    /// Re-encryption leaves the first line of the group as it was.
    RenewalSkipsFirst,
    /// Re-encryption encrypts under the old counters again.
    RenewalUnderOldCounter,

    // In trees.
    /// The walk trusts the last stored level below the root without checking it.
    TreeStopsALevelEarly,
    /// Nodes of the lowest level are used without asking their parents.
    LowestNodesUnverified,
    /// A fetched counter line is used without asking its parent.
    CounterUnverified,
    /// The tag of a tree node does not say where the node belongs.
    NodeWithoutAddress,
    /// The tag of a tree node names the node by the lowest bits of its place.
    NodeAddressTruncated,
    /// Only eight bits of a node's hash of its child are compared.
    ShortHashComparison,
    /// A line of zeros fits every parent, as if it had never been written.
    BlankFits,
    /// Two children of a node share an entry.
    ChildrenShareEntries,
    /// All nodes below the root go by its first line.
    RootLinesShared,
    /// A dirty line of metadata is written back without notifying its parent.
    ParentNotUpdated,
    /// The root register ignores what the last level notifies it of.
    RootNotUpdated,
    /// A dirty line of tags is dropped instead of written back.
    TagsDropped,
    /// A line of counters that must leave the last-level cache is forgotten, though memory lacks what it holds.
    DisplacedCountersDropped,
    /// A dirty line of counters is dropped after its parent was notified.
    CountersDropped,
    /// A dirty node of the tree is dropped after its parent was notified.
    NodesDropped,
    /// A write does not wait for the verdicts of lines that the core has already.
    VerdictsNotAwaited,
    /// A write leaves the copies of its counters in L2s as they are.
    CopiesOutliveWrites,
    /// A dirty line that has to leave is forgotten.
    EvictionForgetsDirty,
    /// The MAC in a line of a counter tree does not say which version of the line it vouches for.
    MacWithoutVersion,
    /// The MAC in a line of a counter tree is not compared.
    EmbeddedMacUnchecked,
    /// A line of a counter tree goes to memory under the version that it had before.
    SealedUnderOldVersion,
    /// After an overflow in a tree node, children get new MACs without being checked.
    RenewalTrustsMemory,
    /// After an overflow in a tree node, the first child keeps its old MAC.
    FirstChildNotRenewed,
    /// A line of counters that was never written gets its first version as zeros, not as what it began with.
    BlankChildStaysZeros,
    /// The MAC in a line of a counter tree names the line by the lowest twelve bits of its place.
    MacPlaceTruncated,
    /// With eager updates the nearest parent is notified of a change, and no node above.
    RaiseStopsEarly,
    /// A line that is called back while it leaves the chip counts as one that memory has.
    CalledBackClean,
    /// A line that comes back from the last-level cache counts as one that memory has.
    RecalledClean,
    /// What was fetched on a prediction counts even if the slot was written since.
    EarlyFetchUnchecked,
    /// A root of a forest makes room like any clean line, as if its parent and memory knew what it holds.
    RootDropped,
    /// A root that is folded becomes what its parent knows of it, even if it has heard more meanwhile.
    FoldLosesNews,
    /// A root that is folded becomes an ordinary node, even if its parent knows less than it has heard meanwhile.
    FoldKeepsNews,
    /// A tuple completes without the roots of a forest at which its paths have ended.
    ForestNotRegistered,
    /// A tuple completes with the roots of a forest as they are on the chip, with what tuples behind it have changed.
    RootsAsOnChip,
    /// A forest changes while tuples are on their way up.
    ReshapedAmongTuples,
    /// A node that has become a root, with a register, is still in its parent what it was.
    PromotedStaysInParent,
    /// The register of a root stays when that is folded.
    FoldedStaysRegistered,
    /// Recovery compares the tree's own root, and no other of a forest.
    RecoveryComparesOwnRoot,
    /// Recovery compares the roots of a forest, and the chip keeps none of them.
    RecoveryForgetsForest,
    /// A copy of counters enters an L2 although they have changed while it was on its way.
    OutdatedCopyEnters,
    /// An overflow leaves the copies of the counters in L2s as they are; other writes drop them.
    CopiesOutliveRenewals,
    /// The controller lets an L2 go on with counters that have changed since it began.
    VoidCountersServe,
    /// The owner of a page may ask for it as any of its pages.
    GuestPageUnchecked,
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
    /// Metadata leaves the chip without waiting for the tuples that have changed it.
    LeavesAmongTuples,
    /// A write that was given up half-way does not halt the chip.
    GivenUpGoesOn,
    /// A tuple makes tags durable as they were when it copied the first of their lines.
    TagsCopiedEarly,
    /// Recovery takes the line that was written with the new counters for one that is still to be re-encrypted.
    RecoveryRenewsWritten,
    /// A tuple takes the nodes as they are on the chip, with what tuples behind it have changed.
    StagesShareNodes,
    /// A tuple takes writes along that do not have their lines yet.
    UnreadyGathered,
    /// A store to a resident line leaves the ciphertext of its entry as it is.
    CiphertextOfOlderText,
    /// A store to a resident line leaves the tag of its entry as it is.
    TagOfOlderText,
    /// Each store to a resident line counts, while pad and root stay those of the first.
    CountedByEachStore,
    /// A drain counts once more although the entry has its counter.
    CountedOnceMore,
    /// An entry takes its line's old counter for its new one.
    NotCounted,
    /// A core goes on from a store that its persist buffer has not accepted, although what follows may be accepted first.
    CoreGoesOnUnaccepted,
    /// A store enters an entry that is being drained.
    DrainedEntryWritten,
    /// An entry drains without telling the root of its counters.
    EntryDrainedBeforeRoot,
    /// An entry stays when its tuple is complete, and serves the next store to its line.
    EntryOutlivesTuple,
    /// The early steps of a store whose counter overflows are forgotten.
    OverflowLosesStore,
    /// A group is re-encrypted although entries of it are ahead of memory.
    RenewalForgetsEntries,
    /// A read goes to memory although the buffer has the line.
    BufferPassedByReads,
    /// The battery leaves the last entry.
    BatteryStopsEarly,
    /// The battery moves the data of entries and nothing else.
    BatteryMovesData,
    /// The battery of durable caches leaves the last dirty line.
    DirtyLineForgotten,
    /// The battery of durable caches writes lines back, and leaves metadata on the chip.
    MetadataNotFlushed,
    /// The battery of durable caches writes metadata before the lines, whose counters and tags then stay on the chip.
    MetadataBeforeLines,
    /// The battery of durable caches does not save the root.
    RootNotSaved,
    /// The battery of durable caches saves the root of a chip whose recovery has not ended, or has refused the memory.
    RootSavedUnrecovered,
    /// Recovery takes the root that it computes for the right one.
    RecoveryAcceptsAnyRoot,
    /// Recovery leaves the nodes in memory as they are.
    RecoveryKeepsNodes,
    /// After recovery has refused the memory, the chip goes on with the root of a blank one.
    RefusalLeavesBlankRoot,
    /// Recovery compares the first half of each line of the root with its register.
    RecoveryComparesHalf,
    /// Recovery stores the nodes of the lowest level and no others.
    RecoveryStoresLowestNodes,
    /// Recovery leaves nodes in memory that should be blank.
    RecoveryKeepsUnknownNodes,
    /// Recovery compares the root, and leaves the one on the chip blank.
    RecoveryForgetsRoot,
    /// Recovery leaves a re-encryption under way as it is.
    RecoverySkipsRenewal,
    /// The battery does not note which entries it could not take to memory.
    LossNotRegistered,
    /// Recovery does not look at what the battery has lost.
    LossForgotten,
    /// The battery of durable caches saves the root although it has met a fault.
    RootSavedDespiteFaults,
    /// The root that the battery of durable caches has saved stays valid when memory changes.
    RootOutlivesSession,
    /// The root that the battery of durable caches has saved stays valid until memory changes, whatever caches have by then.
    RootValidUntilWritten,
    /// After recovery a blank line gets what the machine started with.
    BootsAfterRecovery,
    /// Observers are let in to memory behind a chip that has halted as if it had everything.
    HaltedIsConsistent,
    /// A line of metadata whose parent's counter is exhausted is dropped, although memory does not have it.
    ExhaustedLineDropped,
    /// The table of frequent values learns from lines that are refused.
    RefusedLinesLearned,
    /// Where several lines are under a tag, what a renewal encrypts again does not reach the ledger.
    GroupedRenewalUnspent,
    /// A persist buffer asks a store for its content before the store's line is locked.
    ContentBeforeLock,
    /// What a drain encrypts before its turn, it encrypts without the lock of the line.
    ValueWithoutLock,
    /// A line of counters in the last-level cache counts as one that memory has, as soon as memory has an older version of it.
    NewerLineMarkedClean,
    /// Under a tag over several lines, an access to one of them locks that line and no other.
    GroupedLineLockedAlone,
    /// Stored bytes are in memory when its queue has room for them, and not from the moment on at which they are stored.
    StoredAfterQueue,
    /// A renewal leaves the copies of its counters that have entered L2s since a counter overflowed.
    RenewalLeavesCopies,
}
