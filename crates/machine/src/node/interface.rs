//! Interface of a node: instructions enter it, and requests for lines leave it.

use arrayvec::ArrayVec;
use isa::Instruction;
use units::{LineAddr, Time, VirtAddr, Word};

/// Maximum number of levels of page tables.
pub const WALK_LEVELS_MAX: usize = 5;

/// A cycle that is not known yet.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Key of a page in the TLBs: the process in bits 40 to 62, the virtual page number below, bit 63 set for a page of 2
/// MB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageKey(pub u64);

/// One access of an instruction to bytes of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Page of the line, for the TLBs.
    pub page: PageKey,
    /// The line in memory.
    pub line: LineAddr,
    /// Offset in the line of the first byte touched.
    pub offset: u8,
    /// Number of bytes touched, all of them within the line.
    pub bytes: u8,
    /// True if the bytes are written, false if they are read.
    pub store: bool,
    /// True if the stored bytes must survive a loss of power. Other stores bypass a persist buffer.
    pub persistent: bool,
    /// True if the store bypasses the caches.
    pub past_caches: bool,
}

impl Touch {
    /// Creates the touch of the first byte of an instruction.
    pub fn of_code(page: PageKey, line: LineAddr, offset: u8) -> Touch {
        Touch { page, line, offset, bytes: 1, store: false, persistent: false, past_caches: false }
    }
}

/// The flushes and the persist fence of one instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Orders {
    /// Lines that the instruction flushes: the caches write their dirty bytes back.
    pub flushes: Vec<LineAddr>,
    /// True if the flush evicts the lines (`CLFLUSH`, `CLFLUSHOPT`), false if the caches keep them (`CLWB`).
    pub evicts: bool,
    /// True if the instruction is a persist fence: no later store is written before memory has all lines that earlier
    /// instructions flushed.
    pub fence: bool,
}

/// One executed instruction, with its addresses translated and split into lines.
#[derive(Clone, Copy, Debug)]
pub struct NodeStep<'a> {
    /// The static instruction to execute.
    pub instruction: &'a Instruction,
    /// Location of the first byte of the instruction.
    pub code: Touch,
    /// Memory that the instruction reads and writes.
    pub touches: &'a [Touch],
    /// Flushes and persist fence of the instruction, if it has any.
    pub orders: Option<&'a Orders>,
    /// Page tables of the pages that this instruction is the first to touch. Only a core with a walker uses them.
    pub tables: &'a [PageTables],
    /// Address of the next executed instruction, if known.
    pub next: Option<VirtAddr>,
    /// Process of this instruction, if the core must be switched to this process before it executes the instruction.
    pub switches_to: Option<u32>,
}

/// Source of the instructions of a node.
pub trait Feed {
    /// Error of the source.
    type Error;

    /// Returns the next instruction in program order, or `None` if the source is empty for now.
    ///
    /// # Errors
    /// Any error of the source. The node returns this error to its caller, and may be run again afterwards.
    fn next(&mut self) -> Result<Option<NodeStep<'_>>, Self::Error>;

    /// Returns true if [`Feed::next`] reached the end of the program, false if the source may supply more instructions
    /// later.
    fn has_ended(&self) -> bool {
        true
    }
}

/// Reason why a node stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// The node cannot continue before an outstanding line arrives.
    Blocked,
    /// The node reached the time limit of its run.
    Reached,
    /// The source is empty for now: see [`Node::resume`](super::Node::resume).
    Idle,
    /// The next instruction belongs to this process, so the core must be switched to this process: see
    /// [`Node::switched`](super::Node::switched).
    Switch(u32),
    /// The feed reports its end ([`Feed::has_ended`]). Lines may still be outstanding: see
    /// [`Node::outstanding`](super::Node::outstanding).
    Finished,
}

/// Reason why a line crosses the edge of L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// Read of a line by a load of the program.
    Read,
    /// Read of a line with write permission, for a store of the program.
    ReadForOwnership,
    /// Request for write permission, for a store of the program: the core already holds the line read only.
    Upgrade,
    /// Read of a line of code for the front end.
    Instruction,
    /// Read of a line for a prefetcher.
    Prefetch,
    /// Eviction of a dirty line.
    WriteBack,
    /// Flush of a line by the program: memory must receive the dirty bytes of the line.
    /// [`Node::flushed`](super::Node::flushed) is the reply.
    Flush,
    /// Flush of a line by the program, after which no cache keeps the line. The reply is that of
    /// [`RequestKind::Flush`].
    FlushAndEvict,
    /// A whole line stored past the caches. [`Node::taken_past_caches`](super::Node::taken_past_caches) is the reply.
    PastCaches,
    /// Eviction of a clean line. The node sends this kind only if the owner requires it
    /// ([`CleanVictims`](super::CleanVictims)).
    CleanVictim,
}

impl RequestKind {
    /// Returns true if L2 evicts the line.
    pub fn is_eviction(self) -> bool {
        matches!(self, RequestKind::WriteBack | RequestKind::CleanVictim)
    }

    /// Returns true if the dirty bytes of the line must reach memory.
    pub fn is_flush(self) -> bool {
        matches!(self, RequestKind::Flush | RequestKind::FlushAndEvict)
    }

    /// Returns true if the node waits for the line.
    pub fn is_answered(self) -> bool {
        !self.is_eviction() && !self.is_flush() && self != RequestKind::PastCaches
    }
}

/// A line that crosses the edge of L2. [`Node::answered`](super::Node::answered) is the reply to all kinds but evictions, flushes and
/// stores past the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Time of the request.
    pub at: Time,
    /// The requested or evicted line.
    pub line: LineAddr,
    /// The word that is needed first; without meaning if the line leaves L2.
    pub word: Word,
    /// Reason of the request.
    pub kind: RequestKind,
}

/// A store that enters a persist buffer, or an entry that must leave it: see
/// [`PersistPath::take_requests`](super::PersistPath::take_requests).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersistRequest {
    /// The next store in program order enters the buffer.
    Persist {
        /// Time at which the store enters.
        at: Time,
        /// The line that contains the store.
        line: LineAddr,
        /// True if the store allocates the entry of its line.
        allocates: bool,
    },
    /// The entry of a line accepts no more stores, and must be written to memory.
    Drain {
        /// Time of the request.
        at: Time,
        /// Line of the entry.
        line: LineAddr,
    },
}

/// Request of the TLBs for the record of a page: see [`Tlbs::take_record_requests`](super::Tlbs::take_record_requests).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordRequest {
    /// A TLB needs the record of a page.
    Bring {
        /// Time at which the record is requested.
        at: Time,
        /// Page of the record.
        page: PageKey,
        /// A line of the page in memory.
        line: LineAddr,
    },
    /// No TLB holds the page any longer.
    GiveUp {
        /// Time of the eviction.
        at: Time,
        /// The line of the page for which the record was requested.
        line: LineAddr,
    },
}

/// Addresses of the page tables of one page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTables {
    /// Page that the tables translate.
    pub page: PageKey,
    /// Lines that a full walk reads, from the root down.
    pub lines: ArrayVec<LineAddr, WALK_LEVELS_MAX>,
}

/// Permission of a core on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// Read only; other cores may hold the line.
    Shared,
    /// Read and write; no other core holds the line.
    Exclusive,
}
