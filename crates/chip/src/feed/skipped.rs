//! Lines that the recording sends although memory already has their content: the feed skips them.

use units::VirtAddr;
use workload::stream::LineCause;

/// Content that the feed skips.
#[derive(Default)]
pub(super) struct SkippedContent {
    /// Lines with content that was copied from another page instead of sent by the recording, with their processes.
    copied: Vec<(u32, VirtAddr)>,
    /// Process and number of the page that was shown last, if memory already had the page from another mapping.
    object_page: Option<(u32, u64)>,
}

impl SkippedContent {
    /// Marks a line with content taken over from another page: the feed skips the next content that the recording sends
    /// for this line.
    pub fn copy(&mut self, process: u32, line: VirtAddr) {
        self.copied.push((process, line));
    }

    /// Notes the page that the recording shows, and whether memory already has the page from another mapping of its
    /// object. In this case, the feed skips the content of lines with a first store, until the next page.
    pub fn note_shown(&mut self, process: u32, page: VirtAddr, is_known_object: bool) {
        self.object_page = is_known_object.then_some((process, page.page()));
    }

    /// True if the content that the recording sends for a line must be skipped.
    pub fn passes_over(&mut self, process: u32, line: VirtAddr, cause: LineCause) -> bool {
        if cause == LineCause::FirstStore && self.object_page == Some((process, line.page())) {
            return true;
        }
        let found = self.copied.iter().position(|copied| *copied == (process, line));
        found.is_some_and(|found| {
            self.copied.swap_remove(found);
            true
        })
    }
}
