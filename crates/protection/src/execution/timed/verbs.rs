//! The verbs over a timed memory: each verb waits for its resources, and its effect is visible at the moment at which
//! it gets them.

use super::{Timed, pass};
use crate::domain::RegisterUpdate;
use crate::execution::reads::{ReadPart, part_of};
use crate::execution::watch::VerbReport;
use crate::execution::windows::Settled;
use crate::placement::DataSlot;
use crate::slot::Part;
use crate::verbs::{
    AesUnits, Arriving, Beats, Blocks, BusPriority, Cache, EngineVerbs, Exit, ExitVerbs, Fault, IdleBlocks, Keystream,
    Known, Leg, LockName, LockVerbs, MemoryVerbs, Passing, Plaintext, Role, Slot, TransitVerbs, Untrusted, Wanted,
};
use crypto::BlockCipher;
use sim::lock::{Guard, Mode};
use sim::span::Cause;
use std::future::{Future, ready};
use units::{Duration, Line, LineAddr, Words};

impl MemoryVerbs for Timed {
    fn fetch(&self, slot: Slot, role: Role, wanted: Wanted) -> impl Future<Output = Arriving> {
        self.read(slot, role, wanted)
    }

    fn background(&self) -> BusPriority {
        BusPriority::background(&self.memory.clock)
    }

    async fn await_turn(&self, priority: &BusPriority, slot: Slot) {
        if priority.is_demand() {
            return;
        }
        let requested = self.memory.clock.now();
        let (burst, _) = self.memory.shape.bursts(slot);
        self.memory.channels.memory().turn(burst.line, priority).await;
        let waited = self.memory.clock.now() > requested;
        self.account.set(VerbReport { waited_for: waited.then_some(Cause::Queue), ..VerbReport::default() });
    }

    fn await_words(&self, beats: Beats, words: Words) -> impl Future<Output = ()> {
        let end = beats.when(words);
        let work = self.working(None, (end, end), Duration::ZERO);
        async move {
            work.await;
            self.progress.words_arrived(end);
        }
    }

    /// A slot that was blank may have received its start-up content since; this content counts as stored from the
    /// beginning.
    fn still_stored(&self, slot: Slot, fetched: Untrusted) -> Option<Untrusted> {
        let stored = self.memory.media.borrow().read(slot);
        (fetched == stored || fetched.is_blank()).then_some(stored)
    }

    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.write(slot, role, content, false)
    }

    /// Takes as long as any write: the state after a loss of power follows from the order ([`domain`](crate::domain)).
    fn persist(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.write(slot, role, content, true)
    }

    /// Takes as long as any write: the write masks out the bits that memory keeps.
    async fn persist_part(&self, slot: Slot, role: Role, part: Part) -> Untrusted {
        let merged = part.over(self.memory.media.borrow().read(slot));
        self.write(slot, role, merged, true).await;
        merged
    }

    fn fence(&self) -> impl Future<Output = ()> {
        ready(())
    }

    fn complete(&self, completion: RegisterUpdate) {
        self.memory.complete(&completion);
    }

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        self.memory.start_up(at)
    }

    fn boot(&self, slot: Slot, _: Role, change: impl Fn(Untrusted) -> Untrusted) {
        self.memory.durable.boot(&self.memory.media, slot, change);
    }
}

impl EngineVerbs for Timed {
    fn decode(&self) -> Known {
        Known(self.memory.clock.now() + self.memory.units.decoding)
    }

    fn pad(&self, units: AesUnits, blocks: Blocks, Known(known): Known) -> Passing {
        let ready = self.memory.clock.now().max(known);
        let passage = self.memory.units.of_cipher(units, blocks.cipher).pass(ready, blocks);
        let waited = passage.start.min(passage.done).since(ready);
        Passing { units, blocks, ready, waited, done: passage.done }
    }

    fn await_blocks(&self, Passing { ready, waited, done, .. }: Passing) -> impl Future<Output = ()> {
        self.working(Some(ReadPart::Engine), (ready, done), waited)
    }

    fn offer(&self, blocks: Blocks, Known(known): Known) -> IdleBlocks {
        let now = self.memory.clock.now();
        let ready = now.max(known);
        let units = self.memory.units.of_cipher(AesUnits::Controller, blocks.cipher);
        IdleBlocks { blocks, ready, batch: Some(units.pipe.offer(now, ready, blocks.parallel)) }
    }

    async fn await_offered(&self, offered: &IdleBlocks, block: u32) -> bool {
        let Some((pipe, batch)) = self.idle_work(offered) else { return true };
        let clock = &self.memory.clock;
        let requested = clock.now();
        let out = loop {
            match pipe.comes_out(clock.now(), batch, block as usize) {
                Some(out) => break out,
                // A block that has not entered yet leaves no earlier than this.
                None => clock.sleep_until(clock.now().max(offered.ready) + pipe.latency()).await,
            }
        };
        self.working(Some(ReadPart::Engine), (requested, out), Duration::ZERO).await;
        out <= requested
    }

    fn give_up(&self, offered: &IdleBlocks) -> u32 {
        let Some((pipe, batch)) = self.idle_work(offered) else { return 0 };
        let now = self.memory.clock.now();
        let (entered, out) = pipe.entered(now, batch);
        self.account
            .set(VerbReport { done: out.filter(|_| entered == offered.blocks.parallel), ..VerbReport::default() });
        pipe.give_up(now, batch)
    }

    fn take_on(&self, core: usize, line: LineAddr, blocks: u32, predicted: bool) -> bool {
        let wanted = self.memory.clock.now() + self.memory.receiver.hit_time(core, line);
        let (units, load) = (&self.memory.units, &self.memory.load);
        let for_aes = || units.of_cipher(AesUnits::Controller, BlockCipher::Aes).pipe.backlog(self.memory.clock.now());
        units.in_l2(core).is_none_or(|aes| aes.take_on(wanted, (blocks, predicted), load, for_aes))
    }

    fn mac(&self) -> impl Future<Output = ()> {
        self.through(&self.memory.units.mac, 1, ReadPart::Engine)
    }

    fn hash(&self) -> impl Future<Output = ()> {
        self.through(self.memory.units.hash(), 1, ReadPart::Tree)
    }

    fn xor(&self) -> impl Future<Output = ()> {
        let now = self.memory.clock.now();
        self.working(Some(ReadPart::Engine), (now, now + self.memory.units.xor), Duration::ZERO)
    }
}

impl TransitVerbs for Timed {
    fn look_up(&self, cache: Cache) -> impl Future<Output = ()> {
        let (now, receiver) = (self.memory.clock.now(), &self.memory.receiver);
        let ((end, waited), part) = match cache {
            Cache::Controller(role) => (pass(self.memory.units.port(role.kind()), now, 1), part_of(role)),
            Cache::LastLevel(slot) => ((now + receiver.last_level_look_up(slot), Duration::ZERO), ReadPart::OnChip),
            Cache::L2(role) => ((now + receiver.private_look_up(role), Duration::ZERO), ReadPart::OnChip),
            Cache::Candidates => ((now + self.memory.units.comparing, Duration::ZERO), ReadPart::Engine),
        };
        self.working(Some(part), (now, end), waited)
    }

    fn travel(&self, leg: Leg) -> impl Future<Output = ()> {
        // The transfer begins now, not when it is first awaited.
        let way = self.after(self.memory.receiver.way(leg));
        async move {
            way.await;
            if let Some(last) = self.memory.receiver.last_stretch(leg) {
                self.after(last).await;
            }
            self.progress.ended(ReadPart::OnChip, self.memory.clock.now());
        }
    }

    fn outwait_hit(&self, core: usize, line: LineAddr) -> impl Future<Output = ()> {
        self.after(self.memory.receiver.hit_time(core, line))
    }

    async fn handle_exception(&self) {
        self.after(self.memory.receiver.exception_time()).await;
        self.progress.ended(ReadPart::Tree, self.memory.clock.now());
    }

    async fn come_in(&self) {
        self.progress.begin(self.memory.clock.now());
        self.memory.overflows.come_in().await;
        self.progress.let_in(self.memory.clock.now());
    }

    async fn renewing<T>(&self, priority: &BusPriority, work: impl Future<Output = T>) -> T {
        self.memory.overflows.begin(priority).await;
        let output = work.await;
        self.memory.overflows.end(priority);
        output
    }

    async fn in_places<T>(&self, slots: &[Slot], work: impl Future<Output = T>) -> T {
        self.memory.overflows.take_places(slots).await;
        let output = work.await;
        self.memory.overflows.leave_places(slots).await;
        output
    }
}

impl LockVerbs for Timed {
    type Guard<'a> = Guard<'a, LockName>;

    async fn lock(&self, name: LockName, mode: Mode) -> Guard<'_, LockName> {
        let guard = self.memory.locks.lock(name, mode).await;
        self.progress.locked(name, self.memory.clock.now());
        guard
    }
}

impl ExitVerbs for Timed {
    fn release_first(&self, line: LineAddr, plaintext: Plaintext, words: Words) {
        if self.memory.channels.memory().words().keeps_lines_whole() {
            return;
        }
        self.count_read(line, false);
        self.memory.receiver.released_first(line, &plaintext, words);
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext, exit: Exit) {
        let memory = &self.memory;
        if exit != Exit::LastLevel {
            self.count_read(line, true);
        }
        match exit {
            Exit::Controller => {
                memory.counts.borrow_mut().released_unverified += u64::from(!plaintext.verified);
                memory.receiver.released(line, &plaintext);
            }
            Exit::BeforeVerdict => {
                memory.windows.open(line, memory.clock.now());
                memory.receiver.released(line, &plaintext);
            }
            Exit::LastLevel => memory.receiver.found(line, &plaintext),
            Exit::L2 => {
                memory.counts.borrow_mut().released_in_l2 += 1;
                memory.receiver.released_in_private(line, &plaintext);
            }
        }
    }

    fn settle(&self, line: LineAddr, good: bool) {
        self.memory.windows.close(line, good, &self.memory.clock);
    }

    async fn await_verdicts(&self) -> bool {
        let Settled { waited, all_good } = self.memory.windows.all_settled(&self.memory.clock).await;
        self.account.set(VerbReport { waited_for: waited.then_some(Cause::Verdict), ..VerbReport::default() });
        all_good
    }

    fn fault(&self, fault: Fault) {
        self.memory.receiver.fault(fault);
    }

    fn pass_on(&self, chunk: u64) -> bool {
        self.memory.receiver.takes_permutation(chunk)
    }

    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        self.memory.durable.note(slot, keystream);
    }
}
