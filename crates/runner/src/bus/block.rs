//! A block of crossings, as columns: in memory, and as the bytes that go through zstd.

use protection::probe::{Content, Crossing};
use std::cell::Cell;
use units::LINE_BYTES;
use workload::trace::bytes::{Bytes, put_signed, put_varint};

/// The flag of a write.
pub const WRITE: u8 = 1;
/// The flag of an access that moves no line of its own.
pub const NO_BURST: u8 = 2;
/// The flag of an access whose bytes are there.
pub const WITH_CONTENT: u8 = 4;
/// A line and its spare bits.
pub const CONTENT_BYTES: usize = LINE_BYTES + 8;
/// A block is closed when its columns take so many bytes.
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
    /// The time and the line of the crossing before.
    before: Cell<(u64, u64)>,
}

impl Filling {
    /// Adds a crossing, no earlier than the one before.
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

    /// Whether it should be stored now.
    pub fn is_full(&self) -> bool {
        self.times.len() + self.lines.len() + self.flags.len() + self.contents.len() >= FULL
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty()
    }

    /// Its bytes; it is empty afterwards, and begins anew.
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

/// A block that was read, column by column; an entry of the first three for each crossing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Femtoseconds from power-on, never less than before.
    pub times_fs: Vec<u64>,
    /// The numbers of the lines.
    pub lines: Vec<u64>,
    /// [`WRITE`], [`NO_BURST`] and [`WITH_CONTENT`].
    pub flags: Vec<u8>,
    /// Of each crossing with [`WITH_CONTENT`] in turn, [`CONTENT_BYTES`]: the line, then its spare bits, little-endian.
    pub contents: Vec<u8>,
}

impl Block {
    /// The block of these bytes, or nothing if they are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Block> {
        let mut bytes = Bytes(bytes);
        let (mut times, mut lines) = (bytes.section()?, bytes.section()?);
        let (flags, contents) = (bytes.section()?.0, bytes.section()?.0);
        let mut block = Block { flags: flags.to_vec(), contents: contents.to_vec(), ..Block::default() };
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
