//! The issue plan of an instruction: the cycles of its inputs, and the number of inputs with an unknown cycle.

use isa::Class;

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

/// Input of a dependent instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum DependentInput {
    Address,
    Operand,
    /// The translated address of a store.
    StoreAddress,
}

impl IssuePlan {
    /// Creates the plan of an instruction without inputs, which enters the window at `cycle`.
    #[inline(always)]
    pub(in crate::node) fn new(class: Class, plain: bool, cycle: u64) -> IssuePlan {
        IssuePlan {
            class,
            plain,
            addresses_missing: 0,
            operands_missing: 0,
            addresses: cycle,
            operands: cycle,
            stores: 0,
        }
    }

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

    /// Records that an input with an unknown time arrives at `cycle`. Returns true if this was the last address
    /// register.
    #[inline(always)]
    pub(in crate::node) fn arrive(&mut self, input: DependentInput, cycle: u64) -> bool {
        match input {
            DependentInput::Operand => {
                self.operands = self.operands.max(cycle);
                self.operands_missing -= 1;
            }
            DependentInput::StoreAddress => {
                self.stores = self.stores.max(cycle + 1);
                self.operands_missing -= 1;
            }
            DependentInput::Address => {
                self.addresses = self.addresses.max(cycle);
                self.addresses_missing -= 1;
                return self.addresses_missing == 0;
            }
        }
        false
    }
}
