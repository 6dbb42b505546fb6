//! Operations of a scheme. Tests compare the operations of different runners.

use crate::domain::RegisterUpdate;
use crate::verbs::{AesUnits, Blocks, Cache, Exit, Fault, Keystream, Leg, Plaintext, Role, Slot, Untrusted};
use units::{LineAddr, Words};

/// One operation of a scheme. Locks are no operations: they only order other operations.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Operation {
    /// Read a slot of memory.
    Fetch(Role, Slot),
    /// Wrote this content to a slot.
    Store(Role, Slot, Untrusted),
    /// Wrote these bytes to a slot as a part of the open tuple.
    Persist(Role, Slot, Untrusted),
    /// Wrote this number of bits of a slot as a part of the open tuple; the slot then has this content.
    PersistPart(Role, Slot, Untrusted, u32),
    /// Waited until all content persisted before had arrived.
    Fence,
    /// Completed the open tuple and set the registers.
    Complete(RegisterUpdate),
    /// Used this keystream to hide the line in a slot, or its tag.
    Spend(Slot, Keystream),
    /// Decoded a counter line.
    Decode,
    /// Sent blocks through units of their cipher.
    Pad(AesUnits, Blocks),
    /// Offered blocks as idle work.
    Offer(Blocks),
    /// Computed a line's authentication code.
    Mac,
    /// Computed the hash of a metadata line.
    Hash,
    /// Looked up a line in a cache.
    LookUp(Cache),
    /// Waited for a leg of the path on the chip.
    Travel(Leg),
    /// Released words of a line before the remaining words.
    ReleaseFirst(LineAddr, Plaintext, Words),
    /// Released a line to the core.
    Release(LineAddr, Plaintext, Exit),
    /// Reported the verdict of a line that was released before the verdict.
    Settle(LineAddr, bool),
    /// Waited for all verdicts under way.
    AwaitVerdicts,
    /// Reported a fault or tampering.
    Fault(Fault),
}
