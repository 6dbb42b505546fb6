//! Shows pages and lines to the simulator, before the recorder sends the program's access to them.
//!
//! QEMU reports an access after it has happened, so memory already contains a reported store. In a page that is shown
//! for a store, the recorder therefore restores the earlier bytes: zeros in new memory, the file's own bytes in a
//! private mapping. The recorder does not know the earlier bytes in two cases. The first is a line that the kernel has
//! written, the second an object that is mapped shared and contained other bytes than zeros. In these cases, the sent
//! line already contains the bytes of the first store. In a page of an object, the line is marked
//! ([`LineCause::FirstStore`]): if the simulator knows the page from another mapping, it keeps its own content.

use crate::lines::lines_of;
use crate::mappings::{Backing, Mapping, Mappings, ObjectPart};
use crate::pages::{PAGE_LINES, Pages};
use crate::qemu::guest;
use crate::thread::Thread;
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use wire::ring::Ring;
use wire::word::{self, Control, LINE_BYTES, LineCause, PAGE_BYTES, PageDetail, PageKind};

const LINE_WORDS: usize = LINE_BYTES / 8;
#[allow(clippy::reversed_empty_ranges)]
const NO_LINES: RangeInclusive<u64> = 1..=0;
type PageContent = [u64; PAGE_BYTES / 8];

/// Earlier content of a page, in the bytes of the store that touches it first.
enum PriorContent {
    Zeros,
    /// Content of the same page in the file.
    Content(Box<PageContent>),
    Unknown,
}

/// An access that makes the recorder show lines.
pub enum ShownAccess {
    /// A load of the program.
    Load,
    /// A store of the program.
    Store {
        /// Addresses of the bytes that it stores.
        bytes: Range<u64>,
        /// Lines that the same instruction has loaded. The load precedes the store, so these lines must not be sent
        /// with the stored bytes. This applies even if another thread has made a system call in between, during which
        /// the kernel might have written to these lines.
        loaded: Range<u64>,
    },
}

impl ShownAccess {
    fn is_store(&self) -> bool {
        matches!(self, ShownAccess::Store { .. })
    }

    /// Returns the bytes that the access stores.
    fn stored(&self) -> Range<u64> {
        match self {
            ShownAccess::Store { bytes, .. } => bytes.clone(),
            ShownAccess::Load => 0..0,
        }
    }

    /// Returns true if the instruction has already loaded from the line.
    fn has_loaded(&self, line: u64) -> bool {
        matches!(self, ShownAccess::Store { loaded, .. } if loaded.contains(&line))
    }
}

/// Identity of a page, as the recorder sends it to the simulator.
struct PageIdentity {
    detail: PageDetail,
    object: (u64, u64),
    before: PriorContent,
    /// True if stores do not replace the page by a private copy.
    is_final: bool,
}

/// Memory of a process: its mappings, and the lines and pages that the simulator knows.
pub struct ProcessMemory {
    /// Lines and pages that the simulator knows.
    pub pages: Pages,
    /// Mappings of the process, by address.
    pub mappings: Mappings,
    /// True if the simulator may lack content that the parent of this process had when it was copied.
    detached: AtomicBool,
}

/// Destination of a thread's words.
pub struct ThreadOutput<'a> {
    /// Thread that sends the words.
    pub thread: &'a mut Thread,
    /// Ring that receives its batches.
    pub ring: &'a Ring,
}

impl ThreadOutput<'_> {
    /// Adds one record to the thread's batch.
    pub fn push(&mut self, record: &[u64]) {
        self.thread.push(self.ring, record);
    }
}

impl ProcessMemory {
    /// Creates the memory of a process that the simulator does not know yet.
    pub fn new() -> std::io::Result<ProcessMemory> {
        Ok(ProcessMemory { pages: Pages::new()?, mappings: Mappings::new(), detached: AtomicBool::new(false) })
    }

    /// Turns this memory into that of a copy of the process. If the process had several threads, the simulator does not
    /// know all the content that its pages had at this moment.
    pub fn become_copy(&self, of_several_threads: bool) {
        if of_several_threads {
            self.pages.restart();
            self.detached.store(true, Relaxed);
        } else {
            self.pages.share_all();
        }
    }

    /// Sends the pages and lines among these that the simulator does not know, before an access to them.
    #[cold]
    pub fn show(&self, output: &mut ThreadOutput<'_>, lines: RangeInclusive<u64>, touch: &ShownAccess) {
        for line in lines.clone() {
            let page = line / PAGE_LINES;
            if self.pages.knows(line, touch.is_store()) {
                continue;
            }
            if !self.pages.is_shown(page) {
                self.show_page(output, page, touch);
            } else if self.must_copy(page, touch.is_store()) {
                self.show_copy(output, page, lines.clone(), touch);
            } else if self.pages.knows(line, false) {
                self.pages.send(line);
            } else if !touch.has_loaded(line) {
                self.pages.send(line);
                self.send_line(output, line);
            }
        }
    }

    /// Shows the pages of code that a thread enters for the first time.
    pub fn show_code(&self, output: &mut ThreadOutput<'_>, addresses: Range<u64>) {
        for page in addresses.start / PAGE_BYTES as u64..addresses.end.div_ceil(PAGE_BYTES as u64) {
            if !self.pages.is_shown(page) {
                self.show_page(output, page, &ShownAccess::Load);
            }
        }
    }

    /// Handles addresses that the kernel may have written. Other mappings of an object show the write at once. A page
    /// that was shared with another process is now private to this process.
    pub fn rewrite(&self, output: &mut ThreadOutput<'_>, address: u64, bytes: u64) {
        self.pages.forget(address, bytes);
        if !output.thread.recording || bytes == 0 {
            return;
        }
        let lines = lines_of(address, bytes);
        for page in lines.start / PAGE_LINES..lines.end.div_ceil(PAGE_LINES) {
            self.copy_if_shared(output, page);
        }
        for part in self.mappings.objects_in(&(address..address.saturating_add(bytes))) {
            self.send_again(output, &part);
        }
    }

    /// Sends the lines of an object that the kernel has written. The simulator may know a page that was not shown through
    /// this mapping: from another mapping, also of another process or one that no longer exists.
    fn send_again(&self, output: &mut ThreadOutput<'_>, part: &ObjectPart) {
        for line in lines_of(part.addresses.start, part.addresses.end - part.addresses.start) {
            if self.pages.is_shown(line / PAGE_LINES) {
                self.pages.send(line);
                self.send_line(output, line);
            } else {
                let at = (part.bytes.start / LINE_BYTES as u64) + (line - part.addresses.start / LINE_BYTES as u64);
                self.send_object_line(output, (part.id, at), line);
            }
        }
    }

    /// Shows the private copy of a page that the process shared, after the kernel has written to the page.
    fn copy_if_shared(&self, output: &mut ThreadOutput<'_>, page: u64) {
        if self.pages.is_shown(page) && self.must_copy(page, true) {
            self.show_copy(output, page, NO_LINES, &ShownAccess::Load);
        }
    }

    /// Returns true if an access turns a shared page into a private copy. Marks pages of objects, which are never
    /// copied.
    fn must_copy(&self, page: u64, store: bool) -> bool {
        if self.pages.is_own(page) || !(store || self.pages.are_unsure()) {
            return false;
        }
        let is_object = self.mapping_of(page).is_some_and(|found| matches!(found.backing(), Backing::Object { .. }));
        if is_object {
            self.pages.own(page);
        }
        !is_object
    }

    fn mapping_of(&self, page: u64) -> Option<Mapping> {
        self.mappings.find(page * PAGE_BYTES as u64)
    }

    fn show_page(&self, output: &mut ThreadOutput<'_>, page: u64, touch: &ShownAccess) {
        let address = page * PAGE_BYTES as u64;
        // SAFETY: the program has just accessed or executed a byte of the page, so it is mapped.
        let read = || unsafe { guest::<PageContent>(address) };
        let PageIdentity { detail, object, before, is_final } = self.identify(page, &read(), touch.is_store());
        self.pages.show(page, is_final);
        // Read after the page is marked: a system call of another thread that writes to it meanwhile clears the mark
        // again.
        let mut content = read();
        let stored = if self.pages.are_blind() { 0..0 } else { touch.stored() };
        self.put_back(&mut content, address, &stored, &before);
        let marked =
            if detail.kind == PageKind::Object { lines_of(stored.start, stored.end - stored.start) } else { 0..0 };
        self.send_page(output, (address, detail, object), &content, &marked);
    }

    /// Shows the private copy that replaces a shared page at a store to these lines. The copy contains the store by
    /// now. An instruction may have loaded from the lines just before. For these lines, the simulator keeps the content
    /// that it already has, which is right for the load.
    fn show_copy(&self, output: &mut ThreadOutput<'_>, page: u64, lines: RangeInclusive<u64>, touch: &ShownAccess) {
        let address = page * PAGE_BYTES as u64;
        let is_known = |line: u64| self.pages.knows(line, false) || touch.has_loaded(line);
        let known = lines.filter(|line| line / PAGE_LINES == page && is_known(*line));
        let kept = known.fold(0, |kept, line| kept | 1 << (line % PAGE_LINES));
        self.pages.show(page, true);
        // SAFETY: a byte of the page was just accessed, so it is mapped. The page is read after it is marked, as above.
        let content = unsafe { guest::<PageContent>(address) };
        let heap = self.is_heap(self.mapping_of(page).as_ref());
        let detail = PageDetail { kind: PageKind::Copy, mapped: false, heap };
        self.send_page(output, (address, detail, (kept, 0)), &content, &(0..0));
    }

    fn identify(&self, page: u64, content: &PageContent, store: bool) -> PageIdentity {
        let address = page * PAGE_BYTES as u64;
        let mapping = self.mapping_of(page);
        let heap = self.is_heap(mapping.as_ref());
        let own = |before| {
            let kind = if self.detached.load(Relaxed) { PageKind::Copy } else { PageKind::Own };
            PageIdentity { detail: PageDetail { kind, mapped: false, heap }, object: (0, 0), before, is_final: true }
        };
        let of_object = |id, mapped, before, is_final| {
            let index = mapping.as_ref().map_or(0, |mapping| mapping.offset_of(address)) / PAGE_BYTES as u64;
            let detail = PageDetail { kind: PageKind::Object, mapped, heap: false };
            PageIdentity { detail, object: (id, index), before, is_final }
        };
        match mapping.as_ref().map(Mapping::backing) {
            None | Some(Backing::Anonymous { .. }) => own(PriorContent::Zeros),
            Some(Backing::Object { id, file, blank }) => {
                of_object(*id, *file, if *blank { PriorContent::Zeros } else { PriorContent::Unknown }, true)
            }
            Some(Backing::Private { id, .. }) => {
                let original = mapping.as_ref().and_then(|mapping| mapping.original_page(address));
                let lines = page * PAGE_LINES..(page + 1) * PAGE_LINES;
                let is_changed = self.pages.are_blind() || lines.into_iter().any(|line| self.pages.is_of_kernel(line));
                let as_in_file = original.as_ref().map_or(!is_changed, |original| original == content);
                match original {
                    _ if !store && as_in_file => of_object(*id, false, PriorContent::Unknown, false),
                    Some(original) => own(PriorContent::Content(Box::new(original))),
                    None => own(PriorContent::Unknown),
                }
            }
        }
    }

    fn is_heap(&self, mapping: Option<&Mapping>) -> bool {
        matches!(mapping.map(Mapping::backing), Some(Backing::Anonymous { stack: false }))
    }

    /// Restores the bytes at `stored` to their values before the store, if these are known.
    fn put_back(&self, content: &mut PageContent, address: u64, stored: &Range<u64>, before: &PriorContent) {
        for at in stored.start.max(address)..stored.end.min(address + PAGE_BYTES as u64) {
            if self.pages.is_of_kernel(at / LINE_BYTES as u64) {
                continue;
            }
            let (word, shift) = ((at - address) as usize / 8, 8 * (at % 8));
            let byte = match before {
                PriorContent::Zeros => 0,
                PriorContent::Content(page) => page[word] & 0xff << shift,
                PriorContent::Unknown => continue,
            };
            content[word] = content[word] & !(0xff << shift) | byte;
        }
    }

    /// Sends a page with its lines that are not zeros, and with the lines whose first touch is a store to an object.
    fn send_page(
        &self,
        output: &mut ThreadOutput<'_>,
        (address, detail, (object, index)): (u64, PageDetail, (u64, u64)),
        content: &PageContent,
        first_stores: &Range<u64>,
    ) {
        let lines = || {
            let numbered = (address / LINE_BYTES as u64..).zip(content.chunks_exact(LINE_WORDS));
            numbered.filter(|(line, content)| first_stores.contains(line) || content.iter().any(|word| *word != 0))
        };
        let sent: u64 = lines().fold(0, |sent, (line, _)| sent | 1 << (line % PAGE_LINES));
        // The page and its content share a batch, so that no access of another process to the same object is between
        // them.
        output.thread.make_room(output.ring, 4 + sent.count_ones() as usize * (1 + LINE_WORDS));
        output.push(&[word::control(Control::Page, detail.pack(), address), object, index, sent]);
        for (line, content) in lines() {
            let cause = match () {
                () if first_stores.contains(&line) => LineCause::FirstStore,
                () if self.pages.is_of_kernel(line) => LineCause::Kernel,
                () => LineCause::FirstTouch,
            };
            self.push_line(output, line, cause, content);
        }
    }

    /// Sends a line of a page that was shown, because the kernel may have written to the line.
    fn send_line(&self, output: &mut ThreadOutput<'_>, line: u64) {
        // SAFETY: the line belongs to a page that was accessed and is mapped, and no line crosses a page.
        let content = unsafe { guest::<[u64; LINE_WORDS]>(line * LINE_BYTES as u64) };
        self.push_line(output, line, LineCause::Kernel, &content);
    }

    /// Sends a line by its number in an object.
    fn send_object_line(&self, output: &mut ThreadOutput<'_>, (object, number): (u64, u64), line: u64) {
        // SAFETY: the kernel has just written to the line, so it is mapped.
        let content = unsafe { guest::<[u64; LINE_WORDS]>(line * LINE_BYTES as u64) };
        let mut record = [word::control(Control::ObjectLine, 0, 0); 3 + LINE_WORDS];
        (record[1], record[2]) = (object, number);
        record[3..].copy_from_slice(&content);
        output.push(&record);
    }

    fn push_line(&self, output: &mut ThreadOutput<'_>, line: u64, cause: LineCause, content: &[u64]) {
        let mut record = [word::control(Control::Line, cause as u8, line * LINE_BYTES as u64); 1 + LINE_WORDS];
        record[1..].copy_from_slice(content);
        output.push(&record);
    }
}
