//! The window: instructions from their dispatch to their retirement, and the instructions that wait for others in it.
//!
//! Instructions enter and retire in order. An instruction with an input of unknown time keeps its issue plan here, and
//! is in the list of the instruction that produces this input.

use crate::node::caches::prefetching::PrefetchTrigger;
use crate::node::config::NodeConfig;
use crate::node::interface::{Touch, UNKNOWN};
use crate::node::pipeline::plan::{DependentInput, IssuePlan};
use crate::node::pipeline::queue::{Pacer, Queue};
use crate::node::pipeline::stores::Forward;
use crate::node::waiting::{List, Lists};
use isa::Class;

/// Resources of an instruction in the window, and its address.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Occupancy {
    /// Entries of the load queue to free at retirement.
    pub(in crate::node) loads: u32,
    /// Stores to write after retirement.
    pub(in crate::node) stores: u32,
    /// Physical registers to free at retirement.
    pub(in crate::node) results: u32,
    /// Low bits of the instruction address, which identify the instruction to the prefetchers.
    pub(in crate::node) pc: u32,
}

/// One entry of the window.
#[derive(Clone, Copy, Debug)]
struct WindowEntry {
    /// Cycle at which the instruction completes.
    completed: u64,
    /// Instructions that wait for the completion.
    waiters: List,
    occupancy: Occupancy,
}

const FREE: WindowEntry =
    WindowEntry { completed: 0, waiters: List::EMPTY, occupancy: Occupancy { loads: 0, stores: 0, results: 0, pc: 0 } };

/// An instruction that cannot be scheduled yet.
#[derive(Clone, Debug)]
struct UnscheduledInstruction {
    plan: IssuePlan,
    /// Accesses of the instruction, while they wait for addresses.
    touches: Vec<(Touch, Option<Forward>)>,
}

/// An instruction that waits for the completion of another.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Dependent {
    pub(in crate::node) number: u64,
    pub(in crate::node) input: DependentInput,
    /// Cycles from that completion to the arrival of the operand.
    pub(in crate::node) delay: u64,
}

/// An instruction that retires.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Retired {
    pub(in crate::node) number: u64,
    pub(in crate::node) cycle: u64,
    pub(in crate::node) occupancy: Occupancy,
}

/// The window of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct ReorderWindow {
    queue: Queue,
    entries: Box<[WindowEntry]>,
    pending: Box<[UnscheduledInstruction]>,
    dependents: Lists<Dependent>,
    /// Instructions that completed in the current cascade and must still wake their dependents.
    resolved: Vec<u64>,
    retirement: Pacer,
    retire_latency: u64,
}

impl ReorderWindow {
    pub(in crate::node) fn new(config: &NodeConfig) -> ReorderWindow {
        let places = config.rob.next_power_of_two() as usize;
        let idle = UnscheduledInstruction { plan: IssuePlan::new(Class::Nop, false, 0), touches: Vec::new() };
        ReorderWindow {
            queue: Queue::new(config.rob),
            entries: vec![FREE; places].into(),
            pending: vec![idle; places].into(),
            dependents: Lists::new(),
            resolved: Vec::new(),
            retirement: Pacer::new(config.retire_width),
            retire_latency: config.retire_latency_cycles,
        }
    }

    /// Returns the number of instructions that have entered, which is the number of the next instruction.
    #[inline]
    pub(in crate::node) fn entered(&self) -> u64 {
        self.queue.entered()
    }

    /// Returns the number of instructions that have retired, which is the number of the oldest instruction inside.
    #[inline]
    pub(in crate::node) fn left(&self) -> u64 {
        self.queue.left()
    }

    /// Returns the number of the oldest instruction in the window, if it is not empty.
    pub(in crate::node) fn oldest(&self) -> Option<u64> {
        Some(self.left()).filter(|oldest| *oldest < self.entered())
    }

    /// Returns the cycle of the latest retirement slot.
    #[inline]
    pub(in crate::node) fn retired_at(&self) -> u64 {
        self.retirement.cycle()
    }

    /// Returns the cycle at which the latest instruction left the window.
    pub(in crate::node) fn last_departure(&self) -> u64 {
        self.queue.last_departure()
    }

    /// Returns the cycle from which one more instruction may enter, or `None` if that cycle is not known yet.
    #[inline]
    pub(in crate::node) fn room(&self) -> Option<u64> {
        self.queue.room(1)
    }

    /// Returns the cycle at which all instructions so far have retired, or `None` if that cycle is not known yet.
    pub(in crate::node) fn empty_from(&self) -> Option<u64> {
        self.queue.empty_from()
    }

    /// Returns the numbers of the instructions that still have an entry, retired or not.
    #[cfg(test)]
    pub(in crate::node) fn kept(&self) -> std::ops::Range<u64> {
        self.entered().saturating_sub(self.entries.len() as u64)..self.entered()
    }

    /// Enters an instruction that has not completed; returns its number.
    #[inline]
    pub(in crate::node) fn enter(&mut self, occupancy: Occupancy) -> u64 {
        let number = self.queue.enter();
        let entry_index = self.entry_index(number);
        self.entries[entry_index] = WindowEntry { completed: UNKNOWN, waiters: List::EMPTY, occupancy };
        number
    }

    /// Returns the completion cycle of instruction `number`, if known, or 0 if the instruction has left its entry.
    #[inline]
    pub(in crate::node) fn completion(&self, number: u64) -> Option<u64> {
        if number + (self.entries.len() as u64) < self.entered() {
            return Some(0);
        }
        Some(self.entries[self.entry_index(number)].completed).filter(|cycle| *cycle != UNKNOWN)
    }

    /// Sets the completion cycle of an instruction that has no dependents yet.
    #[inline]
    pub(in crate::node) fn complete(&mut self, number: u64, cycle: u64) {
        self.entries[self.entry_index(number)].completed = cycle;
    }

    /// Sets the completion cycle of an instruction, and remembers to wake its dependents.
    #[inline]
    pub(in crate::node) fn resolve(&mut self, number: u64, cycle: u64) {
        self.complete(number, cycle);
        self.resolved.push(number);
    }

    /// Returns the number and the address bits by which the prefetchers identify the instruction.
    #[inline]
    pub(in crate::node) fn origin(&self, number: u64) -> PrefetchTrigger {
        PrefetchTrigger { number, pc: self.entries[self.entry_index(number)].occupancy.pc }
    }

    /// Returns the plan of an instruction with an input of unknown time.
    #[inline]
    pub(in crate::node) fn plan(&mut self, number: u64) -> &mut IssuePlan {
        &mut self.pending[self.entry_index(number)].plan
    }

    /// Returns the accesses of an instruction that wait for addresses.
    #[inline]
    pub(in crate::node) fn touches(&mut self, number: u64) -> &mut Vec<(Touch, Option<Forward>)> {
        &mut self.pending[self.entry_index(number)].touches
    }

    /// Adds an instruction to the list of those that wait for the completion of `maker`.
    #[inline(always)]
    pub(in crate::node) fn depend(&mut self, maker: u64, dependent: Dependent) {
        let entry_index = self.entry_index(maker);
        self.dependents.push(&mut self.entries[entry_index].waiters, dependent);
    }

    /// Returns the instruction at position `index` of those that completed in the current cascade.
    #[inline]
    pub(in crate::node) fn resolved(&self, index: usize) -> Option<u64> {
        self.resolved.get(index).copied()
    }

    /// Removes the next dependent of a completed instruction. Returns it with the cycle at which its input arrives.
    #[inline]
    pub(in crate::node) fn next_dependent(&mut self, number: u64) -> Option<(Dependent, u64)> {
        let entry_index = self.entry_index(number);
        let entry = &mut self.entries[entry_index];
        let dependent = self.dependents.pop(&mut entry.waiters)?;
        Some((dependent, entry.completed + dependent.delay))
    }

    /// Ends a cascade in which all dependents were woken.
    #[inline]
    pub(in crate::node) fn end_cascade(&mut self) {
        self.resolved.clear();
    }

    /// Retires the oldest instruction, or returns `None` if it has not completed.
    #[inline]
    pub(in crate::node) fn retire(&mut self) -> Option<Retired> {
        let number = self.left();
        if number == self.entered() {
            return None;
        }
        let WindowEntry { completed, occupancy, .. } = self.entries[self.entry_index(number)];
        if completed == UNKNOWN {
            return None;
        }
        let cycle = self.retirement.next(completed + self.retire_latency);
        self.queue.leave(cycle);
        Some(Retired { number, cycle, occupancy })
    }

    #[inline]
    fn entry_index(&self, number: u64) -> usize {
        number as usize & (self.entries.len() - 1)
    }
}
