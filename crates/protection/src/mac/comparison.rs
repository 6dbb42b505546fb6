//! Whether a stored tag is the one that was computed: all bits that it has room for count, those too that a tag leaves unused.

use crate::planted::{Bug, Planted};
use crypto::Tag;

/// How tags are compared, and the ways in which that can be done badly.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    /// Bits of a line's tag.
    pub bits: u32,
    /// Chunks of a line that have tags of their own, which lie side by side in it.
    pub chunks: u32,
    /// Weaknesses of tests.
    pub planted: Planted,
}

impl Comparison {
    /// Whether a stored tag fits.
    #[inline]
    pub fn fits(&self, stored: Tag, computed: Tag) -> bool {
        self.weak(stored, computed).unwrap_or_else(|| (stored ^ computed).is_zero())
    }

    /// Whether the tag of a chunk fits: its share of the line's, and for the first what is above that.
    pub fn fits_chunk(&self, stored: Tag, computed: Tag, chunk: u32) -> bool {
        if self.planted.has(Bug::ChunkTagsComparedAsSet) {
            return self.fits(stored, computed);
        }
        let (share, longer) = (self.bits / self.chunks, self.bits % self.chunks);
        // If they cannot be shared equally, the first chunks have one more.
        let end_of = |chunks: u32| self.bits - chunks * share - chunks.min(longer);
        let (top, bottom) = (if chunk == 0 { Tag::BITS } else { end_of(chunk) }, end_of(chunk + 1));
        let of_chunk = ((stored ^ computed) << (Tag::BITS - top)) >> (Tag::BITS - top + bottom) << bottom;
        self.fits(computed ^ of_chunk, computed)
    }

    /// A stored tag whose first chunk has the tag of this one, of chunks whose tags are equally long.
    pub fn as_of_first_chunk(&self, stored: Tag, chunk: u32) -> Tag {
        let above = Tag::BITS - self.bits;
        (stored << (above + chunk * (self.bits / self.chunks))) >> above
    }

    /// What a planted bug says, if there is one that has something to say.
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

    /// The tags of chunks, whatever their order.
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
    fn every_bit_that_there_is_room_for_belongs_to_the_tag_of_one_chunk() {
        for (bits, chunks) in [(64, 8), (10, 4), (512, 8), (128, 4), (57, 8), (8, 8)] {
            let comparison = Comparison { bits, chunks, planted: Planted::NONE };
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
