//! Verbs without time: every verb completes at once, so a runner without time defines only memory content and outcomes.
//!
//! Three kinds of runners implement [`Untimed`]: the functional runner, the runner at once over a timed memory, and
//! wrappers of either. [`UntimedVerbs`] implements all verbs in terms of any of them. The compiler therefore compiles the
//! code of a scheme once for all runners without time; each verb then costs a dynamic call.

use crate::domain::RegisterUpdate;
use crate::placement::DataSlot;
use crate::slot::Part;
use crate::verbs::{
    AesUnits, Arriving, Beats, Blocks, BusPriority, Cache, EngineVerbs, Exit, ExitVerbs, Fault, IdleBlocks, Keystream,
    Known, Leg, LockName, LockVerbs, MemoryVerbs, Passing, Plaintext, Role, Slot, TransitVerbs, Untrusted, Wanted,
};
use sim::lock::Mode;
use std::future::{Future, ready};
use std::pin::Pin;
use units::{Duration, Line, LineAddr, Time, Words};

/// A runner without time, which provides the content of memory and the receiver of the scheme's outcomes.
pub trait Untimed {
    /// Returns the verbs of this runner, which the code of a scheme takes.
    fn verbs(&self) -> UntimedVerbs<'_>
    where
        Self: Sized,
    {
        UntimedVerbs(self)
    }

    /// Returns the receiver of outcomes. A wrapper that changes only memory returns the receiver of the wrapped runner.
    fn outcomes(&self) -> &dyn Outcomes;
    /// Returns the content of a slot.
    fn read(&self, slot: Slot) -> Untrusted;
    /// Returns the content with which a partial write of a slot is merged. This read does not cross the pins.
    fn kept(&self, slot: Slot) -> Untrusted {
        self.read(slot)
    }
    /// Writes the content of a slot; blank content makes the slot blank.
    fn write(&self, slot: Slot, role: Role, content: Untrusted);
    /// Like [`Untimed::write`], as part of a tuple that is not complete: a loss of power would revert this write.
    fn write_in_tuple(&self, slot: Slot, role: Role, content: Untrusted) {
        self.write(slot, role, content);
    }
    /// Implements [`MemoryVerbs::start_up`] without time.
    fn started_with(&self, at: DataSlot) -> Option<Line>;
    /// Implements [`MemoryVerbs::boot`] without time.
    fn change_at_boot(&self, slot: Slot, role: Role, change: &dyn Fn(Untrusted) -> Untrusted);
    /// Returns a pause for a hash, a transfer on the chip, or an exception handler of the operating system. A test may
    /// run other accesses meanwhile. `None` is no pause.
    fn pause(&self) -> Option<PauseFuture<'_>> {
        None
    }
}

/// A pause of a run without time.
pub type PauseFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Receives the outcomes of a scheme without time.
pub trait Outcomes {
    /// Sets the registers that outlive power, when a tuple is complete.
    fn keep(&self, completion: RegisterUpdate);
    /// Receives words of a line that are released before the remaining words.
    fn take_first(&self, line: LineAddr, plaintext: Plaintext, words: Words);
    /// Receives released plaintext, at any exit.
    fn take(&self, line: LineAddr, plaintext: Plaintext);
    /// Receives the verdict of a line that was released before the verdict.
    fn judge(&self, line: LineAddr, good: bool);
    /// Receives a fault that the scheme reports.
    fn report(&self, fault: Fault);
    /// Implements [`ExitVerbs::spend`] without time.
    fn note(&self, slot: Slot, keystream: &mut dyn FnMut() -> Option<Keystream>);
}

/// The verbs of a runner without time.
#[derive(Clone, Copy)]
pub struct UntimedVerbs<'a>(&'a dyn Untimed);

impl UntimedVerbs<'_> {
    fn pause(self) -> impl Future<Output = ()> {
        let pause = self.0.pause();
        async move {
            if let Some(pause) = pause {
                pause.await;
            }
        }
    }
}

impl MemoryVerbs for UntimedVerbs<'_> {
    fn fetch(&self, slot: Slot, _: Role, _: Wanted) -> impl Future<Output = Arriving> {
        ready(Arriving::whole(self.0.read(slot)))
    }

    /// Returns the priority of all requests, since a run without time has no bus.
    fn background(&self) -> BusPriority {
        BusPriority::default()
    }

    fn await_turn(&self, _: &BusPriority, _: Slot) -> impl Future<Output = ()> {
        ready(())
    }

    fn await_words(&self, _: Beats, _: Words) -> impl Future<Output = ()> {
        ready(())
    }

    fn still_stored(&self, _: Slot, fetched: Untrusted) -> Option<Untrusted> {
        (!fetched.is_blank()).then_some(fetched)
    }

    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.0.write(slot, role, content);
        ready(())
    }

    fn persist(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.0.write_in_tuple(slot, role, content);
        ready(())
    }

    fn persist_part(&self, slot: Slot, role: Role, part: Part) -> impl Future<Output = Untrusted> {
        let merged = part.over(self.0.kept(slot));
        self.0.write_in_tuple(slot, role, merged);
        ready(merged)
    }

    fn fence(&self) -> impl Future<Output = ()> {
        ready(())
    }

    fn complete(&self, completion: RegisterUpdate) {
        self.0.outcomes().keep(completion);
    }

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        self.0.started_with(at)
    }

    fn boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted) {
        self.0.change_at_boot(slot, role, &change);
    }
}

impl EngineVerbs for UntimedVerbs<'_> {
    fn decode(&self) -> Known {
        Known::default()
    }

    fn pad(&self, units: AesUnits, blocks: Blocks, _: Known) -> Passing {
        Passing { units, blocks, ready: Time::ZERO, waited: Duration::ZERO, done: Time::ZERO }
    }

    fn await_blocks(&self, _: Passing) -> impl Future<Output = ()> {
        ready(())
    }

    fn offer(&self, blocks: Blocks, _: Known) -> IdleBlocks {
        IdleBlocks { blocks, ready: Time::ZERO, batch: None }
    }

    fn await_offered(&self, _: &IdleBlocks, _: u32) -> impl Future<Output = bool> {
        ready(true)
    }

    /// Returns the number of all offered blocks, since idle units accept no block in a run without time.
    fn give_up(&self, offered: &IdleBlocks) -> u32 {
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

impl TransitVerbs for UntimedVerbs<'_> {
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

    fn renewing<T>(&self, _: &BusPriority, work: impl Future<Output = T>) -> impl Future<Output = T> {
        work
    }

    fn in_places<T>(&self, _: &[Slot], work: impl Future<Output = T>) -> impl Future<Output = T> {
        work
    }
}

impl LockVerbs for UntimedVerbs<'_> {
    type Guard<'a>
        = ()
    where
        Self: 'a;

    fn lock(&self, _: LockName, _: Mode) -> impl Future<Output = ()> {
        ready(())
    }
}

impl ExitVerbs for UntimedVerbs<'_> {
    fn release_first(&self, line: LineAddr, plaintext: Plaintext, words: Words) {
        self.0.outcomes().take_first(line, plaintext, words);
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext, _: Exit) {
        self.0.outcomes().take(line, plaintext);
    }

    fn settle(&self, line: LineAddr, good: bool) {
        self.0.outcomes().judge(line, good);
    }

    fn await_verdicts(&self) -> impl Future<Output = bool> {
        ready(true)
    }

    fn fault(&self, fault: Fault) {
        self.0.outcomes().report(fault);
    }

    fn pass_on(&self, _: u64) -> bool {
        false
    }

    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        let mut keystream = Some(keystream);
        self.0.outcomes().note(slot, &mut || keystream.take().and_then(|make| make()));
    }
}
