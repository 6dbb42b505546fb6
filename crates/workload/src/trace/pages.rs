//! Counts the pages that the processes of a recording have in use.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use units::{PAGE_BYTES, VirtAddr};
use wire::word::Control;

/// Pages of 4 KB in use, by process.
#[derive(Default)]
pub(super) struct PageFootprint {
    in_use: FxHashMap<u32, BTreeSet<u64>>,
    count: u64,
    most: u64,
}

impl PageFootprint {
    /// Maximum number of pages in use at once.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Notes that a process touches a page.
    pub fn touch(&mut self, process: u32, addr: VirtAddr) {
        self.count += u64::from(self.in_use.entry(process).or_default().insert(addr.page()));
        self.most = self.most.max(self.count);
    }

    /// Applies a control word of a process, with its operand and the words after it.
    pub fn follow(&mut self, process: u32, (which, operand): (Control, u64), words: &[u64]) {
        match (which, words) {
            (Control::Line | Control::Page, _) => self.touch(process, VirtAddr(operand)),
            (Control::Unmap, [bytes]) => _ = self.take(process, operand, *bytes),
            (Control::Move, [to, bytes]) => {
                let moved = self.take(process, operand, *bytes);
                let by = (to / PAGE_BYTES as u64).wrapping_sub(VirtAddr(operand).page());
                let addr = |page: u64| VirtAddr(page.wrapping_add(by).wrapping_mul(PAGE_BYTES as u64));
                moved.into_iter().for_each(|page| self.touch(process, addr(page)));
            }
            (Control::Gone, _) => {
                let gone = self.in_use.remove(&(operand as u32));
                self.count -= gone.map_or(0, |pages| pages.len() as u64);
            }
            _ => {}
        }
    }

    fn take(&mut self, process: u32, start: u64, bytes: u64) -> Vec<u64> {
        let pages = VirtAddr(start).page()..start.saturating_add(bytes).div_ceil(PAGE_BYTES as u64);
        let Some(in_use) = self.in_use.get_mut(&process).filter(|_| !pages.is_empty()) else { return Vec::new() };
        let taken: Vec<_> = in_use.range(pages).copied().collect();
        taken.iter().for_each(|page| _ = in_use.remove(page));
        self.count -= taken.len() as u64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmapped_pages_do_not_count_in_the_footprint_of_a_trace() {
        let mut pages = PageFootprint::default();
        let mut follow = |process, which, operand, words: &[u64]| {
            pages.follow(process, (which, operand), words);
            (pages.count, pages.most())
        };
        assert_eq!(follow(0, Control::Page, 0x1000, &[0, 0, 0]), (1, 1));
        assert_eq!(follow(0, Control::Line, 0x1040, &[]), (1, 1));
        assert_eq!(follow(0, Control::Page, 0x3000, &[0, 0, 0]), (2, 2));
        assert_eq!(follow(1, Control::Page, 0x3000, &[0, 0, 0]), (3, 3));
        assert_eq!(follow(0, Control::Unmap, 0, &[0x3000]), (2, 3));
        assert_eq!(follow(0, Control::Move, 0x3000, &[0x8000, 0x1000]), (2, 3));
        assert_eq!(follow(0, Control::Unmap, 0x3000, &[0x1000]), (2, 3));
        assert_eq!(follow(0, Control::Unmap, 0x8000, &[0x1000]), (1, 3));
        assert_eq!(follow(0, Control::Gone, 1, &[]), (0, 3));
        assert_eq!(follow(0, Control::Unmap, u64::MAX, &[u64::MAX]), (0, 3));
    }
}
