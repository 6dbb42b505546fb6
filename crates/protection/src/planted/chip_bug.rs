//! The weaknesses of a chip with cores: in its last-level cache, and in its battery. Only tests of the chip and of the
//! whole machine can show them.

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
}

impl ChipBug {
    /// Bugs in a last-level cache that locks lines; the tests of `chip` must find them.
    pub const OF_LOCKS: [ChipBug; 3] =
        [ChipBug::StoresAboveUnlocked, ChipBug::LinesOnTheWayEvicted, ChipBug::StoredAboveCountsAsRead];
    /// Bugs in the battery of durable caches; the losses of power in whole runs (`runner`) must find them.
    pub const OF_BATTERIES: [ChipBug; 2] = [ChipBug::CombiningLinesForgotten, ChipBug::LinesOnTheWayForgotten];
}

impl From<ChipBug> for super::Bug {
    fn from(bug: ChipBug) -> super::Bug {
        super::Bug::OfChip(bug)
    }
}
