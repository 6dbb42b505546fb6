//! Turns recorded words into executed instructions for the machine.
//!
//! The walker returns an instruction when it knows the word after the instruction's accesses. Only that word shows
//! whether the instruction was executed at all (a fault ends a block early) and at which address execution continued.
//! So the walker holds back the latest instruction of each strand, across its batches, while it walks through batches
//! of other strands.
//!
//! QEMU runs a repeated string instruction (`rep movsb`) as a one-instruction block that leads back to itself once per
//! iteration, and once more, when the count is zero. These block entries together are one executed instruction. The
//! walker returns it in pieces of at most [`PIECE_ACCESSES`] accesses; the successor of each piece except the last is
//! the same address. A copy of a megabyte thus becomes neither one instruction of many thousand accesses nor one
//! instruction per byte.

mod damage;
mod event;
mod leave;
mod position;
mod skim;

use damage::{damaged, not_due, unknown};
pub use event::{Event, ShownPage};
use event::{is_for_a_later, must_run_before};
pub use skim::Skimmer;

use crate::error::WorkloadError;
use crate::source::{Origin, Source, Stretch, Supplier, Supply};
use crate::stream::{Access, AccessKind, Batch, Block, Step, Strand};
use leave::{leave, leave_for};
use position::StrandPosition;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use units::{Line, VirtAddr, ZERO_LINE};
use wire::word::{self, Control, TraceWord};

/// Maximum accesses of one piece of a repeated string instruction: eight iterations of a copy.
pub const PIECE_ACCESSES: usize = 16;

/// Number of records after a line in which the walker looks for the next line.
const SEARCHED_RECORDS: usize = 32;

/// More blocks than any program has: a larger number means damage, and the walker reserves no memory for it.
const BLOCKS_MAX: usize = 1 << 24;

/// Successor of an instruction.
#[derive(Clone, Copy)]
enum Successor {
    /// The next instruction of its block; unknown if the next one did not run.
    InBlock,
    /// The start of another block.
    Block(VirtAddr),
    /// The same instruction, because the step is only a piece of it.
    Itself(VirtAddr),
}

/// Result of reading words, before the event is built.
enum WalkItem {
    /// The due instruction and its successor.
    Step(Successor),
    /// A line: its address and the detail of its word.
    Line(u64, u8),
    Plain(Control, u8, u64),
    /// The batch has no more words.
    Nothing,
}

/// Turns the batches of a source into events.
pub struct Walker<S> {
    source: S,
    batch: Arc<Batch>,
    at: usize,
    current: usize,
    positions: Vec<StrandPosition>,
    by_strand: FxHashMap<Strand, usize>,
    /// Blocks of each process, by number.
    processes: Vec<Vec<Option<Arc<Block>>>>,
    by_process: FxHashMap<u32, usize>,
    line: Line,
    handed_out: bool,
    drained: bool,
    /// True if the source has no batch for the moment.
    waiting: bool,
}

impl<S: Source> Walker<S> {
    /// Description of the execution.
    pub fn origin(&self) -> &Origin {
        self.source.origin()
    }
}

impl<S: Supplier> Walker<S> {
    /// Creates a walker at the beginning of the source.
    pub fn new(source: S) -> Walker<S> {
        Walker {
            source,
            batch: Arc::default(),
            at: 0,
            current: 0,
            positions: vec![StrandPosition::default()],
            by_strand: FxHashMap::default(),
            processes: vec![Vec::new()],
            by_process: FxHashMap::default(),
            line: ZERO_LINE,
            handed_out: false,
            drained: false,
            waiting: false,
        }
    }

    /// Strand and time span of the current batch, if some of its words remain.
    pub fn begun_batch(&self) -> Option<(Strand, Stretch)> {
        let StrandPosition { strand, stretch, .. } = &self.positions[self.current];
        (self.at < self.batch.words.len()).then_some((*strand, *stretch))
    }

    /// True if the source has no batch for the moment and is not at its end.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// Returns the next event, or `None` at the end or [for the moment](Walker::is_waiting).
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Event<'_>>, WorkloadError> {
        if std::mem::take(&mut self.handed_out) {
            self.positions[self.current].accesses.clear();
        }
        loop {
            match self.advance()? {
                WalkItem::Step(next) => return Ok(Some(Event::Instruction(self.hand_out(next)))),
                WalkItem::Line(addr, detail) => {
                    return Ok(Some(Event::line(self.batch.strand, addr, detail, &self.line)));
                }
                WalkItem::Plain(which, detail, operand) => {
                    if let Some(event) = self.plain(which, detail, operand)? {
                        return Ok(Some(event));
                    }
                }
                WalkItem::Nothing if self.drained => return Ok(self.last_words().map(Event::Instruction)),
                WalkItem::Nothing => {
                    if self.next_batch()? {
                        return Ok(Some(self.begun()));
                    }
                    if self.waiting {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Returns the next executed instruction, or `None` at the end or [for the moment](Walker::is_waiting). Passes the
    /// events before it to `other`.
    #[inline]
    pub fn next_step(&mut self, mut other: impl FnMut(Event<'_>)) -> Result<Option<Step<'_>>, WorkloadError> {
        if std::mem::take(&mut self.handed_out) {
            self.positions[self.current].accesses.clear();
        }
        loop {
            match self.advance()? {
                WalkItem::Step(next) => return Ok(Some(self.hand_out(next))),
                WalkItem::Line(addr, detail) => {
                    other(Event::line(self.batch.strand, addr, detail, &self.line));
                    if let Some(addr) = self.next_line() {
                        other(Event::UpcomingLine { strand: self.batch.strand, addr });
                    }
                }
                WalkItem::Plain(which, detail, operand) => {
                    if let Some(event) = self.plain(which, detail, operand)? {
                        other(event);
                    }
                }
                WalkItem::Nothing if self.drained => return Ok(self.last_words()),
                WalkItem::Nothing => {
                    if self.next_batch()? {
                        other(self.begun());
                    }
                    if self.waiting {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Returns the event of a batch that has just begun.
    fn begun(&self) -> Event<'static> {
        let StrandPosition { strand, stretch, .. } = &self.positions[self.current];
        Event::Batch { strand: *strand, stretch: *stretch }
    }

    /// Address of the next line that the recorder sends, if it is among the next records.
    #[inline(never)]
    fn next_line(&self) -> Option<VirtAddr> {
        let mut following = self.batch.words.get(self.at..)?;
        for _ in 0..SEARCHED_RECORDS {
            match word::parse(*following.first()?) {
                TraceWord::Control { which: Some(Control::Line), operand, .. } => return Some(VirtAddr(operand)),
                _ => following = &following[word::record_words(following)?..],
            }
        }
        None
    }

    /// Reads words until it finds an event.
    #[inline]
    fn advance(&mut self) -> Result<WalkItem, WorkloadError> {
        let batch = &*self.batch;
        let position = &mut self.positions[self.current];
        if position.due < position.certain {
            return Ok(WalkItem::Step(Successor::InBlock));
        }
        loop {
            let Some(word) = batch.words.get(self.at) else {
                return Ok(WalkItem::Nothing);
            };
            match word::parse(*word) {
                TraceWord::Access { store, log2_bytes, value, index, addr } => {
                    let index = usize::from(index);
                    if index < position.due || index >= position.ran {
                        return Err(not_due(position.strand, index));
                    }
                    if index > position.due {
                        position.certain = index;
                        return Ok(WalkItem::Step(Successor::InBlock));
                    }
                    let kind = if store { AccessKind::Store } else { AccessKind::Load };
                    let value = if value { batch.words.get(self.at + 1).copied() } else { None };
                    position.accesses.push(Access { addr: VirtAddr(addr), bytes: 1 << log2_bytes, kind, value });
                    self.at += 1 + usize::from(value.is_some());
                }
                TraceWord::Block { id, instructions } => {
                    let blocks = &self.processes[position.process];
                    let (entered, entry) = known(blocks, id, position.strand)?;
                    if position.due < position.ran
                        && let Some(found) = leave(position, entered, entry)
                    {
                        return Ok(found);
                    }
                    position.enter(entered, instructions);
                    self.at += 1;
                }
                TraceWord::Control { which: None, .. } => return Err(unknown(position.strand, *word)),
                TraceWord::Control { which: Some(Control::Turn), operand, .. } => {
                    if let Some(found) = leave_for(position, VirtAddr(operand)) {
                        return Ok(found);
                    }
                    self.at += 1;
                }
                TraceWord::Control { which: Some(which), detail, operand } => {
                    if position.due < must_run_before(which, detail, operand, position.ran)
                        || !position.accesses.is_empty() && is_for_a_later(position.due, &batch.words[self.at..])
                    {
                        return Ok(WalkItem::Step(Successor::InBlock));
                    }
                    self.at += 1;
                    if which != Control::Line {
                        return Ok(WalkItem::Plain(which, detail, operand));
                    }
                    self.at += copy_line(&mut self.line, &batch.words[self.at..], position.strand)?;
                    return Ok(WalkItem::Line(operand, detail));
                }
            }
        }
    }

    // Inlined like its caller: it runs once per executed instruction.
    #[inline(always)]
    fn hand_out(&mut self, next: Successor) -> Step<'_> {
        self.handed_out = true;
        let position = &mut self.positions[self.current];
        let block = position.block.as_deref();
        let rest = block.and_then(|block| block.instructions.get(position.due..position.ran));
        let Some([instruction, rest @ ..]) = rest else {
            unreachable!("a step is found only in a block that is known")
        };
        position.due += usize::from(!matches!(next, Successor::Itself(_)));
        let next = match next {
            Successor::InBlock => rest.first().map(|following| following.pc),
            Successor::Block(entry) | Successor::Itself(entry) => Some(entry),
        };
        Step { strand: position.strand, instruction, accesses: &position.accesses, next }
    }

    /// Returns the event of a word other than a line, and reads its further words. Returns `None` if the word only
    /// shows which instructions ran.
    fn plain(&mut self, which: Control, detail: u8, operand: u64) -> Result<Option<Event<'static>>, WorkloadError> {
        let position = &mut self.positions[self.current];
        let strand = position.strand;
        let words = self.batch.words.get(self.at..self.at + which.payload_words());
        let words = words.ok_or_else(|| damaged(strand, format!("a record of {which:?} is cut off")))?;
        self.at += words.len();
        if !event::is_sound(strand, (which, operand), words) {
            return Err(damaged(strand, format!("a record of {which:?} is beyond any process's")));
        }
        match which {
            Control::Cut => position.ran = position.ran.min(operand as usize).max(position.due),
            // The recording of a killed process does not show whether the instruction that the walker holds back ran.
            Control::Gone => {
                let of_it = self.positions.iter_mut().filter(|position| u64::from(position.strand.process) == operand);
                of_it.for_each(StrandPosition::drop_rest);
            }
            _ => {}
        }
        Ok(event::plain(strand, (which, detail, operand), words))
    }

    /// Moves to the next batch and its strand, if one is available now.
    fn next_batch(&mut self) -> Result<bool, WorkloadError> {
        let supply = self.source.supply()?;
        (self.drained, self.waiting) = (matches!(supply, Supply::End), matches!(supply, Supply::Later));
        let Supply::Batch(batch, stretch) = supply else { return Ok(false) };
        let strand = batch.strand;
        let process = *self.by_process.entry(strand.process).or_insert_with(|| {
            self.processes.push(Vec::new());
            self.processes.len() - 1
        });
        self.current = *self.by_strand.entry(strand).or_insert_with(|| {
            self.positions.push(StrandPosition { strand, process, ..StrandPosition::default() });
            self.positions.len() - 1
        });
        self.positions[self.current].go_on_in(stretch);
        let blocks = &mut self.processes[process];
        for block in &batch.new_blocks {
            let number = block.id.0 as usize;
            if number >= BLOCKS_MAX {
                return Err(damaged(strand, format!("block number {number} is beyond any program's")));
            }
            if blocks.len() <= number {
                blocks.resize(number + 1, None);
            }
            blocks[number] = Some(Arc::clone(block));
        }
        (self.batch, self.at) = (batch, 0);
        Ok(true)
    }

    /// Returns, at the end of the source, an instruction that the walker held back because no word follows it.
    fn last_words(&mut self) -> Option<Step<'_>> {
        self.current = self.positions.iter().position(|position| position.due < position.ran)?;
        Some(self.hand_out(Successor::InBlock))
    }
}

type Blocks = [Option<Arc<Block>>];

/// Returns the block with this number, and its address.
#[inline]
fn known(blocks: &Blocks, id: u32, strand: Strand) -> Result<(&Arc<Block>, VirtAddr), WorkloadError> {
    let block = blocks.get(id as usize).and_then(|block| block.as_ref());
    let found = block.and_then(|block| Some((block, block.instructions.first()?.pc)));
    found.ok_or_else(|| damaged(strand, format!("block {id} was never defined")))
}

/// Copies the content of a line from the head of `words`; returns the number of words.
fn copy_line(line: &mut Line, words: &[u64], strand: Strand) -> Result<usize, WorkloadError> {
    let content = words.get(..line.len() / 8);
    let content = content.ok_or_else(|| damaged(strand, "a line's content is cut off".into()))?;
    for (to, word) in line.chunks_exact_mut(8).zip(content) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    Ok(content.len())
}
