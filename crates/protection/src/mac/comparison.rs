//! Compares a stored tag with the computed one. The comparison covers all bits of the entry, including bits that the
//! tag leaves unused.

use crate::planted::{Bug, PlantedBug};
use crypto::Tag;

/// The comparison of tags, and its planted weaknesses.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    /// Bits of a line's tag.
    pub bits: u32,
    /// Chunks of a line with separate tags. The line's tag holds them side by side.
    pub chunks: u32,
    /// Weaknesses that a test plants.
    pub planted: PlantedBug,
}

impl Comparison {
    /// Returns true if a stored tag matches the computed one.
    #[inline]
    pub fn fits(&self, stored: Tag, computed: Tag) -> bool {
        self.weak(stored, computed).unwrap_or_else(|| (stored ^ computed).is_zero())
    }

    /// Returns true if the tag of a chunk matches: its share of the line's tag and, for the first chunk, all bits above.
    pub fn fits_chunk(&self, stored: Tag, computed: Tag, chunk: u32) -> bool {
        if self.planted.has(Bug::ChunkTagsComparedAsSet) {
            return self.fits(stored, computed);
        }
        let (share, longer) = (self.bits / self.chunks, self.bits % self.chunks);
        // If the bits cannot be shared equally, the first chunks have one bit more.
        let end_of = |chunks: u32| self.bits - chunks * share - chunks.min(longer);
        let (top, bottom) = (if chunk == 0 { Tag::BITS } else { end_of(chunk) }, end_of(chunk + 1));
        let of_chunk = ((stored ^ computed) << (Tag::BITS - top)) >> (Tag::BITS - top + bottom) << bottom;
        self.fits(computed ^ of_chunk, computed)
    }

    /// Moves the tag of a chunk to the position of the first chunk's tag. The tags of the chunks must be equally long.
    pub fn as_of_first_chunk(&self, stored: Tag, chunk: u32) -> Tag {
        let above = Tag::BITS - self.bits;
        (stored << (above + chunk * (self.bits / self.chunks))) >> above
    }

    /// Returns the verdict of the planted bug, or `None` if no planted bug decides this comparison.
    #[inline]
    fn weak(&self, stored: Tag, computed: Tag) -> Option<bool> {
        let differing = || stored ^ computed;
        let fits = |differing: Tag| Some(differing.is_zero());
        if self.planted.has(Bug::ShortComparison) {
            return fits((differing().low_word() & 0xff).into());
        }
        if self.planted.has(Bug::SpareTagBitsIgnored) {
            return fits(differing() << (Tag::BITS - self.bits));
        }
        if self.planted.has(Bug::WideTagComparedShort) && self.bits > u64::BITS {
            return fits(differing() >> (self.bits - u64::BITS));
        }
        if self.planted.has(Bug::LastChunkTagNotCompared) && self.chunks > 1 {
            return fits(differing() >> (self.bits / self.chunks));
        }
        if self.planted.has(Bug::ChunkTagsComparedAsSet) && self.chunks > 1 {
            return Some(self.sorted(stored) == self.sorted(computed));
        }
        (self.planted.has(Bug::ZeroTagFits) && stored.is_zero()).then_some(true)
    }

    /// Returns the tags of the chunks, sorted, so that a comparison ignores their order in the line.
    fn sorted(&self, tag: Tag) -> Vec<Tag> {
        let share = self.bits / self.chunks;
        let mut tags: Vec<Tag> = (0..self.chunks)
            .map(|chunk| {
                let (above, below) = (Tag::BITS - (chunk + 1) * share, Tag::BITS - share);
                if chunk + 1 == self.chunks { tag >> (chunk * share) } else { tag << above >> below }
            })
            .collect();
        tags.sort_unstable();
        tags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_line_tag_is_compared_for_exactly_one_chunk() {
        for (bits, chunks) in [(64, 8), (10, 4), (512, 8), (128, 4), (57, 8), (8, 8)] {
            let comparison = Comparison { bits, chunks, planted: PlantedBug::NONE };
            let computed = Tag::first_of(&[0xa5; 64], bits);
            let owners: Vec<Vec<u32>> = (0..Tag::BITS)
                .map(|bit| {
                    let stored = computed ^ Tag::from(1_u64) << bit;
                    (0..chunks).filter(|chunk| !comparison.fits_chunk(stored, computed, *chunk)).collect()
                })
                .collect();
            assert!(owners.iter().all(|owners| owners.len() == 1), "{bits} bits, {chunks} chunks: {owners:?}");
            assert!(owners.is_sorted_by(|below, above| below >= above), "the first chunk's is at the top");
            // Equal shares but for one bit.
            let shares: Vec<usize> = (0..chunks)
                .map(|chunk| owners[..bits as usize].iter().filter(|owners| owners[0] == chunk).count())
                .collect();
            assert!(shares.iter().max() <= shares.iter().min().map(|least| least + 1).as_ref(), "{shares:?}");
            assert!((0..chunks).all(|chunk| comparison.fits_chunk(computed, computed, chunk)));
        }
    }
}
