//! The page that the recording has shown last, and lines that it sends although memory already has their content: the feed
//! skips them.

use units::VirtAddr;
use workload::stream::LineCause;

/// The page that was shown last.
#[derive(Clone, Copy)]
pub(super) struct ShownPageState {
    /// Process of the page.
    pub process: u32,
    /// Number of the page in its process.
    pub page: u64,
    /// True if memory already had the page, from another mapping of its object.
    pub is_known: bool,
    /// True if the page is new memory of its process, or a copy: the kernel has written all its lines.
    pub is_new: bool,
}

/// Content that the feed skips.
#[derive(Default)]
pub(super) struct SkippedContent {
    /// Lines with content that was copied from another page instead of sent by the recording, with their processes.
    copied: Vec<(u32, VirtAddr)>,
    shown: Option<ShownPageState>,
}

impl SkippedContent {
    /// Marks a line with content taken over from another page: the feed skips the next content that the recording sends
    /// for this line.
    pub fn copy(&mut self, process: u32, line: VirtAddr) {
        self.copied.push((process, line));
    }

    /// Notes the page that the recording shows. If memory already has the page, the feed skips the content of lines with a
    /// first store, until the next page.
    pub fn note_shown(&mut self, page: ShownPageState) {
        self.shown = Some(page);
    }

    /// True if the kernel may have written a line that the recording shows for this cause.
    pub fn is_written(&self, process: u32, line: VirtAddr, cause: LineCause) -> bool {
        cause == LineCause::Kernel || self.page_of(process, line).is_some_and(|page| page.is_new)
    }

    fn page_of(&self, process: u32, line: VirtAddr) -> Option<&ShownPageState> {
        self.shown.as_ref().filter(|shown| (shown.process, shown.page) == (process, line.page()))
    }

    /// True if the content that the recording sends for a line must be skipped.
    pub fn passes_over(&mut self, process: u32, line: VirtAddr, cause: LineCause) -> bool {
        if cause == LineCause::FirstStore && self.page_of(process, line).is_some_and(|page| page.is_known) {
            return true;
        }
        let found = self.copied.iter().position(|copied| *copied == (process, line));
        found.is_some_and(|found| {
            self.copied.swap_remove(found);
            true
        })
    }
}
