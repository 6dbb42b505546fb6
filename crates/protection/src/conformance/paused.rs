//! Verbs that pause, so that a check can run other accesses in between, on a machine that has booted. A scheme pauses
//! at every hash and at every transfer on the chip, until the check polls it again. A blank slot has the start-up
//! content.
//!
//! Verbs with pauses have no locks. A check must only interleave accesses that no lock would separate.

use crate::execution::{Functional, Outcomes, PauseFuture, Untimed};
use crate::placement::DataSlot;
use crate::verbs::{Role, Slot, Untrusted};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use units::random::Random;
use units::{Line, LineAddr};

/// A functional memory of a booted machine, with pauses or without.
pub struct Booted<'a> {
    pub memory: &'a Functional,
    pub pauses: bool,
}

/// Start-up content of a line.
pub fn start_up_content(line: LineAddr) -> Line {
    Random::new(!line.0).line()
}

/// Pauses once if `pauses` is set.
pub fn pause(pauses: bool) -> impl Future<Output = ()> {
    let mut left = pauses;
    poll_fn(move |_| if std::mem::take(&mut left) { Poll::Pending } else { Poll::Ready(()) })
}

/// An access under way.
pub struct PausedText<'a>(Pin<Box<dyn Future<Output = ()> + 'a>>);

impl<'a> PausedText<'a> {
    pub fn new(text: impl Future<Output = ()> + 'a) -> PausedText<'a> {
        PausedText(Box::pin(text))
    }

    /// Continues to the next pause, and returns whether the access has ended.
    pub fn ends(&mut self) -> bool {
        self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

impl Untimed for Booted<'_> {
    fn outcomes(&self) -> &dyn Outcomes {
        self.memory
    }

    fn read(&self, slot: Slot) -> Untrusted {
        self.memory.read(slot)
    }

    fn write(&self, slot: Slot, role: Role, content: Untrusted) {
        self.memory.write(slot, role, content);
    }

    fn started_with(&self, at: DataSlot) -> Option<Line> {
        let is_blank = self.memory.media.borrow().is_blank(at.slot());
        (at.moves() || is_blank).then(|| start_up_content(at.line()))
    }

    fn change_at_boot(&self, slot: Slot, role: Role, change: &dyn Fn(Untrusted) -> Untrusted) {
        self.memory.change_at_boot(slot, role, change);
    }

    fn pause(&self) -> Option<PauseFuture<'_>> {
        self.pauses.then(|| Box::pin(pause(true)) as PauseFuture<'_>)
    }
}
