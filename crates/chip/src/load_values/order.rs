//! Which differences between loaded and recorded values follow from the order of strands.
//!
//! The simulation orders accesses of different strands by its own clock; the recording orders them by chunks, and does not order
//! accesses in chunks that overlap ([`Stretch`]). A load may therefore see another value than recorded if another strand stored to
//! its line in a chunk that overlaps the load's, or on the other side of the load than recorded. The same holds for two stores: if
//! the recording does not order them, or the simulation orders them otherwise, the line may differ from then on. All other
//! differences are errors.
//!
//! A store may follow the load that it explains, in the simulation as in the recording. So a difference without a reason waits for
//! one until the run ends.

use super::{SHOWN, WrongLoad};
use rustc_hash::{FxHashMap, FxHashSet};
use units::LineAddr;
use workload::Stretch;
use workload::stream::Strand;

/// Who accesses a line, and when by the recording: a strand of one of the programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accessor {
    /// Which of the programs.
    pub program: u32,
    /// Which of its strands.
    pub strand: Strand,
    /// When.
    pub stretch: Stretch,
}

impl Accessor {
    fn is_other_than(&self, other: &Accessor) -> bool {
        (self.program, self.strand) != (other.program, other.strand)
    }

    /// Whether an access of another strand, simulated after this one, may have been executed before it.
    fn may_follow(&self, later: &Accessor) -> bool {
        self.is_other_than(later)
            && self.program == later.program
            && (self.stretch.overlaps(&later.stretch) || later.stretch.number < self.stretch.number)
    }
}

/// A load that differed.
struct Difference {
    /// How many differed before it.
    number: u64,
    load: Accessor,
    wrong: WrongLoad,
}

/// The accesses to one line.
#[derive(Default)]
struct LineHistory {
    /// The last store of each strand.
    stores: Vec<Accessor>,
    /// Whether two strands stored to it in an order that the recording does not say, or says otherwise.
    is_disordered: bool,
    /// Loads that differed, for which there is no reason yet.
    unexplained: Vec<Difference>,
}

/// The accesses to all lines that were stored to or differed.
#[derive(Default)]
pub struct LoadOrder {
    lines: FxHashMap<LineAddr, LineHistory>,
    strands: FxHashSet<(u32, Strand)>,
    differed: u64,
    explained: u64,
    /// The first loads that differed, explained or not.
    first: Vec<WrongLoad>,
}

impl LoadOrder {
    /// The recording shows a line to a strand: what its content was before is over, unless other strands stored to it meanwhile.
    pub fn show(&mut self, line: LineAddr, by: Accessor) {
        if self.strands.len() > 1 {
            self.lines.entry(line).or_default().is_disordered = false;
            self.store(line, by);
        }
    }

    /// The page of a line gets another frame for a strand.
    pub fn leave(&mut self, line: LineAddr, by: Accessor) {
        if self.strands.len() > 1 {
            self.store(line, by);
        }
    }

    /// A line may hold anything from now on: strands have reached it in another order than recorded. A program of one strand has
    /// no other order.
    pub fn disorder(&mut self, line: LineAddr) {
        if self.strands.len() > 1 {
            let history = self.lines.entry(line).or_default();
            history.is_disordered = true;
            self.explained += history.unexplained.drain(..).count() as u64;
        }
    }

    /// A strand of a program executes. The first strand of a program may be behind it.
    pub fn meet(&mut self, program: u32, strand: Strand) {
        self.strands.extend([(program, Strand::default()), (program, strand)]);
    }

    /// A strand stores to a line.
    pub fn store(&mut self, line: LineAddr, store: Accessor) {
        let history = self.lines.entry(line).or_default();
        history.is_disordered |= history.stores.iter().any(|before| before.may_follow(&store));
        match history.stores.iter_mut().find(|before| !before.is_other_than(&store)) {
            Some(before) => *before = store,
            None => history.stores.push(store),
        }
        let waiting = history.unexplained.len();
        history.unexplained.retain(|difference| !difference.load.may_follow(&store));
        self.explained += (waiting - history.unexplained.len()) as u64;
    }

    /// A load of a line had another value than recorded.
    pub fn differ(&mut self, line: LineAddr, load: Accessor, wrong: WrongLoad) {
        let number = self.differed;
        self.differed += 1;
        if self.first.len() < SHOWN {
            self.first.push(wrong);
        }
        let history = self.lines.entry(line).or_default();
        if history.is_disordered || history.stores.iter().any(|store| store.may_follow(&load)) {
            self.explained += 1;
        } else {
            history.unexplained.push(Difference { number, load, wrong });
        }
    }

    /// Differences that the order of strands explains.
    pub fn explained(&self) -> u64 {
        self.explained
    }

    /// The first differences, without reasons if there are such.
    pub fn first(&self) -> Vec<WrongLoad> {
        let mut unexplained: Vec<_> = self.lines.values().flat_map(|history| &history.unexplained).collect();
        if unexplained.is_empty() {
            return self.first.clone();
        }
        unexplained.sort_unstable_by_key(|difference| difference.number);
        unexplained.iter().take(SHOWN).map(|difference| difference.wrong).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use units::VirtAddr;

    const LINE: LineAddr = LineAddr(7);

    fn wrong(thread: u32) -> WrongLoad {
        WrongLoad { process: 0, thread, pc: VirtAddr(1), address: VirtAddr(2), bytes: 8 }
    }

    fn accessor(thread: u32, after: u64, number: u64) -> Accessor {
        Accessor { program: 0, strand: Strand { process: 0, thread }, stretch: Stretch { after, number } }
    }

    fn explained(accesses: &[(bool, Accessor)]) -> u64 {
        let mut order = LoadOrder::default();
        for (store, accessor) in accesses {
            if *store {
                order.store(LINE, *accessor)
            } else {
                order.differ(LINE, *accessor, wrong(accessor.strand.thread))
            }
        }
        order.explained()
    }

    #[test]
    fn a_store_of_another_strand_explains_a_difference_if_their_chunks_overlap() {
        let (store, load) = ((true, accessor(1, 1, 3)), (false, accessor(0, 2, 4)));
        assert_eq!([explained(&[store, load]), explained(&[load, store])], [1, 1]);
        assert_eq!(explained(&[(true, accessor(0, 1, 2)), load]), 0, "it is the strand's own");
        assert_eq!(explained(&[load]), 0);
    }

    #[test]
    fn a_store_that_was_recorded_before_and_simulated_before_explains_nothing() {
        let (store, load) = ((true, accessor(1, 1, 2)), (false, accessor(0, 3, 4)));
        assert_eq!(explained(&[store, load]), 0);
        assert_eq!(explained(&[load, store]), 1, "it comes too late");
        assert_eq!(explained(&[(true, accessor(1, 8, 9)), load]), 1, "it comes too early");
        assert_eq!(explained(&[load, (true, accessor(1, 8, 9))]), 0);
    }

    #[test]
    fn stores_that_are_not_ordered_explain_what_is_loaded_until_the_line_is_shown_anew() {
        let mut order = LoadOrder::default();
        order.store(LINE, accessor(0, 1, 3));
        order.store(LINE, accessor(1, 2, 4));
        order.differ(LINE, accessor(2, 8, 9), wrong(0));
        assert_eq!(order.explained(), 1);
        order.meet(0, Strand { process: 0, thread: 1 });
        order.show(LINE, accessor(2, 9, 10));
        order.differ(LINE, accessor(2, 9, 10), wrong(0));
        assert_eq!(order.explained(), 1);
        order.show(LINE, accessor(2, 2, 4));
        order.differ(LINE, accessor(2, 9, 10), wrong(0));
        assert_eq!(order.explained(), 2, "another strand stored to it when it was shown");
    }

    #[test]
    fn differences_without_a_reason_are_shown_before_others() {
        let mut order = LoadOrder::default();
        order.store(LINE, accessor(1, 1, 3));
        order.differ(LINE, accessor(0, 2, 4), wrong(0));
        assert_eq!(order.first(), [wrong(0)]);
        order.differ(LineAddr(8), accessor(2, 2, 5), wrong(2));
        assert_eq!((order.first(), order.explained()), (vec![wrong(2)], 1));
    }

    #[test]
    fn strands_of_another_program_or_at_another_line_explain_nothing() {
        let mut order = LoadOrder::default();
        order.store(LineAddr(8), accessor(1, 1, 3));
        order.store(LINE, Accessor { program: 1, ..accessor(1, 1, 3) });
        order.differ(LINE, accessor(0, 2, 4), wrong(0));
        assert_eq!(order.explained(), 0);
    }
}
