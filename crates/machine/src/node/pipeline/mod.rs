//! The out-of-order core: instructions enter the window, are scheduled once, and retire.
//!
//! The model does not loop over cycles. When an instruction enters, the model computes all its cycles from those of its
//! inputs. These cycles are the latest of its sources, a free cycle of its functional unit, its completion, its
//! retirement. Only a load that missed L2 has no known completion. Its dependents wait in a list and are scheduled when
//! the line arrives (`schedule.rs`).
//!
//! This file contains the window and the registers; `front.rs` decides when an instruction may enter.

mod bimodal;
mod branch;
mod combining;
mod epochs;
mod front;
mod functional_units;
mod loads;
pub(super) mod page_records;
pub(super) mod persist;
mod pieces;
mod queue;
mod read_queue;
mod schedule;
mod stores;
mod tage;
pub(super) mod tlb;
pub(super) mod translated;
pub(super) mod walk;

use crate::node::caches::Caches;
use crate::node::config::NodeConfig;
use crate::node::counts::NodeCounts;
use crate::node::interface::{NodeStep, Touch, UNKNOWN};
use crate::node::waiting::{List, Lists};
use combining::Combining;
use epochs::Epochs;
use front::Front;
use functional_units::UnitPools;
use isa::{Class, Instruction, Reg};
use queue::{Pacer, Queue};
use read_queue::ReadQueue;
use stores::{Forward, StoreQueue};
use tlb::Tlbs;
use walk::PageWalker;

/// Flag in a register's entry. With this flag, the entry contains the number of the instruction that produces the
/// register, instead of a cycle.
pub(in crate::node) const PENDING: u64 = 1 << 63;

/// The stack pointer, in x86's numbering. Pushes and pops change it at decoding (the stack engine), so the next push or
/// pop does not wait for their data.
const STACK_POINTER: Reg = Reg(Reg::GENERAL.0 + 4);

/// One entry of the window.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct WindowEntry {
    /// Cycle at which the instruction completes.
    pub(in crate::node) completed: u64,
    /// Instructions that wait for the completion.
    pub(in crate::node) waiters: List,
    /// Entries of the load queue to free at retirement.
    pub(in crate::node) loads: u32,
    /// Stores to write after retirement.
    pub(in crate::node) stores: u32,
    /// Physical registers to free at retirement.
    pub(in crate::node) results: u32,
    /// Low bits of the instruction address, which identify the instruction to the prefetchers.
    pub(in crate::node) pc: u32,
}

const FREE: WindowEntry = WindowEntry { completed: 0, waiters: List::EMPTY, loads: 0, stores: 0, results: 0, pc: 0 };

/// Inputs of an instruction: the known cycles, and the number of unknown cycles.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct IssuePlan {
    pub(in crate::node) class: Class,
    /// True if the instruction only loads or only stores, so it needs no functional unit.
    pub(in crate::node) plain: bool,
    /// Number of address registers with an unknown time.
    pub(in crate::node) addresses_missing: u32,
    /// Number of other registers, loads and translations of stores with an unknown time.
    pub(in crate::node) operands_missing: u32,
    /// Cycle at which its address registers are ready: the latest known cycle so far.
    pub(in crate::node) addresses: u64,
    /// Cycle at which its other operands are ready: the latest known cycle so far.
    pub(in crate::node) operands: u64,
    /// Cycle at which its stores have their translated addresses.
    pub(in crate::node) stores: u64,
}

/// Result of starting an access.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) enum AccessStart {
    /// Cycle of the translated address of a store, or `None` if not known yet.
    Store(Option<u64>),
    /// Cycle of the data of a load, or `None` if not known yet.
    Load(Option<u64>),
}

impl IssuePlan {
    /// Returns true if the times of all inputs are known.
    #[inline(always)]
    pub(in crate::node) fn is_complete(&self) -> bool {
        self.addresses_missing | self.operands_missing == 0
    }

    /// Records that one of its accesses has started.
    #[inline(always)]
    pub(in crate::node) fn note(&mut self, started: AccessStart) {
        match started {
            AccessStart::Store(Some(translated)) => self.stores = self.stores.max(translated + 1),
            AccessStart::Load(Some(ready)) => self.operands = self.operands.max(ready),
            AccessStart::Store(None) | AccessStart::Load(None) => self.operands_missing += 1,
        }
    }
}

/// An instruction that cannot be scheduled yet.
#[derive(Clone, Debug)]
pub(in crate::node) struct UnscheduledInstruction {
    pub(in crate::node) plan: IssuePlan,
    /// Accesses of the instruction, while they wait for addresses.
    pub(in crate::node) touches: Vec<(Touch, Option<Forward>)>,
}

/// An instruction that waits for the completion of another.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Dependent {
    pub(in crate::node) number: u64,
    pub(in crate::node) role: DependentInput,
    /// Cycles from that completion to the arrival of the operand.
    pub(in crate::node) delay: u64,
}

/// Input of a dependent instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum DependentInput {
    Address,
    Operand,
    /// The translated address of a store.
    StoreAddress,
}

/// State of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct Core {
    pub(in crate::node) window: Queue,
    pub(in crate::node) entries: Box<[WindowEntry]>,
    pub(in crate::node) pending: Box<[UnscheduledInstruction]>,
    pub(in crate::node) dependents: Lists<Dependent>,
    /// Instructions that completed in the current cascade and must still wake their dependents.
    pub(in crate::node) resolved: Vec<u64>,
    pub(in crate::node) loads: Queue,
    /// Queue in front of L1D, if loads are merged in it.
    pub(in crate::node) read_queue: Option<ReadQueue>,
    pub(in crate::node) stores: StoreQueue,
    /// Lines that are stored past the caches.
    pub(in crate::node) combining: Combining,
    /// Flushes and fences, if these take effect.
    pub(in crate::node) epochs: Option<Box<Epochs>>,
    /// Number of the instruction that has the next flush to retire, or [`UNKNOWN`]. `flushes_wait` is true if flushes
    /// of retired instructions have not left the core.
    pub(in crate::node) next_flush: u64,
    pub(in crate::node) flushes_wait: bool,
    pub(in crate::node) units: UnitPools,
    pub(in crate::node) tlbs: Tlbs,
    pub(in crate::node) walker: Option<PageWalker>,
    pub(in crate::node) caches: Caches,
    pub(in crate::node) retirement: Pacer,
    pub(in crate::node) counts: NodeCounts,
    /// Results that have a physical register, if registers are limited.
    pub(in crate::node) results: Option<Queue>,
    /// Registers that the program has used, one bit each.
    pub(in crate::node) named: u64,
    pub(in crate::node) retire_latency: u64,
    pub(in crate::node) load_start: u64,
    pub(in crate::node) load_return: u64,
    pub(in crate::node) forward_latency: u64,
    pub(in crate::node) partial_forward_penalty: u64,
    registers: [u64; Reg::COUNT],
    pub(in crate::node) front: Front,
}

impl Core {
    pub(in crate::node) fn new(config: &NodeConfig) -> Core {
        let places = config.rob.next_power_of_two() as usize;
        let idle = IssuePlan {
            class: Class::Nop,
            plain: false,
            addresses_missing: 0,
            operands_missing: 0,
            addresses: 0,
            operands: 0,
            stores: 0,
        };
        Core {
            window: Queue::new(config.rob),
            entries: vec![FREE; places].into(),
            pending: vec![UnscheduledInstruction { plan: idle, touches: Vec::new() }; places].into(),
            dependents: Lists::new(),
            resolved: Vec::new(),
            loads: Queue::new(config.load_queue),
            read_queue: config.read_queue_ports.map(ReadQueue::new),
            stores: StoreQueue::new(config),
            epochs: Epochs::new(config),
            combining: Combining::new(config.memory_line),
            next_flush: UNKNOWN,
            flushes_wait: false,
            units: UnitPools::new(config),
            tlbs: Tlbs::new(config),
            walker: PageWalker::new(config),
            caches: Caches::new(config),
            retirement: Pacer::new(config.retire_width),
            counts: NodeCounts::default(),
            results: config.physical_registers.map(Queue::new),
            named: 0,
            retire_latency: config.retire_latency_cycles,
            load_start: config.load_start_cycles,
            load_return: config.load_return_cycles,
            forward_latency: config.forward_latency_cycles,
            partial_forward_penalty: config.partial_forward_penalty_cycles,
            registers: [0; Reg::COUNT],
            front: Front::new(config),
        }
    }

    /// Enters an instruction into the window and schedules it. Returns false if the instruction could not enter. The
    /// caller must then try again after a line has arrived.
    pub(in crate::node) fn enter(&mut self, step: &NodeStep<'_>) -> bool {
        let stores = step.touches.iter().filter(|touch| touch.store).count() as u32;
        let loads = step.touches.len() as u32 - stores;
        let Some(cycle) = self.admit(step, loads, stores) else { return false };
        let number = self.window.enter();
        let entry_index = self.entry_index(number);
        let results = step.instruction.destinations.len() as u32;
        let pc = step.instruction.pc.0 as u32;
        self.entries[entry_index] =
            WindowEntry { completed: UNKNOWN, waiters: List::EMPTY, loads, stores, results, pc };
        let plan = self.plan(number, step, cycle);
        match step.orders {
            None => self.schedule(number, plan, step.touches),
            Some(orders) => self.schedule_ordered((number, cycle), orders, plan, step.touches),
        }
        self.write_registers(number, step);
        self.follow(number, step, cycle);
        self.counts.instructions += 1;
        self.retire();
        true
    }

    /// Collects the inputs of the instruction.
    #[inline]
    fn plan(&mut self, number: u64, step: &NodeStep<'_>, cycle: u64) -> IssuePlan {
        let instruction = step.instruction;
        let mut plan = IssuePlan {
            class: instruction.class,
            plain: is_plain(instruction, step.touches),
            addresses_missing: 0,
            operands_missing: 0,
            addresses: cycle,
            operands: cycle,
            stores: 0,
        };
        for &register in &instruction.address_sources {
            match self.source(register, number, DependentInput::Address) {
                Some(ready) => plan.addresses = plan.addresses.max(ready),
                None => plan.addresses_missing += 1,
            }
        }
        for &register in &instruction.sources {
            match self.source(register, number, DependentInput::Operand) {
                Some(ready) => plan.operands = plan.operands.max(ready),
                None => plan.operands_missing += 1,
            }
        }
        plan
    }

    /// Returns the cycle at which the register is ready, or `None` if the register is not ready and instruction
    /// `number` is woken later.
    #[inline(always)]
    fn source(&mut self, register: Reg, number: u64, role: DependentInput) -> Option<u64> {
        let known = self.registers[usize::from(register.0)];
        if known < PENDING {
            return Some(known);
        }
        let maker = known & !PENDING;
        let completed = self.completion(maker);
        match completed {
            Some(cycle) => self.registers[usize::from(register.0)] = cycle,
            None => self.depend(number, maker, role, 0),
        }
        completed
    }

    /// Adds `number` to the list of instructions that wait for `maker`.
    #[inline(always)]
    pub(in crate::node) fn depend(&mut self, number: u64, maker: u64, role: DependentInput, delay: u64) {
        let entry_index = self.entry_index(maker);
        self.dependents.push(&mut self.entries[entry_index].waiters, Dependent { number, role, delay });
    }

    fn write_registers(&mut self, number: u64, step: &NodeStep<'_>) {
        let completed = self.entries[self.entry_index(number)].completed;
        let value = if completed == UNKNOWN { PENDING | number } else { completed };
        let instruction = step.instruction;
        for &register in &instruction.destinations {
            let by_stack_engine = register == STACK_POINTER
                && !step.touches.is_empty()
                && instruction.address_sources.contains(&STACK_POINTER);
            if !by_stack_engine {
                self.registers[usize::from(register.0)] = value;
            }
        }
    }

    /// Returns the completion cycle of instruction `number`, if known, or 0 if the instruction has left its entry.
    #[inline]
    pub(in crate::node) fn completion(&self, number: u64) -> Option<u64> {
        if number + (self.entries.len() as u64) < self.window.entered() {
            return Some(0);
        }
        Some(self.entries[self.entry_index(number)].completed).filter(|cycle| *cycle != UNKNOWN)
    }

    #[inline]
    pub(in crate::node) fn entry_index(&self, number: u64) -> usize {
        number as usize & (self.entries.len() - 1)
    }
}

/// Returns true if an instruction only loads or only stores data. A comparison with memory is not plain, since it
/// writes the flags. Nor is a load into part of a register, since the remaining part is a source.
#[inline]
fn is_plain(instruction: &Instruction, touches: &[Touch]) -> bool {
    instruction.class == Class::IntAlu
        && !touches.is_empty()
        && !instruction.destinations.contains(&Reg::FLAGS)
        && (instruction.sources.is_empty() || touches.iter().all(|touch| touch.store))
}
