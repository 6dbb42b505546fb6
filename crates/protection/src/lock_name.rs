//! Names of the resources that accesses lock, and the order in which an access acquires them.

use crate::slot::Slot;
use std::fmt;
use units::{LINE_BYTES, LineAddr};

/// Name of a locked resource. An access always acquires locks upward: a line, its group, then metadata from the leaf to the root. A
/// durable write acquires the first stage together with the line, and each later stage before the nodes of its level. So no two
/// accesses ever wait for each other. A renewal that needs a permit acquires it between the group and metadata. An access acquires the
/// lock of the operating system's handler, or of the path of a record, at the same point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockName {
    /// One line of data.
    Line(LineAddr),
    /// A stage of persisting a tuple: the counters, then each level of the tree, then the root with the queue.
    Stage(u8),
    /// All lines that are re-encrypted together.
    Group(u64),
    /// One metadata line, by its slot.
    Metadata(Slot),
    /// Slots under one tag that hold moving lines, named by the first slot.
    Tag(Slot),
    /// The operating system's handler of missing records.
    Handler,
    /// The path of a record that is written, from its first read until memory and the chip have all of it.
    RecordPath,
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockName::Line(line) => write!(f, "line at {:#x}", line.0 * LINE_BYTES as u64),
            LockName::Stage(stage) => write!(f, "stage {stage}"),
            LockName::Group(group) => write!(f, "group {group}"),
            LockName::Metadata(slot) => write!(f, "metadata in slot {}", slot.0),
            LockName::Tag(slot) => write!(f, "tag over slot {}", slot.0),
            LockName::Handler => f.write_str("operating system"),
            LockName::RecordPath => f.write_str("path of a record"),
        }
    }
}
