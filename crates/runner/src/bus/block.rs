//! A block of crossings, as columns: in memory, and as the bytes that zstd compresses.

use protection::probe::{Content, Crossing};
use std::cell::Cell;
use units::LINE_BYTES;
use workload::trace::bytes::{ByteReader, put_signed, put_varint};

/// The flag of a write.
pub const WRITE: u8 = 1;
/// Flag of an access without a burst on the bus.
pub const NO_BURST: u8 = 2;
/// Flag of an access whose bytes are in the file.
pub const WITH_CONTENT: u8 = 4;
/// Bytes of a line and its spare bits.
pub const CONTENT_BYTES: usize = LINE_BYTES + 8;
/// Size of the columns at which a block is complete.
const FULL: usize = 1 << 20;

/// The flags of a crossing.
pub(super) fn flags_of(crossing: &Crossing) -> u8 {
    let flag = |is: bool, flag| if is { flag } else { 0 };
    flag(crossing.kind == machine::dram::Kind::Write, WRITE)
        | flag(!crossing.burst, NO_BURST)
        | flag(crossing.content.is_some(), WITH_CONTENT)
}

/// A block that is being filled, in the form in which it is stored.
#[derive(Default)]
pub(super) struct Filling {
    times: Vec<u8>,
    lines: Vec<u8>,
    flags: Vec<u8>,
    contents: Vec<u8>,
    /// Time (in femtoseconds) and line of the previous crossing.
    before: Cell<(u64, u64)>,
}

impl Filling {
    /// Adds a crossing, no earlier than the previous one.
    pub fn add(&mut self, at_fs: u64, line: u64, flags: u8, content: Option<Content>) {
        let (time_before, line_before) = self.before.replace((at_fs, line));
        put_varint(&mut self.times, at_fs - time_before);
        put_signed(&mut self.lines, line.wrapping_sub(line_before) as i64);
        self.flags.push(flags);
        if let Some(Content { line, spare }) = content {
            self.contents.extend(line);
            self.contents.extend(spare.to_le_bytes());
        }
    }

    /// Returns true if the block is large enough to be stored.
    pub fn is_full(&self) -> bool {
        self.times.len() + self.lines.len() + self.flags.len() + self.contents.len() >= FULL
    }

    /// Returns true if the block contains no crossing.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Takes the bytes of the block and leaves it empty.
    pub fn take(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FULL + CONTENT_BYTES + 64);
        for column in [&mut self.times, &mut self.lines, &mut self.flags, &mut self.contents] {
            put_varint(&mut out, column.len() as u64);
            out.append(column);
        }
        self.before.set((0, 0));
        out
    }
}

/// A block that was read, column by column; the first three columns have one entry for each crossing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BusBlock {
    /// Femtoseconds from power-on, in rising order.
    pub times_fs: Vec<u64>,
    /// Numbers of the lines.
    pub lines: Vec<u64>,
    /// Flags: [`WRITE`], [`NO_BURST`] and [`WITH_CONTENT`].
    pub flags: Vec<u8>,
    /// [`CONTENT_BYTES`] for each crossing with [`WITH_CONTENT`], in order: the line, then its spare bits,
    /// little-endian.
    pub contents: Vec<u8>,
}

impl BusBlock {
    /// Decodes a block; `None` if the bytes are not a block.
    pub(super) fn decode(bytes: &[u8]) -> Option<BusBlock> {
        let mut bytes = ByteReader(bytes);
        let (mut times, mut lines) = (bytes.section()?, bytes.section()?);
        let (flags, contents) = (bytes.section()?.0, bytes.section()?.0);
        let mut block = BusBlock { flags: flags.to_vec(), contents: contents.to_vec(), ..BusBlock::default() };
        let (mut at, mut line) = (0_u64, 0_u64);
        for _ in flags {
            at = at.checked_add(times.varint()?)?;
            line = line.wrapping_add(lines.signed()? as u64);
            block.times_fs.push(at);
            block.lines.push(line);
        }
        let with_content = flags.iter().filter(|flags| **flags & WITH_CONTENT != 0).count();
        let known = flags.iter().all(|flags| flags & !(WRITE | NO_BURST | WITH_CONTENT) == 0);
        let whole = [times.0, lines.0, bytes.0].iter().all(|rest| rest.is_empty());
        (known && whole && contents.len() == with_content * CONTENT_BYTES).then_some(block)
    }
}
