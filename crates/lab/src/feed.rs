//! From a program's events to the core's steps: translation, and the memory's content in program order.
//!
//! The content goes to the shadow (`shadow.rs`).
//!
//! What the kernel writes behind the program's back shows as a line whose content changed without a store. It is a write
//! from outside: cached copies are stale, and the new content goes to memory like any other.

mod skim;

pub use skim::Skimmed;

use crate::shadow::Shadow;
use machine::node::{Feed, PageKey, Step, Touch};
use machine::paging::{OutOfMemory, PageTable, page_key};
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use thiserror::Error;
use units::{LINE_BYTES, Line, LineAddr, PhysAddr, VirtAddr};
use workload::stream::{Access, AccessKind, Strand};
use workload::walker::{Event, Walker};
use workload::{Origin, Source, WorkloadError};

/// Translations remembered beside the page table.
const RECENT: usize = 512;

/// Why there is no next step.
#[derive(Debug, Error)]
pub enum FeedError {
    /// The program cannot be followed any further.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The program does not fit the machine.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// What came through the feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FeedCounters {
    /// Executed instructions.
    pub instructions: u64,
    /// Loads whose recorded value was compared with the shadow.
    pub load_values_checked: u64,
    /// Loads whose recorded value was another.
    pub load_values_wrong: u64,
    /// Lines that changed without a store of the program's.
    pub foreign_writes: u64,
    /// Processes seen.
    pub processes: u64,
}

/// Page table, with the last translations at hand.
struct Translation {
    pages: PageTable,
    recent: Box<[(u64, u64)]>,
}

impl Translation {
    #[inline]
    fn physical(&mut self, strand: Strand, addr: VirtAddr) -> Result<(PageKey, PhysAddr), OutOfMemory> {
        let page_bytes = self.pages.page_bytes();
        let key = page_key(strand.process, addr, page_bytes);
        let recent = &mut self.recent[key as usize % RECENT];
        if recent.0 != key {
            *recent = (key, self.pages.frame(key)?.0);
        }
        Ok((PageKey(key), PhysAddr(recent.1 + (addr.0 & (page_bytes - 1)))))
    }
}

/// A program on its way into a core.
pub struct Program<S> {
    walker: Walker<S>,
    /// The most instructions to hand out.
    budget: u64,
    /// After how many instructions to pause.
    pause_at: u64,
    ended: bool,
    translation: Translation,
    shadow: Rc<RefCell<Shadow>>,
    touches: Vec<Touch>,
    /// Lines that changed without a store, not yet fetched by [`Program::take_foreign`].
    foreign: Vec<LineAddr>,
    counters: FeedCounters,
}

impl<S: Source> Program<S> {
    /// A program that may run for `budget` instructions in the memory that `pages` hands out.
    pub fn new(source: S, budget: u64, pages: PageTable, shadow: Rc<RefCell<Shadow>>) -> Program<S> {
        let recent = vec![(u64::MAX, 0); RECENT].into();
        Program {
            walker: Walker::new(source),
            budget,
            pause_at: u64::MAX,
            ended: false,
            translation: Translation { pages, recent },
            shadow,
            touches: Vec::with_capacity(8),
            foreign: Vec::new(),
            counters: FeedCounters { processes: 1, ..FeedCounters::default() },
        }
    }

    /// What the program is.
    pub fn origin(&self) -> &Origin {
        self.walker.origin()
    }

    /// What came through so far.
    pub fn counters(&self) -> FeedCounters {
        self.counters
    }

    /// Physical memory in use, in bytes.
    pub fn footprint_bytes(&self) -> u64 {
        self.translation.pages.used().0
    }

    /// Hands nothing out beyond this many instructions, counted from the beginning, until told otherwise.
    pub fn pause_at(&mut self, instructions: u64) {
        self.pause_at = instructions;
    }

    /// Whether the program has ended or used up its budget.
    pub fn has_ended(&self) -> bool {
        self.ended || self.counters.instructions >= self.budget
    }

    /// The lines that changed without a store since the last call.
    pub fn take_foreign(&mut self) -> Vec<LineAddr> {
        std::mem::take(&mut self.foreign)
    }
}

impl<S: Source> Feed for Program<S> {
    type Error = FeedError;

    fn next(&mut self) -> Result<Option<Step<'_>>, FeedError> {
        if self.counters.instructions >= self.pause_at.min(self.budget) {
            return Ok(None);
        }
        let Program { walker, translation, shadow, touches, foreign, counters, ended, .. } = self;
        translation.pages.forget_fresh();
        let mut trouble = None;
        let step = walker.next_step(|event| match event {
            Event::Line { strand, addr, content, .. } => match translation.physical(strand, addr) {
                Ok((_, physical)) => tell(&mut shadow.borrow_mut(), physical.line(), content, foreign, counters),
                Err(full) => trouble = Some(full),
            },
            Event::ProcessStarted { process, .. } => {
                counters.processes = counters.processes.max(u64::from(process) + 1)
            }
            _ => {}
        })?;
        if let Some(full) = trouble {
            return Err(full.into());
        }
        let Some(step) = step else {
            *ended = true;
            return Ok(None);
        };
        counters.instructions += 1;
        touches.clear();
        let mut shadow = shadow.borrow_mut();
        for access in step.accesses {
            for (addr, bytes, shift) in pieces(access) {
                let (page, physical) = translation.physical(step.strand, addr)?;
                let touch = Touch {
                    page,
                    line: physical.line(),
                    offset: physical.line_offset() as u8,
                    bytes: bytes as u8,
                    store: access.kind == AccessKind::Store,
                };
                take_effect(&mut shadow, &touch, access, shift, counters);
                append(touches, touch);
            }
        }
        let (page, physical) = translation.physical(step.strand, step.instruction.pc)?;
        let code = Touch { page, line: physical.line(), offset: physical.line_offset() as u8, bytes: 1, store: false };
        Ok(Some(Step {
            instruction: step.instruction,
            code,
            touches,
            tables: translation.pages.fresh(),
            next: step.next,
        }))
    }
}

/// Memory's content is told; a line that was otherwise before is noted.
fn tell(shadow: &mut Shadow, line: LineAddr, content: &Line, foreign: &mut Vec<LineAddr>, counters: &mut FeedCounters) {
    if shadow.tell(line, content) {
        foreign.push(line);
        counters.foreign_writes += 1;
    }
}

/// An access cut at the end of its line: address, bytes, and how many bits of the value went before.
fn pieces(access: &Access) -> impl Iterator<Item = (VirtAddr, usize, u32)> + use<> {
    let (addr, bytes) = (access.addr, usize::from(access.bytes));
    let first = bytes.min(LINE_BYTES - addr.line_offset());
    let second = (bytes > first).then(|| (VirtAddr(addr.0 + first as u64), bytes - first, 8 * first as u32));
    std::iter::once((addr, first, 0)).chain(second)
}

/// A store changes the shadow; a load's recorded value, if there is one, is compared with it.
fn take_effect(shadow: &mut Shadow, touch: &Touch, access: &Access, shift: u32, counters: &mut FeedCounters) {
    let Some(value) = access.value else { return };
    let recorded = (value >> shift).to_le_bytes();
    let range = usize::from(touch.offset)..usize::from(touch.offset + touch.bytes);
    let bytes = &recorded[..range.len()];
    if touch.store {
        shadow.store(touch.line, range, bytes);
    } else {
        counters.load_values_checked += 1;
        counters.load_values_wrong += u64::from(!shadow.agrees(touch.line, range, bytes));
    }
}

/// Adds a touch, joined to the one before if that goes on where it ends: wide accesses come in pieces of eight bytes.
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
