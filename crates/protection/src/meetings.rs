//! Counts of the moments at which two mechanisms of a chip are under way or set at once. Holes were found where two
//! mechanisms meet, so campaigns list the pairs that they have tried.
//!
//! Only a build with planted bugs counts. The counts belong to a thread, since one thread carries out a whole machine.

use std::cell::{Cell, RefCell};
use strum::VariantArray;

/// Mechanism that is under way, or state that is set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, VariantArray)]
pub enum Mechanism {
    /// Re-encryption of a group after its counters have overflowed.
    Renewal,
    /// A battery has lost stores to some lines.
    LostLines,
    /// The root in its register is outdated, since durable caches hold stores.
    OutdatedRoot,
    /// A line gets the machine's start-up content.
    Boot,
    /// Permutation of a page chunk.
    Permutation,
    /// Switch of secure processes.
    ContextSwitch,
    /// A forest adds or removes a root.
    ForestReshape,
    /// Recovery after a loss of power.
    Recovery,
    /// The chip changes memory no more, since tampering has stopped a change half-way.
    HaltedChip,
}

impl Mechanism {
    /// All mechanisms and states.
    pub const ALL: &[Mechanism] = Mechanism::VARIANTS;
}

const ALL: usize = Mechanism::ALL.len();

/// Mechanisms under way on this thread, and counts of pairs.
#[derive(Default)]
struct Meetings {
    under_way: [Cell<u32>; ALL],
    met: RefCell<[[u64; ALL]; ALL]>,
}

thread_local! {
    static MEETINGS: Meetings = Meetings::default();
}

/// Guard of a mechanism that is under way until the guard is dropped.
#[must_use = "a mechanism is under way as long as its guard lives"]
pub(crate) struct UnderWay(Mechanism);

/// Notes that a mechanism begins while these states are set.
pub(crate) fn begin(mechanism: Mechanism, set: impl IntoIterator<Item = Mechanism>) -> Option<UnderWay> {
    if !cfg!(feature = "planted-bugs") {
        return None;
    }
    MEETINGS.with(|meetings| {
        let own = &meetings.under_way[mechanism as usize];
        own.set(own.get() + 1);
    });
    note(set);
    Some(UnderWay(mechanism))
}

/// Counts each pair of these states and of the mechanisms under way.
pub(crate) fn note(set: impl IntoIterator<Item = Mechanism>) {
    if !cfg!(feature = "planted-bugs") {
        return;
    }
    MEETINGS.with(|meetings| {
        let mut present = [0; ALL].map(|_: u32| false);
        set.into_iter().for_each(|state| present[state as usize] = true);
        present.iter_mut().zip(&meetings.under_way).for_each(|(present, own)| *present |= own.get() > 0);
        let present: Vec<usize> = (0..ALL).filter(|mechanism| present[*mechanism]).collect();
        let mut met = meetings.met.borrow_mut();
        present.iter().for_each(|one| present.iter().for_each(|other| met[*one][*other] += 1));
    });
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        MEETINGS.with(|meetings| {
            let own = &meetings.under_way[self.0 as usize];
            own.set(own.get() - 1);
        });
    }
}

/// Returns how often two mechanisms were under way or set at once, on this thread.
pub fn met(one: Mechanism, other: Mechanism) -> u64 {
    MEETINGS.with(|meetings| meetings.met.borrow()[one as usize][other as usize])
}
