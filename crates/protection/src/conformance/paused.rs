//! A way to run in which something else may happen meanwhile: a text stops at every hash and at every leg of the way on the
//! chip, until it is asked to go on. And a machine that has booted: what was never written holds what it started with.
//!
//! There are no locks here. Who lets two texts meet must choose such as no lock keeps apart.

use crate::domain::Registers;
use crate::placement::DataSlot;
use crate::verbs::{Fault, Keystream, Leg, LockName, Plaintext, Role, Slot, Untrusted, Verbs};
use crate::ways::Functional;
use sim::lock::Mode;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use units::random::Random;
use units::{Line, LineAddr};

/// A functional memory, with pauses or without.
pub struct Booted<'a> {
    pub memory: &'a Functional,
    pub pauses: bool,
}

/// What a line held when the machine started.
pub fn start_up_content(line: LineAddr) -> Line {
    Random::new(!line.0).line()
}

/// Stops once if it is to.
pub fn pause(pauses: bool) -> impl Future<Output = ()> {
    let mut left = pauses;
    poll_fn(move |_| if std::mem::take(&mut left) { Poll::Pending } else { Poll::Ready(()) })
}

/// A text under way.
pub struct UnderWay<'a>(Pin<Box<dyn Future<Output = ()> + 'a>>);

impl<'a> UnderWay<'a> {
    pub fn new(text: impl Future<Output = ()> + 'a) -> UnderWay<'a> {
        UnderWay(Box::pin(text))
    }

    /// Goes on to the next pause; whether that was the end.
    pub fn ends(&mut self) -> bool {
        self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

impl Verbs for Booted<'_> {
    type Guard<'a>
        = ()
    where
        Self: 'a;

    fn fetch(&self, slot: Slot, role: Role) -> impl Future<Output = Untrusted> {
        self.memory.fetch(slot, role)
    }

    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.memory.store(slot, role, content)
    }

    fn complete(&self, registers: Registers) {
        self.memory.complete(registers);
    }

    fn hash(&self) -> impl Future<Output = ()> {
        pause(self.pauses)
    }

    fn travel(&self, _: Leg) -> impl Future<Output = ()> {
        pause(self.pauses)
    }

    fn lock(&self, _: LockName, _: Mode) -> impl Future<Output = ()> {
        ready(())
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext) {
        self.memory.release(line, plaintext);
    }

    fn settle(&self, line: LineAddr, good: bool) {
        self.memory.settle(line, good);
    }

    fn fault(&self, fault: Fault) {
        self.memory.fault(fault);
    }

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        let is_blank = self.memory.media.borrow().is_blank(at.slot());
        is_blank.then(|| start_up_content(at.line()))
    }

    fn boot(&self, slot: Slot, role: Role, change: impl FnOnce(Untrusted) -> Untrusted) {
        self.memory.boot(slot, role, change);
    }

    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        self.memory.spend(slot, keystream);
    }
}
