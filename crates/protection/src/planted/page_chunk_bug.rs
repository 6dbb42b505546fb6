//! The weaknesses of permuted page chunks: in their records, and in their lines.

bugs! {
    /// One deliberate weakness of page chunks.
    PageChunkBug:
    // In records.
    /// Every record is encrypted from the same initial vector.
    RecordVectorRepeats,
    /// The hash of a pair of records leaves their initial vectors out.
    RecordVectorUnhashed,
    /// The bytes of its lines that a record or a pair of nodes does not use are not checked.
    RecordSpareIgnored,
    /// The walk from a record ends below the root.
    RecordWalkALevelShort,
    /// A record that is renewed keeps its table.
    RecordTableKept,
    /// A record that is renewed has a table that is a cyclic shift.
    TableTurned,
    /// A record that is renewed has a table in which most lines have the slot of the same number.
    TableBarelyMixed,
    /// A record that is renewed keeps the number that pads are made of.
    PadNumberKept,
    /// The chip's random numbers come from the seed of its keys, so they are equal at every start with the same keys.
    DrawsFromKeys,

    /// A node enters the Merkle cache before it is compared.
    MerkleCacheUnverified,
    /// The Merkle cache keeps nodes that a write has changed.
    MerkleCacheStale,

    /// A record and its sibling enter the Merkle cache before they are compared.
    CachedRecordUnverified,
    /// The Merkle cache keeps a record that a permutation has drawn anew.
    CachedRecordStale,
    /// A write of a record reads its path before another write has committed its own.
    PathsReadTogether,
    /// Walks read the tree while a write commits.
    WalksDuringCommit,

    // In walks of an operating system.
    /// HashCheck accepts a parent from the verification buffer.
    ParentFromBuffer,
    /// HashCheck accepts any node above as the parent.
    DepthUnchecked,
    /// The verification buffer keeps its lines over a switch of processes.
    VerificationBufferKept,
    /// The Merkle cache keeps its nodes over a switch of processes.
    MerkleCacheKept,
    /// The verification buffer keeps lines that a permutation has written anew.
    VerificationBufferStale,
    /// The verification buffer is emptied before a permutation writes a record, and not after it.
    VerificationBufferEmptiedEarly,
    /// A TLB miss walks to a record without the lock of the record's page chunk.
    TlbWalkUnlocked,
    /// Nodes of a hardware walk evict the parent that the next HashCheck needs.
    HardwareWalksEvict,
    /// A record that HashCheck has verified is used for the page that missed, even if it belongs to another page.
    RecordForMissedPage,
    /// HashCheck of an empty line raises the security exception.
    EmptyLineRaises,

    // In lines that move.
    /// The tag of a line does not cover the random number of its record.
    CodeWithoutRecord,
    /// The tag of a line does not cover the slot.
    CodeWithoutSlot,
    /// A permutation accepts lines from memory even if their tags do not match.
    PermutationTrustsMemory,
    /// A store to a line that is in the cache does not lock it.
    StoreLeavesUnlocked,
    /// A line that is read from memory is not locked.
    FillLeavesUnlocked,
    /// A permutation writes back the lines that it has read from memory, even if the cache has newer ones.
    PermutationIgnoresCache,
    /// A permutation reads no slot of a line that is in the cache.
    CachedSlotsNotRead,
    /// A permutation writes the lines in their order, and not in the order of their new slots.
    SweepByLine,
    /// A permutation in the background writes slots before it has checked the last slot that it reads.
    BackgroundWritesUnchecked,
    /// A permutation writes lines that no program has used as blanks.
    UnusedLinesBlank,
    /// A line that a permutation put into memory boots once more at its first read.
    StartedUpLinesBoot,
    /// A chip that gave up a permutation half-way continues.
    HaltIgnored,
    /// A tag over several slots covers only the line in the first.
    CodeOfFirstLine,
    /// A record that a TLB requests also stays in the buffer, where it is not renewed.
    BufferKeepsTranslated,

    // In switches of processes.
    /// A context leaves the chip although a page chunk of its process has locked lines.
    ContextLeavesLocks,
    /// Lines of a process stay in the caches when its context leaves the chip.
    ContextLeavesLines,
    /// Records, Merkle cache and verification buffer are kept over a switch.
    SwitchKeepsRecords,
}

impl From<PageChunkBug> for super::Bug {
    fn from(bug: PageChunkBug) -> super::Bug {
        super::Bug::OfPageChunks(bug)
    }
}
