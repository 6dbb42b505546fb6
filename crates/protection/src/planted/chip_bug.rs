//! The weaknesses of a chip with cores. They are in its last-level cache, in its battery, on the way of stores to the point
//! at which they are durable, and in the account that judges a loss of power. Only tests of the chip and of the whole
//! machine can show them.

bugs! {
    /// One deliberate weakness of a chip with cores.
    ChipBug:
    // In a last-level cache that locks lines.
    /// The cache does not lock the lines of a context that leaves if caches above have stored to them.
    StoresAboveUnlocked,
    /// The cache evicts a line without a lock although a store to the line is on its way down from a core.
    LinesOnTheWayEvicted,
    /// A line that is locked because a cache above has stored to it counts as read from memory.
    StoredAboveCountsAsRead,

    // In the battery of durable caches.
    /// The battery leaves lines that stores past the caches are still combining.
    CombiningLinesForgotten,
    /// The battery leaves lines that have left a core and that the last-level cache has not received.
    LinesOnTheWayForgotten,

    // On the way to the point at which stores are durable.
    /// A persist buffer accepts a store before the earlier store of the same program to another line.
    StoresSwapped,
    /// The chip accepts no store after the power fails, although the core has continued behind some of them.
    QueuedStoresDropped,
    /// After the power fails, a line that a core has sent past the caches does not reach the memory controller.
    PastCachesDropped,
    /// Memory does not receive a line that the kernel has changed.
    KernelChangesNotWritten,
    /// The battery leaves the stores to a line that the caches have dropped because the kernel changes the line later.
    DroppedLinesForgotten,

    // In the account of stores.
    /// The account does not note that a store overtakes an earlier store of its program.
    OvertakingNotNoted,
    /// The account counts no store as left out: a core may continue behind stores that are never accepted.
    LeftOutNotCounted,
    /// The account does not note that the kernel has changed a line.
    KernelChangesNotNoted,
}

impl ChipBug {
    /// Bugs in a last-level cache that locks lines; the tests of `chip` must find them.
    pub const OF_LOCKS: [ChipBug; 3] =
        [ChipBug::StoresAboveUnlocked, ChipBug::LinesOnTheWayEvicted, ChipBug::StoredAboveCountsAsRead];
    /// Bugs in the battery of durable caches; the losses of power in whole runs (`runner`) must find them.
    pub const OF_BATTERIES: [ChipBug; 2] = [ChipBug::CombiningLinesForgotten, ChipBug::LinesOnTheWayForgotten];
    /// Bugs on the way of stores, and in the account of stores; the verdicts on losses of power (`runner`) must find them.
    pub const OF_LOSSES: [ChipBug; 8] = [
        ChipBug::StoresSwapped,
        ChipBug::QueuedStoresDropped,
        ChipBug::PastCachesDropped,
        ChipBug::KernelChangesNotWritten,
        ChipBug::DroppedLinesForgotten,
        ChipBug::OvertakingNotNoted,
        ChipBug::LeftOutNotCounted,
        ChipBug::KernelChangesNotNoted,
    ];
}

impl From<ChipBug> for super::Bug {
    fn from(bug: ChipBug) -> super::Bug {
        super::Bug::OfChip(bug)
    }
}
