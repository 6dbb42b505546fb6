//! The objects that the processes of a program map. Each process looks up here if other processes may see a write to a
//! file.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

const BITS: usize = 1 << 16;

/// A bit for each object that some process maps, at a hash of its number. The set may contain more objects than were
/// inserted.
#[repr(C)]
pub struct ObjectSet([AtomicU64; BITS / 64]);

impl ObjectSet {
    /// Adds an object that some process maps.
    pub fn insert(&self, object: u64) {
        let (word, bit) = self.bit(object);
        word.fetch_or(bit, AcqRel);
    }

    /// Returns true if some process may have mapped this object.
    pub fn may_contain(&self, object: u64) -> bool {
        let (word, bit) = self.bit(object);
        word.load(Acquire) & bit != 0
    }

    fn bit(&self, object: u64) -> (&AtomicU64, u64) {
        let bit = (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % BITS;
        (&self.0[bit / 64], 1 << (bit % 64))
    }
}
