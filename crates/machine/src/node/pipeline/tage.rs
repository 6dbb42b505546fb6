//! A TAGE direction predictor: A. Seznec and P. Michaud, "A case for (partially) tagged geometric history length branch
//! prediction", JILP 8, 2006.
//!
//! The predictor has a base table of counters, and tagged tables indexed by increasingly long histories of outcomes.
//! The entry with the longest matching history decides. The predictor stores each history folded to the widths of index
//! and tag. So the update for one branch takes a few shifts per table, independent of the history length.

use crate::node::pipeline::bimodal::Bimodal;

/// Lengths of the histories of the tagged tables.
const LENGTHS: [u32; TABLES] = [5, 12, 27, 60, 119, 200];
const TABLES: usize = 6;
const TAG_BITS: u32 = 11;
const HISTORY_BITS: usize = 256;
/// Number of branches after which `useful` is reduced in all entries, so that unused entries can be replaced.
const AGEING_PERIOD: u64 = 1 << 18;

#[derive(Clone, Copy, Debug, Default)]
struct TageEntry {
    tag: u16,
    /// Direction counter from -4 to 3; the prediction is "taken" from 0 on.
    counter: i8,
    /// Saturating counter from 0 to 3: number of times that this entry was right and the entry of the next shorter
    /// history was wrong.
    useful: u8,
}

impl TageEntry {
    fn taken(self) -> bool {
        self.counter >= 0
    }

    fn learn(&mut self, taken: bool) {
        self.counter = if taken { (self.counter + 1).min(3) } else { (self.counter - 1).max(-4) };
    }

    fn is_new(self) -> bool {
        self.useful == 0 && matches!(self.counter, -1 | 0)
    }
}

/// Positions of the lowest bits of the index fold, the tag fold and the second tag fold in a [`Folds`]. Each fold has
/// one spare bit above.
const LANES: [u32; 3] = [0, 32, 48];

/// The most recent `length` outcomes, folded by XOR to three widths: that of the index, that of the tag, and one bit
/// less than the tag. One word holds all three, so one shift updates them.
#[derive(Clone, Copy, Debug)]
struct Folds {
    word: u64,
    widths: [u32; 3],
    /// Bits that an outcome affects in the three folds when it leaves the history.
    exits: u64,
    /// The bits of all three folds.
    kept: u64,
}

impl Folds {
    const FIRST_BITS: u64 = 1 << LANES[0] | 1 << LANES[1] | 1 << LANES[2];

    fn new(length: u32, widths: [u32; 3]) -> Folds {
        let bits = |of_lane: fn(u32, u32) -> u64| {
            LANES.iter().zip(widths).fold(0, |bits, (lane, width)| bits | of_lane(width, length) << lane)
        };
        Folds {
            word: 0,
            widths,
            exits: bits(|width, length| 1 << (length % width)),
            kept: bits(|width, _| (1 << width) - 1),
        }
    }

    fn shift(&mut self, newest: bool, leaving: bool) {
        let entered = self.word << 1 | if newest { Folds::FIRST_BITS } else { 0 };
        let left = entered ^ if leaving { self.exits } else { 0 };
        // The bit shifted out of the top of each fold re-enters at its first bit.
        let around = left & !self.kept;
        let [index, tag, again] = self.widths;
        let round =
            (around >> index & 1 << LANES[0]) | (around >> tag & 1 << LANES[1]) | (around >> again & 1 << LANES[2]);
        self.word = (left ^ round) & self.kept;
    }

    fn index(&self) -> u32 {
        self.word as u32
    }

    /// Combines the two tag folds.
    fn tag(&self) -> u32 {
        let (tag, again) = (self.word >> LANES[1], self.word >> LANES[2]);
        tag as u32 & ((1 << TAG_BITS) - 1) ^ (again as u32) << 1
    }
}

#[derive(Clone, Debug)]
struct TageTable {
    entries: Box<[TageEntry]>,
    folds: Folds,
}

impl TageTable {
    fn new(entries: usize, length: u32) -> TageTable {
        let bits = entries.trailing_zeros();
        TageTable {
            entries: vec![TageEntry::default(); entries].into(),
            folds: Folds::new(length, [bits, TAG_BITS, TAG_BITS - 1]),
        }
    }

    /// Returns the index of the branch's entry and its tag (never zero, the tag of an unused entry).
    fn entry_of(&self, pc: u64) -> TableEntry {
        let pc = pc as u32;
        let index = (pc ^ pc >> self.folds.widths[0] ^ self.folds.index()) & (self.entries.len() as u32 - 1);
        let tag = (pc ^ self.folds.tag()) & ((1 << TAG_BITS) - 1);
        (index, tag as u16 | 1 << TAG_BITS)
    }
}

/// An index into a table, and a tag.
type TableEntry = (u32, u16);

/// State of the predictor.
#[derive(Clone, Debug)]
pub(in crate::node) struct Tage {
    base: Bimodal,
    tables: [TageTable; TABLES],
    history: [bool; HISTORY_BITS],
    newest: usize,
    /// Positive if the predictions of new entries have recently been worse than those of the next shorter matching
    /// history.
    distrust_new: i8,
    branches: u64,
}

/// Look-up result of one branch: its entry in every table, and the table that decides.
struct TageLookUp {
    places: [TableEntry; TABLES],
    provider: Option<usize>,
    alternate: bool,
    predicted: bool,
}

impl Tage {
    pub(in crate::node) fn new(entries: usize) -> Tage {
        Tage {
            base: Bimodal::new(entries),
            tables: LENGTHS.map(|length| TageTable::new(entries / 4, length)),
            history: [false; HISTORY_BITS],
            newest: 0,
            distrust_new: 0,
            branches: 0,
        }
    }

    /// Predicts the branch, then trains with the outcome.
    pub(in crate::node) fn predict(&mut self, pc: u64, taken: bool) -> bool {
        let finding = self.find(pc);
        self.learn(pc, &finding, taken);
        self.remember(taken);
        finding.predicted
    }

    fn find(&self, pc: u64) -> TageLookUp {
        let mut finding =
            TageLookUp { places: [(0, 0); TABLES], provider: None, alternate: self.base.peek(pc), predicted: false };
        let mut answer = finding.alternate;
        for (number, table) in self.tables.iter().enumerate() {
            let (index, tag) = table.entry_of(pc);
            finding.places[number] = (index, tag);
            let entry = table.entries[index as usize];
            if entry.tag == tag {
                finding.alternate = answer;
                finding.provider = Some(number);
                answer = entry.taken();
            }
        }
        let distrusted = finding.provider.is_some_and(|provider| {
            self.distrust_new > 0 && self.tables[provider].entries[finding.places[provider].0 as usize].is_new()
        });
        finding.predicted = if distrusted { finding.alternate } else { answer };
        finding
    }

    fn learn(&mut self, pc: u64, finding: &TageLookUp, taken: bool) {
        match finding.provider {
            None => self.base.learn(pc, taken),
            Some(provider) => {
                let entry = &mut self.tables[provider].entries[finding.places[provider].0 as usize];
                let (answer, new) = (entry.taken(), entry.is_new());
                entry.learn(taken);
                if answer != finding.alternate {
                    let right = answer == taken;
                    entry.useful = if right { (entry.useful + 1).min(3) } else { entry.useful.saturating_sub(1) };
                    if new {
                        self.distrust_new = (self.distrust_new + if right { -1 } else { 1 }).clamp(-8, 7);
                    }
                }
            }
        }
        if finding.predicted != taken {
            self.allocate(finding, taken);
        }
        self.branches += 1;
        if self.branches.is_multiple_of(AGEING_PERIOD) {
            let entries = self.tables.iter_mut().flat_map(|table| table.entries.iter_mut());
            entries.for_each(|entry| entry.useful >>= 1);
        }
    }

    /// Allocates an entry in a table with a longer history, in place of an entry that is not useful. If all candidates
    /// are useful, lowers `useful` in all of them.
    fn allocate(&mut self, finding: &TageLookUp, taken: bool) {
        let longer = finding.provider.map_or(0, |provider| provider + 1);
        let places = &finding.places[longer..];
        let mut candidates = self.tables[longer..].iter_mut().zip(places);
        if let Some((table, &(index, tag))) =
            candidates.find(|(table, entry_of)| table.entries[entry_of.0 as usize].useful == 0)
        {
            table.entries[index as usize] = TageEntry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
            return;
        }
        for (table, entry_of) in self.tables[longer..].iter_mut().zip(places) {
            table.entries[entry_of.0 as usize].useful -= 1;
        }
    }

    fn remember(&mut self, taken: bool) {
        self.newest = (self.newest + 1) % HISTORY_BITS;
        self.history[self.newest] = taken;
        for (table, length) in self.tables.iter_mut().zip(LENGTHS) {
            let leaving = self.history[(self.newest + HISTORY_BITS - length as usize) % HISTORY_BITS];
            table.folds.shift(taken, leaving);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_tage_history_depends_only_on_the_outcomes_within_its_length() {
        let mut tage = Tage::new(1024);
        let mut bits = (0..500u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1);
        bits.by_ref().take(300).for_each(|bit| tage.remember(bit));
        let folds = |tage: &Tage| tage.tables[3].folds.word;
        let mut other = Tage::new(1024);
        for bit in bits.take(60) {
            tage.remember(bit);
            other.remember(bit);
        }
        assert_eq!(folds(&tage), folds(&other), "the last 60 outcomes are the same");
    }
}
