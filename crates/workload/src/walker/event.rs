//! What a walk meets.

use crate::stream::{Birth, LineCause, Step, Strand};
use units::{Line, VirtAddr};
use wire::word::MAPPED;

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// An instruction was executed.
    Instruction(Step<'a>),
    /// What a line holds, sent before the step that touches it. The bytes of a store that touches it are in it already.
    Line {
        /// What touches it.
        strand: Strand,
        /// Its first byte.
        addr: VirtAddr,
        /// Its content.
        content: &'a Line,
        /// Why it is sent.
        cause: LineCause,
        /// Whether it is of a file that the program maps shared.
        mapped: bool,
    },
    /// A line will be sent soon: a hint, of some lines. Only [`Walker::next_step`](super::Walker::next_step) gives it.
    LineAhead {
        /// What will touch it.
        strand: Strand,
        /// Its first byte.
        addr: VirtAddr,
    },
    /// The region marker is about to be executed.
    Marker {
        /// By which strand.
        strand: Strand,
    },
    /// A system call is made by the instruction handed out next.
    Syscall {
        /// By which strand.
        strand: Strand,
        /// Which, as Linux numbers them.
        number: u32,
    },
    /// A line is flushed by the instruction handed out next: written back to memory, and kept.
    Flush {
        /// By which strand.
        strand: Strand,
        /// An address in it.
        addr: VirtAddr,
    },
    /// The instruction handed out next is a persist fence: nothing behind it is durable before all that was flushed.
    Fence {
        /// Of which strand.
        strand: Strand,
    },
    /// A process image begins.
    ProcessStarted {
        /// Its number.
        process: u32,
        /// The image that it was copied from or replaces, which is itself for the first.
        parent: u32,
        /// How it came to be.
        birth: Birth,
    },
    /// A thread begins.
    ThreadStarted {
        /// Which.
        strand: Strand,
    },
    /// A thread has ended.
    StrandEnded {
        /// Which.
        strand: Strand,
    },
    /// A program that this one executed runs unrecorded.
    Lost {
        /// What executed it.
        strand: Strand,
    },
}

impl Event<'_> {
    /// A line, as its word has it.
    pub(super) fn line(strand: Strand, addr: u64, detail: u8, content: &Line) -> Event<'_> {
        let (cause, mapped) = (LineCause::from_detail(detail), detail & MAPPED != 0);
        Event::Line { strand, addr: VirtAddr(addr), content, cause, mapped }
    }
}
