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

mod past;
#[cfg(test)]
mod tests;

use crate::bus::{Bus, Map, Recording, SlotMap};
use crate::oracle::{Oracle, ReadResult};
use crate::tap::Tapped;
use protection::counter::Age;
use protection::design::{DataLines, Parts, Point, Seeds, TreeKind};
use protection::execution::run_now;
use protection::media::Media;
use protection::moving::{MovingCounts, MovingLines, SystemPort};
use protection::ownership::Asker;
use protection::planted::{Bug, PlantedBug};
use protection::scheme::{DurableCaches, Scheme};
use protection::speculation::{Speculation, SpeculationCounts};
use protection::verbs::{Fault, Slot, Untrusted};
use std::cell::RefCell;
use std::rc::Rc;
use units::{Bytes, Line, LineAddr, LineLength, WORDS_PER_LINE, Words};

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
    scheme: Scheme,
    memory: Tapped,
    oracle: Oracle,
    recordings: Rc<[Recording]>,
    /// Slots of its lines, if they move.
    moved: Option<RefCell<SlotMap>>,
    /// Seed of its keys.
    seed: u64,
    /// Number of earlier starts with these keys.
    starts: u64,
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
        victim.begin_ordered(lines);
        Ok(victim)
    }

    /// Begins as if the chip had written these lines while some of their words were frequent. Has no effect on a design without
    /// a table of frequent values.
    fn begin_ordered(&mut self, lines: &[LineAddr]) {
        let contents = lines.iter().filter_map(|line| self.oracle.current(*line));
        let words = contents.zip(1..).map(|(content, word)| content.as_chunks().0[word % WORDS_PER_LINE]);
        let values: Vec<(u64, u64)> = words.map(|word| (u64::from_le_bytes(word), 1)).collect();
        self.scheme.begin_ordered(&values);
    }

    fn of(
        parts: &Parts,
        data_lines: u64,
        seeds: Seeds,
        planted: PlantedBug,
        start_up: Option<u64>,
    ) -> Result<Victim, String> {
        let scheme = parts.build_with(memory_of(parts, data_lines), seeds, planted)?;
        let memory = Tapped::new(scheme.layout().total_lines(), start_up);
        Ok(Victim {
            parts: parts.clone(),
            moved: scheme.moving().map(|_| RefCell::default()),
            scheme,
            memory,
            oracle: Oracle::default(),
            recordings: Rc::default(),
            seed: seeds.keys,
            starts: 0,
        })
    }

    /// Notifies the oracle of the start-up content of a line, if the line has one and the oracle does not know the line yet.
    pub fn learn(&mut self, line: LineAddr) {
        if let (None, Some(content)) = (self.oracle.current(line), self.memory.memory().start_up_content(line)) {
            self.oracle.note(line, &self.cut(&content));
        }
    }

    /// Cuts a content to the length of a line.
    fn cut(&self, content: &Line) -> Line {
        self.scheme.layout().shape().length.cut(*content)
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
            scheme: self.scheme.twin(),
            memory: self.memory.clone(),
            oracle: self.oracle.clone(),
            recordings: self.recordings.clone(),
            moved: self.moved.clone(),
            seed: self.seed,
            starts: self.starts,
        }
    }

    /// Advances the counters of a line and of its group to this age. No line of the group may have been written yet.
    pub fn age(&self, line: LineAddr, age: Age) {
        run_now(self.scheme.age(&self.memory, line, age));
    }

    /// Writes a line and returns the reported fault, if any. A write that was refused as exhausted did not happen. After any other
    /// fault the oracle holds the write in doubt.
    pub fn write(&mut self, line: LineAddr, content: &Line) -> Option<Fault> {
        let content = &self.cut(content);
        run_now(self.scheme.write(&self.memory, line, content));
        let fault = self.memory.memory().take_fault();
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
        run_now(self.scheme.read_by(&self.memory, line, core));
        self.answer(line)
    }

    /// Assigns the page of a line to an owner, as the hypervisor does.
    pub fn assign(&self, line: LineAddr, to: Asker) {
        run_now(self.scheme.assign(&self.memory, line, to));
    }

    /// Writes a line as `asker`, through the controller, and returns the reported fault, if any. The oracle does not record the
    /// write.
    pub fn write_as(&self, line: LineAddr, content: &Line, asker: Asker) -> Option<Fault> {
        run_now(self.scheme.write_as(&self.memory, line, content, asker));
        self.memory.memory().take_fault()
    }

    /// Reads a line as `asker`, through the controller; returns the released content and the reported fault.
    pub fn read_as(&self, line: LineAddr, asker: Asker) -> (ReadResult, Option<Fault>) {
        run_now(self.scheme.read_as(&self.memory, line, asker));
        self.answer(line)
    }

    /// Collects the outcome of a read.
    fn answer(&self, line: LineAddr) -> (ReadResult, Option<Fault>) {
        let fault = self.memory.memory().take_fault();
        let first = self.memory.memory().take_released_first();
        let released = self.memory.memory().take_released().map(|(released, plaintext)| {
            assert_eq!(released, line, "another line was released than was requested");
            plaintext.bytes
        });
        // Words that were released before their line was refused are no answer, unless they are wrong.
        let wrong_first = first.filter(|(_, plaintext, words)| !self.oracle.holds(line, &plaintext.bytes, *words));
        let all = released.map(|bytes| (bytes, Words::ALL));
        let output = all.or(wrong_first.map(|(_, plaintext, words)| (plaintext.bytes, words)));
        let (released, words) = output.map_or((None, Words::NONE), |(bytes, words)| (Some(bytes), words));
        (ReadResult { released, words, reported: fault.is_some() }, fault)
    }

    /// Empties the metadata caches and returns the reported fault, if any.
    pub fn flush(&self) -> Option<Fault> {
        run_now(self.scheme.flush(&self.memory));
        self.memory.memory().take_fault()
    }

    /// Returns the port of the operating system and its memory, if the operating system loads records.
    pub fn system(&self) -> Option<(SystemPort<'_>, &Tapped)> {
        Some((self.scheme.moving()?.system()?, &self.memory))
    }

    /// Number of page chunks with lines locked on the chip, if lines move.
    pub fn chunks_with_locks(&self) -> usize {
        self.scheme.moving().map_or(0, MovingLines::chunks_with_locks)
    }

    /// Permutes the page chunk of a line, as a fill of another process does.
    pub fn permute_chunk_of(&self, line: LineAddr) -> Option<Fault> {
        run_now(self.scheme.moving()?.permute_chunk_of(&self.memory, line));
        self.memory.memory().take_fault()
    }

    /// Evicts the lines that the chip has locked, if lines move.
    pub fn give_lines_up(&self) {
        if self.scheme.moving().is_some() {
            self.flush();
        }
    }

    /// Counters of the moving lines, if lines move.
    pub fn moved(&self) -> Option<MovingCounts> {
        self.scheme.moving().map(MovingLines::counted)
    }

    /// Cuts the power: the battery of durable caches does its work. A victim's stores go to memory at once, so that only metadata
    /// and the root remain for the battery.
    pub fn loses_power(&self) {
        if self.parts.persistence.point == Point::Caches {
            run_now(DurableCaches::of(&self.scheme).drain_on_battery(&self.memory, Vec::new()));
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
        let starts = if keeps_keys { self.starts + 1 } else { 0 };
        let seeds = if keeps_keys { Seeds::started_again(self.seed, starts) } else { seed.into() };
        let fresh = Victim::checked_blank(parts, seeds, planted);
        if keeps_keys {
            fresh.memory.memory().carry(self.memory.memory().ledger().clone());
        }
        image.into_iter().for_each(|(slot, content)| fresh.memory.put(slot, content));
        let registers = self.memory.memory().registers();
        fresh.memory.memory().go_on_with(registers.clone());
        run_now(fresh.scheme.recover(&fresh.memory, &registers));
        Victim { oracle: self.oracle.clone(), starts, ..fresh }
    }

    /// Memory of the victim, behind its tap.
    pub fn memory(&self) -> &Tapped {
        &self.memory
    }

    /// Parts with which the victim runs: those of the design, possibly with tiny caches.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Oracle with all writes of the victim.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// Counters of the speculation on the content of lines, if the design speculates.
    pub fn speculated(&self) -> Option<SpeculationCounts> {
        self.scheme.cryptography().speculation().map(Speculation::counted)
    }

    /// Computes no more matches from the next line on: the permutation decides which candidates match, as in most of a timed run.
    pub fn ask_the_permutation(&self) {
        if let Some(speculation) = self.scheme.cryptography().speculation() {
            speculation.compute_one_in(u64::MAX);
        }
    }

    /// The slot of a line of data.
    pub fn data_slot(&self, line: LineAddr) -> Slot {
        self.map().data_slot(line)
    }

    /// Returns the line in a slot of moving lines, if no program has used the line.
    pub fn unused_line_in(&self, slot: Slot) -> Option<LineAddr> {
        let moving = self.scheme.moving().filter(|_| slot.0 < self.scheme.layout().data_lines())?;
        Some(moving.for_judge().line_in(slot)).filter(|line| self.oracle.current(*line).is_none())
    }

    /// Current map of the memory.
    pub fn map(&self) -> Map<'_> {
        let layout = self.scheme.layout();
        let (Some(moving), Some(moved)) = (self.scheme.moving(), &self.moved) else { return Map::new(layout) };
        let note = |line| moved.borrow_mut().note(line, moving.for_judge().slot_of(line));
        self.oracle.lines().into_iter().for_each(note);
        Map::with_moved(layout, moved)
    }

    /// Gives an attacker access to the memory while no access is under way.
    pub fn attacked<R>(&self, attack: impl FnOnce(&mut Bus<'_>) -> R) -> R {
        let (lines, map) = (self.oracle.lines(), self.map());
        let media: &mut Media = &mut self.memory.media().borrow_mut();
        attack(&mut Bus::new(media, map, &lines, &self.recordings))
    }
}
