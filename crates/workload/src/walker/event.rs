//! Events that a walker returns.

use crate::source::Stretch;
use crate::stream::{Birth, LineCause, Step, Strand};
use std::ops::Range;
use units::{LINES_PER_PAGE, Line, PAGE_BYTES, VirtAddr, ZERO_LINE};
use wire::word::{self, ADDRESS_END, Control, MAPPED, PageDetail, TraceWord};

/// Upper bounds: an object has fewer pages, and a program has fewer processes.
const OBJECT_PAGES: u64 = 1 << 51;
const PROCESSES: u32 = 1 << 20;

/// Description of a page in a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownPage {
    /// Owner of the page, and the kind of memory that it belongs to.
    pub detail: PageDetail,
    /// Number of the page's object, and the page's index in the object.
    pub object: (u64, u64),
    /// Mask of the lines that the recorder sends next, one bit per line; all other lines hold zeros.
    pub sent: u64,
}

/// One event of a walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// An instruction was executed.
    Instruction(Step<'a>),
    /// A batch begins. The time span applies to the instructions after it, and to one of the same strand that the
    /// walker held back.
    Batch {
        /// Strand of the batch.
        strand: Strand,
        /// Time span of the batch in the recording.
        stretch: Stretch,
    },
    /// Content of a line, sent before the step that touches it. It includes the bytes of a store that touches the line.
    Line {
        /// Strand that touches the line.
        strand: Strand,
        /// Address of the line's first byte.
        addr: VirtAddr,
        /// Content of the line.
        content: &'a Line,
        /// Reason for sending the line.
        cause: LineCause,
        /// True if the line is in a file that the program maps shared.
        mapped: bool,
    },
    /// A process is about to touch a page for the first time since the page got its present identity.
    Page {
        /// Strand that touches the page.
        strand: Strand,
        /// Address of the page.
        addr: VirtAddr,
        /// Identity and content of the page.
        page: ShownPage,
    },
    /// Pages have left the address space or lost their content.
    Unmapped {
        /// Strand that unmapped the pages.
        strand: Strand,
        /// Address of the first page.
        addr: VirtAddr,
        /// Length of the pages in bytes.
        bytes: u64,
    },
    /// Pages have moved to another address.
    Moved {
        /// Strand that moved the pages.
        strand: Strand,
        /// Old address of the first page.
        from: VirtAddr,
        /// New address of the first page.
        to: VirtAddr,
        /// Length of the pages in bytes.
        bytes: u64,
    },
    /// The process may be copied now, with all its pages.
    Forks {
        /// Number of the process.
        process: u32,
        /// Number of this fork of the process, from one.
        fork: u32,
    },
    /// A process has ended.
    ProcessEnded {
        /// Number of the process.
        process: u32,
    },
    /// The kernel has written a line of an object.
    ObjectLine {
        /// Strand whose system call wrote the line.
        strand: Strand,
        /// Number of the object.
        object: u64,
        /// Index of the line in the object.
        line: u64,
        /// New content of the line.
        content: Line,
    },
    /// The kernel has truncated an object: all bytes after its new end are zeros.
    ObjectCut {
        /// Strand whose system call truncated the object.
        strand: Strand,
        /// Number of the object.
        object: u64,
        /// New length of the object, in bytes.
        end: u64,
    },
    /// A system call has made a part of an object durable: it flushes all lines stored to since, and a persist fence
    /// follows.
    Sync {
        /// Strand that made the call.
        strand: Strand,
        /// Number of the object.
        object: u64,
        /// Byte range of the part.
        part: Range<u64>,
    },
    /// A hint that the recorder will send a line soon, for some lines. Only
    /// [`Walker::next_step`](super::Walker::next_step) returns it.
    UpcomingLine {
        /// Strand that will touch the line.
        strand: Strand,
        /// Address of the line's first byte.
        addr: VirtAddr,
    },
    /// The next instruction is the region marker.
    Marker {
        /// Strand of the marker.
        strand: Strand,
    },
    /// The next instruction makes a system call.
    Syscall {
        /// Strand that makes the call.
        strand: Strand,
        /// Number of the system call in Linux.
        number: u32,
    },
    /// The next instruction flushes a line: the caches write it back to memory and keep it.
    Flush {
        /// Strand of the flush.
        strand: Strand,
        /// An address in the line.
        addr: VirtAddr,
    },
    /// The next instruction is a persist fence: no later store is durable before all flushed lines are.
    Fence {
        /// Strand of the fence.
        strand: Strand,
    },
    /// The next step is a request of a trace recorded behind the caches.
    Due {
        /// Strand of the request.
        strand: Strand,
        /// Memory clock, or number of instructions, that the trace states for the request.
        operand: u64,
    },
    /// A process image begins.
    ProcessStarted {
        /// Number of the process.
        process: u32,
        /// Image that the process was copied from or replaces; the first image names itself.
        parent: u32,
        /// Number of the parent's fork, if the process is a copy and the recording contains it.
        fork: u32,
        /// Origin of the process: first, fork or exec.
        birth: Birth,
    },
    /// A thread has begun.
    ThreadStarted {
        /// Strand of the thread.
        strand: Strand,
    },
    /// A thread has ended.
    StrandEnded {
        /// Strand of the thread.
        strand: Strand,
    },
    /// A part of the program runs unrecorded: another program that it executed natively, or a thread.
    Lost {
        /// Strand that executed the program, or the unrecorded strand.
        strand: Strand,
    },
}

impl Event<'_> {
    /// Returns the event of a line from its word.
    pub(super) fn line(strand: Strand, addr: u64, detail: u8, content: &Line) -> Event<'_> {
        let (cause, mapped) = (LineCause::from_detail(detail), detail & MAPPED != 0);
        Event::Line { strand, addr: VirtAddr(addr), content, cause, mapped }
    }
}

/// Returns the event of a control word and the words after it; `None` if the word is no event.
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

/// Returns the number of instructions of the current block that have certainly run before this word.
pub(super) fn must_run_before(which: Control, detail: u8, operand: u64, ran: usize) -> usize {
    match which {
        Control::Marker => ran.min(operand as usize),
        Control::Flush | Control::Fence => ran.min(usize::from(detail)),
        // These words follow a system call, the last instruction of the block.
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

/// Returns true if these words show pages or lines for an access of a later instruction than the due one. If the words of
/// that access are in the next batch, returns false.
pub(super) fn is_for_a_later(due: usize, mut words: &[u64]) -> bool {
    while let Some(word) = words.first() {
        match word::parse(*word) {
            TraceWord::Control { which: Some(Control::Page | Control::Line), .. } => {}
            TraceWord::Access { index, .. } => return usize::from(index) > due,
            _ => return false,
        }
        words = word::record_words(words).and_then(|count| words.get(count..)).unwrap_or(&[]);
    }
    false
}

/// True if a control word and the words after it are within the limits of any process.
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
