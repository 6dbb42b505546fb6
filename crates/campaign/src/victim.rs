//! The victim: a small functional memory under a design, in use for a while.
//!
//! A campaign's victim has a past: the program has written every line several times, so counters are above zero and an attacker may
//! have recorded old bytes. The lines are chosen so that each kind of neighbourhood occurs: the same tag line, the same counter
//! line, and tree paths that part at every level.
//!
//! Every second pair of seeds gives a machine that *boots*: its lines have a content before they are written. The first
//! read of a line puts it into memory, for some lines before the attack and for some after it. One of its groups may be
//! just before an overflow. Under a design with a table of frequent values, the machine begins ordered.
//!
//! Before each recording and before the attack the victim empties its metadata caches. That is fair, because other software on the
//! machine can evict these lines. It is also the attacker's best moment, since the attacker cannot reach the lines on the chip.
//!
//! A past takes longer than most attacks, so a victim can be copied together with the state of its chip ([`Victim::twin`]).

mod machine;
mod past;
mod starts;
#[cfg(test)]
mod tests;

pub use machine::TappedMachine;

use crate::bus::{Bus, Map, Recording, SlotMap};
use crate::oracle::{Oracle, ReadResult};
use crate::tap::{ReadOutcome, Tapped};
use protection::design::{DataLines, Parts, Point, Seeds, TreeKind};
use protection::media::Media;
use protection::ownership::Asker;
use protection::planted::{Bug, PlantedBug};
use protection::scheme::Permutations;
use protection::verbs::{Fault, Slot, Untrusted};
use starts::LastStart;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Bytes, Line, LineAddr, LineLength};

/// Lines of data in a victim's memory: 16 MB, so that an 8-ary tree over pages of counters stores three levels below a root that
/// is full.
pub const DATA_LINES: u64 = 1 << 18;
/// Lines of data without a tree, which would grow with the memory: 8 GB, more than addresses of 32 bits reach.
const DATA_LINES_WITHOUT_TREE: u64 = 1 << 27;

/// Returns the design with caches so small that they evict lines all the time.
pub fn with_tiny_caches(parts: &Parts) -> Parts {
    parts.with_caches_of(Bytes(256), 2)
}

/// Lines of data in the memory of a victim with these parts.
fn data_lines(parts: &Parts) -> u64 {
    let has_tree = parts.tree.kind != TreeKind::None || parts.permutation.is_some();
    if has_tree { DATA_LINES } else { DATA_LINES_WITHOUT_TREE }
}

/// Returns a memory of `count` lines, of the length that these parts take.
pub fn memory_of(parts: &Parts, count: u64) -> DataLines {
    let length = if parts.permutation.is_some() { LineLength::HALF } else { LineLength::WHOLE };
    DataLines { count, length }
}

/// A memory in use, with its scheme and its past.
pub struct Victim {
    parts: Parts,
    machine: TappedMachine,
    oracle: Oracle,
    recordings: Rc<[Recording]>,
    /// Slots of its lines, if they move.
    moved: Option<RefCell<SlotMap>>,
    start: LastStart,
}

impl Victim {
    /// A blank memory under these parts, with keys and random numbers drawn from these seeds.
    ///
    /// # Errors
    /// The rule that the composition breaks.
    pub fn blank(parts: &Parts, seeds: impl Into<Seeds>, planted: PlantedBug) -> Result<Victim, String> {
        Victim::of(parts, data_lines(parts), seeds.into(), planted, None)
    }

    /// Like [`Victim::blank`], for a machine that boots: these and all other lines start with a content. If the design has a
    /// table of frequent values, one word of each of these lines is frequent, and memory begins ordered.
    ///
    /// # Errors
    /// The same as [`Victim::blank`].
    pub fn booting(parts: &Parts, lines: &[LineAddr], seed: u64, planted: PlantedBug) -> Result<Victim, String> {
        let mut victim = Victim::of(parts, data_lines(parts), seed.into(), planted, Some(seed))?;
        lines.iter().for_each(|line| victim.learn(*line));
        victim.machine.begin_ordered(lines.iter().filter_map(|line| victim.oracle.current(*line)));
        Ok(victim)
    }

    fn of(
        parts: &Parts,
        data_lines: u64,
        seeds: Seeds,
        planted: PlantedBug,
        start_up: Option<u64>,
    ) -> Result<Victim, String> {
        let machine = TappedMachine::new(parts, memory_of(parts, data_lines), seeds, planted, start_up)?;
        Ok(Victim {
            parts: parts.clone(),
            moved: Permutations::of(machine.scheme()).map(|_| RefCell::default()),
            machine,
            oracle: Oracle::default(),
            recordings: Rc::default(),
            start: LastStart::first(seeds),
        })
    }

    /// Notifies the oracle of the start-up content of a line, if the line has one and the oracle does not know the line yet.
    pub fn learn(&mut self, line: LineAddr) {
        if let (None, Some(content)) = (self.oracle.current(line), self.machine.start_up_content(line)) {
            self.oracle.note(line, &content);
        }
    }

    /// Like [`Victim::blank`], for parts that fit together.
    ///
    /// # Panics
    /// If the parts do not fit together.
    pub fn checked_blank(parts: &Parts, seeds: impl Into<Seeds>, planted: PlantedBug) -> Victim {
        Victim::checked_blank_of(parts, data_lines(parts), seeds, planted)
    }

    /// Like [`Victim::checked_blank`], with `data_lines` lines of data, a power of two.
    ///
    /// # Panics
    /// The same as [`Victim::checked_blank`].
    pub fn checked_blank_of(parts: &Parts, data_lines: u64, seeds: impl Into<Seeds>, planted: PlantedBug) -> Victim {
        Victim::of(parts, data_lines, seeds.into(), planted, None)
            .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"))
    }

    /// Copies the victim, with its keys, memory and past. The two then change independently, so that one past serves many trials.
    pub fn twin(&self) -> Victim {
        Victim {
            parts: self.parts.clone(),
            machine: self.machine.twin(),
            oracle: self.oracle.clone(),
            recordings: self.recordings.clone(),
            moved: self.moved.clone(),
            start: self.start,
        }
    }

    /// Writes a line and returns the reported fault, if any. A write that was refused as exhausted did not happen. After any other
    /// fault the oracle holds the write in doubt.
    pub fn write(&mut self, line: LineAddr, content: &Line) -> Option<Fault> {
        let content = &self.machine.cut(content);
        let fault = self.machine.write(line, content);
        match fault {
            Some(Fault::Exhausted(_)) => {}
            Some(_) => self.oracle.note_in_doubt(line, content),
            None => self.oracle.note(line, content),
        }
        fault
    }

    /// Reads a line on the first core; returns the released content and the reported fault.
    pub fn read(&self, line: LineAddr) -> (ReadResult, Option<Fault>) {
        self.read_from(0, line)
    }

    /// Reads a line on some core; returns the released content and the reported fault. The core's L2 begins the read if the design
    /// lets L2s do so.
    pub fn read_from(&self, core: usize, line: LineAddr) -> (ReadResult, Option<Fault>) {
        self.answer(line, self.machine.read(line, core))
    }

    /// Reads a line as `asker`, through the controller; returns the released content and the reported fault.
    pub fn read_as(&self, line: LineAddr, asker: Asker) -> (ReadResult, Option<Fault>) {
        self.answer(line, self.machine.read_as(line, asker))
    }

    /// Compares the outcome of a read with the oracle.
    fn answer(&self, line: LineAddr, outcome: ReadOutcome) -> (ReadResult, Option<Fault>) {
        (self.oracle.result(line, &outcome), outcome.fault)
    }

    /// Cuts the power: the battery of durable caches does its work.
    pub fn loses_power(&self) {
        if self.parts.persistence.point == Point::Caches {
            self.machine.drain_on_battery();
        }
    }

    /// Returns the machine after it was switched off and on, over a memory that holds this image. The chip has lost its state and
    /// draws its keys anew from `seed`. With persistence it keeps its keys and registers, and recovers; its random numbers are other
    /// ones than at any earlier start. Keystream of the same keys stays in the ledger. The start-up content does not return.
    ///
    /// # Panics
    /// If the parts do not fit together.
    pub fn restarted(
        &self,
        parts: &Parts,
        seed: u64,
        planted: PlantedBug,
        image: impl IntoIterator<Item = (Slot, Untrusted)>,
    ) -> Victim {
        let keeps_keys = parts.persistence.exists() || planted.has(Bug::KeysSurviveReset);
        let start = if keeps_keys { self.start.next() } else { LastStart::first(seed.into()) };
        let fresh = Victim::checked_blank(parts, start.seeds(), planted);
        fresh.machine.recover(&self.machine, keeps_keys, image);
        Victim { oracle: self.oracle.clone(), start, ..fresh }
    }

    /// Machine of the victim: its scheme and its memory.
    pub fn machine(&self) -> &TappedMachine {
        &self.machine
    }

    /// Memory of the victim, behind its tap.
    pub fn memory(&self) -> &Tapped {
        self.machine.memory()
    }

    /// Parts with which the victim runs: those of the design, possibly with tiny caches.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Oracle with all writes of the victim.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// Current map of the memory.
    pub fn map(&self) -> Map<'_> {
        let layout = self.machine.layout();
        let (Some(permutations), Some(moved)) = (Permutations::of(self.machine.scheme()), &self.moved) else {
            return Map::new(layout);
        };
        for line in self.oracle.lines() {
            let slot = permutations.for_judge().slot_of(line);
            moved.borrow_mut().note(line, slot);
        }
        Map::with_moved(layout, moved)
    }

    /// Gives an attacker access to the memory while no access is under way: the memory is borrowed until the attack ends.
    ///
    /// # Panics
    /// If the victim accesses its memory during the attack.
    pub fn attacked<R>(&self, attack: impl FnOnce(&mut Bus<'_>) -> R) -> R {
        let (lines, map) = (self.oracle.lines(), self.map());
        let media: &mut Media = &mut self.memory().media().borrow_mut();
        attack(&mut Bus::new(media, map, &lines, &self.recordings))
    }
}
