//! The baton: one strand of a recorded program runs at a time, over all its processes.
//!
//! Each strand has a clock, the number of instructions that it has executed. The strand with the lowest clock gets the
//! baton, and keeps it until another strand is due. So the recorded order is that of an ideal machine, which executes one
//! instruction of each strand in each cycle, and not that of the host. A strand gives the baton up before a call that may
//! wait for another strand.
//!
//! A strand may get the baton before it asks for it: a new thread is in the queue from its creation. If a process dies
//! or is stopped with the baton, or its holder waits in a call for longer than expected, a waiting strand takes the baton
//! away.

use super::queue::{BatonQueue, WaitingStrand};
use super::wakes::Wakes;
use crate::process::can_run;
use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// Time after which a waiting strand checks if the holder still needs the baton.
const PATIENCE: Duration = Duration::from_millis(20);
/// Longest wait for strands that the holder has woken.
const WOKEN_PATIENCE: Duration = Duration::from_millis(4);
const NAP: Duration = Duration::from_micros(20);
/// Number of times that a strand looks again before it naps, while another one changes the state or is about to ask.
const LOOKS: u32 = 1000;
/// Looks between two checks that the process that changes the state is alive.
const LOOKS_PER_CHECK: u32 = 2000;

/// A strand, by its image and its number in the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StrandId {
    /// Number of the process image.
    pub process: u32,
    /// Number of the thread in the image.
    pub thread: u32,
}

impl StrandId {
    /// A number other than zero.
    fn key(self) -> u64 {
        (u64::from(self.process) << 32 | u64::from(self.thread)) + 1
    }
}

/// Outcome of a request for the baton.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatonState {
    /// The strand has the baton.
    Held,
    /// The strand is in the queue, and must [wait](Baton::wait).
    Queued,
}

/// The baton in shared memory. All-zero is a valid state: nobody has it.
#[repr(C)]
pub struct Baton {
    /// Process that changes the other fields; zero if none does.
    lock: AtomicU32,
    /// 1 once the program has had a second strand.
    is_shared: AtomicU32,
    /// Key of the holder, or zero.
    holder: AtomicU64,
    holding_process: AtomicU32,
    /// Number of calls that holders have begun and ended; odd while the holder is in a call, or has not begun yet.
    calls: AtomicU32,
    /// Latest known clock of a holder.
    now: AtomicU64,
    /// Process in the upper half, and thread in the lower half, of an ended strand whose host thread may still write to the
    /// program's memory; zero if there is none.
    leaving: AtomicU64,
    wakes: Wakes,
    queue: BatonQueue,
}

/// Exclusive access to the baton's state. At its end, the strand that has got the baton wakes: it may at once stop the process
/// that has given the baton.
struct Locked<'a> {
    baton: &'a Baton,
    woken: Cell<Option<&'a WaitingStrand>>,
}

impl Deref for Locked<'_> {
    type Target = Baton;

    fn deref(&self) -> &Baton {
        self.baton
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Another process has the lock if this one was stopped with it.
        let _ = self.lock.compare_exchange(std::process::id(), 0, AcqRel, Relaxed);
        self.woken.take().into_iter().for_each(WaitingStrand::wake);
    }
}

impl Baton {
    /// Returns true once the program has had a second strand. Before, its only strand needs no baton.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared.load(Relaxed) != 0
    }

    /// Returns true if the strand has the baton.
    #[inline]
    pub fn is_held_by(&self, strand: StrandId) -> bool {
        self.holder.load(Relaxed) == strand.key()
    }

    /// Returns true if a holder with this clock may have to hand over: another strand is due, or may be when it has woken.
    #[inline]
    pub fn is_due(&self, clock: u64) -> bool {
        self.queue.is_due(clock) || !self.wakes.are_answered()
    }

    /// Notes that a second strand is about to begin. If the program had only one, this strand starts it and gets the baton.
    pub fn share(&self, strand: StrandId, clock: u64) {
        if self.is_shared.swap(1, AcqRel) == 0 {
            let locked = self.locked();
            locked.give_to(strand.key(), std::process::id());
            locked.now.store(clock, Relaxed);
        }
    }

    /// Puts a strand that does not run yet into the queue. Returns its clock, which is the holder's.
    pub fn expect(&self, strand: StrandId) -> u64 {
        let locked = self.locked();
        let clock = locked.now.load(Relaxed);
        // Without a free entry, the strand asks when it begins.
        let entry = locked.queue.add(strand.key(), std::process::id(), clock);
        entry.iter().for_each(|entry| entry.expect(true));
        locked.pass_on_if_free();
        clock
    }

    /// Requests the baton for a strand that has begun or lacks it. `word` is the futex on which the strand has slept, if
    /// another strand has woken it: its clock is then at least that of the wake. Returns the clock of the strand from now
    /// on.
    pub fn request(&self, strand: StrandId, clock: u64, word: Option<u64>) -> (BatonState, u64) {
        let (key, process) = (strand.key(), std::process::id());
        loop {
            let locked = self.locked();
            if locked.holder.load(Relaxed) == key {
                locked.note_call(false);
                return (BatonState::Held, clock);
            }
            if let Some(entry) = locked.queue.entry_of(key) {
                entry.expect(false);
                return (BatonState::Queued, entry.clock());
            }
            let woken = word.and_then(|word| locked.wakes.take(word));
            let clock = clock.max(woken.unwrap_or_else(|| locked.now.load(Relaxed)));
            if let Some(entry) = locked.queue.add(key, process, clock) {
                word.filter(|_| woken.is_none()).into_iter().for_each(|word| entry.set_word(word));
                locked.pass_on_if_free();
                let is_held = locked.holder.load(Relaxed) == key;
                return (if is_held { BatonState::Held } else { BatonState::Queued }, clock);
            }
            drop(locked);
            std::thread::sleep(NAP);
        }
    }

    /// Waits until the strand has the baton. Returns at once for a strand that has it.
    pub fn wait(&self, strand: StrandId) {
        let mut calls_before = None;
        while self.holder.load(Acquire) != strand.key() {
            let Some(entry) = self.queue.entry_of(strand.key()) else {
                // The baton was given to this strand, which has lost it to another one since.
                self.request(strand, 0, None);
                continue;
            };
            if !entry.sleep(PATIENCE) {
                let calls = self.calls.load(Relaxed);
                self.rescue(calls_before.replace(calls));
            }
        }
    }

    /// Hands the baton to the strand that is due, and puts the holder into the queue. Returns false, and changes nothing, if
    /// no other strand has a lower clock.
    pub fn hand_over(&self, strand: StrandId, clock: u64) -> bool {
        self.await_woken();
        let locked = self.locked();
        if locked.holder.load(Relaxed) != strand.key() {
            return false;
        }
        locked.now.store(clock, Relaxed);
        if !locked.queue.is_due(clock) || locked.queue.add(strand.key(), std::process::id(), clock).is_none() {
            return false;
        }
        locked.pass_on();
        true
    }

    /// Gives the baton up, before a call that may wait for another strand, or at the end of the strand.
    pub fn give_up(&self, strand: StrandId, clock: u64) {
        if !self.is_held_by(strand) {
            return;
        }
        self.await_woken();
        let locked = self.locked();
        if locked.holder.load(Relaxed) == strand.key() {
            locked.now.store(clock, Relaxed);
            locked.pass_on();
        }
    }

    /// Gives the baton up at the end of a strand. Its host thread, the calling one, writes to the program's memory once more
    /// before it ends. The next holder waits for this end.
    pub fn leave(&self, strand: StrandId, clock: u64) {
        // SAFETY: the call has no arguments and cannot fail.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u64;
        if self.is_held_by(strand) {
            self.leaving.store(u64::from(std::process::id()) << 32 | thread, Release);
        }
        self.give_up(strand, clock);
    }

    /// Waits until no ended strand can write to the program's memory any more.
    #[inline]
    pub fn await_leaving(&self) {
        let leaving = self.leaving.load(Acquire);
        if leaving != 0 {
            self.await_end_of(leaving);
        }
    }

    #[cold]
    fn await_end_of(&self, leaving: u64) {
        let (process, thread) = ((leaving >> 32) as libc::c_int, leaving as u32 as libc::c_int);
        let begun = Instant::now();
        // SAFETY: signal zero only looks for the thread.
        while begun.elapsed() < PATIENCE && unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) } == 0 {
            std::thread::sleep(NAP);
        }
        let _ = self.leaving.compare_exchange(leaving, 0, AcqRel, Relaxed);
    }

    /// Notes that the holder begins a call, at this clock.
    pub fn begin_call(&self, clock: u64) {
        self.now.store(clock, Relaxed);
        self.note_call(true);
    }

    /// Notes that the holder has ended a call.
    pub fn end_call(&self) {
        self.note_call(false);
    }

    /// Notes that a call of the holder has woken strands that wait for a futex.
    pub fn woke(&self, word: u64, count: u32, clock: u64) {
        let locked = self.locked();
        let early = locked.queue.answer(word, count, clock);
        locked.wakes.add(word, count - early, clock);
    }

    /// Removes a process: its strands wait no more, and do not have the baton. With a successor, this strand of the new
    /// image of the process has it if one of the old strands had it.
    pub fn forget(&self, process: u32, successor: Option<StrandId>) {
        let locked = self.locked();
        locked.queue.forget(process);
        if locked.holder.load(Relaxed) != 0 && locked.holding_process.load(Relaxed) == process {
            match successor {
                Some(strand) => locked.give_to(strand.key(), process),
                None => locked.pass_on(),
            }
        }
    }

    /// Takes the baton from a holder that does not need it: its process is dead or stopped, or it has been in one call since
    /// `calls_before` was read.
    fn rescue(&self, calls_before: Option<u32>) {
        let (holding, calls) = (self.holding_process.load(Relaxed), self.calls.load(Relaxed));
        let is_stuck = calls % 2 == 1 && calls_before == Some(calls);
        let is_lost = is_stuck || !can_run(holding);
        let locked = self.locked();
        if locked.holder.load(Relaxed) == 0 {
            locked.wakes.clear();
            locked.pass_on_if_free();
        } else if is_lost && locked.holding_process.load(Relaxed) == holding && locked.calls.load(Relaxed) == calls {
            locked.pass_on();
        }
    }

    /// Waits until the strands that the holder has woken have asked for the baton, for a limited time.
    fn await_woken(&self) {
        let (begun, mut looks) = (Instant::now(), 0);
        while !self.wakes.are_answered() {
            if begun.elapsed() >= WOKEN_PATIENCE {
                return self.locked().wakes.clear();
            }
            looks += 1;
            look_again_after(looks);
        }
    }

    /// Notes the beginning or the end of a call. Another number follows in any case.
    fn note_call(&self, begins: bool) {
        let ended = (self.calls.load(Relaxed) & !1).wrapping_add(2);
        self.calls.store(ended | u32::from(begins), Relaxed);
    }

    fn locked(&self) -> Locked<'_> {
        let mut tries = 0_u32;
        while let Err(owner) = self.lock.compare_exchange(0, std::process::id(), Acquire, Relaxed) {
            tries += 1;
            look_again_after(tries);
            // A process may have been killed or stopped while it changed the state.
            if tries.is_multiple_of(LOOKS_PER_CHECK) && !can_run(owner) {
                let _ = self.lock.compare_exchange(owner, 0, AcqRel, Relaxed);
            }
        }
        Locked { baton: self, woken: Cell::new(None) }
    }
}

impl Locked<'_> {
    /// Gives a free baton to the strand that is due, unless woken strands are still to come.
    fn pass_on_if_free(&self) {
        if self.holder.load(Relaxed) == 0 && self.wakes.are_answered() {
            self.pass_on();
        }
    }

    /// Gives the baton to the strand with the lowest clock in the queue, or to nobody.
    fn pass_on(&self) {
        let Some(next) = self.baton.queue.first() else {
            self.holder.store(0, Release);
            return;
        };
        self.now.store(next.clock(), Relaxed);
        self.give_to(next.strand(), next.process());
        // A strand that does not begin loses the baton like one that waits in a call.
        self.note_call(next.is_expected());
        self.queue.release(next);
        self.woken.set(Some(next));
    }

    fn give_to(&self, key: u64, process: u32) {
        self.holding_process.store(process, Relaxed);
        self.note_call(false);
        self.holder.store(key, Release);
    }
}

/// Waits for a moment after some looks at a state: first without giving the processor up.
fn look_again_after(looks: u32) {
    if looks < LOOKS {
        std::hint::spin_loop();
    } else {
        std::thread::sleep(NAP);
    }
}

#[cfg(test)]
mod tests;
