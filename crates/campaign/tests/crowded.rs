//! Many accesses in flight at once: does every line still hold what was last written to it, and does everybody finish?
//!
//! The scene is as mean as it can be made: thirty-two tasks over few lines, so that they meet on lines, on groups that
//! overflow and on tags; caches of one line, so that every look brings something in and throws something out; pages that
//! were never written, which get their start-up content in the middle of it all; and a task that flushes now and then.
//!
//! The order is exact: the lock of a line is first come, first served, and is the first thing that an access asks for. So
//! a read must give what was written by the last write of its line that was asked for before it.

mod common;

use casemate_campaign::bus::flip;
use common::{Machine, cases, with_caches};
use proptest::prelude::*;
use protection::counter::Age;
use protection::design::{CounterChoice, Parts};
use protection::tree::ForestDesign;
use protection::verbs::{Fault, Plaintext, Slot};
use protection::ways::{Functional, OverflowLimits, Receiver, Timed, run_now};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use systems::designs;
use units::random::Random;
use units::{Bytes, Duration, Line, LineAddr};

const TASKS: u64 = 32;
const ACCESSES: u64 = 60;
const PAGES: [u64; 6] = [0, 1, 8, 64, 512, 1023];
/// Two lines of different groups that are written so often that their counters overflow.
const HOT: [LineAddr; 2] = [LineAddr(7), LineAddr(64 * 8 + 14)];

/// The core: knows what each read must give, and in which order reads of a line end. Under attack an access may come to
/// nothing, so that only this is known: what comes out was written to that line once.
#[derive(Default)]
struct Core {
    under_attack: bool,
    versions: RefCell<BTreeMap<LineAddr, Vec<Line>>>,
    faults: Cell<u64>,
    current: RefCell<BTreeMap<LineAddr, Line>>,
    expected: RefCell<BTreeMap<LineAddr, VecDeque<Line>>>,
    wrong: RefCell<Vec<String>>,
    reads: Cell<u64>,
}

impl Core {
    fn current(&self, line: LineAddr) -> Line {
        self.current.borrow().get(&line).copied().unwrap_or_else(|| self.start_up_content(line))
    }

    fn writes(&self, line: LineAddr, content: &Line) {
        self.versions.borrow_mut().entry(line).or_default().push(*content);
        self.current.borrow_mut().insert(line, *content);
    }

    fn reads(&self, line: LineAddr) {
        let current = self.current(line);
        self.current.borrow_mut().insert(line, current);
        self.expected.borrow_mut().entry(line).or_default().push_back(current);
    }
}

impl Receiver for Core {
    fn released(&self, line: LineAddr, text: &Plaintext) {
        self.reads.set(self.reads.get() + 1);
        let expected = self.expected.borrow_mut().get_mut(&line).and_then(VecDeque::pop_front);
        let was_ever = || self.versions.borrow().get(&line).is_some_and(|versions| versions.contains(&text.bytes));
        let known = || text.bytes == self.start_up_content(line) || was_ever();
        if expected != Some(text.bytes) && !(self.under_attack && known()) {
            self.wrong.borrow_mut().push(format!("line {line} gave another version than it should"));
        }
    }

    fn fault(&self, fault: Fault) {
        self.faults.set(self.faults.get() + 1);
        if !self.under_attack {
            self.wrong.borrow_mut().push(format!("a false alarm: {fault}"));
        }
    }

    fn start_up_content(&self, line: LineAddr) -> Line {
        Random::new(line.0).line()
    }
}

fn start_tasks(machine: &Machine<Core>, seed: u64, finished: &Rc<Cell<u64>>) {
    for task in 0..TASKS {
        let (memory, scheme, finished) = (machine.memory.clone(), machine.scheme.clone(), finished.clone());
        let clock = machine.executor.clock().clone();
        let mut random = Random::new(seed ^ task << 32);
        machine.executor.clock().spawn(async move {
            let verbs = Timed::new(&memory);
            for _ in 0..ACCESSES {
                let page = PAGES[random.below(PAGES.len() as u64) as usize];
                let any = LineAddr(page * 64 + random.below(5) * 7);
                match random.below(100) {
                    0 => scheme.flush(&verbs).await,
                    1..45 => {
                        let line = if random.below(4) == 0 { any } else { HOT[task as usize % 2] };
                        let content = random.line();
                        memory.receiver().writes(line, &content);
                        scheme.write(&verbs, line, &content).await;
                    }
                    45..55 => clock.sleep(Duration::from_ns(random.below(300))).await,
                    _ => {
                        let line = if random.below(4) == 0 { HOT[task as usize % 2] } else { any };
                        memory.receiver().reads(line);
                        scheme.read(&verbs, line).await;
                    }
                }
            }
            finished.set(finished.get() + 1);
        });
    }
}

/// Runs the crowd; returns the hash of all events. The groups of the hot lines may be old when it begins.
fn crowd(parts: &Parts, seed: u64, age: Option<Age>) -> Result<u64, TestCaseError> {
    limited_crowd(parts, seed, age, None)
}

/// The same on a machine that limits renewals, to which it gets.
fn limited_crowd(
    parts: &Parts,
    seed: u64,
    age: Option<Age>,
    limits: Option<OverflowLimits>,
) -> Result<u64, TestCaseError> {
    let mut machine = Machine::limited(parts, seed, Core::default(), limits);
    if let Some(age) = age {
        without_time(&machine, |functional| HOT.map(|line| run_now(machine.scheme.age(functional, line, age))));
    }
    let young = HOT.map(|line| majors(&machine, line));
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    let all = machine.run(Duration::from_ns(20_000_000), || finished.get() == TASKS);
    let core = machine.memory.receiver();
    prop_assert_eq!(&*core.wrong.borrow(), &Vec::<String>::new());
    prop_assert!(all, "only {} of {TASKS} tasks finished: a deadlock", finished.get());
    prop_assert!(core.reads.get() > TASKS && core.expected.borrow().values().all(VecDeque::is_empty));
    prop_assert_eq!(machine.memory.keystream_reuse(), None);
    read_again(&machine)?;
    let renewed = HOT.iter().zip(young).all(|(line, young)| young.is_none() || majors(&machine, *line) != young);
    prop_assert!(renewed || age.is_none(), "the crowd was not mean enough");
    let reached = machine.memory.most_overflows();
    prop_assert_eq!(reached, limits.map(|OverflowLimits { outstanding, slots }| (outstanding, slots)));
    Ok(machine.executor.clock().event_hash())
}

/// Flips a bit of whatever lies in memory every now and then, and flips it back a little later.
fn start_attacker(machine: &Machine<Core>, seed: u64) {
    let (memory, clock, mut random) = (machine.memory.clone(), machine.executor.clock().clone(), Random::new(!seed));
    let flip_bit = move |slot: Slot, bit: usize| {
        let mut media = memory.media().borrow_mut();
        let mut content = media.read(slot).examine();
        flip(&mut content, bit);
        media.write(slot, &content);
    };
    let memory = machine.memory.clone();
    machine.executor.clock().spawn(async move {
        loop {
            clock.sleep(Duration::from_ns(random.below(500))).await;
            let slots: Vec<Slot> = memory.media().borrow().written_slots().map(|(slot, _)| slot).collect();
            let Some(slot) = random.pick(&slots) else { continue };
            let bit = random.below(512) as usize;
            flip_bit(slot, bit);
            clock.sleep(Duration::from_ns(random.below(500))).await;
            flip_bit(slot, bit);
        }
    });
}

/// The first eight bytes of a line's counters in memory, which change with every renewal of the group: there all
/// organisations that renew keep their majors. Nothing if there are no counters.
fn majors(machine: &Machine<Core>, line: LineAddr) -> Option<[u8; 8]> {
    let slot = machine.scheme.counter_slot(line)?;
    machine.memory.media().borrow().read(slot).examine().first_chunk().copied()
}

/// Does something without time, on the same memory chips, and empties the metadata caches.
fn without_time<T>(machine: &Machine<Core>, act: impl FnOnce(&Functional) -> T) -> T {
    let functional = Functional::new(machine.scheme.layout().total_lines());
    functional.media.swap(machine.memory.media());
    let result = act(&functional);
    run_now(machine.scheme.flush(&functional));
    functional.media.swap(machine.memory.media());
    result
}

/// Reads everything again, from memory.
fn read_again(machine: &Machine<Core>) -> Result<(), TestCaseError> {
    without_time(machine, |functional| {
        run_now(machine.scheme.flush(functional));
        for (line, content) in machine.memory.receiver().current.borrow().iter() {
            run_now(machine.scheme.read(functional, *line));
            prop_assert_eq!(functional.take_fault(), None);
            prop_assert_eq!(functional.take_released().map(|(line, text)| (line, text.bytes)), Some((*line, *content)));
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn a_crowd_of_accesses_sees_every_line_in_order_and_nobody_waits_for_ever(seed in any::<u64>()) {
        for design in designs() {
            // Counters of 56 bits have nothing to renew.
            let age = (design.parts.counters != CounterChoice::Mono56).then_some(Age::BeforeRenewal);
            crowd(&with_caches(&design.parts, seed), seed, age).map_err(|error| TestCaseError::fail(format!("{}: {error}", design.name)))?;
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn two_groups_that_are_renewed_at_once_keep_every_line_under_any_organisation(seed in any::<u64>()) {
        use CounterChoice::{Morphable, Sc64, Sc64Mac, Sc128, Vault16, Vault32};
        for counters in [Sc64, Sc64Mac, Sc128, Vault32, Vault16, Morphable] {
            let parts = Parts { counters, ..systems::design("sc64-bmt").unwrap().parts };
            crowd(&with_caches(&parts, seed), seed, Some(Age::BeforeRenewal))?;
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn overflows_beyond_those_allowed_wait_at_a_shut_door_and_everybody_finishes(seed in any::<u64>()) {
        use CounterChoice::{Morphable, Sc64};
        let limits = Some(OverflowLimits { outstanding: 1, slots: 4 });
        for (design, counters) in [("sc64-bmt", Sc64), ("emcc", Morphable), ("sc64-bmt-mac4", Sc64)] {
            let parts = Parts { counters, ..systems::design(design).unwrap().parts };
            limited_crowd(&with_caches(&parts, seed), seed, Some(Age::BeforeRenewal), limits)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn a_forest_whose_roots_come_and_go_keeps_every_line_in_a_crowd(seed in any::<u64>(), entries in 1u64..5) {
        let mut parts = systems::design("dbmf").unwrap().parts;
        parts.tree.forest = Some(ForestDesign::Dynamic { entries, period: 3, threshold: 0 });
        crowd(&with_caches(&parts, seed), seed, None)?;
    }
}

proptest! {
    #![proptest_config(cases(6))]
    /// Who leaves one cache of everything depends on who came first, so functional runs of it need not agree with timed ones
    /// on each operation. What they return must be right all the same.
    #[test]
    fn one_cache_of_all_metadata_and_counters_in_the_last_level_cache_serve_a_crowd_as_well(seed in any::<u64>()) {
        for design in ["sc64-bmt", "sc64-bmt-eager", "sgx-mee", "morphable", "merkle-full"] {
            let mut parts = systems::design(design).unwrap().parts;
            parts.caches.unified = Some(Bytes(64 << 10));
            parts.caches.counters_in_llc = parts.counters != CounterChoice::None && seed % 2 == 0;
            parts.caches.nodes_in_llc = parts.caches.counters_in_llc && seed % 4 == 0;
            crowd(&with_caches(&parts, seed), seed, None)?;
        }
    }
}

/// A crowd with an attacker among it; how much tampering was reported.
fn crowd_under_attack(seed: u64) -> u64 {
    // Small caches, so that memory is asked often enough to be caught lying.
    let parts = with_caches(&systems::design("sc64-bmt").unwrap().parts, 1 + seed % 2);
    let mut machine = Machine::new(&parts, seed, Core { under_attack: true, ..Core::default() });
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    start_attacker(&machine, seed);
    let all = machine.run(Duration::from_ns(20_000_000), || finished.get() == TASKS);
    let core = machine.memory.receiver();
    assert_eq!(&*core.wrong.borrow(), &Vec::<String>::new());
    assert!(all, "seed {seed}: only {} of {TASKS} tasks finished: a deadlock", finished.get());
    core.faults.get()
}

#[test]
fn a_crowd_under_attack_gets_no_garbage_and_nobody_waits_for_ever() {
    let reported: u64 = (0..48).map(crowd_under_attack).sum();
    assert!(reported > 48, "the attacker was not mean enough: {reported} faults");
}

#[test]
fn a_crowd_with_the_same_seed_gives_the_same_events() {
    let parts = with_caches(&systems::design("sc64-bmt").unwrap().parts, 1);
    assert_eq!(crowd(&parts, 5, None).unwrap(), crowd(&parts, 5, None).unwrap());
    assert_ne!(crowd(&parts, 5, None).unwrap(), crowd(&parts, 6, None).unwrap());
}
