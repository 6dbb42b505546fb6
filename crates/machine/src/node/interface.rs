//! What crosses the face of a node: instructions come in, and lines are asked for.

use arrayvec::ArrayVec;
use isa::Instruction;
use units::{LineAddr, Time, VirtAddr, Word};

/// The most levels of page tables.
pub const WALK_LEVELS_MAX: usize = 5;

/// A cycle that is not known yet.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// A page as the TLBs know it: the process in bits 40 to 62, the virtual page number below, bit 63 set for a page of 2 MB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageKey(pub u64);

/// One touch of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The page, for the TLBs.
    pub page: PageKey,
    /// The line in memory.
    pub line: LineAddr,
    /// The first byte touched, from the start of the line.
    pub offset: u8,
    /// How many bytes, all of them within the line.
    pub bytes: u8,
    /// Whether they are written; else they are read.
    pub store: bool,
    /// Whether what is written has to outlive a loss of power: any other store passes a persist buffer by.
    pub persistent: bool,
    /// Whether it is stored past the caches.
    pub past_caches: bool,
}

impl Touch {
    /// The first byte of an instruction.
    pub fn of_code(page: PageKey, line: LineAddr, offset: u8) -> Touch {
        Touch { page, line, offset, bytes: 1, store: false, persistent: false, past_caches: false }
    }
}

/// How an instruction orders what becomes durable at the memory controller.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Orders {
    /// Lines that it flushes: what is dirty of them goes to memory.
    pub flushes: Vec<LineAddr>,
    /// Whether the caches give up what it flushes (`CLFLUSH`, `CLFLUSHOPT`), or keep it (`CLWB`).
    pub evicts: bool,
    /// Whether it is a persist fence: no store behind it is written before memory has what instructions before it flushed.
    pub fence: bool,
}

/// One executed instruction, with its addresses translated and split into lines.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// What it is.
    pub instruction: &'a Instruction,
    /// Where its own first byte is.
    pub code: Touch,
    /// What it reads and writes.
    pub touches: &'a [Touch],
    /// How it orders what becomes durable, if it does.
    pub orders: Option<&'a Orders>,
    /// Where the tables of pages lie that it is the first to touch; only a core with a walker uses them.
    pub tables: &'a [PageTables],
    /// Where execution went next, if known.
    pub next: Option<VirtAddr>,
    /// The process that runs from this instruction on, if the core has to be switched to it first.
    pub switches_to: Option<u32>,
}

/// Where instructions come from.
pub trait Feed {
    /// Why the next one cannot be had.
    type Error;

    /// The next instruction in program order, or nothing if there is none for now.
    ///
    /// # Errors
    /// Whatever the source has to report; the node hands it on and may be asked to go on afterwards.
    fn next(&mut self) -> Result<Option<Step<'_>>, Self::Error>;

    /// Whether it was the program's end that [`Feed::next`] came to; else there is only nothing for the moment.
    fn has_ended(&self) -> bool {
        true
    }
}

/// Why a node stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// It cannot go on before a line has arrived.
    Blocked,
    /// It reached the time that it was given.
    Reached,
    /// There is nothing to execute for the moment: see [`Node::resume`](super::Node::resume).
    Idle,
    /// The next instruction belongs to this process, to which the core has to be switched: see [`Node::switched`](super::Node::switched).
    Switch(u32),
    /// The feed has nothing more, or nothing more for now. Lines may still be under way: see [`Node::outstanding`](super::Node::outstanding).
    Finished,
}

/// Why a line crosses the edge of L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// To be read by the program.
    Read,
    /// To be written by the program.
    ReadForOwnership,
    /// To be written by the program, and already held to be read.
    Upgrade,
    /// To be executed.
    Instruction,
    /// Expected to be wanted.
    Prefetch,
    /// Dirty, and evicted.
    WriteBack,
    /// Flushed by the program: what is dirty of it is to go to memory. Answered by [`Node::flushed`](super::Node::flushed).
    Flush,
    /// Flushed, and given up by all caches. Answered as a flush.
    FlushAndEvict,
    /// Stored past the caches, the whole of it. Answered by [`Node::taken_past_caches`](super::Node::taken_past_caches).
    PastCaches,
    /// Clean, and evicted; only sent if wanted ([`Node::sending_clean_victims`](super::Node::sending_clean_victims), [`Node::owe`](super::Node::owe)).
    CleanVictim,
}

impl RequestKind {
    /// Whether L2 gives the line up.
    pub fn is_eviction(self) -> bool {
        matches!(self, RequestKind::WriteBack | RequestKind::CleanVictim)
    }

    /// Whether what is dirty of the line is to go to memory.
    pub fn is_flush(self) -> bool {
        matches!(self, RequestKind::Flush | RequestKind::FlushAndEvict)
    }

    /// Whether the node waits for the line.
    pub fn is_answered(self) -> bool {
        !self.is_eviction() && !self.is_flush() && self != RequestKind::PastCaches
    }
}

/// A line that crosses the edge of L2. All kinds but evictions, flushes and stores past the caches are answered by [`Node::answered`](super::Node::answered).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// When.
    pub at: Time,
    /// Which.
    pub line: LineAddr,
    /// The word of it that is wanted first; any, of a line that leaves.
    pub word: Word,
    /// Why.
    pub kind: RequestKind,
}

/// What comes to a persist buffer, or leaves it: see [`Node::persist_requests`](super::Node::persist_requests).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersistRequest {
    /// The next store in program order enters the buffer.
    Persist {
        /// When.
        at: Time,
        /// The line that it is in.
        line: LineAddr,
        /// Whether it is the first one to its entry.
        allocates: bool,
    },
    /// The entry of a line takes no more stores, and has to go to memory.
    Drain {
        /// When.
        at: Time,
        /// Which line.
        line: LineAddr,
    },
}

/// What TLBs ask of the records of pages: see [`Node::take_record_requests`](super::Node::take_record_requests).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordRequest {
    /// The record of a page is needed.
    Bring {
        /// When.
        at: Time,
        /// Which page.
        page: PageKey,
        /// A line of it in memory.
        line: LineAddr,
    },
    /// No TLB has a page any longer whose record was brought.
    GiveUp {
        /// When.
        at: Time,
        /// The line of it that the record was brought for.
        line: LineAddr,
    },
}

/// Where the tables of one page lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTables {
    /// The page.
    pub page: PageKey,
    /// The lines that a whole walk reads, from the root down.
    pub lines: ArrayVec<LineAddr, WALK_LEVELS_MAX>,
}

/// What a core may do with a line that it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// Read it; others may have it too.
    Shared,
    /// Read and write it; no other has it.
    Exclusive,
}
