//! Attacks while the battery works, and memories that a dying battery leaves.
//!
//! The attacker flips a bit of a stored line at some event of the drain. It flips the bit back when the drain has
//! ended, unless the chip has written the line meanwhile, so that recovery finds no trace in memory. For randomly drawn
//! lines of the workload, the attacker tampers with each kind of stored line. The keys and the ledger survive: the
//! writes after recovery belong to the machine's second session.
//!
//! When a battery dies, memory holds the lines that it has written until then; lines in flight arrive torn, or not at
//! all. The attacker may also put back any memory of this session or of an earlier one ([`sessions`](super::sessions)).

use super::bench::{Bench, Meddling};
use super::dying::Rerun;
use super::history::History;
use super::revival::{Contents, Revival};
use super::states::{self, Arrivals, DeadMemory};
use super::trials::{RestartResult, after_tampering};
use super::workload::LINES;
use crate::bus::{Map, Recording};
use protection::domain::WritePendingQueue;
use protection::execution::Operation;
use protection::verbs::{Slot, Untrusted};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use units::LINE_BYTES;
use units::random::Random;

const LINE_BITS: usize = 8 * LINE_BYTES;

/// Number of attempts of each kind on one history.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// Number of points at which power fails.
    pub points: usize,
    /// Events of a drain at which a bit is flipped, in addition to its first event.
    pub events: u64,
    /// Lines of the workload that are tampered with in memory, together with their metadata.
    pub lines: usize,
    /// Operations of a drain at which the battery dies.
    pub deaths: usize,
    /// Number of memories that are tried for each death, first those in which all lines have arrived.
    pub torn: usize,
    /// Memories that are put back, in addition to those with which sessions begin and end.
    pub memories: usize,
    /// Sessions that follow the first.
    pub sessions: usize,
}

impl Tries {
    /// Returns a few attempts of each kind, or more for a thorough campaign.
    pub fn of(thorough: bool) -> Tries {
        if thorough {
            let (deaths, torn, memories, sessions) = (4, 2, 3, 2);
            return Tries { points: 4, events: 4, lines: LINES.len(), deaths, torn, memories, sessions };
        }
        Tries { points: 1, events: 1, lines: 1, deaths: 2, torn: 2, memories: 2, sessions: 1 }
    }
}

/// A bit of a line of memory that is flipped at an event of a drain.
#[derive(Clone, Copy, Debug)]
struct Flip {
    slot: Slot,
    bit: usize,
    event: u64,
}

impl Flip {
    fn flipped(&self, content: Untrusted) -> Untrusted {
        let mut line = content.examine();
        line[self.bit / 8] ^= 1 << (self.bit % 8);
        Untrusted::with(line, content.spare_bits())
    }

    /// Flips the bit at its event and keeps the earlier content in `honest`.
    fn meddling(self, honest: Rc<Cell<Option<Untrusted>>>) -> Meddling {
        let mut events = 0;
        Box::new(move |memory| {
            if events == self.event {
                let mut media = memory.media().borrow_mut();
                let content = media.read(self.slot);
                media.store(self.slot, self.flipped(content));
                honest.set(Some(content));
            }
            events += 1;
        })
    }
}

/// Returns the memories that drains under attack leave of a history, each with a description of the attack.
pub fn attacked(history: &History, tries: Tries, random: &mut Random) -> Vec<(DeadMemory, String)> {
    let mut left = Vec::new();
    for event in points(history, tries, random) {
        let drained = events_of_drain(history, event);
        let (map, lines) = (Map::new(&history.layout), &history.workload.writes);
        for structure in map.path() {
            for _ in 0..tries.lines {
                let Some(line) = random.pick(lines) else { continue };
                let Some((slot, bytes)) = map.slot_bytes(structure, line) else { continue };
                // For a tag in the spare bits of its line, a bit of the line instead.
                let bit = (8 * bytes.start + random.below(8 * bytes.len() as u64) as usize) % LINE_BITS;
                let drawn = (0..tries.events).map(|_| random.below(drained.max(1))).collect::<Vec<_>>();
                for at in std::iter::once(0).chain(drawn) {
                    let flip = Flip { slot, bit, event: at };
                    let story = format!(
                        "power failed; while the battery worked, {structure} of line {line} was flipped at event {at} of {drained}, and flipped back"
                    );
                    left.push((under_attack(history, event, flip), story));
                }
            }
        }
    }
    left
}

/// Results of batteries that die.
#[derive(Default)]
pub struct Died {
    /// Memories that the dead batteries left.
    pub left: Vec<DeadMemory>,
    /// Number of earlier memories that the attacker put back instead.
    pub put_back: usize,
    /// Trials of machines that start over either kind of memory.
    pub trials: Vec<RestartResult>,
}

/// Lets batteries die in a history and in the sessions after it, and puts earlier memories back.
pub fn died(history: &History, tries: Tries, arrivals: Arrivals, random: &mut Random) -> Died {
    let mut died = Died::default();
    died.in_session(history, tries, arrivals, random);
    let mut last: Option<History> = None;
    for _ in 0..tries.sessions {
        let before = last.as_ref().unwrap_or(history);
        let Some(event) = points(before, tries, random).pop() else { break };
        let left = Rerun::to(before, event, None).left(before, event as usize);
        let Some(next) = before.goes_on_after(&left) else { break };
        died.in_session(&next, tries, arrivals, random);
        last = Some(next);
    }
    died
}

impl Died {
    /// Lets batteries die at the end of this session.
    fn in_session(&mut self, history: &History, tries: Tries, arrivals: Arrivals, random: &mut Random) {
        for event in points(history, tries, random) {
            let (dead, before) = Rerun::to(history, event, None).left_with_drain(history, event as usize);
            let Some(changes) = &dead.changes else { continue };
            let shown = changes.shown(&history.start().shown, WritePendingQueue::Inside);
            let mut points: Vec<usize> = (before..changes.operations.len()).collect();
            random.shuffle(&mut points);
            for point in points.into_iter().take(tries.deaths) {
                let issued = &changes.operations[..point];
                let mut states =
                    states::states_at(issued, &history.start(), &shown[point], dead.progress, arrivals, random);
                states.sort_by_key(|state| !state.in_order);
                let memories = earlier_memories(history, issued, tries, random);
                for state in states.into_iter().take(tries.torn) {
                    let (accepted, resident) = (dead.accepted.clone(), dead.resident.clone());
                    let left = DeadMemory { accepted, resident, point: event as usize, ..state };
                    self.tries(history, left, &memories, point - before, random);
                }
            }
        }
    }

    /// Tries the memory that a battery left when it died after `operations` operations, and each of these memories put back in its place.
    fn tries(
        &mut self,
        history: &History,
        left: DeadMemory,
        memories: &[Recording],
        operations: usize,
        random: &mut Random,
    ) {
        let session = history.earlier.len() + 1;
        let torn = if left.in_order { "" } else { ", which tore the changes that it had sent" };
        let story =
            format!("in session {session} power failed, and the battery died after {operations} operations{torn}");
        let exact = history.allowed(&left);
        // The content that a dead battery leaves without an attacker is not the attacker's doing.
        let found = Revival::of(history, &left).contents(history);
        let allowed: Vec<Contents> = exact.iter().cloned().chain(found).collect();
        self.trials.push(after_tampering(history, &left, &exact, story.clone(), random));
        for image in memories.iter().filter(|memory| **memory != left.image) {
            let put_back = DeadMemory { image: image.clone(), ..left.clone() };
            let story = format!("{story}; an earlier memory was put back");
            self.trials.push(after_tampering(history, &put_back, &allowed, story, random));
            self.put_back += 1;
        }
        self.left.push(left);
    }
}

/// Returns the memories that an attacker remembers: those with which each session began and ended, and some between, including those that
/// these operations of the current session produced.
fn earlier_memories(history: &History, issued: &[Operation], tries: Tries, random: &mut Random) -> Vec<Recording> {
    let mut between: Vec<&Recording> = history.earlier.iter().flat_map(|session| &session.memories).collect();
    let since = states::memories_between(issued, &history.start());
    between.extend(&since);
    random.shuffle(&mut between);
    between.truncate(tries.memories);
    let ends = history.earlier.iter().flat_map(|session| [session.first(), session.last()]);
    let all = ends.chain([&history.memory]).chain(between);
    all.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// Draws points of a history at which power fails.
fn points(history: &History, tries: Tries, random: &mut Random) -> Vec<u64> {
    let all = Rerun::to(history, u64::MAX, None).events();
    (0..tries.points).map(|_| random.below(all + 1)).collect()
}

fn events_of_drain(history: &History, event: u64) -> u64 {
    let events = Rc::new(Cell::new(0));
    let counted = events.clone();
    let counts: Meddling = Box::new(move |_| counted.set(counted.get() + 1));
    Rerun::to(history, event, Some((Bench::new, counts)));
    events.get()
}

fn under_attack(history: &History, event: u64, flip: Flip) -> DeadMemory {
    let honest = Rc::new(Cell::new(None));
    let meddling = flip.meddling(honest.clone());
    let dead = Rerun::to(history, event, Some((Bench::under_attack, meddling)));
    if let Some(honest) = honest.get() {
        let mut media = dead.media().borrow_mut();
        if media.read(flip.slot) == flip.flipped(honest) {
            media.store(flip.slot, honest);
        }
    }
    dead.left(history, event as usize)
}
