//! Turns a program's events into the core's steps: translates addresses, and passes memory's content in program order
//! to the shadow (`shadow.rs`).
//!
//! A write by the kernel that the program does not see appears as a line that changed without a store. The feed treats
//! this change as a write from outside: cached copies are stale, and the new content is written to memory like any
//! other line.

mod allowance;
mod attributes;
pub mod counts;
mod flushing;
mod pages;
mod pieces;
mod running;
mod shown;
mod skim;
mod skipped;
#[cfg(test)]
mod tests;
mod translation;

pub use counts::FeedCounts;

pub use running::PageOwners;
pub use skim::Skimmed;
pub use translation::Spaces;

use crate::load_values::WrongLoad;
use crate::load_values::accessor::Accessor;
use crate::shadow::Shadow;
use crate::shadow::persisted::is_persistent;
use allowance::Allowance;
use attributes::Attributes;
use isa::PersistEffect;
use machine::node::{Feed, NodeStep, Touch};
use machine::paging::{OutOfMemory, PageTable};
use pages::PageEventHandler;
use protection::moving::{ContextError, ProcessId};
use running::Running;
use shown::{ShownLine, show_lines};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use thiserror::Error;
use translation::Translation;
use units::{LineAddr, VirtAddr};
use workload::stream::{Access, AccessKind, Strand};
use workload::walker::{Event, Walker};
use workload::{Stretch, Supplier, WorkloadError};

/// Reason why the feed has no next step.
#[derive(Debug, Error)]
pub enum FeedError {
    /// The source reports an error.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The memory of the machine is too small for the program.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The processor refuses a switch to another process.
    #[error(
        "the processor cannot switch to the next process: {0}. Expected more permutation.contexts.buffers or \
         permutation.contexts.outside in the design, or a program with fewer processes at once"
    )]
    Contexts(#[from] ContextError),
}

/// Page tables of all programs.
pub type Pages = Rc<RefCell<PageTable>>;

/// Feed of a core: the program, or the part of a program that this core executes.
pub struct ProgramFeed<S> {
    walker: Walker<S>,
    allowance: Allowance,
    /// True if the source has ended or has no batch at the moment.
    dry: bool,
    translation: Translation,
    attributes: Attributes,
    core: usize,
    shadow: Rc<RefCell<Shadow>>,
    touches: Vec<Touch>,
    /// Lines that changed without a store, not yet fetched by [`ProgramFeed::take_foreign`].
    foreign: Vec<LineAddr>,
    /// Time span of the next instruction in the recording.
    stretch: Stretch,
    running: Running,
    counts: FeedCounts,
}

impl<S: Supplier> ProgramFeed<S> {
    /// Creates the feed of a program on a core. The program runs in `spaces` of the memory that `pages` allocates, for
    /// at most `left` instructions.
    pub fn new(
        source: S,
        left: Rc<Cell<u64>>,
        pages: Pages,
        spaces: Spaces,
        (core, shadow): (usize, Rc<RefCell<Shadow>>),
    ) -> ProgramFeed<S> {
        ProgramFeed {
            walker: Walker::new(source),
            allowance: Allowance::new(left),
            dry: false,
            translation: Translation::new(pages, spaces),
            attributes: Attributes::default(),
            core,
            shadow,
            touches: Vec::with_capacity(8),
            foreign: Vec::new(),
            stretch: Stretch::default(),
            running: Running::default(),
            counts: FeedCounts { processes: 1, ..FeedCounts::default() },
        }
    }

    /// Statistics of the feed up to now.
    pub fn counts(&self) -> FeedCounts {
        self.attributes.flushing.with_open(self.counts)
    }

    /// True if the program has executed all instructions that its limit allows.
    pub fn is_spent(&self) -> bool {
        self.allowance.left() == 0
    }

    /// Makes the feed stop after this number of instructions, counted from the beginning, until the next call.
    pub fn pause_at(&mut self, instructions: u64) {
        self.allowance.pause_at(instructions);
    }

    /// True if the program has no more instructions, now or later.
    pub fn is_over(&self) -> bool {
        self.is_spent() || self.dry && !self.walker.is_waiting()
    }

    /// Strand and time span of the batch that the program has executed in part.
    pub fn begun_batch(&self) -> Option<(Strand, Stretch)> {
        self.walker.begun_batch()
    }

    /// Memory clock or number of instructions that a trace of requests states for the last step.
    pub fn due(&self) -> u64 {
        self.attributes.due
    }

    /// Makes the feed report each change of process from now on: the instruction then names its process.
    pub fn watch_processes(&mut self) {
        self.running.watch();
    }

    /// Number of a process of this program, unique among all programs of a run.
    pub fn process_id(&self, process: u32) -> ProcessId {
        ProcessId(self.translation.process(process))
    }

    /// Processes that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<ProcessId> {
        self.running.take_ended().into_iter().map(|process| self.process_id(process)).collect()
    }

    /// The page chunks of each process, according to the page tables.
    pub fn owners(&self) -> PageOwners {
        PageOwners(Rc::clone(&self.translation.pages))
    }

    /// Removes and returns the lines that changed without a store since the last call.
    pub fn take_foreign(&mut self) -> Vec<LineAddr> {
        std::mem::take(&mut self.foreign)
    }
}

impl<S: Supplier> Feed for ProgramFeed<S> {
    type Error = FeedError;

    fn has_ended(&self) -> bool {
        self.is_spent() || !self.walker.is_waiting()
    }

    fn next(&mut self) -> Result<Option<NodeStep<'_>>, FeedError> {
        if self.is_spent() || self.allowance.pauses_at(self.counts.instructions) {
            return Ok(None);
        }
        let ProgramFeed {
            walker,
            translation,
            attributes,
            shadow,
            touches,
            foreign,
            stretch,
            running,
            counts,
            allowance,
            dry,
            ..
        } = self;
        let core = self.core;
        if attributes.is_over {
            attributes.go_on();
        }
        translation.refresh();
        let mut trouble = None;
        let step = walker.next_step(|event| match event {
            Event::Line { strand, addr, cause, .. } if translation.skipped.passes_over(strand.process, addr, cause) => {
            }
            Event::Line { strand, addr, content, mapped, cause } => match translation.physical(strand, addr) {
                Ok((_, physical)) => {
                    let by = Accessor { program: translation.spaces.program, strand, stretch: *stretch };
                    let parts = translation.length().parts(translation.length().line_of(physical), content);
                    let is_written = translation.skipped.is_written(strand.process, addr, cause);
                    let how = ShownLine { mapped, is_written };
                    show_lines((&mut *shadow.borrow_mut(), by, core), (parts, how), foreign, counts);
                }
                Err(full) => trouble = Some(full),
            },
            Event::Batch { strand, stretch: next } => {
                *stretch = next;
                if let Some(loads) = &mut shadow.borrow_mut().loads {
                    loads.meet(translation.spaces.program, strand);
                }
            }
            Event::UpcomingLine { strand, addr } => {
                if let Some(line) = translation.known_line(strand, addr) {
                    shadow.borrow().prefetch_host(line);
                }
            }
            Event::Flush { strand, addr } => match translation.physical(strand, addr) {
                Ok((_, physical)) => {
                    translation.recorded_lines(physical, 0).for_each(|line| attributes.flush(strand, line));
                }
                Err(full) => trouble = Some(full),
            },
            Event::Fence { .. } => attributes.fence(),
            Event::Due { operand, .. } => attributes.due = operand,
            Event::Sync { strand, object, part } => {
                if let Some(dirty) = translation.take_dirty(object, &part) {
                    dirty.into_iter().for_each(|line| attributes.flush(strand, line));
                    attributes.fence();
                }
            }
            event => {
                running.note(&event);
                let shadow = &mut shadow.borrow_mut();
                let mut receiver = PageEventHandler { translation, shadow, stretch: *stretch, core, foreign, counts };
                trouble = trouble.take().or(receiver.take(event).err());
            }
        })?;
        if let Some(full) = trouble {
            return Err(full.into());
        }
        let Some(step) = step else {
            *dry = true;
            return Ok(None);
        };
        counts.instructions += 1;
        allowance.use_up(1);
        touches.clear();
        let is_past_caches = step.instruction.persist == PersistEffect::Store;
        let mut shadow = shadow.borrow_mut();
        for access in step.accesses {
            for (addr, bytes, shift) in pieces::pieces(access, translation.length()) {
                let (page, physical) = translation.physical(step.strand, addr)?;
                let (line, offset) = translation.length().split(physical);
                let touch = Touch {
                    page,
                    line,
                    offset,
                    bytes: bytes as u8,
                    store: access.kind == AccessKind::Store,
                    persistent: false,
                    past_caches: is_past_caches && access.kind == AccessKind::Store,
                };
                if let Some(value) = access.value {
                    let by = Accessor { program: translation.spaces.program, strand: step.strand, stretch: *stretch };
                    let piece = AccessFragment { access, value: value >> shift, pc: step.instruction.pc, by };
                    piece.take_effect(&mut shadow, &touch, counts);
                }
                append(touches, touch);
            }
        }
        if shadow.persisted.is_some() {
            let log = shadow.log.as_mut().filter(|_| attributes.is_there);
            log.into_iter().for_each(|log| log.ordered(core, &attributes.orders));
            hand_on_stores(&mut shadow, core, touches, counts);
            shadow.log.iter_mut().for_each(|log| log.executed());
        }
        if translation.tracks_stores() {
            translation.note_stores(touches);
        }
        if step.instruction.persist != PersistEffect::None {
            attributes.orders.evicts = step.instruction.persist == PersistEffect::Evict;
            attributes.flushing.executed(&step, touches, !attributes.orders.flushes.is_empty(), counts);
        }
        let (page, physical) = translation.physical(step.strand, step.instruction.pc)?;
        let (line, offset) = translation.length().split(physical);
        let code = Touch::of_code(page, line, offset);
        if translation.has_new_tables {
            translation.take_new_tables(&mut attributes.tables);
            attributes.is_there = true;
        }
        attributes.is_over = attributes.is_there;
        if translation.has_unshown() {
            translation.disorder_unshown(&mut shadow);
        }
        let (tables, orders) = (&attributes.tables, if attributes.is_there { attributes.orders() } else { None });
        let switches_to = running.switches_to(step.strand.process);
        let (instruction, next) = (step.instruction, step.next);
        Ok(Some(NodeStep { instruction, code, touches, orders, tables, next, switches_to }))
    }
}

/// Passes the stores of an instruction to its core's persist buffer, and marks them. Not inlined: most machines have no
/// persist buffer.
#[cold]
fn hand_on_stores(shadow: &mut Shadow, core: usize, touches: &mut [Touch], counts: &mut FeedCounts) {
    touches.iter_mut().for_each(|touch| touch.persistent = touch.store && is_persistent(shadow, touch.line));
    for Touch { line, offset, bytes, .. } in touches.iter().copied().filter(|touch| touch.persistent) {
        let range = usize::from(offset)..usize::from(offset + bytes);
        shadow.stored(core, line, range.clone());
        shadow.log.iter_mut().for_each(|log| log.stored(core, line, range.clone()));
        counts.persistent_stores += 1;
    }
}

/// The part of an access that is in one line, as recorded.
struct AccessFragment<'a> {
    access: &'a Access,
    /// Bytes of the access on this line, the first in the lowest bits.
    value: u64,
    /// Address of the instruction.
    pc: VirtAddr,
    /// Strand of the instruction, and its time span in the recording.
    by: Accessor,
}

impl AccessFragment<'_> {
    /// Applies a store to the shadow, or compares a load with it.
    #[inline]
    fn take_effect(&self, shadow: &mut Shadow, touch: &Touch, counts: &mut FeedCounts) {
        let recorded = self.value.to_le_bytes();
        let range = usize::from(touch.offset)..usize::from(touch.offset + touch.bytes);
        let bytes = &recorded[..range.len()];
        if !touch.store {
            if shadow.loads.is_none() {
                return;
            }
            counts.load_values_checked += 1;
            let content = shadow.content(touch.line);
            if content.is_none_or(|content| content[range] != *bytes) {
                counts.load_values_wrong += 1;
                self.differ(shadow, touch.line);
            }
            return;
        }
        if let Some(log) = &mut shadow.log {
            log.piece(touch.line, range.clone(), self.value, (self.pc, self.access.addr));
        }
        shadow.store(touch.line, range, bytes);
        if let Some(loads) = &mut shadow.loads {
            loads.store(touch.line, self.by);
        }
    }

    #[cold]
    fn differ(&self, shadow: &mut Shadow, line: LineAddr) {
        let AccessFragment { access: Access { addr, bytes, .. }, pc, by, .. } = *self;
        let wrong =
            WrongLoad { process: by.strand.process, thread: by.strand.thread, pc, address: *addr, bytes: *bytes };
        if let Some(loads) = &mut shadow.loads {
            loads.differ(line, by, wrong);
        }
    }
}

/// Adds a touch. If the touch continues the previous one, the two are merged, because a recording contains wide
/// accesses in pieces of eight bytes.
fn append(touches: &mut Vec<Touch>, touch: Touch) {
    if let Some(last) = touches.last_mut()
        && (last.line, last.store) == (touch.line, touch.store)
        && last.offset + last.bytes == touch.offset
    {
        last.bytes += touch.bytes;
    } else {
        touches.push(touch);
    }
}
