//! What a scheme did, by which the ways to run are compared.

use crate::domain::Completion;
use crate::verbs::{AesUnits, Blocks, Cache, Exit, Fault, Keystream, Leg, Plaintext, Role, Slot, Untrusted};
use units::{LineAddr, Words};

/// One thing that a scheme did. Locks are not among them: they order the work and do none.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// Read a slot.
    Fetch(Role, Slot),
    /// Wrote this to a slot.
    Store(Role, Slot, Untrusted),
    /// Wrote these bytes to a slot as a part of the open tuple.
    Persist(Role, Slot, Untrusted),
    /// Wrote so many bits of a slot as a part of the open tuple, which then holds this.
    PersistPart(Role, Slot, Untrusted, u32),
    /// All that was persisted before has arrived.
    Fence,
    /// Completed the open tuple and set the registers.
    Complete(Completion),
    /// Hid something of the line in a slot under this keystream.
    Spend(Slot, Keystream),
    /// Decoded a line of counters.
    Decode,
    /// Sent blocks through units of their cipher.
    Pad(AesUnits, Blocks),
    /// Offered blocks as idle work.
    Offer(Blocks),
    /// Computed a line's authentication code.
    Mac,
    /// Computed the hash of a line of metadata.
    Hash,
    /// Looked into a cache.
    LookUp(Cache),
    /// Went a leg of the way.
    Travel(Leg),
    /// Let words of a line out before the rest.
    ReleaseFirst(LineAddr, Plaintext, Words),
    /// Let a line out.
    Release(LineAddr, Plaintext, Exit),
    /// Had the verdict of a line that was let out before it.
    Settle(LineAddr, bool),
    /// Waited for all verdicts under way.
    AwaitVerdicts,
    /// Reported tampering.
    Fault(Fault),
}
