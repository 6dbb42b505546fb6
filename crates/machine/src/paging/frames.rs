//! Frame allocator: the frames in use, the number of their users, and the next frames to allocate.
//!
//! A frame is a 4 KB page of memory, or of 2 MB if the machine's pages have 2 MB. A freed frame is allocated again
//! before a frame that was never used. Pages of objects keep their frames until memory is needed, as in an operating
//! system's page cache. A file that is mapped again therefore still has its frames.

use super::permutation::FeistelPermutation;
use super::{OutOfMemory, PagePlacement};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use units::{Bytes, PAGE_BYTES, PhysAddr};

/// Size of the allocator's blocks.
const BLOCK_BYTES: u64 = 2 << 20;

/// A page of an object: the object's number, and the page's index in it.
pub type ObjectPage = (u64, u64);

/// Users of a frame to which several pages are mapped or that belongs to an object.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    pages: u32,
    object: Option<ObjectPage>,
}

/// Source of frames that were never used.
enum FreeFrames {
    /// All of memory, block by block.
    Memory { count: u64, used: u64, blocks: FeistelPermutation, within_block: FeistelPermutation },
    /// Parts of larger frames.
    Carved(Range<u64>),
    /// All of memory; the physical address of a page determines its frame.
    Physical { count: u64, used: u64 },
}

/// All frames of one size.
pub(super) struct Frames {
    page_bytes: u64,
    unused: FreeFrames,
    free: Vec<u64>,
    /// Frames that are shared or belong to objects. Exactly one page is mapped to every other frame in use.
    shared: FxHashMap<u64, Sharing>,
    /// The frames of each object's pages, by their indices.
    objects: FxHashMap<u64, BTreeMap<u64, u64>>,
    /// Pages of objects that no process has mapped, in the order in which their last process unmapped them.
    unmapped: VecDeque<ObjectPage>,
}

impl Frames {
    /// Creates a memory of `size`, a multiple of 2 MB, in frames of `page`, with all frames free.
    pub fn new(size: Bytes, page: Bytes, placement: PagePlacement, seed: u64) -> Frames {
        let count = size.0 / page.0;
        let (blocks, within_block) = match placement {
            PagePlacement::Blocks => (size.0 / BLOCK_BYTES, FeistelPermutation::new(BLOCK_BYTES / page.0, !seed)),
            PagePlacement::Scattered => (count, FeistelPermutation::new(1, seed)),
        };
        let blocks = FeistelPermutation::new(blocks, seed);
        Frames::of(page.0, FreeFrames::Memory { count, used: 0, blocks, within_block })
    }

    /// Creates a memory of `size` in frames of `page`, for pages with physical addresses.
    pub fn physical(size: Bytes, page: Bytes) -> Frames {
        Frames::of(page.0, FreeFrames::Physical { count: size.0 / page.0, used: 0 })
    }

    /// Creates an empty set of 4 KB frames, which are parts of larger ones.
    pub fn carved() -> Frames {
        Frames::of(PAGE_BYTES as u64, FreeFrames::Carved(0..0))
    }

    fn of(page_bytes: u64, unused: FreeFrames) -> Frames {
        Frames {
            page_bytes,
            unused,
            free: Vec::new(),
            shared: FxHashMap::default(),
            objects: FxHashMap::default(),
            unmapped: VecDeque::new(),
        }
    }

    /// Returns true if frames are larger than 4 KB.
    pub fn are_large(&self) -> bool {
        self.page_bytes > PAGE_BYTES as u64
    }

    /// Returns the size of memory.
    pub fn size(&self) -> Bytes {
        match &self.unused {
            FreeFrames::Memory { count, .. } | FreeFrames::Physical { count, .. } => Bytes(count * self.page_bytes),
            FreeFrames::Carved(_) => Bytes(0),
        }
    }

    /// Returns true if a larger frame must be [carved](Frames::carve) before the next frame is taken.
    pub fn must_be_given_more(&self) -> bool {
        self.free.is_empty() && matches!(&self.unused, FreeFrames::Carved(left) if left.is_empty())
    }

    /// Returns true if all frames are in use.
    pub fn are_all_used(&self) -> bool {
        self.free.is_empty() && matches!(&self.unused, FreeFrames::Memory { count, used, .. } if used == count)
    }

    /// Returns true if some pages of objects may have frames although no process maps these pages.
    pub fn have_unmapped(&self) -> bool {
        !self.unmapped.is_empty()
    }

    /// Adds free frames, which are parts of a larger frame.
    pub fn carve(&mut self, frames: Range<u64>) {
        self.unused = FreeFrames::Carved(frames);
    }

    /// Returns the maximum number of frames that were in use at once.
    pub fn used(&self) -> u64 {
        match &self.unused {
            FreeFrames::Memory { used, .. } | FreeFrames::Physical { used, .. } => *used,
            FreeFrames::Carved(_) => 0,
        }
    }

    /// Takes a frame for one page.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all frames are in use.
    pub fn take(&mut self) -> Result<u64, OutOfMemory> {
        let frame = self.free.pop().or_else(|| self.take_unused()).or_else(|| self.reclaim());
        frame.ok_or(OutOfMemory::Full { size: self.size(), page: Bytes(self.page_bytes) })
    }

    /// Takes a frame for this page; with physical addresses, the frame has the number of the page.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all frames are in use, or if memory does not contain this frame.
    pub fn take_for(&mut self, page: u64) -> Result<u64, OutOfMemory> {
        let size = self.size();
        match &mut self.unused {
            FreeFrames::Physical { count, used } if page < *count => {
                *used += 1;
                Ok(page)
            }
            FreeFrames::Physical { .. } => Err(OutOfMemory::Beyond { address: PhysAddr(page * self.page_bytes), size }),
            _ => self.take(),
        }
    }

    fn take_unused(&mut self) -> Option<u64> {
        match &mut self.unused {
            FreeFrames::Memory { count, used, blocks, within_block } => {
                let nth = Some(*used).filter(|used| used < count)?;
                *used += 1;
                let per_block = within_block.len();
                Some(blocks.at(nth / per_block) * per_block + within_block.at(nth % per_block))
            }
            FreeFrames::Carved(left) => left.next(),
            FreeFrames::Physical { .. } => None,
        }
    }

    /// Maps one more page of a process to the frame of an object's page, and returns the frame.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the object's page has no frame and all frames are in use.
    pub fn take_object(&mut self, page: ObjectPage) -> Result<u64, OutOfMemory> {
        if let Some(frame) = self.of_object(page) {
            self.share(frame);
            return Ok(frame);
        }
        let frame = self.take()?;
        self.objects.entry(page.0).or_default().insert(page.1, frame);
        self.shared.insert(frame, Sharing { pages: 1, object: Some(page) });
        Ok(frame)
    }

    /// Returns the frame of an object's page, if it has one.
    pub fn of_object(&self, (object, index): ObjectPage) -> Option<u64> {
        self.objects.get(&object)?.get(&index).copied()
    }

    /// Returns the index and the frame of each of these pages of an object that has a frame, in order.
    pub fn of_pages(&self, object: u64, indices: Range<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pages = self.objects.get(&object).map(|pages| pages.range(indices));
        pages.into_iter().flatten().map(|(index, frame)| (*index, *frame))
    }

    /// Adds one more page as a user of this frame.
    pub fn share(&mut self, frame: u64) {
        self.shared.entry(frame).or_insert(Sharing { pages: 1, object: None }).pages += 1;
    }

    /// Returns true if exactly one page uses a frame and the frame does not belong to an object.
    pub fn is_own(&self, frame: u64) -> bool {
        !self.shared.contains_key(&frame)
    }

    /// Removes a page from the users of its frame.
    pub fn give_up(&mut self, frame: u64) {
        let Some(sharing) = self.shared.get_mut(&frame) else {
            self.free.push(frame);
            return;
        };
        sharing.pages = sharing.pages.saturating_sub(1);
        match (sharing.pages, sharing.object) {
            (0, Some(page)) => self.unmapped.push_back(page),
            (0 | 1, None) => _ = self.shared.remove(&frame),
            _ => {}
        }
    }

    /// Frees the frame of an object's page that no process has mapped. Among several of these pages, it selects the
    /// page that was unmapped first.
    fn reclaim(&mut self) -> Option<u64> {
        while let Some(page) = self.unmapped.pop_front() {
            let frame = self.of_object(page);
            let Some(frame) = frame.filter(|frame| self.shared.get(frame).is_some_and(|sharing| sharing.pages == 0))
            else {
                continue;
            };
            self.objects.entry(page.0).and_modify(|pages| _ = pages.remove(&page.1));
            self.shared.remove(&frame);
            return Some(frame);
        }
        None
    }
}
