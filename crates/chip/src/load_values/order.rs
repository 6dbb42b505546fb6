//! Determines the differences between loaded and recorded values that the order of strands explains.
//!
//! The simulation orders accesses of different strands by the simulated clock. The recording orders them by batches,
//! and does not order accesses in batches that overlap ([`Stretch`]). A store of another strand to the same line
//! therefore explains a different value of a load in two cases. Either the batches of store and load overlap, or the
//! simulation executes store and load in another order than the recording. The same cases apply to two stores. If the
//! recording does not order two stores to a line, or the simulation executes them in the other order, the line may
//! differ from then on. All other differences are errors.
//!
//! A line that the recording shows counts as stored to only if the kernel wrote it, or if its page is new memory or a
//! copy. The page of a process may leave its
//! frame for a new one. A store to the new frame then also counts for the same line of the old frame, but only for loads
//! of that process. The simulation may still run a strand of the process on the old frame. It may also have run one there
//! too early: its stores to the old frame are missing from the new one.
//!
//! A store may follow the load that it explains, in the simulation as in the recording. The comparison therefore
//! classifies a difference as unexplained only at the end of the run.

use super::accessor::Accessor;
use super::unexecuted::UnexecutedBatches;
use super::{SHOWN, WrongLoad};
use rustc_hash::{FxHashMap, FxHashSet};
use units::LineAddr;
use workload::stream::Strand;

/// Load with another value than recorded.
struct LoadDifference {
    /// Number of earlier loads that differed.
    number: u64,
    load: Accessor,
    wrong: WrongLoad,
}

/// Number of frames that a page has left, to which a store is passed on.
const FRAMES: usize = 4;

/// Store that may explain a difference.
struct NotedStore {
    by: Accessor,
    /// The only process whose loads the store may explain; `None` for all processes.
    only_for: Option<u32>,
}

impl NotedStore {
    fn concerns(&self, load: &Accessor) -> bool {
        self.only_for.is_none_or(|process| process == load.strand.process)
    }

    fn may_explain(&self, load: &Accessor) -> bool {
        self.concerns(load) && self.by.may_follow(load)
    }

    fn may_explain_earlier(&self, load: &Accessor) -> bool {
        self.concerns(load) && load.may_follow(&self.by)
    }
}

/// True if a load lacks a store that went to a frame which the page has left: the load is of the same process, and the
/// recording does not order it before the store.
fn is_missed_by(store: &Accessor, load: &Accessor) -> bool {
    let is_of_process = (store.program, store.strand.process) == (load.program, load.strand.process);
    is_of_process && store.stretch.after < load.stretch.number
}

/// Accesses to one line.
#[derive(Default)]
struct LineHistory {
    /// Last store of each strand.
    stores: Vec<NotedStore>,
    /// Stores that the line lacks, because they went to a frame that the page has left.
    missing: Vec<Accessor>,
    /// True if two strands stored to the line in an order that the recording does not show, or in an order that differs
    /// from the recording.
    is_disordered: bool,
    /// Loads that differed without a reason so far.
    unexplained: Vec<LoadDifference>,
}

/// Accesses to all lines that were stored to or differed.
#[derive(Default)]
pub struct LoadOrder {
    lines: FxHashMap<LineAddr, LineHistory>,
    /// Line of the old frame, by the line of the new frame, of each page that has left its frame; with the process.
    left: FxHashMap<LineAddr, (LineAddr, u32)>,
    strands: FxHashSet<(u32, Strand)>,
    differed: u64,
    explained: u64,
    /// First loads that differed, explained or not.
    first: Vec<WrongLoad>,
}

impl LoadOrder {
    /// Notes that the recording shows a line to a strand. The order of earlier stores then no longer matters.
    /// Exceptions are stores by other strands that the recording does not order before this event. If the kernel has
    /// written the line, this is a store, too.
    pub fn show(&mut self, line: LineAddr, by: Accessor, is_written: bool) {
        if self.strands.len() > 1 {
            if let Some(history) = self.lines.get_mut(&line) {
                history.is_disordered = history.stores.iter().any(|before| before.by.may_follow(&by));
                history.missing.retain(|store| store.may_follow(&by));
            }
            if is_written {
                self.store(line, by);
            }
        }
    }

    /// Notes that a process gets a page in a new frame, by an access of a strand. `old` is the line in the frame that the
    /// page has left, if any, and `new` the line in the new frame.
    pub fn enter(&mut self, new: LineAddr, old: Option<LineAddr>, by: Accessor) {
        if self.strands.len() > 1 {
            match old {
                Some(old) => {
                    self.left.insert(new, (old, by.strand.process));
                    self.miss_stores(old, new, by);
                }
                None => _ = self.left.remove(&new),
            }
        }
    }

    /// Notes the stores that a process executed on an old frame, although the page may already have left the frame in the
    /// recording: the new frame lacks them.
    fn miss_stores(&mut self, old: LineAddr, new: LineAddr, by: Accessor) {
        let process = by.strand.process;
        let early = |store: &&NotedStore| store.by.strand.process == process && store.by.may_follow(&by);
        let stores = self.lines.get(&old).map_or(&[][..], |history| &history.stores);
        let missing: Vec<_> = stores.iter().filter(early).map(|store| store.by).collect();
        if missing.is_empty() {
            return;
        }
        let history = self.lines.entry(new).or_default();
        let waiting = history.unexplained.len();
        history.unexplained.retain(|difference| !missing.iter().any(|store| is_missed_by(store, &difference.load)));
        self.explained += (waiting - history.unexplained.len()) as u64;
        history.missing.extend(missing);
    }

    /// Notes that a line may have any content from now on, because strands have reached it in another order than
    /// recorded. This does not apply to a program of one strand.
    pub fn disorder(&mut self, line: LineAddr) {
        if self.strands.len() > 1 {
            let history = self.lines.entry(line).or_default();
            history.is_disordered = true;
            self.explained += history.unexplained.drain(..).count() as u64;
        }
    }

    /// Notes a strand that executes, and the first strand of its program, which may execute later.
    pub fn meet(&mut self, program: u32, strand: Strand) {
        self.strands.extend([(program, Strand::default()), (program, strand)]);
    }

    /// Notes that a strand stores to a line.
    pub fn store(&mut self, line: LineAddr, store: Accessor) {
        self.note(line, NotedStore { by: store, only_for: None });
        if self.left.is_empty() {
            return;
        }
        let mut frame = line;
        for _ in 0..FRAMES {
            let Some(&(old, process)) = self.left.get(&frame) else { return };
            self.note(old, NotedStore { by: store, only_for: Some(process) });
            frame = old;
        }
    }

    fn note(&mut self, line: LineAddr, store: NotedStore) {
        let history = self.lines.entry(line).or_default();
        history.is_disordered |=
            store.only_for.is_none() && history.stores.iter().any(|before| before.by.may_follow(&store.by));
        let waiting = history.unexplained.len();
        history.unexplained.retain(|difference| !store.may_explain_earlier(&difference.load));
        self.explained += (waiting - history.unexplained.len()) as u64;
        let is_of_same =
            |before: &&mut NotedStore| before.only_for == store.only_for && !before.by.is_other_than(&store.by);
        match history.stores.iter_mut().find(is_of_same) {
            Some(before) => *before = store,
            None => history.stores.push(store),
        }
    }

    /// Notes that a load of a line had another value than recorded.
    pub fn differ(&mut self, line: LineAddr, load: Accessor, wrong: WrongLoad) {
        let number = self.differed;
        self.differed += 1;
        if self.first.len() < SHOWN {
            self.first.push(wrong);
        }
        let history = self.lines.entry(line).or_default();
        let is_missed = history.missing.iter().any(|store| is_missed_by(store, &load));
        if history.is_disordered || is_missed || history.stores.iter().any(|store| store.may_explain(&load)) {
            self.explained += 1;
        } else {
            history.unexplained.push(LoadDifference { number, load, wrong });
        }
    }

    /// Number of differences that the order of strands explains. A strand that a limit has stopped, or
    /// a signal has ended, may have stored to any line before the load.
    pub fn explained(&self, cut_off: &UnexecutedBatches) -> u64 {
        let waiting = self.lines.values().flat_map(|history| &history.unexplained);
        self.explained + waiting.filter(|difference| cut_off.may_explain(&difference.load)).count() as u64
    }

    /// Returns the first unexplained differences, or, if each difference has an explanation, the first of all
    /// differences.
    pub fn first(&self, cut_off: &UnexecutedBatches) -> Vec<WrongLoad> {
        let all = self.lines.values().flat_map(|history| &history.unexplained);
        let mut unexplained: Vec<_> = all.filter(|difference| !cut_off.may_explain(&difference.load)).collect();
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
    use workload::Stretch;

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
        order.explained(&UnexecutedBatches::default())
    }

    #[test]
    fn a_concurrent_store_of_another_thread_explains_a_different_load_value() {
        let (store, load) = ((true, accessor(1, 1, 3)), (false, accessor(0, 2, 4)));
        assert_eq!([explained(&[store, load]), explained(&[load, store])], [1, 1]);
        assert_eq!(explained(&[(true, accessor(0, 1, 2)), load]), 0, "it is the strand's own");
        assert_eq!(explained(&[load]), 0);
    }

    #[test]
    fn a_store_with_equal_order_in_recording_and_simulation_explains_no_load_difference() {
        let (store, load) = ((true, accessor(1, 1, 2)), (false, accessor(0, 3, 4)));
        assert_eq!(explained(&[store, load]), 0);
        assert_eq!(explained(&[load, store]), 1, "it comes too late");
        assert_eq!(explained(&[(true, accessor(1, 8, 9)), load]), 1, "it comes too early");
        assert_eq!(explained(&[load, (true, accessor(1, 8, 9))]), 0);
    }

    #[test]
    fn racing_stores_explain_load_differences_until_the_recorder_sends_the_line_again() {
        let mut order = LoadOrder::default();
        order.store(LINE, accessor(0, 1, 3));
        order.store(LINE, accessor(1, 2, 4));
        order.differ(LINE, accessor(2, 8, 9), wrong(0));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 1);
        order.meet(0, Strand { process: 0, thread: 1 });
        order.show(LINE, accessor(2, 9, 10), true);
        order.differ(LINE, accessor(2, 9, 10), wrong(0));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 1);
        order.show(LINE, accessor(2, 2, 4), true);
        order.differ(LINE, accessor(2, 9, 10), wrong(0));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 2, "another strand stored to it when it was shown");
    }

    #[test]
    fn unexplained_load_differences_are_reported_before_explained_ones() {
        let mut order = LoadOrder::default();
        order.store(LINE, accessor(1, 1, 3));
        order.differ(LINE, accessor(0, 2, 4), wrong(0));
        assert_eq!(order.first(&UnexecutedBatches::default()), [wrong(0)]);
        order.differ(LineAddr(8), accessor(2, 2, 5), wrong(2));
        assert_eq!(
            (order.first(&UnexecutedBatches::default()), order.explained(&UnexecutedBatches::default())),
            (vec![wrong(2)], 1)
        );
    }

    /// A child that copies a page and stores to its copy does not change the page of its parent.
    #[test]
    fn a_store_to_a_copied_page_explains_differences_of_the_copying_process_only() {
        let in_process = |process, thread, after, number| {
            let strand = Strand { process, thread };
            Accessor { program: 0, strand, stretch: Stretch { after, number } }
        };
        let copy = LineAddr(9);
        let mut order = LoadOrder::default();
        order.meet(0, Strand { process: 1, thread: 1 });
        order.enter(copy, Some(LINE), in_process(1, 0, 1, 4));
        order.store(copy, in_process(1, 0, 1, 4));
        order.differ(LINE, in_process(0, 0, 2, 5), wrong(0));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 0, "the parent still has the page");
        order.differ(LINE, in_process(1, 1, 2, 5), wrong(1));
        assert_eq!(
            order.explained(&UnexecutedBatches::default()),
            1,
            "another thread of the child may have had the page"
        );
        order.differ(LineAddr(8), in_process(1, 1, 2, 5), wrong(1));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 1, "nothing was stored to this line of the page");
        let third = LineAddr(10);
        order.enter(third, Some(copy), in_process(1, 0, 1, 4));
        order.store(third, in_process(1, 0, 1, 4));
        order.differ(LINE, in_process(1, 2, 2, 5), wrong(2));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 2, "the page has left two frames");
    }

    /// A thread may run before the first thread has mapped the page to which it stores.
    #[test]
    fn a_store_to_a_frame_that_the_page_had_left_explains_differences_in_the_new_frame() {
        let differs = |(after, number), load| {
            let mut order = LoadOrder::default();
            order.meet(0, Strand { process: 0, thread: 1 });
            order.store(LineAddr(9), accessor(1, after, number));
            order.enter(LINE, Some(LineAddr(9)), accessor(0, 4, 5));
            order.show(LINE, accessor(0, 4, 5), true);
            order.differ(LINE, load, wrong(0));
            order.explained(&UnexecutedBatches::default()) == 1
        };
        assert!(differs((7, 8), accessor(0, 11, 12)) && differs((7, 8), accessor(1, 11, 12)));
        assert!(!differs((2, 3), accessor(0, 11, 12)), "the page left the frame later");
        assert!(!differs((7, 8), accessor(0, 5, 6)), "the load precedes the store");
        let of_other = Accessor { strand: Strand { process: 1, thread: 0 }, ..accessor(0, 11, 12) };
        assert!(!differs((7, 8), of_other), "another process has another page");
    }

    #[test]
    fn a_line_that_is_shown_explains_differences_only_if_the_kernel_wrote_it() {
        for (is_written, explained) in [(false, 0), (true, 1)] {
            let mut order = LoadOrder::default();
            order.meet(0, Strand { process: 0, thread: 1 });
            order.show(LINE, accessor(1, 1, 4), is_written);
            order.differ(LINE, accessor(0, 2, 5), wrong(0));
            assert_eq!(order.explained(&UnexecutedBatches::default()), explained);
        }
    }

    #[test]
    fn stores_of_another_program_or_to_another_line_explain_no_load_difference() {
        let mut order = LoadOrder::default();
        order.store(LineAddr(8), accessor(1, 1, 3));
        order.store(LINE, Accessor { program: 1, ..accessor(1, 1, 3) });
        order.differ(LINE, accessor(0, 2, 4), wrong(0));
        assert_eq!(order.explained(&UnexecutedBatches::default()), 0);
    }
}
