//! A machine without time that an attacker accompanies over several sessions. Program, controller and attacker act one after
//! the other. The oracle knows the acknowledged stores only, and the judge compares each read with them.

use super::program::StoringProgram;
use super::recordings::Recordings;
use super::step::{EarlierPart, HistoryStep};
use crate::bus::{Map, Recording, Structure};
use crate::crash::shown::Changes;
use crate::crash::states;
use crate::crash::workload::{BYSTANDER, DATA_LINES, LINES};
use crate::oracle::ReadResult;
use crate::victim::memory_of;
use catalogue::Verdict;
use protection::counter::{Age, WRITES_LEFT};
use protection::design::{Parts, Point};
use protection::domain::WritePendingQueue;
use protection::execution::{Explained, Functional, RecordedMemory, Untimed, UntimedVerbs, run_now};
use protection::planted::PlantedBug;
use protection::scheme::{DurableCaches, PersistBufferHandle, Scheme};
use protection::verbs::{Fault, Slot, Untrusted};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr, WORD_BYTES, Words};

/// Shares of a series of changes are given in thousandths.
const WHOLE: u64 = 1000;

/// Data lines that the program stores to and reads: three of one group, and one of another group.
pub const FOLLOWED: [LineAddr; 4] = [LINES[0], LINES[1], BYSTANDER, LINES[2]];

/// The design, the keys and the lines of a machine.
pub struct Setup {
    point: Point,
    /// The chip after a reset, with only its keys.
    reset: Scheme,
}

impl Setup {
    /// Returns the setup of a design, with keys drawn from `seed`.
    ///
    /// # Panics
    /// If the design's parts do not fit together.
    pub fn new(parts: &Parts, seed: u64, planted: PlantedBug) -> Setup {
        let reset = parts
            .build_with(memory_of(parts, DATA_LINES), seed, planted)
            .unwrap_or_else(|rule| panic!("these parts were never checked: {rule}"));
        Setup { point: parts.persistence.point, reset }
    }

    /// Returns the map of the memory.
    pub fn map(&self) -> Map<'_> {
        Map::new(self.reset.layout())
    }
}

/// A machine with its past.
pub struct AttackedMachine {
    setup: Rc<Setup>,
    scheme: Scheme,
    memory: Functional,
    program: StoringProgram,
    /// Stores in durable caches that memory does not have.
    dirty: BTreeMap<LineAddr, Line>,
    recordings: Recordings,
    is_on: bool,
    is_attacked: bool,
}

impl AttackedMachine {
    /// Returns a new machine after writes to all followed lines, with all metadata in memory. The counters of the two groups
    /// overflow after `left` more writes of their first line.
    pub fn new(setup: &Rc<Setup>, left: [u64; 2]) -> AttackedMachine {
        let scheme = setup.reset.twin();
        let slots = scheme.layout().total_lines();
        let mut machine = AttackedMachine {
            setup: setup.clone(),
            scheme,
            memory: Functional::new(slots),
            program: StoringProgram::new(),
            dirty: BTreeMap::new(),
            recordings: Recordings::default(),
            is_on: true,
            is_attacked: false,
        };
        machine.prepare(left);
        machine
    }

    fn prepare(&mut self, left: [u64; 2]) {
        for (first, left) in [LINES[0], LINES[2]].into_iter().zip(left) {
            run_now(self.scheme.age(&self.memory.verbs(), first, Age::BeforeRenewal));
            (left..WRITES_LEFT).for_each(|_| self.write_through(first));
        }
        for line in FOLLOWED {
            if !self.program.texts().contains_key(&line) {
                self.write_through(line);
            }
        }
        run_now(self.scheme.flush(&self.memory.verbs()));
        self.recordings.record(&self.memory.media.borrow());
    }

    /// Returns a copy of the machine. The two then change independently.
    pub fn twin(&self) -> AttackedMachine {
        AttackedMachine {
            setup: self.setup.clone(),
            scheme: self.scheme.twin(),
            memory: self.memory.clone(),
            program: self.program.clone(),
            dirty: self.dirty.clone(),
            recordings: self.recordings.clone(),
            ..*self
        }
    }

    /// Returns whether power is on, so that the program can act.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns the lines that only a persist buffer or durable caches have.
    pub fn resident(&self) -> Vec<LineAddr> {
        match self.setup.point {
            Point::Caches => self.dirty.keys().copied().collect(),
            Point::Buffer => PersistBufferHandle::of(&self.scheme).lines(),
            Point::Controller => Vec::new(),
        }
    }

    /// Returns the memories that the attacker has recorded.
    pub fn seen(&self) -> &[Rc<Recording>] {
        self.recordings.all()
    }

    /// Returns the slots that serve the followed lines, each once.
    pub fn slots(&self) -> Vec<Slot> {
        let map = self.setup.map();
        let slots = map.path().flat_map(|structure| FOLLOWED.map(|line| map.slot_bytes(structure, line)));
        slots.flatten().map(|(slot, _)| slot).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the slots of these structures that serve a line.
    pub fn slots_of(&self, structures: &[Structure], line: LineAddr) -> Vec<Slot> {
        let map = self.setup.map();
        structures.iter().filter_map(|structure| Some(map.slot_bytes(*structure, line)?.0)).collect()
    }

    /// Returns the content of a slot.
    pub fn content(&self, slot: Slot) -> Untrusted {
        self.memory.media.borrow().read(slot)
    }

    /// Carries out one step. Random numbers decide which lines in flight arrive if power fails in the middle of a step.
    pub fn carry_out(&mut self, action: &HistoryStep, random: &mut Random) {
        self.is_attacked |= action.is_attack();
        match action {
            HistoryStep::Store(line) => self.store(*line),
            HistoryStep::Read(line) => self.program_reads(*line),
            HistoryStep::Drain(line) => self.drain(*line),
            HistoryStep::Evict => run_now(self.scheme.flush(&self.memory.verbs())),
            HistoryStep::Garble(slot) => {
                let garbled = garbled(self.content(*slot));
                self.memory.media.borrow_mut().store(*slot, garbled);
            }
            HistoryStep::PutBack { recording, part } => {
                self.put_back(&self.recordings.all()[*recording].clone(), *part)
            }
            HistoryStep::LosePower { flipped } => self.lose_power(flipped),
            HistoryStep::LosePowerInStore(line, share) => {
                let text = self.program.next_text(*line);
                self.program.stores.note_in_doubt(*line, &text);
                self.lose_power_in(*share, random, async |scheme, memory| scheme.write(memory, *line, &text).await);
            }
            HistoryStep::Recover => {
                self.scheme = self.setup.reset.twin();
                run_now(self.scheme.recover(&self.memory.verbs(), &self.memory.registers()));
                self.is_on = true;
            }
            HistoryStep::LosePowerInRecovery(share) => {
                self.scheme = self.setup.reset.twin();
                let registers = self.memory.registers();
                self.lose_power_in(*share, random, async |scheme, memory| scheme.recover(memory, &registers).await);
            }
        }
        self.memory.take_fault();
        self.recordings.record(&self.memory.media.borrow());
    }

    /// Writes a line to memory as the controller does.
    fn write_through(&mut self, line: LineAddr) {
        let text = self.program.next_text(line);
        self.write(line, &text);
    }

    fn write(&mut self, line: LineAddr, text: &Line) {
        run_now(self.scheme.write(&self.memory.verbs(), line, text));
        match self.memory.take_fault() {
            None => self.program.stores.note(line, text),
            Some(Fault::Exhausted(_)) => {}
            Some(_) => self.program.stores.note_in_doubt(line, text),
        }
    }

    fn store(&mut self, line: LineAddr) {
        match self.setup.point {
            Point::Controller => self.write_through(line),
            Point::Buffer => self.store_into_buffer(line),
            Point::Caches => self.store_into_caches(line),
        }
    }

    fn store_into_buffer(&mut self, line: LineAddr) {
        let (text, taken) = (self.program.next_text(line), Cell::new(false));
        let content = || {
            taken.set(true);
            text
        };
        let buffer = PersistBufferHandle::of(&self.scheme);
        run_now(async {
            buffer.accept_when_taken(&self.memory.verbs(), line, content).await;
            buffer.write_back(&self.memory.verbs()).await;
        });
        if taken.get() {
            self.program.stores.note(line, &text);
        }
    }

    /// Fetches the line into a cache, which then takes the store.
    fn store_into_caches(&mut self, line: LineAddr) {
        let text = self.program.next_text(line);
        self.program_reads(line);
        if self.dirty.contains_key(&line) || self.answer(line).released.is_some() {
            self.dirty.insert(line, text);
        }
    }

    fn drain(&mut self, line: LineAddr) {
        match self.dirty.remove(&line) {
            Some(text) => self.write(line, &text),
            None => run_now(PersistBufferHandle::of(&self.scheme).drain(&self.memory.verbs(), line)),
        }
    }

    fn lose_power(&mut self, flipped: &[Slot]) {
        let honest: Vec<(Slot, Untrusted)> = flipped.iter().map(|slot| (*slot, self.content(*slot))).collect();
        let put = |slot: Slot, content| self.memory.media.borrow_mut().store(slot, content);
        honest.iter().for_each(|(slot, content)| put(*slot, garbled(*content)));
        let dirty: Vec<(LineAddr, Line)> = std::mem::take(&mut self.dirty).into_iter().collect();
        match self.setup.point {
            Point::Controller => {}
            Point::Buffer => run_now(PersistBufferHandle::of(&self.scheme).drain_on_battery(&self.memory.verbs())),
            Point::Caches => {
                run_now(DurableCaches::of(&self.scheme).drain_on_battery(&self.memory.verbs(), dirty.clone()))
            }
        }
        for (slot, content) in honest.into_iter().filter(|(slot, content)| self.content(*slot) == garbled(*content)) {
            put(slot, content);
        }
        dirty.iter().for_each(|(line, text)| self.program.stores.note(*line, text));
        self.is_on = false;
    }

    /// Cuts the power after a share of the changes that a piece of work makes to memory. A battery works again once
    /// recovery has made its last change, so with a battery the power fails before that change.
    fn lose_power_in(
        &mut self,
        share: u64,
        random: &mut Random,
        work: impl AsyncFnOnce(&Scheme, &Explained<UntimedVerbs<'_>>),
    ) {
        let recorded = RecordedMemory::new(self.memory.clone());
        run_now(work(&self.scheme, &recorded.verbs()));
        let mut changes = Changes::among(recorded.take_operations());
        let has_battery = self.setup.point != Point::Controller;
        let last = changes.operations.len().saturating_sub(usize::from(has_battery));
        let point = ((changes.operations.len() as u64 * share / WHOLE) as usize).min(last);
        let before = Rc::new(self.memory.ledger().clone());
        let shown = changes.shown(&before, WritePendingQueue::Inside).swap_remove(point);
        changes.operations.truncate(point);
        let (media, registers) = (self.memory.media.borrow().clone(), self.memory.registers());
        let (media, registers) = states::left_behind(&changes, media, registers, random);
        self.memory.media.replace(media);
        self.memory.go_on_with(registers);
        self.memory.carry(shown.as_ref().clone());
        self.is_on = false;
    }

    /// Puts a part of an earlier memory back.
    fn put_back(&mut self, earlier: &Recording, part: EarlierPart) {
        let map = self.setup.map();
        let mut media = self.memory.media.borrow_mut();
        let mut whole = |slot: Slot| media.store(slot, earlier.get(slot).unwrap_or(Untrusted::BLANK));
        match part {
            EarlierPart::Slot(slot) => whole(slot),
            EarlierPart::LineWithTag(line) => {
                whole(map.data_slot(line));
                let tag = map.slot_bytes(Structure::Tag, line).filter(|(slot, _)| *slot != map.data_slot(line));
                let Some((slot, bytes)) = tag else { return };
                let old = earlier.get(slot).unwrap_or(Untrusted::BLANK).examine();
                let mut line = media.read(slot).examine();
                line[bytes.clone()].copy_from_slice(&old[bytes]);
                media.write(slot, &line);
            }
            EarlierPart::DataAndTags => {
                let is_one = |slot: &Slot| matches!(map.structure(*slot), Structure::Data | Structure::Tag);
                earlier.slots().map(|(slot, _)| slot).filter(is_one).for_each(whole);
            }
            EarlierPart::Everything => *media = earlier.media(self.scheme.layout().total_lines()),
        }
    }

    /// Reads a line for the program, which keeps the verdict.
    fn program_reads(&mut self, line: LineAddr) {
        if !self.dirty.contains_key(&line) {
            let answer = self.answer(line);
            self.program.has_read(line, &answer, self.is_attacked);
        }
    }

    /// Reads a line, and judges the result.
    fn read(&self, line: LineAddr) -> Verdict {
        if self.dirty.contains_key(&line) {
            return Verdict::Harmless;
        }
        self.program.judge(line, &self.answer(line), self.is_attacked)
    }

    fn answer(&self, line: LineAddr) -> ReadResult {
        run_now(self.scheme.read(&self.memory.verbs(), line));
        let reported = self.memory.take_fault().is_some();
        let released = self.memory.take_released().map(|(_, plaintext)| plaintext.bytes);
        ReadResult { released, words: Words::ALL, reported }
    }

    /// Reads all followed lines on a twin. Returns the worst verdict on these and all earlier reads, and the line of the read
    /// with this verdict.
    pub fn judged(&self) -> (Verdict, Option<LineAddr>) {
        if !self.is_on {
            return self.program.worst;
        }
        let twin = self.twin();
        let reads = FOLLOWED.into_iter().map(|line| (twin.read(line), Some(line)));
        reads.fold(self.program.worst, |worst, read| if read.0 > worst.0 { read } else { worst })
    }

    /// Returns whether a pad has hidden two texts.
    pub fn has_leaked(&self) -> bool {
        self.memory.ledger().reuse().is_some()
    }

    /// Returns a hash of memory, registers, chip, stores, and the contents that the attacker has seen.
    pub fn digest(&self) -> u128 {
        let half = |salt: u64| {
            let mut hash = DefaultHasher::new();
            (salt, self).hash(&mut hash);
            u128::from(hash.finish())
        };
        half(0) << 64 | half(1)
    }
}

impl Hash for AttackedMachine {
    fn hash<H: Hasher>(&self, hash: &mut H) {
        (self.is_on, self.is_attacked, self.program.texts(), &self.dirty, &self.program.stores).hash(hash);
        (self.program.worst.0 as u8, self.has_leaked()).hash(hash);
        (&self.recordings, self.memory.registers()).hash(hash);
        if self.is_on {
            self.scheme.hash(hash);
        }
    }
}

/// Returns the content with a bit of each word changed, so that each tag in a tag line changes.
fn garbled(content: Untrusted) -> Untrusted {
    let mut line = content.examine();
    line.iter_mut().step_by(WORD_BYTES).for_each(|byte| *byte ^= 1);
    Untrusted::with(line, content.spare_bits())
}
