//! The weaknesses, grouped by the part that contains them.

use super::chip_bug::ChipBug;
use super::page_chunk_bug::PageChunkBug;
use super::session_bug::SessionBug;

bugs! {
    /// One deliberate weakness of a part.
    Bug(OfPageChunks(PageChunkBug), OverSessions(SessionBug), OfChip(ChipBug)):
    // In ciphers.
    /// The pad of a line does not depend on the address of the line.
    PadWithoutAddress,
    /// The pad of a line depends only on the line's position in its page.
    PadAddressTruncated,
    /// The pad of a line does not depend on the line's version.
    PadWithoutCounter,
    /// Only the lowest bits of the counter, as many as a minor has, enter the pad.
    PadCounterTruncated,
    /// The highest bit of every byte of a pad is zero.
    PadTopBitsMissing,
    /// Every block of a line is encrypted as if it were the first: one pad, tweak or offset for all.
    BlockIndexMissing,
    /// The keys that a machine draws at boot are those of the boot before.
    KeysSurviveReset,
    /// The round keys of the encryption are stored in memory.
    ScheduleSpilled,
    /// The key of the encryption is stored in memory.
    KeySpilled,
    /// The cipher gets only those bits of a line's address that a 32-bit address contains.
    AddressWithoutHighBits,
    /// The key that encrypts data also encrypts the addresses for the tweaks of XTS.
    OneKeyForDataAndTweak,
    /// The key that encrypts data also authenticates it.
    OneKeyForDataAndTags,
    /// The key that authenticates data also authenticates the nodes of the tree.
    OneKeyForTagsAndTree,
    /// Memory holds the initial content of a line under the next counter.
    BootUnderNextCounter,

    /// Words of a line are used before they have arrived.
    WordsNotAwaited,
    /// Words that are small numbers do not wait for their decryption, as if they were stored in compressed form.
    SmallNumbersEarly,
    /// Nodes of the tree are fetched once more than needed. This costs time, but is no weakness.
    NodesFetchedTwice,

    // In codes.
    /// The piece of a line that the core requested is released before the piece's tag is checked.
    FirstPieceUnchecked,
    /// The tag of a line does not cover the line's address.
    TagWithoutAddress,
    /// The tag covers only the line's position in its page, instead of the address.
    TagAddressTruncated,
    /// The tag covers the address of the tag line that contains it, not the address of the line of data.
    TagNamesLineOfTags,
    /// The tag of a line does not cover the version of the line.
    TagWithoutCounter,
    /// Only the lowest bits of the counter, as many as a minor has, enter the tag.
    TagCounterTruncated,
    /// The tag does not cover the last block of the line.
    TagWithoutLastBlock,
    /// Tags are cut to half their length.
    TagCutShort,
    /// Only eight bits of the tag are compared.
    ShortComparison,
    /// The bits that a tag leaves unused are not compared.
    SpareTagBitsIgnored,
    /// Only the first 64 bits of a tag longer than a word are compared.
    WideTagComparedShort,
    /// The tag of the last chunk of a line is not compared.
    LastChunkTagNotCompared,
    /// The tags of a line's chunks are compared as a set, in any order.
    ChunkTagsComparedAsSet,
    /// Every chunk of a line has the tag that it would have as the first.
    ChunkIndexMissing,
    /// A stored tag of zero fits every line, as if the line had never been written.
    ZeroTagFits,
    /// All machines have the same key for tags.
    OneTagKey,
    /// A line of zeros in memory needs no tag, as if it had never been written.
    BlankLinePasses,
    /// Data leaves the chip's checker before the verdict.
    ReleaseBeforeVerdict,
    /// A line that does not match its tag is not released to the core, but no fault is reported.
    FaultSwallowed,

    // In speculation.
    /// A chunk with the ciphertext of a candidate is accepted as authentic, with any tag.
    CandidateTagNotCompared,
    /// Only the first half of a candidate's ciphertext is compared.
    CandidateComparedShort,
    /// Candidates are encrypted under the previous version of the line.
    CandidatesOfVersionBefore,
    /// Candidates are encrypted with the address of the previous line.
    CandidatesOfLineBefore,
    /// Candidates are encrypted as if every chunk of the line was the first, and have its tag.
    CandidatePositionMissing,
    /// A matching candidate is translated to plaintext by a table that has learned since the candidate was encrypted.
    CandidateOfLaterTable,
    /// The candidates that a resolved chunk no longer needs are not given up.
    CandidatesNotGivenUp,
    /// Candidates enter the units as demand work instead of idle work, and so before blocks that decrypt and verify.
    CandidatesOnDemand,
    /// The whole line is released when the chunk that the core requested is verified.
    TrailingChunksUnchecked,
    /// Tags are made as if their lines had no bitmaps.
    TagWithoutBitmap,
    /// The words of a line are put back in the order that the present table gives, not the bitmap.
    OrderOfPresentTable,
    /// A write does not change the bitmap of its line.
    BitmapNotWritten,
    /// Bitmap lines are encrypted under one value whenever they leave the chip.
    BitmapValueRepeats,
    /// A bitmap line that is called back while it is being encrypted is still written to memory, and counts as
    /// clean.
    BitmapDepartureUnchecked,
    /// A line that is released before its verdict may have been put in order by a bitmap other than the verified one.
    ReleasedOrderUnjudged,
    /// The words of a re-ordered line that reach the core first are named by their positions in memory.
    FirstWordsMisplaced,
    /// The requested word is expected at its position in program order, although the line is re-ordered.
    FirstWordsUnplaced,
    /// The table of frequent values is written to memory when metadata leaves the chip.
    TableSpilled,

    // In counters.
    /// A write does not advance the counter.
    CounterNotAdvanced,
    /// A monolithic counter at its full width starts again at zero.
    ExhaustedWraps,
    /// A minor counter wraps to zero without a renewal.
    MinorWraps,
    /// Overflow clears the minor counters but keeps the major one.
    MajorNotAdvanced,
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
    /// Morphable counters: a base at its end starts again at zero.
    MorphableBaseWraps,
    /// Morphable counters: a base at its end leads to the next block of counters, into which the old ones reach.
    MorphableNextBlockOnly,
    /// Re-encryption does not verify the lines that it reads from memory.
    ReencryptionTrustsMemory,
    /// A line is put into memory by its first read under the counter that memory returns, before that counter is
    /// verified.
    BootTrustsMemory,
    /// A tag over several lines also covers those that are not in memory yet, so that their masks are used again when
    /// those lines enter memory.
    TagOverBlankLines,
    /// When a line boots under a tag over several lines, the other lines under the tag are not verified.
    BootDuringForgery,
    /// A write under a tag over several lines does not verify the other lines under the tag.
    OthersUnchecked,
    /// Only 32 bits of a major counter are used.
    MajorCutShort,
    /// A number that is drawn at random is always the same.
    DrawsRepeat,
    /// Re-encryption leaves the last line of the group as it was.
    RenewalSkipsLast,
    /// Re-encryption lets other accesses to the lines of its group proceed meanwhile.
    RenewalLetsOthersIn,
    /// A tag over several lines does not cover the last of them.
    GroupTagWithoutLast,
    /// Re-encryption leaves the first line of the group as it was.
    RenewalSkipsFirst,
    /// Re-encryption uses the old counters again.
    RenewalUnderOldCounter,

    // In trees.
    /// The walk trusts the last stored level below the root without checking it.
    TreeStopsALevelEarly,
    /// Nodes of the lowest level are used without a check against their parents.
    LowestNodesUnverified,
    /// A fetched counter line is used without a check against its parent.
    CounterUnverified,
    /// The tag of a tree node does not cover the node's slot.
    NodeWithoutAddress,
    /// The tag of a tree node covers only the lowest bits of the node's slot.
    NodeAddressTruncated,
    /// Only eight bits of a node's hash of its child are compared.
    ShortHashComparison,
    /// A line of zeros fits every parent, as if it had never been written.
    BlankFits,
    /// Two children of a node share an entry.
    ChildrenShareEntries,
    /// All nodes below the root use its first line.
    RootLinesShared,
    /// A dirty metadata line is written back without notifying its parent.
    ParentNotUpdated,
    /// The root register ignores notifications from the last level.
    RootNotUpdated,
    /// A dirty tag line is dropped instead of written back.
    TagsDropped,
    /// A counter line that must leave the last-level cache is dropped, though memory lacks its changes.
    DisplacedCountersDropped,
    /// A dirty counter line is dropped after its parent was notified.
    CountersDropped,
    /// A dirty node of the tree is dropped after its parent was notified.
    NodesDropped,
    /// A write does not wait for the verdicts of lines that the core has already.
    VerdictsNotAwaited,
    /// A write leaves the copies of its counters in L2s as they are.
    CopiesOutliveWrites,
    /// An evicted dirty line is dropped instead of written back.
    EvictionForgetsDirty,
    /// The MAC in a line of a counter tree does not cover the version of the line.
    MacWithoutVersion,
    /// The MAC in a line of a counter tree is not compared.
    EmbeddedMacUnchecked,
    /// A line of a counter tree goes to memory under the version that it had before.
    SealedUnderOldVersion,
    /// After an overflow in a tree node, children get new MACs without being checked.
    RenewalTrustsMemory,
    /// After an overflow in a tree node, the first child keeps its old MAC.
    FirstChildNotRenewed,
    /// A counter line that was never written gets zeros as its first version, not its initial content.
    BlankChildStaysZeros,
    /// The MAC in a line of a counter tree covers only the lowest twelve bits of the line's slot.
    MacAddressTruncated,
    /// With eager updates the nearest parent is notified of a change, and no node above.
    RaiseStopsEarly,
    /// A line that is called back while it leaves the chip counts as clean, although memory lacks its content.
    CalledBackClean,
    /// A line recalled from the last-level cache counts as clean, although memory lacks its content.
    RecalledClean,
    /// A line that was fetched on a prediction counts even if the slot was written since.
    EarlyFetchUnchecked,
    /// A root of a forest is evicted like a clean line, as if its parent and memory had its content.
    RootDropped,
    /// A folded root is reset to the content that its parent vouches for, even if the root was notified of more changes
    /// meanwhile.
    FoldLosesNews,
    /// A root that is folded becomes an ordinary node, even if it was notified of changes that its parent does not
    /// have.
    FoldKeepsNews,
    /// A tuple completes without the roots of a forest at which its paths have ended.
    ForestNotRegistered,
    /// A tuple completes with the roots of a forest as they are on the chip, with changes of later tuples.
    RootsAsOnChip,
    /// A forest changes while tuples climb to its roots.
    ReshapedAmongTuples,
    /// A node that has become a root, with a register, keeps its old value in its parent.
    PromotedStaysInParent,
    /// The register of a root remains when the root is folded.
    FoldedStaysRegistered,
    /// Recovery compares only the tree's own root, and not the other roots of a forest.
    RecoveryComparesOwnRoot,
    /// Recovery compares the roots of a forest, but the chip keeps only the tree's own root.
    RecoveryForgetsForest,
    /// A copy of counters enters an L2 although they have changed while it was on its way.
    OutdatedCopyEnters,
    /// An overflow leaves the copies of the counters in L2s as they are; other writes drop them.
    CopiesOutliveRenewals,
    /// The controller lets an L2 continue with counters that have changed since it began.
    VoidCountersServe,
    /// The owner of a page may access it under the address of any of its pages.
    GuestPageUnchecked,
    /// A tuple is completed without waiting until its lines have arrived.
    FenceDropped,
    /// A tuple is completed before its lines are sent.
    CompleteBeforePersist,
    /// The counters of a tuple are left to be written back some time.
    CounterNotPersisted,
    /// The tags of a tuple are left to be written back some time.
    TagNotPersisted,
    /// The registers do not contain a re-encryption under way.
    RenewalNotRegistered,
    /// Recovery clears the register of a re-encryption under way before it has ended it.
    RenewalForgottenEarly,
    /// Metadata leaves the chip without waiting for the tuples that have changed it.
    LeavesAmongTuples,
    /// A write that was given up half-way does not halt the chip.
    GivenUpGoesOn,
    /// A tuple makes tags durable as they were when it copied the first of their lines.
    TagsCopiedEarly,
    /// Recovery also re-encrypts the line that was written with the new counters.
    RecoveryRenewsWritten,
    /// A tuple uses the nodes as they are on the chip, with changes of later tuples.
    StagesShareNodes,
    /// A tuple includes writes that do not have their lines yet.
    UnreadyGathered,
    /// A store to a resident line leaves the ciphertext of its entry as it is.
    CiphertextOfOlderText,
    /// A store to a resident line leaves the tag of its entry as it is.
    TagOfOlderText,
    /// Each store to a resident line counts, while pad and root stay those of the first.
    CountedByEachStore,
    /// A drain counts once more although the entry has its new counter.
    CountedOnceMore,
    /// An entry uses its line's old counter as its new one.
    NotCounted,
    /// A core continues after a store that its persist buffer has not accepted, although the buffer may accept later
    /// stores first.
    CoreGoesOnUnaccepted,
    /// A store enters an entry that is being drained.
    DrainedEntryWritten,
    /// An entry drains without notifying the root of its counters.
    EntryDrainedBeforeRoot,
    /// An entry stays when its tuple is complete, and accepts the next store to its line.
    EntryOutlivesTuple,
    /// The early steps of a store are forgotten if its counter overflows.
    OverflowLosesStore,
    /// A group is re-encrypted although entries of it are newer than memory.
    RenewalForgetsEntries,
    /// A read fetches the line from memory although the buffer has it.
    BufferPassedByReads,
    /// The battery does not drain the last entry.
    BatteryStopsEarly,
    /// The battery drains only the data of entries, without metadata.
    BatteryMovesData,
    /// The battery of durable caches does not write back the last dirty line.
    DirtyLineForgotten,
    /// The battery of durable caches writes lines back, but leaves metadata on the chip.
    MetadataNotFlushed,
    /// The battery of durable caches writes metadata before the lines, so the lines' new counters and tags stay on the
    /// chip.
    MetadataBeforeLines,
    /// The battery of durable caches does not save the root.
    RootNotSaved,
    /// The battery of durable caches saves the root although the chip's recovery has not ended, or has refused the
    /// memory.
    RootSavedUnrecovered,
    /// Recovery accepts any root that it computes.
    RecoveryAcceptsAnyRoot,
    /// Recovery leaves the nodes in memory unchanged.
    RecoveryKeepsNodes,
    /// After recovery has refused the memory, the chip continues with the root of a blank one.
    RefusalLeavesBlankRoot,
    /// Recovery compares the first half of each line of the root with its register.
    RecoveryComparesHalf,
    /// Recovery stores only the nodes of the lowest level.
    RecoveryStoresLowestNodes,
    /// Recovery leaves nodes in memory that should be blank.
    RecoveryKeepsUnknownNodes,
    /// Recovery compares the root, but leaves the one on the chip blank.
    RecoveryForgetsRoot,
    /// Recovery leaves a re-encryption under way unfinished.
    RecoverySkipsRenewal,
    /// The battery does not note which entries it could not take to memory.
    LossNotRegistered,
    /// Recovery ignores the lines that the battery has lost.
    LossForgotten,
    /// The battery of durable caches saves the root although it has met a fault.
    RootSavedDespiteFaults,
    /// The root that the battery of durable caches has saved stays valid when memory changes.
    RootOutlivesSession,
    /// The root that the battery of durable caches has saved stays valid until memory changes, whatever the caches hold
    /// by then.
    RootValidUntilWritten,
    /// After recovery a blank line gets the content that the machine started with.
    BootsAfterRecovery,
    /// Observers may read memory after a chip has halted, as if memory were complete.
    HaltedIsConsistent,
    /// A metadata line is dropped if its parent's counter is exhausted, although memory does not hold the line.
    ExhaustedLineDropped,
    /// The table of frequent values learns from lines that are refused.
    RefusedLinesLearned,
    /// If several lines are under a tag, lines that a renewal encrypts again do not reach the ledger.
    GroupedRenewalUnspent,
    /// A persist buffer requests a store's content before the store's line is locked.
    ContentBeforeLock,
    /// A drain that encrypts a line before its turn does so without the lock of the line.
    ValueWithoutLock,
    /// A counter line in the last-level cache counts as one that memory has, as soon as memory has an older version of it.
    NewerLineMarkedClean,
    /// Under a tag over several lines, an access to one of them locks only that line.
    GroupedLineLockedAlone,
    /// In the ledger of a timed run, the mask of a slot's tag replaces the pad of the slot's line.
    MaskReplacesPad,
    /// Stored bytes are visible in memory when its queue has room for them, and not from the moment at which they are
    /// stored.
    StoredAfterQueue,
    /// A renewal leaves the copies of its counters that have entered L2s since a counter overflowed.
    RenewalLeavesCopies,
}
