//! Account of a run on the chip: the time that the cores lost, and the excerpt.

use crate::waits::LostCycleTotals;
use machine::coherence::CoherenceDomain;
use protection::execution::{Excerpt, ReadPart, ReadPartTimes};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use units::Duration;

/// Account of a run.
#[derive(Default)]
pub struct RunAccount {
    /// Time that the cores lost, by cause.
    lost: RefCell<ReadPartTimes>,
    /// Excerpt of the run, if one is kept.
    excerpt: OnceCell<Rc<Excerpt>>,
}

impl RunAccount {
    /// Keeps an excerpt of the run. Call it before readers and writers start.
    pub fn keep(&self, excerpt: &Rc<Excerpt>) {
        let _ = self.excerpt.set(excerpt.clone());
    }

    /// Excerpt of the run, if one is kept.
    pub(crate) fn excerpt(&self) -> Option<&Rc<Excerpt>> {
        self.excerpt.get()
    }

    /// Adds time that a core lost for one cause.
    pub(crate) fn lose(&self, part: ReadPart, time: Duration) {
        self.lost.borrow_mut().add(part, time);
    }

    /// Adds time that a core lost for several causes.
    pub(super) fn lose_parts(&self, parts: ReadPartTimes) {
        *self.lost.borrow_mut() += parts;
    }

    /// Time that the cores have lost, by cause (statistics of the whole run).
    pub fn waits(&self, cores: &CoherenceDomain) -> LostCycleTotals {
        let lost = *self.lost.borrow();
        LostCycleTotals::of(cores, lost)
    }
}
