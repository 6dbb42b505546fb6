//! The out-of-order core: instructions enter the window, are scheduled once, and retire.
//!
//! The model does not loop over cycles. When an instruction enters, the model computes all its cycles from those of its
//! inputs. These cycles are the latest of its sources, a free cycle of its functional unit, its completion, its
//! retirement. Only a load that missed L2 has no known completion. Its dependents wait in a list and are scheduled when
//! the line arrives (`schedule.rs`).
//!
//! Each part has a file, with private fields: the window (`window.rs`), the registers, the queues of loads and stores,
//! the units, the TLBs with the walker (`translation.rs`), and the front end, which decides when an instruction may
//! enter (`front.rs`). [`Core`] contains the steps that join several parts: the path of an instruction (`schedule.rs`)
//! and of a load (`loads.rs`). A part that needs another gets it as an argument, or returns what must happen.

mod bimodal;
mod branch;
mod combining;
mod epochs;
pub(super) mod front;
mod functional_units;
mod load_queue;
mod loads;
pub(super) mod page_records;
pub(super) mod persist;
mod pieces;
mod plan;
mod queue;
mod read_queue;
mod registers;
mod schedule;
pub(super) mod stores;
mod tage;
pub(super) mod tlb;
pub(super) mod translated;
mod translation;
pub(super) mod walk;
mod window;

use crate::node::caches::Caches;
use crate::node::config::NodeConfig;
use crate::node::interface::NodeStep;
use combining::Combining;
use epochs::Epochs;
use front::Front;
use functional_units::UnitPools;
use load_queue::LoadQueue;
use registers::RegisterTable;
use stores::StoreQueue;
use translation::AddressTranslation;
use window::{Occupancy, ReorderWindow};

/// State of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct Core {
    pub(in crate::node) window: ReorderWindow,
    pub(in crate::node) registers: RegisterTable,
    pub(in crate::node) loads: LoadQueue,
    pub(in crate::node) stores: StoreQueue,
    /// Lines that are stored past the caches.
    pub(in crate::node) combining: Combining,
    pub(in crate::node) epochs: Epochs,
    pub(in crate::node) units: UnitPools,
    pub(in crate::node) translation: AddressTranslation,
    pub(in crate::node) caches: Caches,
    pub(in crate::node) front: Front,
}

impl Core {
    pub(in crate::node) fn new(config: &NodeConfig) -> Core {
        Core {
            window: ReorderWindow::new(config),
            registers: RegisterTable::new(config),
            loads: LoadQueue::new(config),
            stores: StoreQueue::new(config),
            epochs: Epochs::new(config),
            combining: Combining::new(config.memory_line),
            units: UnitPools::new(config),
            translation: AddressTranslation::new(config),
            caches: Caches::new(config),
            front: Front::new(config),
        }
    }

    /// Enters an instruction into the window and schedules it. Returns false if the instruction could not enter. The
    /// caller must then try again after a line has arrived.
    pub(in crate::node) fn enter(&mut self, step: &NodeStep<'_>) -> bool {
        let stores = step.touches.iter().filter(|touch| touch.store).count() as u32;
        let loads = step.touches.len() as u32 - stores;
        let Some(cycle) = self.admit(step, loads, stores) else { return false };
        let results = step.instruction.destinations.len() as u32;
        let number = self.window.enter(Occupancy { loads, stores, results, pc: step.instruction.pc.0 as u32 });
        let plan = self.registers.plan(number, step, cycle, &mut self.window);
        match step.orders {
            None => self.schedule(number, plan, step.touches),
            Some(orders) => self.schedule_ordered(number, cycle, orders, plan, step.touches),
        }
        self.registers.write(number, step, self.window.completion(number));
        self.front.follow(number, step, cycle);
        self.retire();
        true
    }
}
