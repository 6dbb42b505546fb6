//! What an attacker does while the battery works, and what is left if the battery dies.
//!
//! A bit of a stored line is flipped at some event of the drain and flipped back when it has ended, unless the chip has written
//! the line meanwhile: so recovery finds no trace of it in memory. Each kind of line is tampered with, of lines of the workload
//! that are drawn. The keys go on, and the ledger with them: what the machine writes after recovery is its second session.
//!
//! A battery that dies leaves what its work has brought to memory until then. The attacker may as well put back the image that
//! the session before has left.

use super::bench::{Bench, Meddling};
use super::dying::Rerun;
use super::history::History;
use super::states::{self, Arrivals, DeadMemory};
use super::workload::LINES;
use crate::bus::Map;
use protection::domain::Queue;
use protection::verbs::{Slot, Untrusted};
use std::cell::Cell;
use std::rc::Rc;
use units::LINE_BYTES;
use units::random::Random;

const LINE_BITS: usize = 8 * LINE_BYTES;

/// What a campaign tries of one history.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// Points at which power fails.
    pub points: usize,
    /// Events of a drain at which a bit is flipped, besides its beginning.
    pub events: u64,
    /// Lines of the workload whose lines in memory are tampered with.
    pub lines: usize,
    /// Operations of a drain at which the battery dies.
    pub deaths: usize,
}

impl Tries {
    /// A few of each, or more of a campaign that takes its time.
    pub fn of(thorough: bool) -> Tries {
        if thorough {
            return Tries { points: 4, events: 4, lines: LINES.len(), deaths: 12 };
        }
        Tries { points: 1, events: 1, lines: 1, deaths: 3 }
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
        Untrusted::with(line, content.beside())
    }

    /// Flips the bit when its event comes; what was there before is kept.
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

/// What drains under attack leave of a history, each with what the attacker did, in words.
pub fn attacked(history: &History, tries: Tries, random: &mut Random) -> Vec<(DeadMemory, String)> {
    let mut left = Vec::new();
    for event in points(history, tries, random) {
        let drained = events_of_drain(history, event);
        let (map, lines) = (Map::new(&history.layout), &history.workload.writes);
        for structure in map.path() {
            for _ in 0..tries.lines {
                let Some(line) = random.pick(lines) else { continue };
                let Some((slot, bytes)) = map.place(structure, line) else { continue };
                // Of a tag that lies beside its line, a bit of the line in its place.
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

/// What is left of a history whose battery dies, and the same with the image that the session before has left in its place.
pub fn died(history: &History, tries: Tries, random: &mut Random) -> Vec<(DeadMemory, String)> {
    let mut left = Vec::new();
    for event in points(history, tries, random) {
        let (dead, before) = Rerun::to(history, event, None).left_with_drain(history, event as usize);
        let Some(changes) = &dead.changes else { continue };
        let progress = |_| dead.progress;
        let states =
            states::states_of(changes, &history.start(), Queue::Inside, (Arrivals::InOrder, history.seed), &progress);
        let mut dying: Vec<_> = states
            .into_iter()
            .filter(|state| state.point >= before && state.point < changes.operations.len())
            .collect();
        random.shuffle(&mut dying);
        for state in dying.into_iter().take(tries.deaths) {
            let done = state.point - before;
            let story = format!("power failed, and the battery died after {done} operations");
            let torn = DeadMemory {
                accepted: dead.accepted.clone(),
                resident: dead.resident.clone(),
                point: event as usize,
                ..state
            };
            let old = DeadMemory { image: history.memory.clone(), ..torn.clone() };
            left.push((torn, story.clone()));
            left.push((old, format!("{story}; the image of the session before was put back")));
        }
    }
    left
}

/// Points of a history at which power fails, drawn.
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
