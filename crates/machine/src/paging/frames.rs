//! Frames: which are in use, by how many pages, and which are given out next.
//!
//! A frame is a 4 KB page of memory, or 2 MB where pages are that large. A frame that no page uses any more is given out again
//! before any that was never used. Of pages of objects the frames stay until memory is needed, as an operating system keeps its page
//! cache: a file that is mapped again is still there.

use super::permutation::Permutation;
use super::{OutOfMemory, Placement};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use units::{Bytes, PAGE_BYTES, PhysAddr};

/// What the allocator hands out as a whole.
const BLOCK_BYTES: u64 = 2 << 20;

/// A page of an object: the object's number, and the page's index in it.
pub type ObjectPage = (u64, u64);

/// The users of a frame that is more than one page's own.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    pages: u32,
    object: Option<ObjectPage>,
}

/// Where frames that were never used come from.
enum FreeFrames {
    /// Memory, block by block.
    Memory { count: u64, used: u64, blocks: Permutation, within_block: Permutation },
    /// These, which are parts of larger frames.
    Carved(Range<u64>),
    /// Memory, by the physical address of each page.
    Physical { count: u64, used: u64 },
}

/// All frames of one size.
pub(super) struct Frames {
    page_bytes: u64,
    unused: FreeFrames,
    free: Vec<u64>,
    /// Frames that are shared or of objects; every other frame in use has one page.
    shared: FxHashMap<u64, Sharing>,
    /// The frames of each object's pages, by their indices.
    objects: FxHashMap<u64, BTreeMap<u64, u64>>,
    /// Pages of objects that no process has mapped, in the order in which the last one gave them up.
    unmapped: VecDeque<ObjectPage>,
}

impl Frames {
    /// A memory of `size`, a multiple of 2 MB, in frames of `page`, all free.
    pub fn new(size: Bytes, page: Bytes, placement: Placement, seed: u64) -> Frames {
        let count = size.0 / page.0;
        let (blocks, within_block) = match placement {
            Placement::Blocks => (size.0 / BLOCK_BYTES, Permutation::new(BLOCK_BYTES / page.0, !seed)),
            Placement::Scattered => (count, Permutation::new(1, seed)),
        };
        let blocks = Permutation::new(blocks, seed);
        Frames::of(page.0, FreeFrames::Memory { count, used: 0, blocks, within_block })
    }

    /// A memory of `size` in frames of `page` for pages whose addresses are physical.
    pub fn physical(size: Bytes, page: Bytes) -> Frames {
        Frames::of(page.0, FreeFrames::Physical { count: size.0 / page.0, used: 0 })
    }

    /// Frames of 4 KB that are parts of larger ones: none yet.
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

    /// Whether they are larger than 4 KB.
    pub fn are_large(&self) -> bool {
        self.page_bytes > PAGE_BYTES as u64
    }

    /// The size of memory.
    pub fn size(&self) -> Bytes {
        match &self.unused {
            FreeFrames::Memory { count, .. } | FreeFrames::Physical { count, .. } => Bytes(count * self.page_bytes),
            FreeFrames::Carved(_) => Bytes(0),
        }
    }

    /// Whether they have to be given a larger frame to [carve](Frames::carve) before the next is taken.
    pub fn must_be_given_more(&self) -> bool {
        self.free.is_empty() && matches!(&self.unused, FreeFrames::Carved(left) if left.is_empty())
    }

    /// Whether no frame is free or unused.
    pub fn are_all_used(&self) -> bool {
        self.free.is_empty() && matches!(&self.unused, FreeFrames::Memory { count, used, .. } if used == count)
    }

    /// Whether pages of objects may have frames that no process has mapped.
    pub fn have_unmapped(&self) -> bool {
        !self.unmapped.is_empty()
    }

    /// These are parts of a larger frame, and free.
    pub fn carve(&mut self, frames: Range<u64>) {
        self.unused = FreeFrames::Carved(frames);
    }

    /// The most frames that were in use at once.
    pub fn used(&self) -> u64 {
        match &self.unused {
            FreeFrames::Memory { used, .. } | FreeFrames::Physical { used, .. } => *used,
            FreeFrames::Carved(_) => 0,
        }
    }

    /// A frame for a page of its own.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all are in use.
    pub fn take(&mut self) -> Result<u64, OutOfMemory> {
        let frame = self.free.pop().or_else(|| self.take_unused()).or_else(|| self.reclaim());
        frame.ok_or(OutOfMemory::Full { size: self.size(), page: Bytes(self.page_bytes) })
    }

    /// A frame for the page of this number, which is the frame's own where addresses are physical.
    ///
    /// # Errors
    /// [`OutOfMemory`] if all are in use, or if memory has no such frame.
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

    /// The frame of an object's page for one more page of a process.
    ///
    /// # Errors
    /// [`OutOfMemory`] if it has none and all are in use.
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

    /// The frame of an object's page, if it has one.
    pub fn of_object(&self, (object, index): ObjectPage) -> Option<u64> {
        self.objects.get(&object)?.get(&index).copied()
    }

    /// The frames of these pages of an object that have one, with the pages' indices, in their order.
    pub fn of_pages(&self, object: u64, indices: Range<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pages = self.objects.get(&object).map(|pages| pages.range(indices));
        pages.into_iter().flatten().map(|(index, frame)| (*index, *frame))
    }

    /// One more page has this frame.
    pub fn share(&mut self, frame: u64) {
        self.shared.entry(frame).or_insert(Sharing { pages: 1, object: None }).pages += 1;
    }

    /// Whether a frame is one page's own.
    pub fn is_own(&self, frame: u64) -> bool {
        !self.shared.contains_key(&frame)
    }

    /// A page gives its frame up.
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

    /// The frame of the object's page that was given up first among those that no process has mapped.
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
