//! The process that a program runs on its core, where the chip has contexts of processes.

use machine::paging::{PageTable, frames_of, mapped_frames};
use protection::moving::{LINES_PER_PAGE_CHUNK, ProcessId, ProcessPageChunks};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use units::PhysAddr;
use workload::stream::Birth;
use workload::walker::Event;

/// Process of the latest instruction, and the processes that have ended.
#[derive(Default)]
pub(super) struct Running {
    is_watched: bool,
    process: Option<u32>,
    ended: Vec<u32>,
}

impl Running {
    /// Tracks the running process from now on.
    pub fn watch(&mut self) {
        self.is_watched = true;
    }

    /// The process of the next instruction, if the core has to be switched to this process.
    #[inline]
    pub fn switches_to(&mut self, process: u32) -> Option<u32> {
        if !self.is_watched || self.process == Some(process) {
            return None;
        }
        self.process = Some(process);
        Some(process)
    }

    /// Notes the end of a process.
    pub fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::ProcessEnded { process } => self.ended.push(*process),
            Event::ProcessStarted { parent, birth: Birth::Exec, .. } => self.ended.push(*parent),
            _ => {}
        }
    }

    /// Processes that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }
}

/// The page chunks of each process, according to the page tables.
pub struct PageOwners(pub(super) Rc<RefCell<PageTable>>);

impl PageOwners {
    /// Page chunks of some frames.
    fn chunks(&self, frames: impl FnOnce(&PageTable) -> Vec<PhysAddr>) -> BTreeSet<u64> {
        let pages = self.0.borrow();
        let length = pages.news().line_length();
        frames(&pages).into_iter().map(|frame| length.line_of(frame).0 / LINES_PER_PAGE_CHUNK).collect()
    }
}

impl ProcessPageChunks for PageOwners {
    fn chunks_of(&self, ProcessId(process): ProcessId) -> BTreeSet<u64> {
        self.chunks(|pages| frames_of(pages, process))
    }

    fn mapped(&self) -> BTreeSet<u64> {
        self.chunks(mapped_frames)
    }
}
