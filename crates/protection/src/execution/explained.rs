//! Explained runner: a wrapper around any runner, which records operations and their times.
//!
//! It is not a third implementation: it passes each verb to the wrapped runner and records the result. Tests compare
//! the operations of different runners; the spans are the timeline. A separate filter selects the records to keep
//! ([`Keep`]).

use crate::domain::RegisterUpdate;
use crate::execution::keep::{Everything, Keep, Unit, UnitSpan};
use crate::execution::operation::Operation;
use crate::execution::watch::{VerbReport, Watch};
use crate::placement::DataSlot;
use crate::slot::Part;
use crate::verbs::{
    AesUnits, Arriving, Beats, Blocks, BusPriority, Cache, EngineVerbs, Exit, ExitVerbs, Fault, IdleBlocks, Keystream,
    Known, Leg, LockName, LockVerbs, MemoryVerbs, Passing, Plaintext, Purpose, Role, Slot, TransitVerbs, Untrusted,
    Verbs, Wanted,
};
use crypto::BlockCipher;
use sim::lock::Mode;
use sim::span::{Cause, Span, Verb};
use std::future::Future;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Time, WORD_BYTES, Words};

/// Verbs that record their work. The filter is a trait object, so that all filters share one compiled text per runner.
pub struct Explained<V> {
    inside: V,
    kept: Rc<dyn Keep>,
}

impl<V: Verbs + Watch> Explained<V> {
    /// Wraps a runner's verbs, and keeps the records that `kept` selects.
    pub fn new(inside: V, kept: Rc<dyn Keep>) -> Explained<V> {
        Explained { inside, kept }
    }

    /// Wraps a runner's verbs, and keeps everything in the returned record.
    pub fn recording(inside: V) -> (Explained<V>, Rc<Everything>) {
        let records = Rc::new(Everything::default());
        (Explained::new(inside, records.clone()), records)
    }

    /// Returns the wrapped verbs.
    pub fn inside(&self) -> &V {
        &self.inside
    }

    /// Keeps a span from the call of the work until the work is awaited and done.
    fn record<T>(
        &self,
        (verb, unit): (Verb, Unit),
        what: impl Fn() -> String,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = T> {
        self.record_from(self.inside.now(), (verb, unit), what, work)
    }

    /// Like [`Explained::record`], for work that begins at `start`.
    async fn record_from<T>(
        &self,
        start: Time,
        (verb, unit): (Verb, Unit),
        what: impl Fn() -> String,
        work: impl Future<Output = T>,
    ) -> T {
        let output = work.await;
        let VerbReport { waited_for, outcome, done, waited, delayed, data } = self.inside.account();
        let end = done.unwrap_or_else(|| self.inside.now());
        // A reader may have continued with the first word while the other words were on their way.
        let last = data.map_or(end, |data| data.max(end));
        self.kept.span(start, last, &|| {
            let span = Span { verb, what: what(), start, end, waited_for, outcome };
            UnitSpan { unit, span, began: start + waited, delayed, data }
        });
        output
    }

    fn note(&self, operation: impl Fn() -> Operation) {
        self.kept.operation(&operation);
    }

    /// Keeps work with a known end, or work that takes no time.
    fn known(&self, (verb, unit): (Verb, Unit), what: impl Fn() -> String, (start, end): (Time, Time)) {
        self.kept.span(start, end, &|| {
            let span = Span { verb, what: what(), start, end, waited_for: None, outcome: None };
            UnitSpan { unit, span, began: start, delayed: Duration::ZERO, data: None }
        });
    }

    fn mark(&self, verb: Verb, what: impl Fn() -> String) {
        let now = self.inside.now();
        self.known((verb, Unit::Exit), what, (now, now));
    }
}

impl<V: Verbs + Watch> MemoryVerbs for Explained<V> {
    fn fetch(&self, slot: Slot, role: Role, wanted: Wanted) -> impl Future<Output = Arriving> {
        self.note(|| Operation::Fetch(role, slot));
        self.record((Verb::Fetch, Unit::Memory(slot)), move || role.to_string(), self.inside.fetch(slot, role, wanted))
    }

    fn background(&self) -> BusPriority {
        self.inside.background()
    }

    fn await_turn(&self, priority: &BusPriority, slot: Slot) -> impl Future<Output = ()> {
        self.inside.await_turn(priority, slot)
    }

    async fn await_words(&self, beats: Beats, words: Words) {
        let start = self.inside.now();
        self.inside.await_words(beats, words).await;
        let (end, _) = (self.inside.now(), self.inside.account());
        if end > start {
            self.kept.span(start, end, &|| {
                let what = format!("data {}", in_bytes(words));
                let span = Span { verb: Verb::Fetch, what, start, end, waited_for: None, outcome: None };
                UnitSpan { unit: Unit::Wait, span, began: start, delayed: Duration::ZERO, data: None }
            });
        }
    }

    fn still_stored(&self, slot: Slot, fetched: Untrusted) -> Option<Untrusted> {
        self.inside.still_stored(slot, fetched)
    }

    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.note(|| Operation::Store(role, slot, content));
        self.record((Verb::Store, Unit::Memory(slot)), move || role.to_string(), self.inside.store(slot, role, content))
    }

    fn persist(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()> {
        self.note(|| Operation::Persist(role, slot, content));
        let persisted = self.inside.persist(slot, role, content);
        self.record((Verb::Persist, Unit::Memory(slot)), move || role.to_string(), persisted)
    }

    async fn persist_part(&self, slot: Slot, role: Role, part: Part) -> Untrusted {
        let persisted = self.inside.persist_part(slot, role, part);
        let merged = self.record((Verb::Persist, Unit::Memory(slot)), move || role.to_string(), persisted).await;
        self.note(|| Operation::PersistPart(role, slot, merged, part.bits()));
        merged
    }

    async fn fence(&self) {
        self.record((Verb::Fence, Unit::Exit), || "tuple".to_owned(), self.inside.fence()).await;
        self.note(|| Operation::Fence);
    }

    fn complete(&self, completion: RegisterUpdate) {
        self.note(|| Operation::Complete(completion.clone()));
        if !completion.outdates_root {
            self.mark(Verb::Complete, || "tuple".to_owned());
        }
        self.inside.complete(completion);
    }

    fn start_up(&self, at: DataSlot) -> Option<Line> {
        self.inside.start_up(at)
    }

    fn boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted) {
        self.inside.boot(slot, role, change);
    }
}

impl<V: Verbs + Watch> EngineVerbs for Explained<V> {
    fn decode(&self) -> Known {
        self.note(|| Operation::Decode);
        let (start, known) = (self.inside.now(), self.inside.decode());
        if known.0 > start {
            self.known((Verb::Decode, Unit::Decoder), || "counter".to_owned(), (start, known.0));
        }
        known
    }

    fn pad(&self, units: AesUnits, blocks: Blocks, counter: Known) -> Passing {
        self.note(|| Operation::Pad(units, blocks));
        self.inside.pad(units, blocks, counter)
    }

    fn await_blocks(&self, passing: Passing) -> impl Future<Output = ()> {
        let Passing { units, blocks, ready, .. } = passing;
        let in_l2 = match units {
            AesUnits::Controller => "",
            AesUnits::L2(_) => " in L2",
        };
        self.record_from(
            ready,
            (verb_of(blocks.purpose), Unit::Cipher(units, blocks.cipher)),
            move || format!("{}{in_l2}", in_words(blocks)),
            self.inside.await_blocks(passing),
        )
    }

    fn offer(&self, blocks: Blocks, ready: Known) -> IdleBlocks {
        self.note(|| Operation::Offer(blocks));
        self.inside.offer(blocks, ready)
    }

    async fn await_offered(&self, offered: &IdleBlocks, block: u32) -> bool {
        let requested = self.inside.now();
        let was_out = self.inside.await_offered(offered, block).await;
        if !was_out {
            let waited = (requested, self.inside.now());
            self.known((Verb::Match, Unit::Wait), || in_bytes(offered.blocks.piece), waited);
        }
        was_out
    }

    fn give_up(&self, offered: &IdleBlocks) -> u32 {
        let given_up = self.inside.give_up(offered);
        let (blocks, now) = (offered.blocks, self.inside.now());
        let end = self.inside.account().done.map_or(now, |out| out.min(now));
        let gone_in = blocks.parallel - given_up;
        self.known(
            (verb_of(blocks.purpose), Unit::Candidates(blocks.cipher)),
            move || format!("{}, {gone_in} of {}", in_bytes(blocks.piece), blocks.parallel),
            (offered.ready.min(end), end),
        );
        given_up
    }

    fn take_on(&self, core: usize, line: LineAddr, blocks: u32, predicted: bool) -> bool {
        self.inside.take_on(core, line, blocks, predicted)
    }

    fn mac(&self) -> impl Future<Output = ()> {
        self.note(|| Operation::Mac);
        self.record((Verb::Mac, Unit::Mac), || "data".to_owned(), self.inside.mac())
    }

    fn hash(&self) -> impl Future<Output = ()> {
        self.note(|| Operation::Hash);
        self.record((Verb::Hash, Unit::Hash), || "metadata".to_owned(), self.inside.hash())
    }

    async fn xor(&self) {
        let start = self.inside.now();
        self.inside.xor().await;
        if self.inside.now() > start {
            self.known((Verb::Decrypt, Unit::Wait), || "by XOR".to_owned(), (start, self.inside.now()));
        }
    }
}

fn verb_of(purpose: Purpose) -> Verb {
    match purpose {
        Purpose::Nonce => Verb::Pad,
        Purpose::Sealing => Verb::Encrypt,
        Purpose::Opening => Verb::Decrypt,
        Purpose::Tag => Verb::Mac,
        Purpose::Candidates => Verb::Speculate,
    }
}

/// Describes the blocks of a block cipher, for a timeline.
fn in_words(blocks: Blocks) -> String {
    let cipher = if blocks.cipher == BlockCipher::Tdes { "TDES " } else { "" };
    match blocks {
        _ if blocks.count() == 0 => "offset kept".to_owned(),
        Blocks { piece, .. } if piece != Words::NONE => format!("{cipher}{}", in_bytes(piece)),
        Blocks { chained: 2.., parallel: 0, .. } => format!("{} {cipher}chained", blocks.chained),
        _ if blocks.count() == 1 => format!("1 {cipher}block"),
        _ => format!("{} {cipher}blocks", blocks.count()),
    }
}

impl<V: Verbs + Watch> TransitVerbs for Explained<V> {
    fn look_up(&self, cache: Cache) -> impl Future<Output = ()> {
        self.note(|| Operation::LookUp(cache));
        self.record((Verb::LookUp, Unit::Cache(cache)), move || cache.to_string(), self.inside.look_up(cache))
    }

    fn travel(&self, leg: Leg) -> impl Future<Output = ()> {
        self.note(|| Operation::Travel(leg));
        self.record((Verb::Travel, Unit::Way(leg)), move || leg.to_string(), self.inside.travel(leg))
    }

    fn outwait_hit(&self, core: usize, line: LineAddr) -> impl Future<Output = ()> {
        self.record((Verb::Outwait, Unit::Wait), || "last-level hit".to_owned(), self.inside.outwait_hit(core, line))
    }

    fn handle_exception(&self) -> impl Future<Output = ()> {
        let handled = self.inside.handle_exception();
        self.record((Verb::Handle, Unit::Wait), || "operating system".to_owned(), handled)
    }

    fn come_in(&self) -> impl Future<Output = ()> {
        self.inside.come_in()
    }

    fn renewing<T>(&self, priority: &BusPriority, work: impl Future<Output = T>) -> impl Future<Output = T> {
        self.inside.renewing(priority, work)
    }

    fn in_places<T>(&self, slots: &[Slot], work: impl Future<Output = T>) -> impl Future<Output = T> {
        self.inside.in_places(slots, work)
    }
}

impl<V: Verbs + Watch> LockVerbs for Explained<V> {
    type Guard<'a>
        = V::Guard<'a>
    where
        V: 'a;

    async fn lock(&self, name: LockName, mode: Mode) -> V::Guard<'_> {
        let start = self.inside.now();
        let guard = self.inside.lock(name, mode).await;
        let end = self.inside.now();
        if end > start {
            self.kept.span(start, end, &|| {
                let (what, waited_for) = (name.to_string(), Some(Cause::Lock));
                let span = Span { verb: Verb::Lock, what, start, end, waited_for, outcome: None };
                UnitSpan { unit: Unit::Wait, span, began: start, delayed: Duration::ZERO, data: None }
            });
        }
        guard
    }
}

/// Returns the first and last byte of these words, for a timeline.
fn in_bytes(words: Words) -> String {
    let (first, last) = (words.iter().next(), words.iter().last());
    match (first, last) {
        (Some(first), Some(last)) => {
            format!("{}-{}", first.index() * WORD_BYTES, (last.index() + 1) * WORD_BYTES - 1)
        }
        _ => "nothing".to_owned(),
    }
}

impl<V: Verbs + Watch> ExitVerbs for Explained<V> {
    fn release_first(&self, line: LineAddr, plaintext: Plaintext, words: Words) {
        self.note(|| Operation::ReleaseFirst(line, plaintext, words));
        let verdict = if plaintext.verified { "verified" } else { "unverified" };
        self.mark(Verb::Release, || format!("{verdict} {}", in_bytes(words)));
        self.inside.release_first(line, plaintext, words);
    }

    fn release(&self, line: LineAddr, plaintext: Plaintext, exit: Exit) {
        self.note(|| Operation::Release(line, plaintext, exit));
        let verdict = if plaintext.verified { "verified" } else { "unverified" };
        self.mark(Verb::Release, || match exit {
            Exit::Controller => verdict.to_owned(),
            Exit::BeforeVerdict => "ahead".to_owned(),
            Exit::L2 => format!("{verdict} in L2"),
            Exit::LastLevel => "in last-level cache".to_owned(),
        });
        self.inside.release(line, plaintext, exit);
    }

    fn settle(&self, line: LineAddr, good: bool) {
        self.note(|| Operation::Settle(line, good));
        self.mark(Verb::Settle, || if good { "verified" } else { "refused" }.to_owned());
        self.inside.settle(line, good);
    }

    fn await_verdicts(&self) -> impl Future<Output = bool> {
        self.note(|| Operation::AwaitVerdicts);
        self.record((Verb::Await, Unit::Wait), || "verdicts".to_owned(), self.inside.await_verdicts())
    }

    fn fault(&self, fault: Fault) {
        self.note(|| Operation::Fault(fault));
        self.mark(Verb::Fault, || fault.to_string());
        self.inside.fault(fault);
    }

    fn pass_on(&self, chunk: u64) -> bool {
        self.inside.pass_on(chunk)
    }

    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>) {
        let Some(keystream) = keystream() else { return };
        self.note(|| Operation::Spend(slot, keystream.clone()));
        self.inside.spend(slot, || Some(keystream));
    }
}
