//! The steps of a history over several sessions: those of the program and the controller, and those of the attacker.

use protection::verbs::Slot;
use std::fmt;
use units::LineAddr;

/// Part of an earlier memory that the attacker puts back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlierPart {
    /// The content of one slot.
    Slot(Slot),
    /// A line of data with its tag.
    LineWithTag(LineAddr),
    /// The data and the tags of all lines.
    DataAndTags,
    /// The whole memory at an earlier time.
    Everything,
}

/// One step of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HistoryStep {
    /// The program stores to a line.
    Store(LineAddr),
    /// The program reads a line.
    Read(LineAddr),
    /// A line leaves the persist buffer or the caches for memory.
    Drain(LineAddr),
    /// Other programs evict all metadata from the chip.
    Evict,
    /// The attacker changes a bit of a slot.
    Garble(Slot),
    /// The attacker puts back a part of the memory that it recorded after this number of steps.
    PutBack {
        /// Index of the recording.
        recording: usize,
        /// The part that is put back.
        part: EarlierPart,
    },
    /// Power fails. While the battery works, a bit of each of these slots is flipped; then the attacker flips it back.
    LosePower {
        /// The slots with a flipped bit.
        flipped: Vec<Slot>,
    },
    /// Power fails during a store, after a share of its changes to memory, in thousandths.
    LosePowerInStore(LineAddr, u64),
    /// Power returns, and the machine recovers.
    Recover,
    /// Power fails again during recovery, after a share of its changes to memory, in thousandths.
    LosePowerInRecovery(u64),
}

impl HistoryStep {
    /// Returns true if the attacker takes part in the step.
    pub fn is_attack(&self) -> bool {
        match self {
            HistoryStep::Garble(_) | HistoryStep::PutBack { .. } => true,
            HistoryStep::LosePower { flipped } => !flipped.is_empty(),
            _ => false,
        }
    }
}

impl fmt::Display for HistoryStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryStep::Store(line) => write!(f, "store to {line}"),
            HistoryStep::Read(line) => write!(f, "read of {line}"),
            HistoryStep::Drain(line) => write!(f, "drain of {line}"),
            HistoryStep::Evict => f.write_str("eviction of metadata"),
            HistoryStep::Garble(Slot(slot)) => write!(f, "a bit of slot {slot:#x} changed"),
            HistoryStep::PutBack { recording, part: EarlierPart::Slot(Slot(slot)) } => {
                write!(f, "slot {slot:#x} put back from step {recording}")
            }
            HistoryStep::PutBack { recording, part: EarlierPart::LineWithTag(line) } => {
                write!(f, "{line} and its tag put back from step {recording}")
            }
            HistoryStep::PutBack { recording, part: EarlierPart::DataAndTags } => {
                write!(f, "all data and tags put back from step {recording}")
            }
            HistoryStep::PutBack { recording, part: EarlierPart::Everything } => {
                write!(f, "the memory of step {recording} put back")
            }
            HistoryStep::LosePower { flipped } if flipped.is_empty() => f.write_str("loss of power"),
            HistoryStep::LosePower { flipped } => {
                let slots: Vec<String> = flipped.iter().map(|slot| format!("{:#x}", slot.0)).collect();
                write!(f, "loss of power, with a flipped bit in slots {} while the battery worked", slots.join(", "))
            }
            HistoryStep::LosePowerInStore(line, _) => write!(f, "loss of power during a store to {line}"),
            HistoryStep::Recover => f.write_str("recovery"),
            HistoryStep::LosePowerInRecovery(_) => f.write_str("loss of power during recovery"),
        }
    }
}
