//! A set of small numbers as a bitmap: the cost of an iteration depends on the number of members, hardly on the range.

/// A set of numbers below a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BitSet(Box<[u64]>);

const WORD_BITS: usize = u64::BITS as usize;

impl BitSet {
    /// Creates an empty set of numbers below `limit`.
    pub fn new(limit: usize) -> BitSet {
        BitSet(vec![0; limit.div_ceil(WORD_BITS)].into())
    }

    pub fn insert(&mut self, number: usize) {
        self.0[number / WORD_BITS] |= 1 << (number % WORD_BITS);
    }

    pub fn remove(&mut self, number: usize) {
        self.0[number / WORD_BITS] &= !(1 << (number % WORD_BITS));
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Returns all members in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let without_lowest = |word: &u64| Some(word & word.wrapping_sub(1));
        self.0.iter().enumerate().flat_map(move |(index, word)| {
            let rests = std::iter::successors(Some(*word), without_lowest).take_while(|rest| *rest != 0);
            rests.map(move |rest| index * WORD_BITS + rest.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_bit_set_holds_the_same_numbers_as_an_ordered_set(changes in prop::collection::vec((0_usize..200, any::<bool>()), 0..100)) {
            let (mut bits, mut naive) = (BitSet::new(200), BTreeSet::new());
            for (number, enters) in changes {
                if enters {
                    bits.insert(number);
                    naive.insert(number);
                } else {
                    bits.remove(number);
                    naive.remove(&number);
                }
                prop_assert!(bits.iter().eq(naive.iter().copied()));
            }
            bits.clear();
            prop_assert_eq!(bits, BitSet::new(200));
        }
    }
}
