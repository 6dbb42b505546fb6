//! What a walk meets.

use crate::source::Stretch;
use crate::stream::{Birth, LineCause, Step, Strand};
use std::ops::Range;
use units::{LINES_PER_PAGE, Line, PAGE_BYTES, VirtAddr, ZERO_LINE};
use wire::word::{ADDRESS_END, Control, MAPPED, PageDetail};

/// More pages than any object has, and more processes than any program.
const OBJECT_PAGES: u64 = 1 << 51;
const PROCESSES: u32 = 1 << 20;

/// What a recording shows of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownPage {
    /// Whose it is, and what of memory it belongs to.
    pub detail: PageDetail,
    /// The number of its object, and its index there.
    pub object: (u64, u64),
    /// A bit for each of its lines: those whose bit is set are sent next, all others hold zeros.
    pub sent: u64,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// An instruction was executed.
    Instruction(Step<'a>),
    /// A chunk begins: the instructions behind it were executed then, and so was one of the same strand that was held back.
    Chunk {
        /// Of which strand.
        strand: Strand,
        /// When by the recording.
        stretch: Stretch,
    },
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
    /// A process is about to touch a page for the first time since that became what it is.
    Page {
        /// Of what.
        strand: Strand,
        /// The page's address.
        addr: VirtAddr,
        /// Which page it is.
        page: ShownPage,
    },
    /// Pages are no part of the address space any more, or have lost their content.
    Unmapped {
        /// Of what.
        strand: Strand,
        /// The address of the first.
        addr: VirtAddr,
        /// How many bytes they have.
        bytes: u64,
    },
    /// Pages are at another address from now on.
    Moved {
        /// Of what.
        strand: Strand,
        /// The old address of the first.
        from: VirtAddr,
        /// Its new address.
        to: VirtAddr,
        /// How many bytes they have.
        bytes: u64,
    },
    /// The process may be copied now, with all its pages.
    Forks {
        /// Which process.
        process: u32,
        /// How many times it was before, plus one.
        fork: u32,
    },
    /// A process has ended.
    ProcessEnded {
        /// Which.
        process: u32,
    },
    /// The kernel has written a line of an object.
    ObjectLine {
        /// In a call of this.
        strand: Strand,
        /// The object's number.
        object: u64,
        /// The number of the line in it.
        line: u64,
        /// Its content.
        content: Line,
    },
    /// The kernel has cut an object: all bytes behind its new end are zeros.
    ObjectCut {
        /// In a call of this.
        strand: Strand,
        /// The object's number.
        object: u64,
        /// Its end.
        end: u64,
    },
    /// A system call has made a part of an object durable: all lines there that were stored to since are flushed, and a persist
    /// fence follows.
    Sync {
        /// Whose call it was.
        strand: Strand,
        /// The object's number.
        object: u64,
        /// The part's bytes.
        part: Range<u64>,
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
    /// The step handed out next is a request of a trace that lies behind the caches.
    Due {
        /// Of which strand.
        strand: Strand,
        /// The clock or the instructions that the trace states for it.
        operand: u64,
    },
    /// A process image begins.
    ProcessStarted {
        /// Its number.
        process: u32,
        /// The image that it was copied from or replaces, which is itself for the first.
        parent: u32,
        /// At which fork of that one, if it is a copy and the recording says so.
        fork: u32,
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

/// The event of a control word and those that follow it; nothing for what is none.
pub(super) fn plain(
    strand: Strand,
    (which, detail, operand): (Control, u8, u64),
    words: &[u64],
) -> Option<Event<'static>> {
    let process = strand.process;
    Some(match (which, words) {
        (Control::Process, _) => {
            let (parent, fork) = (operand as u32, (operand >> 32) as u32);
            Event::ProcessStarted { process, parent, fork, birth: Birth::from_detail(detail) }
        }
        (Control::Thread, _) => Event::ThreadStarted { strand },
        (Control::Ended, _) => Event::StrandEnded { strand },
        (Control::Syscall, _) => Event::Syscall { strand, number: operand as u32 },
        (Control::Marker, _) => Event::Marker { strand },
        (Control::Lost, _) => Event::Lost { strand },
        (Control::Flush, _) => Event::Flush { strand, addr: VirtAddr(operand) },
        (Control::Fence, _) => Event::Fence { strand },
        (Control::Due, _) => Event::Due { strand, operand },
        (Control::Page, &[object, index, sent]) => {
            let page = ShownPage { detail: PageDetail::unpack(detail), object: (object, index), sent };
            Event::Page { strand, addr: VirtAddr(operand), page }
        }
        (Control::Unmap, &[bytes]) => Event::Unmapped { strand, addr: VirtAddr(operand), bytes },
        (Control::Move, &[to, bytes]) => Event::Moved { strand, from: VirtAddr(operand), to: VirtAddr(to), bytes },
        (Control::Fork, _) => Event::Forks { process, fork: operand as u32 },
        (Control::Gone, _) => Event::ProcessEnded { process: operand as u32 },
        (Control::ObjectLine, [object, line, content @ ..]) => {
            let mut bytes = ZERO_LINE;
            for (to, word) in bytes.chunks_exact_mut(8).zip(content) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            Event::ObjectLine { strand, object: *object, line: *line, content: bytes }
        }
        (Control::ObjectCut, &[object, end]) => Event::ObjectCut { strand, object, end },
        (Control::Sync, &[object, start, end]) => Event::Sync { strand, object, part: start..end },
        _ => return None,
    })
}

/// Up to which instruction of the current block everything ran before this was sent.
pub(super) fn must_run_before(which: Control, detail: u8, operand: u64, ran: usize) -> usize {
    match which {
        Control::Marker => ran.min(operand as usize),
        Control::Flush | Control::Fence => ran.min(usize::from(detail)),
        // The last instruction of the block is the system call that these follow.
        Control::Syscall
        | Control::Unmap
        | Control::Move
        | Control::Fork
        | Control::ObjectLine
        | Control::ObjectCut
        | Control::Sync => ran.saturating_sub(1),
        Control::Ended | Control::Gone | Control::Due => ran,
        _ => 0,
    }
}

/// Whether a control word and those that follow it are within what any process has.
pub(super) fn is_sound(strand: Strand, (which, operand): (Control, u64), words: &[u64]) -> bool {
    let is_page = |address: u64| address.is_multiple_of(PAGE_BYTES as u64) && address < ADDRESS_END;
    let are_pages = |start: u64, bytes: u64| {
        is_page(start) && bytes.is_multiple_of(PAGE_BYTES as u64) && bytes <= ADDRESS_END - start
    };
    let sound = match (which, words) {
        (Control::Page, [_, index, _]) => is_page(operand) && *index < OBJECT_PAGES,
        (Control::Unmap, [bytes]) => are_pages(operand, *bytes),
        (Control::Move, [to, bytes]) => are_pages(operand, *bytes) && are_pages(*to, *bytes),
        (Control::Sync, [_, start, end]) => start <= end,
        (Control::ObjectLine, [_, line, ..]) => *line < OBJECT_PAGES * LINES_PER_PAGE as u64,
        (Control::Gone | Control::Process, _) => (operand as u32) < PROCESSES,
        _ => true,
    };
    sound && strand.process < PROCESSES
}
