//! Weaknesses that only several sessions of a machine show, with tampering in one session or between two.

bugs! {
    /// One deliberate weakness in the state that a chip keeps over losses of power.
    SessionBug:
    /// The register of a stopped re-encryption does not contain the lines of its group that the battery drains.
    DrainedInRenewalUnregistered,
    /// The chip does not note a re-encryption that begins on battery.
    RenewalOnBatteryUnnoted,
    /// A re-encryption encrypts the older content of lines with lost stores, which then count as found again.
    RenewalFindsLost,
    /// A chip that continues after its battery has saved the root takes the register for outdated, and leaves it valid.
    SavedRootStaysOutdated,
    /// A chip that has refused a memory outdates the root at its first attempt to write, and then refuses the right memory
    /// as well.
    RefusalOutdatesRoot,
    /// The lines that a battery loses replace those of earlier losses.
    LossForgetsEarlier,
}

impl From<SessionBug> for super::Bug {
    fn from(bug: SessionBug) -> super::Bug {
        super::Bug::OverSessions(bug)
    }
}
