//! Physical pages: where the operating system puts what programs touch.
//!
//! A page gets its frame when it is first touched. As a buddy allocator does, memory is handed out block by block of 2 MB;
//! which block is next, and the order of the 4 KB frames within it, are drawn from the seed. So neighbouring pages are
//! scattered over banks and sets, yet what a program touches together lies in the same few megabytes, and every run is
//! the same.

use rustc_hash::FxHashMap;
use thiserror::Error;
use units::random::{Random, mix};
use units::{Bytes, PAGE_BYTES, PhysAddr, VirtAddr};

/// Memory is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the program needs more memory than the machine's {size}: all pages of {page} are in use")]
pub struct OutOfMemory {
    /// What the machine has.
    pub size: Bytes,
    /// The size of a page.
    pub page: Bytes,
}

/// What the allocator hands out as a whole.
const BLOCK_BYTES: u64 = 2 << 20;

/// The page tables of all processes.
pub struct PageTable {
    page_bytes: u64,
    frames: u64,
    blocks: Permutation,
    within_block: Permutation,
    used: u64,
    table: FxHashMap<u64, u64>,
}

/// A page number that is unique over all processes: the process above bit 40, the virtual page below.
pub fn page_key(process: u32, addr: VirtAddr, page_bytes: u64) -> u64 {
    let huge = u64::from(page_bytes > PAGE_BYTES as u64) << 63;
    huge | (u64::from(process) << 40) | (addr.0 / page_bytes)
}

impl PageTable {
    /// A memory of `size`, a multiple of 2 MB, in pages of `page`, all free.
    pub fn new(size: Bytes, page: Bytes, seed: u64) -> PageTable {
        PageTable {
            page_bytes: page.0,
            frames: size.0 / page.0,
            blocks: Permutation::new(size.0 / BLOCK_BYTES, seed),
            within_block: Permutation::new(BLOCK_BYTES / page.0, !seed),
            used: 0,
            table: FxHashMap::default(),
        }
    }

    /// The size of a page in bytes.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The start of the frame of a page, which gets one if it has none.
    ///
    /// # Errors
    /// [`OutOfMemory`] if none is left.
    pub fn frame(&mut self, key: u64) -> Result<PhysAddr, OutOfMemory> {
        if let Some(frame) = self.table.get(&key) {
            return Ok(PhysAddr(frame * self.page_bytes));
        }
        if self.used == self.frames {
            return Err(OutOfMemory { size: Bytes(self.frames * self.page_bytes), page: Bytes(self.page_bytes) });
        }
        let per_block = self.within_block.len;
        let frame = self.blocks.at(self.used / per_block) * per_block + self.within_block.at(self.used % per_block);
        self.used += 1;
        self.table.insert(key, frame);
        Ok(PhysAddr(frame * self.page_bytes))
    }

    /// Memory in use.
    pub fn used(&self) -> Bytes {
        Bytes(self.used * self.page_bytes)
    }
}

/// A seeded permutation of `0..len`: a four-round Feistel network over the next even power of two, walked until it lands
/// inside.
struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    fn new(len: u64, seed: u64) -> Permutation {
        let bits = (64 - len.saturating_sub(1).leading_zeros()).max(2);
        let mut random = Random::new(seed);
        Permutation { len, half_bits: bits.div_ceil(2), keys: std::array::from_fn(|_| random.word()) }
    }

    fn at(&self, index: u64) -> u64 {
        let mut value = self.round_trip(index);
        while value >= self.len {
            value = self.round_trip(value);
        }
        value
    }

    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_is_handed_out_once_and_then_memory_is_full() {
        let mut table = PageTable::new(Bytes(6 << 20), Bytes(4096), 7);
        let mut frames: Vec<u64> = (0..1536).map(|page| table.frame(page).unwrap().0 / 4096).collect();
        assert_ne!(frames[..4], [0, 1, 2, 3], "frames are scattered");
        assert!(frames[..512].iter().all(|frame| frame / 512 == frames[0] / 512), "within one block of 2 MB");
        frames.sort_unstable();
        assert_eq!(frames, (0..1536).collect::<Vec<_>>());
        assert_eq!(table.frame(5), table.frame(5));
        assert!(table.frame(1536).unwrap_err().to_string().contains("6 MB"));
    }

    #[test]
    fn another_seed_scatters_otherwise_and_the_same_seed_alike() {
        let frames = |seed| {
            let mut table = PageTable::new(Bytes(8 << 30), Bytes(2 << 20), seed);
            (0..100).map(|page| table.frame(page).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(frames(1), frames(1));
        assert_ne!(frames(1), frames(2));
    }

    #[test]
    fn pages_of_two_processes_are_different_pages() {
        assert_ne!(page_key(1, VirtAddr(0x1000), 4096), page_key(2, VirtAddr(0x1000), 4096));
    }
}
