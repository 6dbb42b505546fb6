//! A TAGE direction predictor: A. Seznec and P. Michaud, "A case for (partially) tagged geometric history length branch
//! prediction", JILP 8, 2006.
//!
//! A base table of counters, and tagged tables indexed by ever longer stretches of the history of outcomes. The longest
//! that knows the branch decides. Histories are kept folded to the width of index and tag, so one branch costs a few
//! shifts per table, however long the history is.

use super::branch::Bimodal;

/// Lengths of the histories of the tagged tables.
const LENGTHS: [u32; TABLES] = [5, 12, 27, 60, 119, 200];
const TABLES: usize = 6;
const TAG_BITS: u32 = 11;
const HISTORY_BITS: usize = 256;
/// Confidence is taken back from all entries after this many branches, so that dead ones make room.
const AGEING_PERIOD: u64 = 1 << 18;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    tag: u16,
    /// -4 to 3; taken from 0.
    counter: i8,
    /// 0 to 3: how often it was right where the next shorter history was wrong.
    useful: u8,
}

impl Entry {
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

/// The history's most recent `length` outcomes, folded by XOR to `width` bits.
#[derive(Clone, Copy, Debug)]
struct Folded {
    value: u32,
    width: u32,
    /// Where an outcome is in `value` when it leaves the history.
    exit: u32,
}

impl Folded {
    fn new(length: u32, width: u32) -> Folded {
        Folded { value: 0, width, exit: length % width }
    }

    fn shift(&mut self, newest: bool, leaving: bool) {
        let rotated = self.value << 1 | u32::from(newest);
        let without = rotated ^ u32::from(leaving) << self.exit;
        self.value = (without ^ without >> self.width) & ((1 << self.width) - 1);
    }
}

#[derive(Clone, Debug)]
struct Table {
    entries: Box<[Entry]>,
    index: Folded,
    tag: Folded,
    tag_again: Folded,
}

impl Table {
    fn new(entries: usize, length: u32) -> Table {
        let bits = entries.trailing_zeros();
        Table {
            entries: vec![Entry::default(); entries].into(),
            index: Folded::new(length, bits),
            tag: Folded::new(length, TAG_BITS),
            tag_again: Folded::new(length, TAG_BITS - 1),
        }
    }

    /// Where the branch would be, and the tag that it would have there (never zero, the tag of an unused entry).
    fn place(&self, pc: u64) -> (usize, u16) {
        let pc = pc as u32;
        let index = (pc ^ pc >> self.index.width ^ self.index.value) as usize & (self.entries.len() - 1);
        let tag = (pc ^ self.tag.value ^ self.tag_again.value << 1) & ((1 << TAG_BITS) - 1);
        (index, tag as u16 | 1 << TAG_BITS)
    }
}

/// The predictor.
#[derive(Clone, Debug)]
pub(super) struct Tage {
    base: Bimodal,
    tables: [Table; TABLES],
    history: [bool; HISTORY_BITS],
    newest: usize,
    /// Whether entries that were only just made have been worse than what they replaced.
    distrust_new: i8,
    branches: u64,
}

/// What one branch found: its place in every table and who decides.
struct Finding {
    places: [(usize, u16); TABLES],
    provider: Option<usize>,
    alternate: bool,
    predicted: bool,
}

impl Tage {
    pub(super) fn new(entries: usize) -> Tage {
        Tage {
            base: Bimodal::new(entries),
            tables: LENGTHS.map(|length| Table::new(entries / 4, length)),
            history: [false; HISTORY_BITS],
            newest: 0,
            distrust_new: 0,
            branches: 0,
        }
    }

    /// Predicts, then learns.
    pub(super) fn predict(&mut self, pc: u64, taken: bool) -> bool {
        let finding = self.find(pc);
        self.learn(pc, &finding, taken);
        self.remember(taken);
        finding.predicted
    }

    fn find(&self, pc: u64) -> Finding {
        let mut finding =
            Finding { places: [(0, 0); TABLES], provider: None, alternate: self.base.peek(pc), predicted: false };
        let mut answer = finding.alternate;
        for (number, table) in self.tables.iter().enumerate() {
            let (index, tag) = table.place(pc);
            finding.places[number] = (index, tag);
            let entry = table.entries[index];
            if entry.tag == tag {
                finding.alternate = answer;
                finding.provider = Some(number);
                answer = entry.taken();
            }
        }
        let distrusted = finding.provider.is_some_and(|provider| {
            self.distrust_new > 0 && self.tables[provider].entries[finding.places[provider].0].is_new()
        });
        finding.predicted = if distrusted { finding.alternate } else { answer };
        finding
    }

    fn learn(&mut self, pc: u64, finding: &Finding, taken: bool) {
        match finding.provider {
            None => self.base.learn(pc, taken),
            Some(provider) => {
                let entry = &mut self.tables[provider].entries[finding.places[provider].0];
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

    /// Makes an entry under a longer history, where one is of no use; if none is, makes all of them less so.
    fn allocate(&mut self, finding: &Finding, taken: bool) {
        let longer = finding.provider.map_or(0, |provider| provider + 1);
        let places = &finding.places[longer..];
        let mut candidates = self.tables[longer..].iter_mut().zip(places);
        if let Some((table, &(index, tag))) = candidates.find(|(table, place)| table.entries[place.0].useful == 0) {
            table.entries[index] = Entry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
            return;
        }
        for (table, place) in self.tables[longer..].iter_mut().zip(places) {
            table.entries[place.0].useful -= 1;
        }
    }

    fn remember(&mut self, taken: bool) {
        self.newest = (self.newest + 1) % HISTORY_BITS;
        self.history[self.newest] = taken;
        for (table, length) in self.tables.iter_mut().zip(LENGTHS) {
            let leaving = self.history[(self.newest + HISTORY_BITS - length as usize) % HISTORY_BITS];
            table.index.shift(taken, leaving);
            table.tag.shift(taken, leaving);
            table.tag_again.shift(taken, leaving);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_history_depends_on_its_own_length_only() {
        let mut tage = Tage::new(1024);
        let mut bits = (0..500u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1);
        bits.by_ref().take(300).for_each(|bit| tage.remember(bit));
        let folds = |tage: &Tage| tage.tables[3].index.value;
        let mut other = Tage::new(1024);
        for bit in bits.take(60) {
            tage.remember(bit);
            other.remember(bit);
        }
        assert_eq!(folds(&tage), folds(&other), "the last 60 outcomes are the same");
    }
}
