//! The weaknesses of chunks that are permuted: in their records, and in lines that move.

bugs! {
    /// One deliberate weakness of chunks.
    ChunkBug:
    // In records.
    /// Every record is encrypted from the same initial vector.
    RecordVectorRepeats,
    /// The hash of a pair of records leaves their initial vectors out.
    RecordVectorUnhashed,
    /// The bytes that a record or a pair of nodes leaves of its lines are not looked at.
    RecordSpareIgnored,
    /// The walk from a record ends below the root.
    RecordWalkALevelShort,
    /// A record that is renewed keeps its table.
    RecordTableKept,
    /// A record that is renewed has a table that is turned.
    TableTurned,
    /// A record that is renewed has a table in which most lines lie in the slots of their own numbers.
    TableBarelyMixed,
    /// A record that is renewed keeps the number that pads are made of.
    PadNumberKept,

    /// A node enters the cache of nodes before it is compared.
    MerkleCacheUnverified,
    /// The cache of nodes keeps what a write changes.
    MerkleCacheStale,

    // In walks of an operating system.
    /// HashCheck takes a parent from the verification buffer.
    ParentFromBuffer,
    /// HashCheck takes any node above as the parent.
    DepthUnchecked,
    /// The verification buffer keeps its lines over a switch of processes.
    VerificationBufferKept,
    /// The cache of nodes keeps its nodes over a switch of processes.
    MerkleCacheKept,
    /// The verification buffer keeps lines that a permutation has written anew.
    VerificationBufferStale,
    /// Nodes of a hardware walk push out what the next HashCheck needs.
    HardwareWalksEvict,
    /// A record that HashCheck has verified is taken for that of the page that missed, whatever page it is of.
    RecordForMissedPage,
    /// HashCheck of an empty line raises the security exception.
    EmptyLineRaises,

    // In lines that move.
    /// The code of a line is made without the number that is drawn for it.
    CodeWithoutRecord,
    /// It is made without the slot.
    CodeWithoutSlot,
    /// A permutation takes what memory returns, whatever its code says.
    PermutationTrustsMemory,
    /// A store to a line that is in the cache does not lock it.
    StoreLeavesUnlocked,
    /// A line that is read from memory is not locked.
    FillLeavesUnlocked,
    /// A permutation writes to memory what it read there, whatever the cache has.
    PermutationIgnoresCache,
    /// A permutation reads no slot of a line that is in the cache.
    CachedSlotsNotRead,
    /// A permutation writes the lines in their order, whatever slots they get.
    SweepByLine,
    /// A chip that gave up a permutation half-way goes on.
    HaltIgnored,
    /// A tag over several slots covers the line in the first alone.
    CodeOfFirstLine,
    /// A record that a TLB asks for stays in the buffer, too, and is not renewed there.
    BufferKeepsTranslated,

    // In switches of processes.
    /// A context leaves the chip although a chunk of its process has locked lines.
    ContextLeavesLocks,
    /// Lines of a process stay in the caches when its context leaves the chip.
    ContextLeavesLines,
    /// Records, Merkle cache and verification buffer are kept over a switch.
    SwitchKeepsRecords,
}

impl From<ChunkBug> for super::Bug {
    fn from(bug: ChunkBug) -> super::Bug {
        super::Bug::OfChunks(bug)
    }
}
