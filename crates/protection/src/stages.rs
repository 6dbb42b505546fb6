//! The stages through which tuples of writes become durable, in order (PLP: Freij et al., MICRO 2020).
//!
//! A stage belongs to one tuple at a time. A tuple that *hands over* leaves a stage as soon as it has entered the next
//! one, so that the next tuple follows one stage behind. Otherwise the tuple keeps all stages until it is complete.

use crate::verbs::{LockName, LockVerbs};
use sim::lock::Mode;

/// The stages that a tuple holds.
pub(crate) struct Stages<'a, V: LockVerbs + 'a> {
    held: Vec<V::Guard<'a>>,
    /// The first stage that was not entered yet.
    next: usize,
    /// True if the tuple leaves a stage when it enters the next one.
    pub hand_over: bool,
}

impl<'a, V: LockVerbs> Stages<'a, V> {
    /// Returns a tuple that has not entered a stage.
    pub fn new(hand_over: bool) -> Stages<'a, V> {
        Stages { held: Vec::new(), next: 0, hand_over }
    }

    /// Waits for a stage, unless it was entered before.
    pub async fn enter(&mut self, verbs: &'a V, stage: usize) {
        if stage < self.next {
            return;
        }
        self.next = stage + 1;
        let guard = verbs.lock(LockName::Stage(stage as u8), Mode::Exclusive).await;
        if self.hand_over {
            self.held.clear();
        }
        self.held.push(guard);
    }

    /// Enters all stages up to this one.
    pub async fn enter_all(&mut self, verbs: &'a V, last: usize) {
        for stage in self.next..=last {
            self.enter(verbs, stage).await;
        }
    }

    /// Enters all stages up to the last one, after all tuples that are under way.
    pub async fn pass(verbs: &'a V, last: usize) {
        Stages::new(true).enter_all(verbs, last).await;
    }
}
