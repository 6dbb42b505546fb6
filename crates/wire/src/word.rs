//! The words: 64 bits each, distinguished by the two bits at the top.
//!
//! | bits 62-63 | word | the other bits | followed by |
//! |---|---|---|---|
//! | 0 | load   | 59-61 log2 of the size in bytes, 58 value follows, 48-57 index of the instruction in its block, 0-47 address | the value, if bit 58 is set |
//! | 1 | store  | as a load, bit 58 always set | the value |
//! | 2 | block  | 32-47 how many instructions it has, 0-31 block number | |
//! | 3 | other  | 56-61 which ([`Control`]), 48-55 detail, 0-47 operand | see [`Control`] |
//!
//! A word and what follows it are one record, and a record never crosses from one chunk into the next.

/// Bytes in the line that a [`Control::Line`] record carries.
pub const LINE_BYTES: usize = 64;
/// Addresses at or above this are not the program's (the vsyscall page) and are never recorded.
pub const ADDRESS_END: u64 = 1 << 47;
/// The most instructions that one block may have: the index field's range.
pub const BLOCK_INSTRUCTIONS: usize = 1 << 10;

/// In the detail of a [`Control::Line`]: the line is of a file that the program maps shared, and outlives it.
pub const MAPPED: u8 = 2;

const OPERAND: u64 = (1 << 48) - 1;
const INDEX: u64 = BLOCK_INSTRUCTIONS as u64 - 1;
const HAS_VALUE: u64 = 1 << 58;

/// What a control word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Control {
    /// What a line holds. Operand: its address; detail: a [`LineCause`], and [`MAPPED`] if it is of a file that the program
    /// maps shared; followed by its 64 bytes.
    Line = 0,
    /// A block's code, sent before a thread first enters it. Operand: 32-47 instructions, 0-31 block number; followed
    /// by its address, the number of its code bytes, and then, padded to whole words, one byte for the length of each
    /// instruction and the code bytes. Only on the way from the recorder: the receiver turns it into a block.
    Code = 1,
    /// A process image begins. Operand: 0-31 the process number it came from, 32-47 at which of that one's [`Control::Fork`]s;
    /// detail: a [`Birth`].
    Process = 2,
    /// A thread begins.
    Thread = 3,
    /// The thread will execute nothing more.
    Ended = 4,
    /// A system call was made. Operand: its number.
    Syscall = 5,
    /// The region marker `xchg %rbx,%rbx` is about to run. Operand: its index in its block.
    Marker = 6,
    /// The block entered last ran only in part, because of a fault. Operand: how many of its instructions surely ran.
    Cut = 7,
    /// Something ran unrecorded from here on. Detail: a [`Loss`].
    Lost = 8,
    /// A line is about to be flushed: written back, and kept. Operand: an address in it; detail: the index of the
    /// instruction that does it in its block, or zero if that is the system call which was told last.
    Flush = 9,
    /// A persist fence is about to hold what comes after it until all lines flushed before are durable. Detail: as that of a
    /// flush.
    Fence = 10,
    /// A process is about to touch a page for the first time since that became what it is. Operand: the page's address; detail: a
    /// [`PageDetail`]; followed by the number of its object, its index there, and a bit for each of its 64 lines: those whose bit
    /// is set are sent next, all others hold zeros. Of a [`PageKind::Copy`] the first of these has a bit for each line that holds what
    /// the page in its place held: the content that is sent of it has the store in it that the page is copied for.
    Page = 11,
    /// Pages are no part of the address space any more, or have lost their content. Operand: the first one's address; followed by
    /// how many bytes they have.
    Unmap = 12,
    /// Pages are at another address from now on. Operand: the first one's old address; followed by its new address and how many
    /// bytes they have.
    Move = 13,
    /// The process may be copied now, with all its pages. Operand: how many times it was before, plus one.
    Fork = 14,
    /// A process has ended. Operand: the number of its image.
    Gone = 15,
    /// The kernel has written to an object. Followed by the object's number, the number of the line in it, and the line's 64 bytes.
    ObjectLine = 16,
    /// The kernel has cut an object: all bytes behind its new end are zeros. Followed by the object's number and its end in bytes.
    ObjectCut = 17,
    /// The system call which was told last has made a part of an object durable: all lines there that were stored to since are
    /// flushed, and a persist fence follows. Followed by the object's number, and the part's first byte and its end.
    Sync = 18,
    /// A request of a trace that lies behind the caches is about to come. Operand: the clock or the instructions that the
    /// trace states for it.
    Due = 19,
}

/// Bytes in a page of a [`Control::Page`] record.
pub const PAGE_BYTES: usize = 4096;

/// Which page a process gets at an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageKind {
    /// One of its own.
    Own,
    /// One of its own in place of a page that it has shared: it is about to store to that for the first time, and what it
    /// stores is for itself alone.
    Copy,
    /// A page of an object: of a file, of a System V segment, or of memory that processes share.
    Object,
}

/// The detail of a [`Control::Page`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PageDetail {
    /// Which page it is.
    pub kind: PageKind,
    /// Whether it is of a file that the program maps shared, and outlives it.
    pub mapped: bool,
    /// Whether it is of the program's heap: of what it has asked the kernel for without a file, and does not use as a stack.
    pub heap: bool,
}

impl PageDetail {
    const MAPPED: u8 = 4;
    const HEAP: u8 = 8;

    /// As eight bits.
    pub const fn pack(self) -> u8 {
        self.kind as u8 | if self.mapped { Self::MAPPED } else { 0 } | if self.heap { Self::HEAP } else { 0 }
    }

    /// From eight bits.
    pub const fn unpack(detail: u8) -> PageDetail {
        let kind = match detail & 3 {
            0 => PageKind::Own,
            1 => PageKind::Copy,
            _ => PageKind::Object,
        };
        PageDetail { kind, mapped: detail & Self::MAPPED != 0, heap: detail & Self::HEAP != 0 }
    }
}

/// Why a line's content is sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineCause {
    /// The program touches this line for the first time: what loaded the program or mapped the file put it there.
    FirstTouch,
    /// The kernel may have written to it since it was last sent (a system call's buffer, a signal frame).
    Kernel,
}

/// How a process image came to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Birth {
    /// It is the program that was asked for.
    First,
    /// It is a copy of its parent.
    Fork,
    /// It replaces its parent.
    Exec,
}

/// What was lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loss {
    /// A program was executed that cannot be recorded (another architecture, an unusual call), so it ran natively.
    NativeExec,
}

/// One word, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// A load or a store.
    Access {
        /// Whether it writes.
        store: bool,
        /// Log2 of its size in bytes: 0 to 3.
        log2_bytes: u8,
        /// Whether the value follows.
        value: bool,
        /// The index of its instruction in the block.
        index: u16,
        /// The first byte's address.
        addr: u64,
    },
    /// A block is entered.
    Block {
        /// Its number.
        id: u32,
        /// How many instructions it has.
        instructions: u16,
    },
    /// Anything else; `which` is `None` for a code that this version does not know.
    Control {
        /// What it says.
        which: Option<Control>,
        /// Eight bits that qualify it.
        detail: u8,
        /// Its operand.
        operand: u64,
    },
}

/// The word of an access.
#[inline]
pub const fn access(store: bool, log2_bytes: u8, value: bool, index: u16, addr: u64) -> u64 {
    (store as u64) << 62
        | (log2_bytes as u64 & 7) << 59
        | (value as u64) << 58
        | (index as u64 & INDEX) << 48
        | addr & OPERAND
}

/// The word of a block's entry.
#[inline]
pub const fn block(id: u32, instructions: u16) -> u64 {
    2 << 62 | (instructions as u64) << 32 | id as u64
}

/// A control word.
#[inline]
pub const fn control(which: Control, detail: u8, operand: u64) -> u64 {
    3 << 62 | (which as u64) << 56 | (detail as u64) << 48 | operand & OPERAND
}

/// Takes a word apart.
#[inline]
pub const fn parse(word: u64) -> Word {
    match word >> 62 {
        2 => Word::Block { id: word as u32, instructions: (word >> 32) as u16 },
        3 => Word::Control {
            which: Control::from_bits((word >> 56) as u8 & 63),
            detail: (word >> 48) as u8,
            operand: word & OPERAND,
        },
        kind => Word::Access {
            store: kind == 1,
            log2_bytes: (word >> 59) as u8 & 7,
            value: word & HAS_VALUE != 0,
            index: (word >> 48 & INDEX) as u16,
            addr: word & OPERAND,
        },
    }
}

/// How many words the record at the head of `words` has, or nothing if it is cut off or of an unknown kind.
pub fn record_words(words: &[u64]) -> Option<usize> {
    let count = match parse(*words.first()?) {
        Word::Access { value, .. } => 1 + value as usize,
        Word::Block { .. } => 1,
        Word::Control { which: Some(Control::Code), operand, .. } => {
            code_words((operand >> 32) as usize, usize::try_from(*words.get(2)?).ok()?)?
        }
        Word::Control { which, .. } => 1 + which?.payload_words(),
    };
    (count <= words.len()).then_some(count)
}

/// How many words a code record of so many instructions and code bytes has, or nothing if that cannot be a block.
pub fn code_words(instructions: usize, code_bytes: usize) -> Option<usize> {
    let fits = instructions <= BLOCK_INSTRUCTIONS && code_bytes <= BLOCK_INSTRUCTIONS * 15;
    fits.then(|| 3 + (instructions + code_bytes).div_ceil(8))
}

impl Control {
    /// How many words follow its word; a code record says so itself.
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
            _ => return None,
        })
    }
}

impl LineCause {
    /// From the detail of a [`Control::Line`].
    pub const fn from_detail(detail: u8) -> LineCause {
        if detail & !MAPPED == LineCause::FirstTouch as u8 { LineCause::FirstTouch } else { LineCause::Kernel }
    }
}

impl Birth {
    /// From the detail of a [`Control::Process`].
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
    fn an_access_reads_back_as_written() {
        for (store, value) in [(false, false), (false, true), (true, true)] {
            let word = access(store, 3, value, 511, ADDRESS_END - 1);
            assert_eq!(parse(word), Word::Access { store, log2_bytes: 3, value, index: 511, addr: ADDRESS_END - 1 });
        }
    }

    #[test]
    fn blocks_and_controls_read_back_as_written() {
        assert_eq!(parse(block(u32::MAX, 512)), Word::Block { id: u32::MAX, instructions: 512 });
        let word = control(Control::Line, LineCause::Kernel as u8, 0x7fff_ffff_ffc0);
        assert_eq!(
            parse(word),
            Word::Control { which: Some(Control::Line), detail: LineCause::Kernel as u8, operand: 0x7fff_ffff_ffc0 }
        );
    }

    #[test]
    fn a_line_says_why_it_is_sent_whether_or_not_it_is_mapped() {
        for cause in [LineCause::FirstTouch, LineCause::Kernel] {
            assert_eq!([0, MAPPED].map(|mapped| LineCause::from_detail(cause as u8 | mapped)), [cause; 2]);
        }
    }

    #[test]
    fn the_detail_of_a_page_reads_back_as_written() {
        for kind in [PageKind::Own, PageKind::Copy, PageKind::Object] {
            for flags in 0..4 {
                let detail = PageDetail { kind, mapped: flags & 1 != 0, heap: flags & 2 != 0 };
                assert_eq!(PageDetail::unpack(detail.pack()), detail);
            }
        }
    }

    #[test]
    fn a_record_that_is_cut_off_has_no_length() {
        let line = [control(Control::Line, 0, 0), 1, 2, 3];
        assert_eq!(record_words(&line), None);
        let page = [control(Control::Page, 0, 0x1000), 0, 0, 0, 7];
        assert_eq!((record_words(&page), record_words(&page[..3])), (Some(4), None));
        assert_eq!(record_words(&[access(true, 0, true, 0, 0), 7]), Some(2));
        assert_eq!(record_words(&[access(true, 0, true, 0, 0)]), None);
        assert_eq!(record_words(&[3 << 62 | 63 << 56]), None);
    }
}
