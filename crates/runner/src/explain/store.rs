//! The explained store: the state of the persist buffer when the store arrives, and the steps of the store in the
//! buffer.
//!
//! ```text
//! stores before it ─ metadata caches emptied ─ chosen metadata read again ─ the store ─ the drain of its entry
//! ```
//! The scheme executes the earlier stores in functional mode, while the clock does not advance. These stores create
//! entries in the buffer and counters in memory; the metadata caches are then emptied. The result of the look-up of
//! each store and the order in which entries leave are those of the persist buffer of the simulated cores
//! ([`machine::persist`]).

use super::condition::lines_per_group;
use catalogue::{Design, Machine};
use machine::persist::{self, Finds, PersistBufferConfig};
use protection::counter::{Age, WRITES_LEFT};
use protection::execution::{AtOnce, Explained, Functional, Timed, TimedMemory, Untimed, UntimedVerbs, run_now};
use protection::scheme::{FixedScheme, PersistBufferHandle, Scheme};
use serde::{Deserialize, Serialize};
use sim::span::{Span, Verb};
use sim::{Clock, join};
use std::rc::Rc;
use strum::VariantArray;
use units::random::Random;
use units::{Cycles, Duration, Line, LineAddr, Time};

/// Separates the lines that fill a buffer from all other random draws.
const PURPOSE: u64 = 0x6675_6c6c_6275_6666;

/// State of the persist buffer when a store arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Meets {
    /// The buffer has no entry of the line, but room for a new entry.
    #[default]
    NewEntry,
    /// The buffer has an entry of the line, which an earlier store has allocated.
    Entry,
    /// Entries of other lines fill the buffer. The first of these entries begins to drain as the store arrives, and the
    /// store waits until this entry has left.
    FullBuffer,
    /// The buffer has room for a new entry, but the minor counter of the line is at its maximum. The store renews the
    /// counters of the group, and re-encrypts all its lines.
    Overflow,
}

impl Meets {
    /// The state of the buffer that a store finds, by default room for a new entry; `None` for other accesses.
    ///
    /// # Errors
    /// A sentence, if a state is requested for a read or a write.
    pub(super) fn of(is_store: bool, requested: Option<Meets>) -> Result<Option<Meets>, String> {
        match (is_store, requested) {
            (true, meets) => Ok(Some(meets.unwrap_or_default())),
            (false, None) => Ok(None),
            (false, Some(_)) => Err(
                "meets describes a store at the persist buffer, and reads and writes do not pass it: leave it out, or \
                 explain a store (--of store)"
                    .to_owned(),
            ),
        }
    }
}

/// Stores of a design on their way to its persist buffer.
pub(super) struct StorePath {
    buffer: PersistBufferConfig,
    /// Time from a store's start until it reaches the buffer.
    look_up: Duration,
    meets: Meets,
    content: Line,
    /// Number of lines, from the first, that may fill the buffer.
    lines: u64,
    /// Number of writes of a line in an aged counter group before the write that overflows its counter.
    writes_left: u64,
}

impl StorePath {
    /// Creates the path for stores of `content` under a design. A store can be explained for the first `lines` lines of
    /// memory.
    ///
    /// # Errors
    /// A sentence, if the design has no persist buffer, keeps no entry, or has counters that never overflow; or if the memory has too few
    /// lines to fill the buffer.
    pub fn new(
        machine: &Machine,
        design: &Design,
        (meets, content): (Meets, Line),
        lines: u64,
    ) -> Result<StorePath, String> {
        let node = machine.with_persistence_of(&design.parts)?.node;
        let persist = node.persist_buffer.ok_or_else(|| format!("'{}' has no persist buffer", design.name))?;
        let (buffer, look_up) = (persist.buffer, node.clock_mhz.clock().span(Cycles(persist.latency_cycles)));
        if meets == Meets::FullBuffer && lines <= 2 * u64::from(buffer.entries) {
            return Err(format!(
                "the memory has too few lines to fill a persist buffer of {} entries: make it larger, or set fewer \
                 persistence.entries",
                buffer.entries
            ));
        }
        if meets == Meets::Entry && buffer.drain_from == 1 {
            return Err(
                "the persist buffer drains from its first entry on, so no entry stays for a second store: set a \
                        higher persistence.drain_from, or more persistence.entries"
                    .to_owned(),
            );
        }
        let writes_left = if meets == Meets::Overflow { writes_before_overflow(design, lines, &content)? } else { 0 };
        Ok(StorePath { buffer, look_up, meets, content, lines, writes_left })
    }

    /// Prepares the buffer and the counters for a store to this line. The chip holds no metadata afterwards.
    pub fn arrange(self: Rc<Self>, scheme: &Scheme, memory: &Rc<TimedMemory>, line: LineAddr) -> Arrival {
        let at_once = AtOnce::new(memory);
        let verbs = at_once.verbs();
        let buffer = PersistBufferHandle::of(scheme);
        let entries = persist::PersistBuffer::new(self.buffer);
        let mut arrival = Arrival { stores: self.clone(), line, entries, leaving: Vec::new() };
        match self.meets {
            Meets::NewEntry => {}
            Meets::Overflow => {
                make_old(scheme, &verbs, line, &self.content);
                (0..self.writes_left).for_each(|_| run_now(scheme.write(&verbs, line, &self.content)));
            }
            Meets::Entry | Meets::FullBuffer => {
                for resident in self.residents(line) {
                    arrival.allocate(resident);
                    run_now(buffer.accept(&verbs, resident, &self.content));
                }
            }
        }
        run_now(scheme.flush(&verbs));
        arrival
    }

    /// The lines with an entry when a store to this line arrives.
    fn residents(&self, line: LineAddr) -> Vec<LineAddr> {
        if self.meets == Meets::Entry {
            return vec![line];
        }
        let mut random = Random::for_purpose(line.0, PURPOSE);
        let mut residents = Vec::new();
        while residents.len() < self.buffer.entries as usize {
            let other = LineAddr(random.below(self.lines));
            if other != line && !residents.contains(&other) {
                residents.push(other);
            }
        }
        residents
    }
}

/// A store that is about to reach the buffer.
pub(super) struct Arrival {
    stores: Rc<StorePath>,
    line: LineAddr,
    /// Entries of earlier stores.
    entries: persist::PersistBuffer,
    /// Those of these entries that were chosen to drain, in the order of choice.
    leaving: Vec<LineAddr>,
}

impl Arrival {
    /// The lines whose metadata delays the store: the line of the entry that must leave, if the buffer is full, and the line of the store.
    pub fn lines(&self) -> Vec<LineAddr> {
        self.leaving.first().copied().into_iter().chain([self.line]).collect()
    }

    fn allocate(&mut self, line: LineAddr) {
        self.entries.store(line);
        self.leaving.extend(std::iter::from_fn(|| self.entries.next_to_drain()));
    }

    /// Carries out the store, and the drain of its entry after it. Returns the time at which the buffer accepted the store, and the spans
    /// that `explained` does not contain.
    pub async fn carry_out(
        mut self,
        scheme: &Scheme,
        (clock, memory): (&Clock, &Rc<TimedMemory>),
        explained: &Explained<Timed>,
    ) -> (Time, Vec<Span>) {
        let (buffer, line, start) = (PersistBufferHandle::of(scheme), self.line, clock.now());
        let found = self.entries.store(line);
        let reached = start + self.stores.look_up;
        let (_, mut spans) = join!(clock.sleep_until(reached), self.make_room(found, scheme, memory));
        spans.push(Span {
            verb: Verb::LookUp,
            what: "persist buffer".to_owned(),
            start,
            end: reached,
            waited_for: None,
            outcome: Some(match found {
                Finds::Resident => "entry found",
                Finds::Allocated => "new entry",
                Finds::Full | Finds::Leaving => "full",
            }),
        });
        buffer.accept(explained, line, &self.stores.content).await;
        let accepted = clock.now();
        buffer.drain(explained, line).await;
        (accepted, spans)
    }

    /// Drains the entry that leaves first, if the store has found a full buffer. Returns the spans of the drain.
    async fn make_room(&mut self, found: Finds, scheme: &Scheme, memory: &Rc<TimedMemory>) -> Vec<Span> {
        let Some(oldest) = self.leaving.first().copied().filter(|_| found == Finds::Full) else { return Vec::new() };
        let (explained, records) = Explained::recording(Timed::new(memory));
        PersistBufferHandle::of(scheme).drain(&explained, oldest).await;
        self.entries.left(oldest);
        assert_eq!(self.entries.store(self.line), Finds::Allocated, "an entry has left");
        let of_oldest = |span: Span| Span { what: format!("oldest's {}", span.what), ..span };
        records.take_spans().into_iter().map(of_oldest).collect()
    }
}

/// Ages the counter group of a line until its counters are near their maximum, and writes all other lines of the group.
fn make_old(scheme: &Scheme, verbs: &UntimedVerbs<'_>, line: LineAddr, content: &Line) {
    run_now(scheme.age(verbs, line, Age::BeforeRenewal));
    let group = lines_per_group(scheme);
    let first = line.0 - line.0 % group;
    let others = (first..first + group).map(LineAddr).filter(|other| *other != line);
    others.for_each(|other| run_now(scheme.write(verbs, other, content)));
}

/// Number of writes to a line of an aged counter group before the write that overflows its counter, found by trial.
fn writes_before_overflow(design: &Design, lines: u64, content: &Line) -> Result<u64, String> {
    let scheme = design.parts.build(lines, 1)?;
    let memory = Functional::new(scheme.layout().total_lines());
    let verbs = memory.verbs();
    let line = LineAddr(0);
    let overflows = || {
        let before = scheme.counted().renewals.groups;
        run_now(scheme.write(&verbs, line, content));
        scheme.counted().renewals.groups > before
    };
    let found = scheme.fixed().and_then(FixedScheme::lines_per_counter_line).and_then(|_| {
        make_old(&scheme, &verbs, line, content);
        (0..2 * WRITES_LEFT).find(|_| overflows())
    });
    found.ok_or_else(|| {
        format!(
            "'{}' has no counters that overflow and are renewed: take 'secpb-cm', or another store, with --meets \
             new-entry",
            design.name
        )
    })
}
