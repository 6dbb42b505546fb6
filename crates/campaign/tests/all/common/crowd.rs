//! The crowd: many accesses in flight at once, over few lines, on a machine where every transfer takes time.
//!
//! The crowd has as many conflicts as possible. Thirty-two tasks access few lines, so that they compete for lines, for
//! tags and for groups that overflow. Caches have one line each, so that every look-up fetches one line and evicts
//! another. Pages that were never written get their start-up content during the run, and a task flushes sometimes. Four
//! cores read, each through its L2. The delay of each request, reply and copy is drawn anew. Some requests are
//! predicted, and some find their line on the chip, so that the work of an L2 serves no read. If stores are durable
//! before memory has them, a few remain ([`Holding`]) until power fails.
//!
//! The order is exact: the lock of a line serves accesses in order of arrival, and an access requests it first. So a read must return the
//! content of the last write of its line that was issued before it.

use crate::common::holding::Holding;
use crate::common::{DATA_LINES, Machine};
use casemate_campaign::frequent::VALUES;
use protection::counter::Age;
use protection::design::Parts;
use protection::domain::Registers;
use protection::execution::{Functional, OverflowLimits, Receiver, Timed, Untimed, run_now};
use protection::ledger::Ledger;
use protection::planted::PlantedBug;
use protection::scheme::{Demand, Scheme};
use protection::slot::Kind;
use protection::verbs::{Fault, Leg, Plaintext, Role, Slot};
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use units::random::{Random, mix};
use units::{Duration, Line, LineAddr, WORD_BYTES, ZERO_LINE};

/// Number of tasks at once.
pub const TASKS: u64 = 32;
/// Number of accesses of each task.
const ACCESSES: u64 = 60;
/// Number of cores that read.
const CORES: u64 = 4;
const PAGES: [u64; 6] = [0, 1, 8, 64, 512, 1023];
/// Lines of each page: neighbours that may share a tag with each other or with a hot line, and distant ones.
const IN_A_PAGE: [u64; 5] = [0, 1, 6, 14, 28];
/// Two lines of different groups that are written until their counters overflow.
pub const HOT: [LineAddr; 2] = [LineAddr(7), LineAddr(64 * 8 + 14)];

/// The core: knows the content that each read must return, and the order in which reads of a line end. Under attack an access may fail, so
/// the core only checks that the released content was once written to that line.
#[derive(Default)]
pub struct Core {
    pub under_attack: bool,
    pub versions: RefCell<BTreeMap<LineAddr, Vec<Line>>>,
    pub returned: RefCell<BTreeMap<LineAddr, usize>>,
    pub faults: RefCell<Vec<Fault>>,
    pub current: RefCell<BTreeMap<LineAddr, Line>>,
    pub expected: RefCell<BTreeMap<LineAddr, VecDeque<Line>>>,
    pub wrong: RefCell<Vec<String>>,
    pub reads: Cell<u64>,
    pub ways: Cell<u64>,
    pub holding: Holding,
    /// True if power has failed: no access begins any more.
    pub stopped: Cell<bool>,
}

impl Core {
    /// Creates the core of a machine with these parts.
    pub fn of(parts: &Parts) -> Core {
        Core { holding: Holding::of(parts), ..Core::default() }
    }

    fn current(&self, line: LineAddr) -> Line {
        self.current.borrow().get(&line).copied().unwrap_or_else(|| self.start_up_content(line))
    }

    /// Records the issue of a write; returns its number among the writes of its line, from one on.
    pub fn writes(&self, line: LineAddr, content: &Line) -> usize {
        self.current.borrow_mut().insert(line, *content);
        let mut versions = self.versions.borrow_mut();
        let versions = versions.entry(line).or_default();
        versions.push(*content);
        versions.len()
    }

    /// Records that a write has returned.
    pub fn returned(&self, line: LineAddr, number: usize) {
        let mut returned = self.returned.borrow_mut();
        let latest = returned.entry(line).or_default();
        *latest = number.max(*latest);
    }

    /// Returns true if a line may have this content if power fails now: that of the last returned write, or of a later one.
    pub fn may_be(&self, line: LineAddr, content: &Line) -> bool {
        let returned = self.returned.borrow().get(&line).copied().unwrap_or_default();
        let blank = [ZERO_LINE, self.start_up_content(line)];
        let versions = self.versions.borrow();
        let later = versions.get(&line).map_or(&[][..], |versions| &versions[returned.saturating_sub(1)..]);
        later.contains(content) || returned == 0 && blank.contains(content)
    }

    /// Returns the delay of the next transfer: different each time, and some as long as an access to memory.
    fn some_time(&self) -> Duration {
        self.ways.set(self.ways.get() + 1);
        let drawn = mix(self.ways.get());
        Duration::from_ns(if drawn.is_multiple_of(4) { drawn / 4 % 200 } else { drawn / 4 % 20 })
    }

    /// Returns true if a line was ever written with this content.
    pub fn was_ever(&self, line: LineAddr, content: &Line) -> bool {
        self.versions.borrow().get(&line).is_some_and(|versions| versions.contains(content))
    }

    pub fn reads(&self, line: LineAddr) {
        let current = self.current(line);
        self.current.borrow_mut().insert(line, current);
        self.expected.borrow_mut().entry(line).or_default().push_back(current);
    }
}

impl Receiver for Core {
    fn released(&self, line: LineAddr, text: &Plaintext) {
        self.reads.set(self.reads.get() + 1);
        let expected = self.expected.borrow_mut().get_mut(&line).and_then(VecDeque::pop_front);
        let known = || text.bytes == self.start_up_content(line) || self.was_ever(line, &text.bytes);
        if expected != Some(text.bytes) && !(self.under_attack && known()) {
            self.wrong.borrow_mut().push(format!("line {line} gave another version than it should"));
        }
    }

    fn fault(&self, fault: Fault) {
        self.faults.borrow_mut().push(fault);
        if !self.under_attack {
            self.wrong.borrow_mut().push(format!("a false alarm: {fault}"));
        }
    }

    fn last_level_look_up(&self, _: Slot) -> Duration {
        self.some_time()
    }

    fn way(&self, _: Leg) -> Duration {
        self.some_time()
    }

    fn private_look_up(&self, _: Role) -> Duration {
        self.some_time()
    }

    fn hit_time(&self, _: usize, _: LineAddr) -> Duration {
        self.some_time()
    }

    fn start_up_content(&self, line: LineAddr) -> Line {
        with_frequent_words(&mut Random::new(line.0))
    }
}

/// Starts all tasks; `finished` counts the tasks that have ended.
pub fn start_tasks(machine: &Machine<Core>, seed: u64, finished: &Rc<Cell<u64>>) {
    for task in 0..TASKS {
        let (core, verbs) = (machine.core.clone(), Timed::new(&machine.memory));
        let (scheme, finished) = (machine.scheme.clone(), finished.clone());
        let clock = machine.executor.clock().clone();
        let mut random = Random::new(seed ^ task << 32);
        machine.executor.clock().spawn(async move {
            for _ in (0..ACCESSES).take_while(|_| !core.stopped.get()) {
                let page = PAGES[random.below(PAGES.len() as u64) as usize];
                let any = LineAddr(page * 64 + IN_A_PAGE[random.below(5) as usize]);
                match random.below(100) {
                    0 => scheme.flush(&verbs).await,
                    1..45 => {
                        let line = if random.below(4) == 0 { any } else { HOT[task as usize % 2] };
                        let content = content(&scheme, &mut random);
                        let number = core.writes(line, &content);
                        core.holding.store(&scheme, &verbs, line, &content).await;
                        core.returned(line, number);
                        if core.holding.exists() && random.below(2) == 0 {
                            core.holding.leaves(&scheme, &verbs, line).await;
                        }
                    }
                    45..55 => clock.sleep(Duration::from_ns(random.below(300))).await,
                    _ => {
                        let line = if random.below(4) == 0 { HOT[task as usize % 2] } else { any };
                        read((&core, &verbs), &scheme, &clock, line, &mut random).await;
                    }
                }
            }
            finished.set(finished.get() + 1);
        });
    }
}

/// Draws the content of a write. If lines are re-ordered, some words are frequent ones.
fn content(scheme: &Scheme, random: &mut Random) -> Line {
    if scheme.layout().region(Kind::Bitmaps).is_some() { with_frequent_words(random) } else { random.line() }
}

/// Draws a line with some frequent words. At least one word identifies the line and its version.
fn with_frequent_words(random: &mut Random) -> Line {
    let mut line = random.line();
    let frequent = line[WORD_BYTES..].chunks_exact_mut(WORD_BYTES).filter(|word| word[0] % 2 == 0);
    frequent.for_each(|word| {
        let value = VALUES[usize::from(word[1]) % VALUES.len()];
        word.copy_from_slice(&value.to_le_bytes());
    });
    line.rotate_left(WORD_BYTES * random.below(8) as usize);
    line
}

/// Runs one read by one of the cores. One in eight finds its line on the chip; one in four is
/// predicted, before or after its L2 has missed the line.
async fn read((cores, verbs): (&Core, &Timed), scheme: &Scheme, clock: &Clock, line: LineAddr, random: &mut Random) {
    let core = random.below(CORES) as usize;
    let from_memory = random.below(8) > 0;
    let wait = cores.some_time();
    let request = async {
        clock.sleep(wait).await;
        let from_memory = from_memory && !cores.holding.has_in_caches(line);
        if from_memory {
            cores.reads(line);
        }
        from_memory
    };
    let prediction = (random.below(4) == 0).then(|| clock.sleep(cores.some_time()));
    let look_up = if prediction.is_some() { cores.some_time() } else { Duration::ZERO };
    let missed = async { clock.sleep(look_up).await };
    scheme.read_from(verbs, Demand::of(line, core), missed, request, prediction).await;
}

/// Conditions of a crowd.
#[derive(Clone, Copy, Default)]
pub struct Scene {
    pub seed: u64,
    /// Age of the hot lines' groups at the beginning.
    pub age: Option<Age>,
    /// Limits of concurrent re-encryption on the machine; the crowd must reach them.
    pub limits: Option<OverflowLimits>,
    /// True if memory begins ordered by the frequent words.
    pub ordered: bool,
    pub planted: PlantedBug,
}

/// Returns an error if the condition does not hold.
fn hold(holds: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// Runs the crowd; returns the hash of all events, or the error.
pub fn crowd(parts: &Parts, scene: Scene) -> Result<u64, String> {
    let Scene { seed, age, limits, ordered, planted } = scene;
    let mut machine = Machine::limited(parts, seed, Core::of(parts), limits);
    let mut scheme = parts.build_with(DATA_LINES, seed, planted)?;
    if ordered {
        scheme.fixed_mut().unwrap().begin_ordered(&VALUES.map(|value| (value, 1)));
    }
    machine.scheme = Rc::new(scheme);
    if let Some(age) = age {
        make_old(&machine, age);
    }
    let young = HOT.map(|line| majors(&machine, line));
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    let all = machine.run(Duration::from_ns(20_000_000), || finished.get() == TASKS);
    let core = &machine.core;
    hold(core.wrong.borrow().is_empty(), || core.wrong.borrow().join("; "))?;
    hold(all, || format!("only {} of {TASKS} tasks finished: a deadlock", finished.get()))?;
    let all_served = core.reads.get() > TASKS && core.expected.borrow().values().all(VecDeque::is_empty);
    hold(all_served, || "a read was never served".to_owned())?;
    hold(machine.memory.keystream_reuse().is_none(), || "a pad hid two texts".to_owned())?;
    let current = machine.core.current.borrow().clone();
    if parts.persistence.exists() {
        comes_back(&machine, scene, parts, |line, text| current.get(&line) == Some(&text))?;
    }
    // After a battery's work no access continues on the chip; the lines were read on the chip that recovered.
    if !machine.core.holding.exists() {
        read_again(&machine)?;
    }
    let renewed = HOT.iter().zip(young).all(|(line, young)| young.is_none() || majors(&machine, *line) != young);
    hold(renewed || age.is_none(), || "the crowd was not mean enough".to_owned())?;
    let reached = machine.memory.most_overflows();
    hold(reached == limits.map(|OverflowLimits { outstanding, slots }| (outstanding, slots)), || {
        format!("the crowd got to {reached:?} of {limits:?}")
    })?;
    Ok(machine.executor.clock().event_hash())
}

/// Ages the groups of the hot lines.
pub fn make_old(machine: &Machine<Core>, age: Age) {
    without_time(machine, |functional| HOT.map(|line| run_now(machine.scheme.age(&functional.verbs(), line, age))));
}

/// Returns the first eight bytes of a line's counters in memory: all organisations that renew keep their majors in them. They change with
/// every renewal of the group. `None` without counters.
fn majors(machine: &Machine<Core>, line: LineAddr) -> Option<[u8; 8]> {
    let slot = machine.scheme.fixed()?.counter_slot(line)?;
    machine.memory.media().borrow().read(slot).examine().first_chunk().copied()
}

/// Runs `act` without time, on the same memory chips, and empties the metadata caches.
fn without_time<T>(machine: &Machine<Core>, act: impl FnOnce(&Functional) -> T) -> T {
    let functional = Functional::new(machine.scheme.layout().total_lines());
    functional.media.swap(machine.memory.media());
    let result = act(&functional);
    run_now(machine.scheme.flush(&functional.verbs()));
    functional.media.swap(machine.memory.media());
    result
}

/// Returns the registers after a loss of power, and the keystream that memory has shown. A battery has done its work by then.
fn left(machine: &Machine<Core>) -> (Registers, Ledger) {
    let (registers, ledger) = (machine.memory.registers(), machine.memory.ledger().unwrap_or_default());
    if !machine.core.holding.exists() {
        return (registers, ledger);
    }
    without_time(machine, |functional| {
        functional.go_on_with(registers);
        functional.carry(ledger);
        machine.core.holding.drain_on_battery(&machine.scheme, functional);
        (functional.registers(), functional.ledger().clone())
    })
}

/// Cuts the power when all accesses have ended. Recovery must accept the memory, every line in use must read as allowed, and its next write
/// must use new keystream. A line that is not in memory counts as zeros. After an attack, lines may be refused.
pub fn comes_back(
    machine: &Machine<Core>,
    scene: Scene,
    parts: &Parts,
    may_read: impl Fn(LineAddr, Line) -> bool,
) -> Result<(), String> {
    let attacked = machine.core.under_attack;
    let (registers, ledger) = left(machine);
    let scheme = parts.build_with(DATA_LINES, scene.seed, scene.planted)?;
    let functional = Functional::new(scheme.layout().total_lines());
    functional.media.replace(machine.memory.media().borrow().clone());
    functional.carry(ledger);
    run_now(scheme.recover(&functional.verbs(), &registers));
    let fault = functional.take_fault();
    // The tree does not cover tags: a tag line that a tuple wrote while it was tampered with remains wrong.
    let explained = attacked && matches!(fault, Some(Fault::Tag(_)));
    hold(fault.is_none() || explained, || format!("recovery refuses the memory: {fault:?}"))?;
    for line in machine.core.current.borrow().keys() {
        if machine.memory.has(scheme.layout().data_slot(*line)) {
            run_now(scheme.read(&functional.verbs(), *line));
            let (fault, released) = (functional.take_fault(), functional.take_released());
            let right = released.map_or(attacked && fault.is_some(), |(line, text)| may_read(line, text.bytes));
            hold(right && (attacked || fault.is_none()), || {
                format!("after a loss of power, line {line} is not what it was: {fault:?}")
            })?;
        } else {
            hold(may_read(*line, ZERO_LINE), || format!("after a loss of power, line {line} was never in memory"))?;
        }
        run_now(scheme.write(&functional.verbs(), *line, &[9; 64]));
        let fault = functional.take_fault();
        hold(fault.is_none() || explained, || format!("a false alarm at a write after a loss of power: {fault:?}"))?;
    }
    hold(functional.ledger().reuse().is_none(), || "keystream served again after a loss of power".to_owned())
}

/// Reads all lines again, from memory.
fn read_again(machine: &Machine<Core>) -> Result<(), String> {
    without_time(machine, |functional| {
        run_now(machine.scheme.flush(&functional.verbs()));
        for (line, content) in machine.core.current.borrow().iter() {
            run_now(machine.scheme.read(&functional.verbs(), *line));
            let (fault, released) = (functional.take_fault(), functional.take_released());
            let right = fault.is_none() && released.map(|(line, text)| (line, text.bytes)) == Some((*line, *content));
            hold(right, || format!("read again, line {line} is not what it was: {fault:?}"))?;
        }
        Ok(())
    })
}
