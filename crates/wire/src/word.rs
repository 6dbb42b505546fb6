//! The words of a recording: 64 bits each, in four kinds that the two topmost bits distinguish.
//!
//! | bits 62-63 | word | the other bits | followed by |
//! |---|---|---|---|
//! | 0 | load   | 59-61 log2 of the size in bytes, 58 value follows, 48-57 index of the instruction in its block, 0-47 address | the value, if bit 58 is set |
//! | 1 | store  | as a load, bit 58 always set | the value |
//! | 2 | block  | 32-47 number of its instructions, 0-31 block number | |
//! | 3 | control | 56-61 kind ([`Control`]), 48-55 detail, 0-47 operand | see [`Control`] |
//!
//! A word and the payload after it are one record. A record never crosses from one batch into the next.

/// Bytes in the line that a [`Control::Line`] record carries.
pub const LINE_BYTES: usize = 64;
/// End of the program's addresses. The recorder ignores accesses at or above it (the vsyscall page).
pub const ADDRESS_END: u64 = 1 << 47;
/// Most instructions of one block: the range of the index field.
pub const BLOCK_INSTRUCTIONS: usize = 1 << 10;

/// Bit in the detail of a [`Control::Line`]: the line belongs to a file that the program maps shared, and outlives the
/// program.
pub const MAPPED: u8 = 2;

const OPERAND: u64 = (1 << 48) - 1;
const INDEX: u64 = BLOCK_INSTRUCTIONS as u64 - 1;
const HAS_VALUE: u64 = 1 << 58;

/// Kind of a control word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Control {
    /// Content of a line. Operand: address of the line; detail: a [`LineCause`], and [`MAPPED`] if the line belongs to
    /// a file that the program maps shared; followed by its 64 bytes.
    Line = 0,
    /// A block's code, sent before a thread first enters the block. Operand: 32-47 instructions, 0-31 block number.
    /// Followed by its address, the number of its code bytes, and then, padded together to whole words, one byte for
    /// the length of each instruction and the code bytes. Used only on the way from the recorder: the receiver turns
    /// the record into a block.
    Code = 1,
    /// A process image begins. Operand: 0-31 number of the parent image, 32-47 number of the parent's [`Control::Fork`]
    /// that made this image; detail: a [`Birth`].
    Process = 2,
    /// A thread of the process begins.
    Thread = 3,
    /// The thread executes no more instructions.
    Ended = 4,
    /// A thread makes a system call. Operand: number of the call.
    Syscall = 5,
    /// The region marker `xchg %rbx,%rbx` is about to run. Operand: its index in its block.
    Marker = 6,
    /// The block entered last ran only in part, because of a fault. Operand: number of its instructions that certainly
    /// ran.
    Cut = 7,
    /// Unrecorded execution begins. Detail: a [`RecordingLoss`].
    Lost = 8,
    /// A line is about to be flushed: written back, and kept. Operand: an address in the line; detail: index in its
    /// block of the instruction that flushes it, or zero if the last system call does.
    Flush = 9,
    /// A persist fence is about to hold later operations until all lines flushed before it are durable. Detail: like
    /// that of a flush.
    Fence = 10,
    /// A process is about to touch a page for the first time since the page got its identity. Operand: address of the
    /// page; detail: a [`PageDetail`]. Followed by the number of its object, its index in the object, and a bit for
    /// each of its 64 lines. Lines with a set bit are sent next; all other lines hold zeros. For a [`PageKind::Copy`],
    /// the first of these words has a bit for each line that keeps the content of the page that it replaces. The
    /// content that is sent for the copy already contains the store that causes it.
    Page = 11,
    /// Pages leave the address space, or lose their content. Operand: address of the first page; followed by their size
    /// in bytes.
    Unmap = 12,
    /// Pages move to another address. Operand: old address of the first page; followed by its new address and their
    /// size in bytes.
    Move = 13,
    /// The process may be copied now, with all its pages. Operand: number of its earlier copies, plus one.
    Fork = 14,
    /// A process has ended. Operand: the number of its image.
    Gone = 15,
    /// The kernel has written to an object. Followed by the object's number, the line's index in it, and the line's 64
    /// bytes.
    ObjectLine = 16,
    /// The kernel has cut an object: all bytes behind its new end are zeros. Followed by the object's number and its
    /// end in bytes.
    ObjectCut = 17,
    /// The last system call has made a part of an object durable. All lines of the part with stores that are not
    /// durable yet are flushed, and a persist fence follows. Followed by the object's number, the first byte of the
    /// part, and its end.
    Sync = 18,
    /// A request follows, in a trace from behind the caches. Operand: the clock or the instructions that the trace
    /// states for it.
    Due = 19,
    /// The strand lets another one execute instructions. All its instructions before have run. Operand: the address where
    /// it goes on.
    Turn = 20,
}

/// Bytes in a page of a [`Control::Page`] record.
pub const PAGE_BYTES: usize = 4096;

/// Kind of the page that a process gets at an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageKind {
    /// A private page of the process.
    Own,
    /// A private page in place of one that the process has shared. The process is about to store to the page for the
    /// first time, and only the process sees this store.
    Copy,
    /// A page of an object: of a file, of a System V segment, or of memory that processes share.
    Object,
}

/// Detail of a [`Control::Page`] record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageDetail {
    /// Kind of the page.
    pub kind: PageKind,
    /// True if the page belongs to a file that the program maps shared, and outlives the program.
    pub mapped: bool,
    /// True for the program's heap: memory that it requested from the kernel without a file, and does not use as a
    /// stack.
    pub heap: bool,
}

impl PageDetail {
    const MAPPED: u8 = 4;
    const HEAP: u8 = 8;

    /// Packs the detail into eight bits.
    pub const fn pack(self) -> u8 {
        self.kind as u8 | if self.mapped { Self::MAPPED } else { 0 } | if self.heap { Self::HEAP } else { 0 }
    }

    /// Unpacks a detail from eight bits.
    pub const fn unpack(detail: u8) -> PageDetail {
        let kind = match detail & 3 {
            0 => PageKind::Own,
            1 => PageKind::Copy,
            _ => PageKind::Object,
        };
        PageDetail { kind, mapped: detail & Self::MAPPED != 0, heap: detail & Self::HEAP != 0 }
    }
}

/// Reason for sending a line's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum LineCause {
    /// The program touches this line for the first time. Its content is that of the loaded program or of the mapped
    /// file.
    FirstTouch = 0,
    /// The kernel may have written to the line since it was last sent (a system call's buffer, a signal frame).
    Kernel = 1,
    /// A store is the first touch of the line's page in this process, and the content may already include the stored
    /// bytes. If the page was shown before, through another mapping of its object, the receiver keeps the content that
    /// it has: an earlier load may have seen this content.
    FirstStore = 4,
}

/// Origin of a process image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Birth {
    /// The first program of the recording.
    First,
    /// A copy of its parent.
    Fork,
    /// A replacement of its parent, by `execve`.
    Exec,
}

/// Cause of unrecorded execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordingLoss {
    /// A program that cannot be recorded (another architecture, an unusual call) was executed, so it ran natively.
    NativeExec,
    /// A process has started more threads than the recorder can number.
    TooManyThreads,
}

/// A word, split into its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceWord {
    /// A load or a store.
    Access {
        /// True for a store.
        store: bool,
        /// Log2 of the size in bytes: 0 to 3.
        log2_bytes: u8,
        /// True if the value follows the word.
        value: bool,
        /// Index of the instruction in the block.
        index: u16,
        /// Address of the first byte.
        addr: u64,
    },
    /// Entry of a block.
    Block {
        /// Number of the block.
        id: u32,
        /// Number of instructions in the block.
        instructions: u16,
    },
    /// Any other word; `which` is `None` for a code that this version does not know.
    Control {
        /// Kind of the control word.
        which: Option<Control>,
        /// Eight bits that qualify the kind.
        detail: u8,
        /// Operand, of 48 bits.
        operand: u64,
    },
}

/// Returns the word of an access.
#[inline]
pub const fn access(store: bool, log2_bytes: u8, value: bool, index: u16, addr: u64) -> u64 {
    (store as u64) << 62
        | (log2_bytes as u64 & 7) << 59
        | (value as u64) << 58
        | (index as u64 & INDEX) << 48
        | addr & OPERAND
}

/// Returns the word of a block's entry.
#[inline]
pub const fn block(id: u32, instructions: u16) -> u64 {
    2 << 62 | (instructions as u64) << 32 | id as u64
}

/// Returns a control word.
#[inline]
pub const fn control(which: Control, detail: u8, operand: u64) -> u64 {
    3 << 62 | (which as u64) << 56 | (detail as u64) << 48 | operand & OPERAND
}

/// Splits a word into its fields.
#[inline]
pub const fn parse(word: u64) -> TraceWord {
    match word >> 62 {
        2 => TraceWord::Block { id: word as u32, instructions: (word >> 32) as u16 },
        3 => TraceWord::Control {
            which: Control::from_bits((word >> 56) as u8 & 63),
            detail: (word >> 48) as u8,
            operand: word & OPERAND,
        },
        kind => TraceWord::Access {
            store: kind == 1,
            log2_bytes: (word >> 59) as u8 & 7,
            value: word & HAS_VALUE != 0,
            index: (word >> 48 & INDEX) as u16,
            addr: word & OPERAND,
        },
    }
}

/// Returns the number of words in the record at the head of `words`, or `None` if it is cut off or of an unknown kind.
pub fn record_words(words: &[u64]) -> Option<usize> {
    let count = match parse(*words.first()?) {
        TraceWord::Access { value, .. } => 1 + value as usize,
        TraceWord::Block { .. } => 1,
        TraceWord::Control { which: Some(Control::Code), operand, .. } => {
            code_words((operand >> 32) as usize, usize::try_from(*words.get(2)?).ok()?)?
        }
        TraceWord::Control { which, .. } => 1 + which?.payload_words(),
    };
    (count <= words.len()).then_some(count)
}

/// Returns the number of words in a code record with these instructions and code bytes, or `None` if they cannot be a
/// block.
pub fn code_words(instructions: usize, code_bytes: usize) -> Option<usize> {
    let fits = instructions <= BLOCK_INSTRUCTIONS && code_bytes <= BLOCK_INSTRUCTIONS * 15;
    fits.then(|| 3 + (instructions + code_bytes).div_ceil(8))
}

impl Control {
    /// Returns how many words follow the control word. A code record states this itself.
    pub const fn payload_words(self) -> usize {
        match self {
            Control::Line => LINE_BYTES / 8,
            Control::Page | Control::Sync => 3,
            Control::Unmap => 1,
            Control::Move | Control::ObjectCut => 2,
            Control::ObjectLine => 2 + LINE_BYTES / 8,
            _ => 0,
        }
    }

    const fn from_bits(bits: u8) -> Option<Control> {
        Some(match bits {
            0 => Control::Line,
            1 => Control::Code,
            2 => Control::Process,
            3 => Control::Thread,
            4 => Control::Ended,
            5 => Control::Syscall,
            6 => Control::Marker,
            7 => Control::Cut,
            8 => Control::Lost,
            9 => Control::Flush,
            10 => Control::Fence,
            11 => Control::Page,
            12 => Control::Unmap,
            13 => Control::Move,
            14 => Control::Fork,
            15 => Control::Gone,
            16 => Control::ObjectLine,
            17 => Control::ObjectCut,
            18 => Control::Sync,
            19 => Control::Due,
            20 => Control::Turn,
            _ => return None,
        })
    }
}

impl LineCause {
    /// Reads the cause from the detail of a [`Control::Line`].
    pub const fn from_detail(detail: u8) -> LineCause {
        match detail & !MAPPED {
            detail if detail == LineCause::FirstTouch as u8 => LineCause::FirstTouch,
            detail if detail == LineCause::FirstStore as u8 => LineCause::FirstStore,
            _ => LineCause::Kernel,
        }
    }
}

impl Birth {
    /// Reads the origin from the detail of a [`Control::Process`].
    pub const fn from_detail(detail: u8) -> Birth {
        match detail {
            0 => Birth::First,
            1 => Birth::Fork,
            _ => Birth::Exec,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_word_of_an_access_decodes_to_its_fields() {
        for (store, value) in [(false, false), (false, true), (true, true)] {
            let word = access(store, 3, value, 511, ADDRESS_END - 1);
            assert_eq!(
                parse(word),
                TraceWord::Access { store, log2_bytes: 3, value, index: 511, addr: ADDRESS_END - 1 }
            );
        }
    }

    #[test]
    fn trace_words_of_blocks_and_controls_decode_to_their_fields() {
        assert_eq!(parse(block(u32::MAX, 512)), TraceWord::Block { id: u32::MAX, instructions: 512 });
        let word = control(Control::Line, LineCause::Kernel as u8, 0x7fff_ffff_ffc0);
        assert_eq!(
            parse(word),
            TraceWord::Control {
                which: Some(Control::Line),
                detail: LineCause::Kernel as u8,
                operand: 0x7fff_ffff_ffc0
            }
        );
    }

    #[test]
    fn the_cause_in_a_trace_line_record_is_decoded_with_and_without_the_mapped_flag() {
        for cause in [LineCause::FirstTouch, LineCause::Kernel, LineCause::FirstStore] {
            assert_eq!([0, MAPPED].map(|mapped| LineCause::from_detail(cause as u8 | mapped)), [cause; 2]);
        }
    }

    #[test]
    fn the_detail_of_a_trace_page_record_survives_packing() {
        for kind in [PageKind::Own, PageKind::Copy, PageKind::Object] {
            for flags in 0..4 {
                let detail = PageDetail { kind, mapped: flags & 1 != 0, heap: flags & 2 != 0 };
                assert_eq!(PageDetail::unpack(detail.pack()), detail);
            }
        }
    }

    #[test]
    fn a_truncated_trace_record_has_no_length() {
        let line = [control(Control::Line, 0, 0), 1, 2, 3];
        assert_eq!(record_words(&line), None);
        let page = [control(Control::Page, 0, 0x1000), 0, 0, 0, 7];
        assert_eq!((record_words(&page), record_words(&page[..3])), (Some(4), None));
        assert_eq!(record_words(&[access(true, 0, true, 0, 0), 7]), Some(2));
        assert_eq!(record_words(&[access(true, 0, true, 0, 0)]), None);
        assert_eq!(record_words(&[3 << 62 | 63 << 56]), None);
    }
}
