//! Copy of a program's memory, built from the words of the recorder, and the check that the recording is exact.
//!
//! The shadow applies the recorded lines and stores; every recorded value of a load must then equal the value in the
//! shadow. The check does not depend on a simulated machine. It tests the recorder, and users can check a trace with
//! it. [`memory`] tracks shared pages.

pub mod memory;

use crate::error::WorkloadError;
use crate::source::Source;
use crate::stream::{Access, AccessKind};
use crate::walker::{Event, Walker};
use memory::ShadowMemory;
use rustc_hash::FxHashMap;
use units::{LINE_BYTES, Line, PAGE_BYTES, VirtAddr};

struct ShadowPage {
    bytes: [u8; PAGE_BYTES],
    /// One bit per line, set if the line was ever sent.
    known: u64,
}

/// Memory of one process, by virtual address. It contains only pages with a sent line.
#[derive(Default)]
pub struct ProcessShadow {
    by_number: FxHashMap<u64, usize>,
    pages: Vec<ShadowPage>,
    /// Number and index of the last page: most accesses use it again.
    recent: Option<(u64, usize)>,
}

impl ProcessShadow {
    /// Applies a sent line.
    pub fn show(&mut self, addr: VirtAddr, content: &Line) {
        let index = self.index(addr.page()).unwrap_or_else(|| self.add(addr.page()));
        let page = &mut self.pages[index];
        let start = addr.line_start().0 as usize % PAGE_BYTES;
        page.bytes[start..start + LINE_BYTES].copy_from_slice(content);
        page.known |= line_bit(addr);
    }

    /// Stores the first `bytes` bytes of `value`. A line that was never sent remains unknown.
    pub fn store(&mut self, addr: VirtAddr, bytes: u8, value: u64) {
        for (at, byte) in value.to_le_bytes().into_iter().take(bytes.into()).enumerate() {
            let addr = VirtAddr(addr.0 + at as u64);
            if let Some(index) = self.index(addr.page()) {
                self.pages[index].bytes[addr.0 as usize % PAGE_BYTES] = byte;
            }
        }
    }

    /// Returns the value of `bytes` bytes, at most eight, if all of them are known.
    pub fn load(&mut self, addr: VirtAddr, bytes: u8) -> Option<u64> {
        let mut value = [0; 8];
        for (at, byte) in value.iter_mut().take(bytes.into()).enumerate() {
            let addr = VirtAddr(addr.0 + at as u64);
            let index = self.index(addr.page())?;
            let page = &self.pages[index];
            if page.known & line_bit(addr) == 0 {
                return None;
            }
            *byte = page.bytes[addr.0 as usize % PAGE_BYTES];
        }
        Some(u64::from_le_bytes(value))
    }

    /// Returns the content of a line, if the line was ever sent.
    pub fn line(&mut self, addr: VirtAddr) -> Option<Line> {
        let index = self.index(addr.page())?;
        let page = &self.pages[index];
        let start = addr.line_start().0 as usize % PAGE_BYTES;
        let content = page.bytes[start..start + LINE_BYTES].try_into().ok()?;
        (page.known & line_bit(addr) != 0).then_some(content)
    }

    fn index(&mut self, page: u64) -> Option<usize> {
        match self.recent {
            Some((recent, index)) if recent == page => Some(index),
            _ => {
                let index = *self.by_number.get(&page)?;
                self.recent = Some((page, index));
                Some(index)
            }
        }
    }

    fn add(&mut self, page: u64) -> usize {
        self.pages.push(ShadowPage { bytes: [0; PAGE_BYTES], known: 0 });
        self.by_number.insert(page, self.pages.len() - 1);
        self.pages.len() - 1
    }
}

fn line_bit(addr: VirtAddr) -> u64 {
    1 << (addr.0 as usize % PAGE_BYTES / LINE_BYTES)
}

/// Counts of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Number of executed instructions.
    pub instructions: u64,
    /// Number of store accesses.
    pub stores: u64,
    /// Number of loads with a recorded value.
    pub loads: u64,
    /// Number of recorded loads with another or an unknown value in the shadow.
    pub wrong: u64,
    /// Number of sent lines.
    pub lines: u64,
    /// Number of process images.
    pub processes: u64,
    /// Description of the first wrong load.
    pub first_wrong: Option<String>,
}

/// Runs through a source and compares every recorded load with the shadow of its process.
pub fn check_values(source: impl Source) -> Result<Report, WorkloadError> {
    let mut walker = Walker::new(source);
    let mut memory = ShadowMemory::default();
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

fn check_access(memory: &mut ShadowMemory, process: u32, access: &Access, pc: VirtAddr, report: &mut Report) {
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
    fn a_load_from_the_recording_shadow_returns_the_line_with_later_stores() {
        let mut shadow = ProcessShadow::default();
        shadow.show(VirtAddr(0x1000), &[7; LINE_BYTES]);
        shadow.store(VirtAddr(0x1002), 2, 0xabcd);
        assert_eq!(shadow.load(VirtAddr(0x1000), 8), Some(0x0707_0707_abcd_0707));
    }

    #[test]
    fn a_load_that_touches_a_line_outside_the_recording_shadow_has_no_value() {
        let mut shadow = ProcessShadow::default();
        shadow.show(VirtAddr(0x1000), &[7; LINE_BYTES]);
        assert_eq!(shadow.load(VirtAddr(0x103c), 8), None);
        assert_eq!(shadow.load(VirtAddr(0x5000), 1), None);
    }
}
