//! The verbs over a timed memory: each waits for what it takes, and what it moves or releases counts from that moment.

use super::Timed;
use crate::domain::Registers;
use crate::placement::DataSlot;
use crate::verbs::{Fault, Keystream, Known, Leg, LockName, Plaintext, Role, Slot, Untrusted, Verbs};
use crate::ways::Receiver;
use crate::ways::explained::Account;
use machine::dram::Wanted;
use sim::join;
use sim::lock::{Guard, Mode};
use sim::span::Cause;
use std::future::Future;
use units::{Line, LineAddr};

impl<R: Receiver> Verbs for Timed<R> {
    type Guard<'a>
        = Guard<'a, LockName>
    where
        R: 'a;

    fn fetch(&self, slot: Slot, role: Role) -> impl Future<Output = Untrusted> {
        self.read(slot, role, Wanted::Line)
    }

    fn fetch_by_word(&self, slot: Slot, role: Role) -> impl Future<Output = Untrusted> {
        self.read(slot, role, Wanted::FirstWord)
    }

    /// What was blank may have got its start-up content, which was there all the time.
    fn still_stored(&self, slot: Slot, fetched: Untrusted) -> Option<Untrusted> {
        let stored = self.memory.media.borrow().read(slot);
        (fetched == stored || fetched.is_blank()).then_some(stored)
    }

    async fn store(&self, slot: Slot, role: Role, content: Untrusted) {
        self.memory.counters.borrow_mut().stored.count(role);
        // The bytes count from now on: a read that comes while the write waits for the queue must see them.
        self.memory.media.borrow_mut().store(slot, content);
        let asked = self.memory.clock.now();
        let channels = &self.memory.channels;
        match self.memory.shape.lines(slot) {
            (line, None) => channels.write(line).await,
            (first, Some(second)) => {
                // The bytes of others on these lines are masked out, so nothing has to be read for it.
                self.memory.counters.borrow_mut().stored.count(Role::Tag);
                join!(channels.write(first), channels.write(second));
            }
        }
        let waited = self.memory.clock.now() > asked;
        self.account.set(Account { waited_for: waited.then_some(Cause::Queue), ..Account::default() });
    }

    fn complete(&self, registers: Registers) {
        self.memory.complete(registers);
    }

    fn decode(&self) -> Known {
        Known(self.memory.clock.now() + self.memory.decoding)
    }

    fn pad(&self, blocks: u32, counter: Known) -> impl Future<Output = ()> {
        self.through_when(counter, &self.memory.aes, blocks)
    }

    fn mac(&self) -> impl Future<Output = ()> {
        self.through(&self.memory.mac, 1)
    }

    fn hash(&self) -> impl Future<Output = ()> {
        self.through(if self.memory.hashes_by_aes { &self.memory.aes } else { &self.memory.hash }, 1)
    }

    fn look_up(&self, role: Role) -> impl Future<Output = ()> {
        let port = match role {
            Role::Counter | Role::Owner | Role::Data => 0,
            Role::Tag => 1,
            Role::Node(_) => 2,
        };
        self.through(&self.memory.ports[if self.memory.one_port { 0 } else { port }], 1)
    }

    fn look_up_last_level(&self, slot: Slot) -> impl Future<Output = ()> {
        self.after(self.memory.receiver.last_level_look_up(slot))
    }

    fn travel(&self, leg: Leg) -> impl Future<Output = ()> {
        // It begins now, not when it is first waited for.
        let way = self.after(self.memory.receiver.way(leg));
        async move {
            way.await;
            if let Some(last) = self.memory.receiver.last_stretch(leg) {
                self.after(last).await;
            }
        }
    }

    fn look_up_private(&self, role: Role) -> impl Future<Output = ()> {
        self.after(self.memory.receiver.private_look_up(role))
    }

    fn outwait_hit(&self, core: usize, line: LineAddr) -> impl Future<Output = ()> {
        self.after(self.memory.receiver.hit_time(core, line))
    }

    fn take_on_in_private(&self, core: usize, line: LineAddr, blocks: u32, predicted: bool) -> bool {
        let wanted = self.memory.clock.now() + self.memory.receiver.hit_time(core, line);
        self.memory.private_aes.get(core).is_none_or(|aes| aes.take_on(wanted, blocks, predicted))
    }

    /// In the memory controller's units if L2s have none.
    fn pad_in_private(&self, core: usize, blocks: u32, counter: Known) -> impl Future<Output = ()> {
        self.through_when(counter, self.memory.private_aes.get(core).map_or(&self.memory.aes, |aes| &aes.pipe), blocks)
    }

    fn come_in(&self) -> impl Future<Output = ()> {
        self.memory.overflows.come_in()
    }

    fn begin_renewal(&self) -> impl Future<Output = ()> {
        self.memory.overflows.begin()
    }

    fn end_renewal(&self) {
        self.memory.overflows.end();
    }

    fn take_places(&self, slots: &[Slot]) -> impl Future<Output = ()> {
        self.memory.overflows.take_places(slots)
    }

    fn leave_places(&self, slots: &[Slot]) -> impl Future<Output = ()> {
        self.memory.overflows.leave_places(slots)
    }

    async fn lock(&self, name: LockName, mode: Mode) -> Guard<'_, LockName> {
        self.memory.locks.lock(name, mode).await
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext) {
        self.memory.counters.borrow_mut().released_unverified += u64::from(!plaintext.verified);
        self.memory.receiver.released(line, &plaintext);
    }

    fn release_ahead(&self, line: LineAddr, plaintext: Plaintext) {
        self.memory.windows.open(line, self.memory.clock.now());
        self.memory.receiver.released(line, &plaintext);
    }

    fn settle(&self, line: LineAddr, _: bool) {
        self.memory.windows.close(line, &self.memory.clock);
    }

    async fn await_verdicts(&self) {
        let waited = self.memory.windows.all_settled(&self.memory.clock).await;
        self.account.set(Account { waited_for: waited.then_some(Cause::Verdict), ..Account::default() });
    }

    fn release_in_private(&self, line: LineAddr, plaintext: Plaintext) {
        self.memory.counters.borrow_mut().released_in_l2 += 1;
        self.memory.receiver.released_in_private(line, &plaintext);
    }

    fn fault(&self, fault: Fault) {
        self.memory.receiver.fault(fault);
    }

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        self.memory.start_up(at)
    }

    fn boot(&self, slot: Slot, _: Role, change: impl FnOnce(Untrusted) -> Untrusted) {
        self.memory.boot(slot, change);
    }

    fn spend(&self, _: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        self.memory.note(keystream);
    }
}
