//! Without time: every verb is ready at once, so what is left to say is what memory holds and what comes out.
//!
//! The functional way, the one at once over a timed memory and what wraps either say that, and all verbs follow from it.

use crate::domain::Completion;
use crate::placement::DataSlot;
use crate::slot::Part;
use crate::verbs::{
    AesUnits, Arriving, Beats, Blocks, Cache, EngineVerbs, Exit, ExitVerbs, Fault, Keystream, Known, Leg, LockName,
    LockVerbs, MemoryVerbs, Offered, Passing, Plaintext, Role, Slot, TransitVerbs, Untrusted, Wanted,
};
use sim::lock::Mode;
use std::future::{Future, ready};
use units::{Duration, Line, LineAddr, Time, Words};

/// A way to run without time: what memory holds, and where what leaves the scheme goes.
pub trait Untimed {
    /// What takes what leaves the scheme. A wrapper that changes memory alone names that of what it wraps.
    type Outcomes: Outcomes;

    /// It.
    fn outcomes(&self) -> &Self::Outcomes;
    /// What a slot holds.
    fn read(&self, slot: Slot) -> Untrusted;
    /// What memory keeps of a slot beside the bits that are written: it does not cross the pins.
    fn kept(&self, slot: Slot) -> Untrusted {
        self.read(slot)
    }
    /// A slot holds this from now on; of a blank, nothing.
    fn write(&self, slot: Slot, role: Role, content: Untrusted);
    /// As [`Untimed::write`], by a tuple that is not complete: a loss of power would take it back, where power can be lost.
    fn write_in_tuple(&self, slot: Slot, role: Role, content: Untrusted) {
        self.write(slot, role, content);
    }
    /// As [`MemoryVerbs::start_up`].
    fn started_with(&self, at: DataSlot) -> Option<Line>;
    /// As [`MemoryVerbs::boot`].
    fn change_at_boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted);
    /// What happens while a hash is computed or a leg of the way is gone, where a test lets something happen: there other
    /// accesses come between.
    fn pause(&self) -> impl Future<Output = ()>;
}

/// Takes what leaves the scheme without time.
pub trait Outcomes {
    /// The tuple is complete: what becomes of the registers that outlive power.
    fn keep(&self, completion: Completion);
    /// Words of a line come out before the rest.
    fn take_first(&self, line: LineAddr, plaintext: Plaintext, words: Words);
    /// Plaintext comes out, however.
    fn take(&self, line: LineAddr, plaintext: Plaintext);
    /// The verdict of what came out before it.
    fn judge(&self, line: LineAddr, good: bool);
    /// A fault is reported.
    fn report(&self, fault: Fault);
    /// As [`ExitVerbs::spend`].
    fn note(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>);
}

impl<U: Untimed> MemoryVerbs for U {
    fn fetch(&self, slot: Slot, _: Role, _: Wanted) -> impl Future<Output = Arriving> {
        ready(Arriving::whole(self.read(slot)))
    }

    fn await_words(&self, _: Beats, _: Words) -> impl Future<Output = ()> {
        ready(())
    }

    fn still_stored(&self, _: Slot, fetched: Untrusted) -> Option<Untrusted> {
        (!fetched.is_blank()).then_some(fetched)
    }

    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.write(slot, role, content);
        ready(())
    }

    fn persist(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.write_in_tuple(slot, role, content);
        ready(())
    }

    fn persist_part(&self, slot: Slot, role: Role, part: Part) -> impl Future<Output = Untrusted> {
        let merged = part.over(self.kept(slot));
        self.write_in_tuple(slot, role, merged);
        ready(merged)
    }

    fn fence(&self) -> impl Future<Output = ()> {
        ready(())
    }

    fn complete(&self, completion: Completion) {
        self.outcomes().keep(completion);
    }

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        self.started_with(at)
    }

    fn boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted) {
        self.change_at_boot(slot, role, change);
    }
}

impl<U: Untimed> EngineVerbs for U {
    fn decode(&self) -> Known {
        Known::default()
    }

    fn pad(&self, units: AesUnits, blocks: Blocks, _: Known) -> Passing {
        Passing { units, blocks, ready: Time::ZERO, waited: Duration::ZERO, done: Time::ZERO }
    }

    fn await_blocks(&self, _: Passing) -> impl Future<Output = ()> {
        ready(())
    }

    fn offer(&self, blocks: Blocks, _: Known) -> Offered {
        Offered { blocks, ready: Time::ZERO, batch: None }
    }

    fn await_offered(&self, _: &Offered, _: u32) -> impl Future<Output = bool> {
        ready(true)
    }

    /// None has gone anywhere.
    fn give_up(&self, offered: &Offered) -> u32 {
        offered.blocks.parallel
    }

    fn take_on(&self, _: usize, _: LineAddr, _: u32, _: bool) -> bool {
        true
    }

    fn mac(&self) -> impl Future<Output = ()> {
        ready(())
    }

    fn hash(&self) -> impl Future<Output = ()> {
        self.pause()
    }

    fn xor(&self) -> impl Future<Output = ()> {
        ready(())
    }
}

impl<U: Untimed> TransitVerbs for U {
    fn look_up(&self, _: Cache) -> impl Future<Output = ()> {
        ready(())
    }

    fn travel(&self, _: Leg) -> impl Future<Output = ()> {
        self.pause()
    }

    fn outwait_hit(&self, _: usize, _: LineAddr) -> impl Future<Output = ()> {
        ready(())
    }

    fn handle_exception(&self) -> impl Future<Output = ()> {
        self.pause()
    }

    fn come_in(&self) -> impl Future<Output = ()> {
        ready(())
    }

    fn renewing<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        work
    }

    fn in_places<T>(&self, _: &[Slot], work: impl Future<Output = T>) -> impl Future<Output = T> {
        work
    }
}

impl<U: Untimed> LockVerbs for U {
    type Guard<'a>
        = ()
    where
        U: 'a;

    fn lock(&self, _: LockName, _: Mode) -> impl Future<Output = ()> {
        ready(())
    }
}

impl<U: Untimed> ExitVerbs for U {
    fn release_first(&self, line: LineAddr, plaintext: Plaintext, words: Words) {
        self.outcomes().take_first(line, plaintext, words);
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext, _: Exit) {
        self.outcomes().take(line, plaintext);
    }

    fn settle(&self, line: LineAddr, good: bool) {
        self.outcomes().judge(line, good);
    }

    fn await_verdicts(&self) -> impl Future<Output = bool> {
        ready(true)
    }

    fn fault(&self, fault: Fault) {
        self.outcomes().report(fault);
    }

    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        self.outcomes().note(slot, keystream);
    }
}
