//! Handles the page events of a recording: assignment of pages to frames, changes of objects by the kernel, and the
//! start and end of processes.
//!
//! A frame that is allocated again still contains its previous page. The kernel clears a page before a process gets it,
//! so all lines that the recording does not send become zeros. For a line with other content, this is a write from
//! outside.

use super::FeedCounts;
use super::shown::{ShownLine, show_lines};
use super::skipped::ShownPageState;
use super::translation::Translation;
use crate::load_values::accessor::Accessor;
use crate::shadow::Shadow;
use crate::shadow::persisted::set_persistent;
use machine::paging::OutOfMemory;
use std::ops::Range;
use units::{LINE_BYTES, LINES_PER_PAGE, Line, LineAddr, PAGE_BYTES, PhysAddr, VirtAddr, ZERO_LINE};
use workload::Stretch;
use workload::stream::{Birth, PageDetail, PageKind, Strand};
use workload::walker::{Event, ShownPage};

/// Handles page events for one core.
pub(super) struct PageEventHandler<'a> {
    pub translation: &'a mut Translation,
    pub shadow: &'a mut Shadow,
    pub stretch: Stretch,
    pub core: usize,
    pub foreign: &'a mut Vec<LineAddr>,
    pub counts: &'a mut FeedCounts,
}

impl PageEventHandler<'_> {
    /// Handles an event of pages or processes; other events change no state.
    pub fn take(&mut self, event: Event<'_>) -> Result<(), OutOfMemory> {
        let process = |process| self.translation.process(process);
        match event {
            Event::Page { strand, addr, page } => return self.show(strand, addr, &page),
            Event::Unmapped { strand, addr, bytes } => {
                let unmapped = addr.0..addr.0.saturating_add(bytes);
                self.translation.pages.borrow_mut().unmap(process(strand.process), unmapped);
            }
            Event::Moved { strand, from, to, bytes } => {
                self.translation.pages.borrow_mut().move_pages(process(strand.process), from, to, bytes);
            }
            Event::Forks { process: parent, fork } => {
                self.translation.pages.borrow_mut().fork(process(parent), fork);
            }
            Event::ProcessStarted { process: started, parent, fork, birth } => {
                self.counts.processes = self.counts.processes.max(u64::from(started) + 1);
                match birth {
                    Birth::Fork => {
                        let (child, parent) = (process(started), process(parent));
                        self.translation.pages.borrow_mut().begin_copy(child, parent, fork);
                    }
                    Birth::Exec => self.end(parent),
                    Birth::First => {}
                }
            }
            Event::ProcessEnded { process } => self.end(process),
            Event::ObjectLine { strand, object, line, content } => {
                let index = line / LINES_PER_PAGE as u64;
                for (_, frame) in self.object_frames(object, index..index + 1) {
                    self.show_line(strand, (frame, line % LINES_PER_PAGE as u64), &content, true);
                }
            }
            Event::ObjectCut { strand, object, end } => self.cut(strand, object, end),
            Event::Lost { .. } => self.counts.unrecorded += 1,
            _ => {}
        }
        self.translation.refresh();
        Ok(())
    }

    fn show(&mut self, strand: Strand, addr: VirtAddr, page: &ShownPage) -> Result<(), OutOfMemory> {
        let process = self.translation.process(strand.process);
        let (object, index) = page.object;
        let object = self.translation.object(object);
        let mut pages = self.translation.pages.borrow_mut();
        let before = if pages.is_mapped(process, addr) { Some(pages.locate(process, addr)?) } else { None };
        let is_of_object =
            page.detail.kind == PageKind::Object && !pages.object_frames(object, index..index + 1).is_empty();
        let mut kept = Vec::new();
        match page.detail.kind {
            PageKind::Own => pages.map_own(process, addr, false)?,
            PageKind::Copy => {
                kept = before.map_or_else(Vec::new, |before| self.kept_lines(before, page.object.0));
                pages.map_own(process, addr, true)?;
            }
            PageKind::Object => pages.map_object(process, addr, (object, index))?,
        }
        let frame = pages.locate(process, addr)?;
        // A file stays mapped shared if another mapping of it is private.
        let mapped = page.detail.mapped || is_of_object && pages.dirty().tracks(frame);
        pages.dirty().track(frame, mapped);
        drop(pages);
        let page = &ShownPage { detail: PageDetail { mapped, ..page.detail }, ..*page };
        self.translation.show_pages();
        self.translation.skipped.note_shown(ShownPageState {
            process: strand.process,
            page: addr.page(),
            is_known: is_of_object,
            is_new: page.detail.kind != PageKind::Object,
        });
        self.translation.refresh();
        self.shadow.knows_pages = true;
        self.show_page(strand, frame, page);
        if before != Some(frame) {
            self.enter(strand, frame, before);
        }
        for (number, content) in kept {
            self.show_line(strand, (frame, number), &content, false);
            if page.sent >> number & 1 != 0 {
                self.translation.skipped.copy(strand.process, VirtAddr(addr.0 + number * LINE_BYTES as u64));
            }
        }
        Ok(())
    }

    /// Lines of a page that a copy of the page inherits, if the shadow knows their content.
    fn kept_lines(&self, page: PhysAddr, kept: u64) -> Vec<(u64, Line)> {
        let lines = (0..LINES_PER_PAGE as u64).filter(|number| kept >> number & 1 != 0);
        lines.filter_map(|number| Some((number, self.recorded(page, number)?))).collect()
    }

    /// Content of a recorded line of a frame, if the shadow knows all bytes of the line.
    fn recorded(&self, frame: PhysAddr, number: u64) -> Option<Line> {
        let mut content = ZERO_LINE;
        let parts = content.chunks_mut(self.translation.length().bytes());
        for (bytes, line) in parts.zip(self.translation.recorded_lines(frame, number)) {
            bytes.copy_from_slice(&self.shadow.content(line)?[..bytes.len()]);
        }
        Some(content)
    }

    /// Notes that a process gets a page in a new frame, and the frame that the page has left, if any.
    fn enter(&mut self, strand: Strand, new: PhysAddr, old: Option<PhysAddr>) {
        let by = self.accessor(strand);
        let Some(loads) = &mut self.shadow.loads else { return };
        for number in 0..LINES_PER_PAGE as u64 {
            let mut left = old.into_iter().flat_map(|old| self.translation.recorded_lines(old, number));
            self.translation.recorded_lines(new, number).for_each(|line| loads.enter(line, left.next(), by));
        }
    }

    fn accessor(&self, strand: Strand) -> Accessor {
        Accessor { program: self.translation.spaces.program, strand, stretch: self.stretch }
    }

    /// Fills this frame with a page that the recording shows.
    fn show_page(&mut self, strand: Strand, frame: PhysAddr, page: &ShownPage) {
        for number in 0..LINES_PER_PAGE as u64 {
            for line in self.translation.recorded_lines(frame, number) {
                let (persistent, unwritten) = set_persistent(self.shadow, line, page.detail);
                self.counts.mapped_lines += u64::from(persistent);
                if unwritten {
                    self.write(line);
                }
            }
            if page.sent >> number & 1 == 0 {
                self.show_line(strand, (frame, number), &ZERO_LINE, page.detail.kind != PageKind::Object);
            }
        }
    }

    fn object_frames(&self, object: u64, indices: Range<u64>) -> Vec<(u64, PhysAddr)> {
        self.translation.pages.borrow().object_frames(self.translation.object(object), indices)
    }

    fn cut(&mut self, strand: Strand, object: u64, end: u64) {
        for (index, frame) in self.object_frames(object, end / PAGE_BYTES as u64..u64::MAX) {
            let start = index * PAGE_BYTES as u64;
            let kept = end.saturating_sub(start).div_ceil(LINE_BYTES as u64).min(LINES_PER_PAGE as u64);
            let cut = kept..LINES_PER_PAGE as u64;
            cut.for_each(|line| self.show_line(strand, (frame, line), &ZERO_LINE, true));
        }
    }

    /// Ends a process. On several cores, some of its instructions may still follow in the simulated order.
    fn end(&mut self, process: u32) {
        let process = self.translation.process(process);
        self.translation.pages.borrow_mut().end(process, self.translation.spaces.cores > 1);
        self.translation.refresh();
    }

    /// Sets the content of the recorded line with this number in a frame. `is_written` is true if the kernel wrote it.
    fn show_line(&mut self, strand: Strand, (frame, number): (PhysAddr, u64), content: &Line, is_written: bool) {
        let by = self.accessor(strand);
        let parts = self.translation.length().parts(self.translation.recorded_line(frame, number), content);
        let how = ShownLine { mapped: false, is_written };
        show_lines((self.shadow, by, self.core), (parts, how), self.foreign, self.counts);
    }

    fn write(&mut self, line: LineAddr) {
        self.foreign.push(line);
        self.counts.foreign_writes += 1;
    }
}
