//! What lies on the chip between the core and protected memory, as far as it has no time of its own: tags of the
//! last-level cache, lines on their way out, and the shadow.
//!
//! The chip is the [`Receiver`] of the timed memory: a released line goes through the shadow, which checks it, enters the last-level
//! cache and goes up to the core.

use crate::shadow::Shadow;
use derive_more::{AddAssign, Sub};
use machine::cache::TagArray;
use machine::node::{Node, Request};
use machine::observer::ObserverCounters;
use protection::verbs::{Fault, Plaintext};
use protection::ways::Receiver;
use rustc_hash::FxHashMap;
use serde::Serialize;
use sim::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use systems::Machine;
use units::{Duration, LineAddr, Time};

/// What the last-level cache has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct LlcCounters {
    /// Lines asked for and found.
    pub hits: u64,
    /// Lines asked for and found among those on their way out.
    pub hits_on_the_way_out: u64,
    /// Lines asked for and fetched from memory.
    pub misses: u64,
    /// Dirty lines written to memory.
    pub writebacks: u64,
    /// Lines written to memory because the kernel changed them.
    pub foreign_writes: u64,
    /// The sum of all misses' times from the cache's miss to the released line, in femtoseconds.
    pub miss_latency_fs: u64,
}

/// The chip's state.
pub struct Chip {
    clock: Clock,
    /// The core and its private caches.
    pub node: RefCell<Node>,
    /// Requests that left the private caches and are not yet taken up.
    pub outbox: RefCell<Vec<Request>>,
    llc: RefCell<TagArray>,
    /// Lines that have been handed to the writers and have not arrived in memory, with how often.
    leaving: RefCell<FxHashMap<LineAddr, u32>>,
    /// Lines to be written, oldest first; emptied by the writers.
    pub victims: RefCell<VecDeque<LineAddr>>,
    asked: RefCell<FxHashMap<LineAddr, Time>>,
    /// Lines that the kernel changed while they were on their way up.
    changed_late: RefCell<Vec<LineAddr>>,
    shadow: Rc<RefCell<Shadow>>,
    return_path: Duration,
    core_task: Cell<Option<TaskId>>,
    writers_waiting: RefCell<VecDeque<TaskId>>,
    fault: Cell<Option<Fault>>,
    counters: Cell<LlcCounters>,
}

impl Chip {
    /// A chip at power-on.
    pub fn new(clock: &Clock, machine: &Machine, shadow: Rc<RefCell<Shadow>>) -> Rc<Chip> {
        Rc::new(Chip {
            clock: clock.clone(),
            node: RefCell::new(Node::new(&machine.node)),
            outbox: RefCell::default(),
            llc: RefCell::new(TagArray::with_replacement(
                machine.llc.sets(),
                machine.llc.ways,
                machine.llc.replacement,
            )),
            leaving: RefCell::default(),
            victims: RefCell::default(),
            asked: RefCell::default(),
            changed_late: RefCell::default(),
            shadow,
            return_path: Duration::from_ns_f64(machine.memory.path_ns / 2.0),
            core_task: Cell::new(None),
            writers_waiting: RefCell::default(),
            fault: Cell::new(None),
            counters: Cell::default(),
        })
    }

    /// Names the task that runs the core: woken whenever a line arrives.
    pub fn set_core_task(&self, task: TaskId) {
        self.core_task.set(Some(task));
    }

    /// Looks a line up in the last-level cache and among the lines on their way out of it.
    pub fn look_up(&self, line: LineAddr) -> bool {
        let hit = self.llc.borrow_mut().lookup(line.0).is_some();
        let on_the_way_out = !hit && self.leaving.borrow().contains_key(&line);
        self.count(|counters| {
            counters.hits += u64::from(hit);
            counters.hits_on_the_way_out += u64::from(on_the_way_out);
            counters.misses += u64::from(!hit && !on_the_way_out);
        });
        if on_the_way_out {
            self.enter(line, false);
        }
        hit || on_the_way_out
    }

    /// Notes that memory is asked for a line now.
    pub fn asking(&self, line: LineAddr) {
        self.asked.borrow_mut().insert(line, self.clock.now());
    }

    /// A dirty line comes down from the private caches.
    pub fn take_back(&self, line: LineAddr) {
        let mut llc = self.llc.borrow_mut();
        match llc.lookup(line.0) {
            Some(place) => llc.mark_dirty(place),
            None => {
                drop(llc);
                self.enter(line, true);
            }
        }
    }

    /// The kernel changed a line: cached copies go, and memory gets the new content if it had the old. A line on its way
    /// up arrives first.
    pub fn changed_from_outside(&self, line: LineAddr, in_memory: bool) {
        if self.asked.borrow().contains_key(&line) {
            self.changed_late.borrow_mut().push(line);
            return;
        }
        self.node.borrow_mut().invalidate(line);
        self.llc.borrow_mut().invalidate(line.0);
        if in_memory {
            self.count(|counters| counters.foreign_writes += 1);
            self.send_out(line);
        }
    }

    /// A line was read from memory, in time or without: it goes through the shadow and enters the last-level cache.
    pub fn brought(&self, line: LineAddr, plaintext: &Plaintext) {
        self.shadow.borrow_mut().returned(line, &plaintext.bytes);
        if self.llc.borrow_mut().lookup(line.0).is_none() {
            self.enter(line, false);
        }
    }

    /// A line goes up to the core; it will be there at `at`.
    pub fn deliver(&self, line: LineAddr, at: Time) {
        self.node.borrow_mut().filled(line, at, &mut self.outbox.borrow_mut());
        if let Some(task) = self.core_task.get() {
            self.clock.wake(task);
        }
    }

    /// Enters a line into the last-level cache; a dirty victim goes to the writers.
    fn enter(&self, line: LineAddr, dirty: bool) {
        let (_, evicted) = self.llc.borrow_mut().insert(line.0, dirty);
        if let Some(victim) = evicted.filter(|victim| victim.dirty) {
            self.count(|counters| counters.writebacks += 1);
            self.send_out(LineAddr(victim.key));
        }
    }

    fn send_out(&self, line: LineAddr) {
        *self.leaving.borrow_mut().entry(line).or_default() += 1;
        self.victims.borrow_mut().push_back(line);
        if let Some(task) = self.writers_waiting.borrow_mut().pop_front() {
            self.clock.wake(task);
        }
    }

    /// A writer has nothing to do: wake it when it has.
    pub fn wait_for_victims(&self) {
        let task = self.clock.current_task();
        let mut waiting = self.writers_waiting.borrow_mut();
        if !waiting.contains(&task) {
            waiting.push_back(task);
        }
    }

    /// The plaintext of a line that goes to memory now. From here on memory has to return it.
    pub fn put(&self, line: LineAddr) -> units::Line {
        self.shadow.borrow_mut().put(line)
    }

    /// A line has arrived in memory.
    pub fn written(&self, line: LineAddr) {
        let mut leaving = self.leaving.borrow_mut();
        if let Some(times) = leaving.get_mut(&line) {
            *times -= 1;
            if *times == 0 {
                leaving.remove(&line);
            }
        }
    }

    /// Lines handed to the writers and not yet in memory.
    pub fn backlog(&self) -> usize {
        self.leaving.borrow().len()
    }

    /// The tampering that was reported, if any was.
    pub fn fault_reported(&self) -> Option<Fault> {
        self.fault.get()
    }

    /// What the last-level cache has seen.
    pub fn counters(&self) -> LlcCounters {
        self.counters.get()
    }

    /// What the observer has seen.
    pub fn observed(&self) -> ObserverCounters {
        self.shadow.borrow().observed()
    }

    /// Bytes of this process that the shadow and the observer take.
    pub fn footprint_bytes(&self) -> u64 {
        self.shadow.borrow().footprint_bytes()
    }

    /// Lets the shadow forget what is not on the chip, if it has grown large.
    pub fn forget_what_left(&self) {
        let mut shadow = self.shadow.borrow_mut();
        if shadow.is_crowded() {
            shadow.forget(|line| self.holds(line));
        }
    }

    /// Whether a line is in a cache or between the caches and memory.
    fn holds(&self, line: LineAddr) -> bool {
        self.llc.borrow().probe(line.0).is_some()
            || self.node.borrow().holds(line)
            || self.leaving.borrow().contains_key(&line)
            || self.asked.borrow().contains_key(&line)
    }

    fn count(&self, change: impl FnOnce(&mut LlcCounters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }
}

impl Receiver for Chip {
    fn released(&self, line: LineAddr, plaintext: &Plaintext) {
        if let Some(asked) = self.asked.borrow_mut().remove(&line) {
            self.count(|counters| counters.miss_latency_fs += self.clock.now().since(asked).as_fs());
        }
        self.brought(line, plaintext);
        self.deliver(line, self.clock.now() + self.return_path);
        let position = self.changed_late.borrow().iter().position(|late| *late == line);
        if let Some(position) = position {
            self.changed_late.borrow_mut().swap_remove(position);
            self.changed_from_outside(line, true);
        }
    }

    fn fault(&self, fault: Fault) {
        self.fault.set(self.fault.get().or(Some(fault)));
    }

    fn start_up_content(&self, line: LineAddr) -> units::Line {
        self.shadow.borrow_mut().start_up(line)
    }
}
