//! The registers: the cycles of their values, the instructions that produce them, and the limit on results in flight.

use crate::node::config::NodeConfig;
use crate::node::interface::{NodeStep, Touch};
use crate::node::pipeline::plan::{DependentInput, IssuePlan};
use crate::node::pipeline::queue::Queue;
use crate::node::pipeline::window::{Dependent, ReorderWindow};
use isa::{Class, Instruction, Reg};

/// Flag in a register's entry. With this flag, the entry contains the number of the instruction that produces the
/// register, instead of a cycle.
const PENDING: u64 = 1 << 63;

/// The stack pointer, in x86's numbering. Pushes and pops change it at decoding (the stack engine), so the next push or
/// pop does not wait for their data.
const STACK_POINTER: Reg = Reg(Reg::GENERAL.0 + 4);

/// The registers of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct RegisterTable {
    /// Cycle at which each register is ready, or its producer with the flag [`PENDING`].
    ready: [u64; Reg::COUNT],
    /// Results that have a physical register, if registers are limited.
    results: Option<Queue>,
    /// Registers that the program has used, one bit each.
    named: u64,
}

impl RegisterTable {
    pub(in crate::node) fn new(config: &NodeConfig) -> RegisterTable {
        RegisterTable { ready: [0; Reg::COUNT], results: config.physical_registers.map(Queue::new), named: 0 }
    }

    /// Collects the inputs of instruction `number`, which enters at `cycle`. It depends on the producers of inputs that
    /// are not ready.
    #[inline]
    pub(in crate::node) fn plan(
        &mut self,
        number: u64,
        step: &NodeStep<'_>,
        cycle: u64,
        window: &mut ReorderWindow,
    ) -> IssuePlan {
        let instruction = step.instruction;
        let mut plan = IssuePlan::new(instruction.class, is_plain(instruction, step.touches), cycle);
        for &register in &instruction.address_sources {
            match self.source(register, number, DependentInput::Address, window) {
                Some(ready) => plan.addresses = plan.addresses.max(ready),
                None => plan.addresses_missing += 1,
            }
        }
        for &register in &instruction.sources {
            match self.source(register, number, DependentInput::Operand, window) {
                Some(ready) => plan.operands = plan.operands.max(ready),
                None => plan.operands_missing += 1,
            }
        }
        plan
    }

    /// Returns the cycle at which the register is ready, or `None` if the register is not ready and instruction
    /// `number` is woken later.
    #[inline(always)]
    fn source(&mut self, register: Reg, number: u64, input: DependentInput, window: &mut ReorderWindow) -> Option<u64> {
        let known = self.ready[usize::from(register.0)];
        if known < PENDING {
            return Some(known);
        }
        let maker = known & !PENDING;
        let completed = window.completion(maker);
        match completed {
            Some(cycle) => self.ready[usize::from(register.0)] = cycle,
            None => window.depend(maker, Dependent { number, input, delay: 0 }),
        }
        completed
    }

    /// Records that instruction `number` writes its results, which are ready at `completed` if that cycle is known.
    pub(in crate::node) fn write(&mut self, number: u64, step: &NodeStep<'_>, completed: Option<u64>) {
        let value = completed.unwrap_or(PENDING | number);
        let instruction = step.instruction;
        for &register in &instruction.destinations {
            let by_stack_engine = register == STACK_POINTER
                && !step.touches.is_empty()
                && instruction.address_sources.contains(&STACK_POINTER);
            if !by_stack_engine {
                self.ready[usize::from(register.0)] = value;
            }
        }
    }

    /// Returns the cycle at which physical registers are free for the results. Each architectural register in use keeps
    /// one.
    #[inline]
    pub(in crate::node) fn room(&mut self, instruction: &Instruction) -> Option<u64> {
        let Some(results) = &self.results else { return Some(0) };
        let bits = |list: &[Reg]| list.iter().fold(0u64, |bits, register| bits | 1 << register.0);
        self.named |= bits(&instruction.address_sources) | bits(&instruction.sources) | bits(&instruction.destinations);
        results.room_with(self.named.count_ones().into(), instruction.destinations.len() as u64)
    }

    /// Occupies physical registers for the results of an instruction.
    #[inline]
    pub(in crate::node) fn enter(&mut self, instruction: &Instruction) {
        if let Some(results) = &mut self.results {
            results.enter_many(instruction.destinations.len() as u64);
        }
    }

    /// Frees `count` physical registers at `cycle`.
    #[inline]
    pub(in crate::node) fn leave(&mut self, count: u32, cycle: u64) {
        if let Some(results) = &mut self.results {
            (0..count).for_each(|_| results.leave(cycle));
        }
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
