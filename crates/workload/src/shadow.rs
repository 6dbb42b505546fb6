//! A copy of a program's memory, kept from what the recorder sends, and the check that proves the recording exact.
//!
//! Lines and stores go in; every load whose value was recorded must then find that value. This is independent of any
//! machine: it is how the recorder is tested, and how a trace can be checked. Which pages are shared is followed in [`memory`].

pub mod memory;

use crate::error::WorkloadError;
use crate::source::Source;
use crate::stream::{Access, AccessKind};
use crate::walker::{Event, Walker};
use memory::Memory;
use rustc_hash::FxHashMap;
use units::{LINE_BYTES, Line, PAGE_BYTES, VirtAddr};

struct Page {
    bytes: [u8; PAGE_BYTES],
    /// One bit per line: whether its content was ever sent.
    known: u64,
}

/// One process's memory, by virtual address. Only pages that were sent exist.
#[derive(Default)]
pub struct Shadow {
    by_number: FxHashMap<u64, usize>,
    pages: Vec<Page>,
    /// The page used last, by its number and its place: most accesses go there again.
    recent: Option<(u64, usize)>,
}

impl Shadow {
    /// A line was sent.
    pub fn tell(&mut self, addr: VirtAddr, content: &Line) {
        let place = self.place(addr.page()).unwrap_or_else(|| self.add(addr.page()));
        let page = &mut self.pages[place];
        let start = addr.line_start().0 as usize % PAGE_BYTES;
        page.bytes[start..start + LINE_BYTES].copy_from_slice(content);
        page.known |= line_bit(addr);
    }

    /// The first `bytes` bytes of `value` are stored. What falls on a line that was never sent is not kept.
    pub fn store(&mut self, addr: VirtAddr, bytes: u8, value: u64) {
        for (at, byte) in value.to_le_bytes().into_iter().take(bytes.into()).enumerate() {
            let addr = VirtAddr(addr.0 + at as u64);
            if let Some(place) = self.place(addr.page()) {
                self.pages[place].bytes[addr.0 as usize % PAGE_BYTES] = byte;
            }
        }
    }

    /// The value of `bytes` bytes, at most eight, if all of them are known.
    pub fn load(&mut self, addr: VirtAddr, bytes: u8) -> Option<u64> {
        let mut value = [0; 8];
        for (at, byte) in value.iter_mut().take(bytes.into()).enumerate() {
            let addr = VirtAddr(addr.0 + at as u64);
            let place = self.place(addr.page())?;
            let page = &self.pages[place];
            if page.known & line_bit(addr) == 0 {
                return None;
            }
            *byte = page.bytes[addr.0 as usize % PAGE_BYTES];
        }
        Some(u64::from_le_bytes(value))
    }

    /// A line's content, if it was ever sent.
    pub fn line(&mut self, addr: VirtAddr) -> Option<Line> {
        let place = self.place(addr.page())?;
        let page = &self.pages[place];
        let start = addr.line_start().0 as usize % PAGE_BYTES;
        let content = page.bytes[start..start + LINE_BYTES].try_into().ok()?;
        (page.known & line_bit(addr) != 0).then_some(content)
    }

    fn place(&mut self, page: u64) -> Option<usize> {
        match self.recent {
            Some((recent, place)) if recent == page => Some(place),
            _ => {
                let place = *self.by_number.get(&page)?;
                self.recent = Some((page, place));
                Some(place)
            }
        }
    }

    fn add(&mut self, page: u64) -> usize {
        self.pages.push(Page { bytes: [0; PAGE_BYTES], known: 0 });
        self.by_number.insert(page, self.pages.len() - 1);
        self.pages.len() - 1
    }
}

fn line_bit(addr: VirtAddr) -> u64 {
    1 << (addr.0 as usize % PAGE_BYTES / LINE_BYTES)
}

/// What a check has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Instructions.
    pub instructions: u64,
    /// Stores.
    pub stores: u64,
    /// Loads whose value was recorded.
    pub loads: u64,
    /// Those of them that the shadow had otherwise or not at all.
    pub wrong: u64,
    /// Lines sent.
    pub lines: u64,
    /// Process images.
    pub processes: u64,
    /// The first wrong load, in words.
    pub first_wrong: Option<String>,
}

/// Runs through a source and compares every recorded load with the shadow of its process.
pub fn check_values(source: impl Source) -> Result<Report, WorkloadError> {
    let mut walker = Walker::new(source);
    let mut memory = Memory::default();
    let mut report = Report::default();
    while let Some(event) = walker.next()? {
        match &event {
            Event::Line { .. } => report.lines += 1,
            Event::Instruction(step) => {
                report.instructions += 1;
                for access in step.accesses {
                    check_access(&mut memory, step.strand.process, access, step.instruction.pc, &mut report);
                }
            }
            Event::ProcessStarted { .. } => report.processes += 1,
            _ => {}
        }
        memory.follow(&event);
    }
    Ok(report)
}

fn check_access(memory: &mut Memory, process: u32, access: &Access, pc: VirtAddr, report: &mut Report) {
    match (access.kind, access.value) {
        (AccessKind::Store, Some(value)) => {
            report.stores += 1;
            memory.store(process, access.addr, access.bytes, value);
        }
        (AccessKind::Load, Some(value)) => {
            report.loads += 1;
            let found = memory.load(process, access.addr, access.bytes);
            if found != Some(value) {
                report.wrong += 1;
                report.first_wrong.get_or_insert_with(|| {
                    format!(
                        "at {pc}: {} bytes from {} were {value:#x}, the shadow has {found:x?}",
                        access.bytes, access.addr
                    )
                });
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_sees_the_line_and_the_stores_over_it() {
        let mut shadow = Shadow::default();
        shadow.tell(VirtAddr(0x1000), &[7; LINE_BYTES]);
        shadow.store(VirtAddr(0x1002), 2, 0xabcd);
        assert_eq!(shadow.load(VirtAddr(0x1000), 8), Some(0x0707_0707_abcd_0707));
    }

    #[test]
    fn what_was_never_told_is_unknown_even_where_a_load_only_reaches_into_it() {
        let mut shadow = Shadow::default();
        shadow.tell(VirtAddr(0x1000), &[7; LINE_BYTES]);
        assert_eq!(shadow.load(VirtAddr(0x103c), 8), None);
        assert_eq!(shadow.load(VirtAddr(0x5000), 1), None);
    }
}
