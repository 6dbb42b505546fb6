//! A fresh chip on the memory after a loss of power.

use super::battery::SurvivingMemory;
use crate::run::{RunError, RunOptions};
use protection::design::{Parts, Point};
use protection::execution::{Functional, run_now};
use protection::planted::PlantedBug;
use protection::scheme::{DurableCaches, PersistBufferHandle, Scheme};
use protection::verbs::Fault;
use units::{Line, LineAddr};

/// The machine after its recovery.
pub(super) struct Recovered {
    scheme: Scheme,
    memory: Functional,
    /// The fault that recovery reported, if any.
    pub fault: Option<Fault>,
}

impl Recovered {
    /// Recovers the memory with the keys of the machine before the loss.
    ///
    /// # Errors
    /// The errors of composing the design, which already succeeded before the loss of power.
    pub fn of(options: &RunOptions, left: &SurvivingMemory) -> Result<Recovered, RunError> {
        let scheme = options.compose(PlantedBug::NONE)?;
        let memory = Functional::new(scheme.layout().total_lines());
        memory.media.replace(left.media.clone());
        memory.go_on_with(left.registers.clone());
        left.shown.iter().for_each(|shown| memory.carry(shown.clone()));
        run_now(scheme.recover(&memory, &left.registers));
        let fault = memory.take_fault();
        Ok(Recovered { scheme, memory, fault })
    }

    /// Returns true if memory has no content for a line.
    pub fn is_blank(&self, line: LineAddr) -> bool {
        self.memory.media.borrow().is_blank(self.scheme.layout().data_slot(line).slot())
    }

    /// Reads a line; `None` if the chip does not release it.
    pub fn read(&self, line: LineAddr) -> Option<Line> {
        run_now(self.scheme.read(&self.memory, line));
        let is_refused = self.memory.take_fault().is_some();
        self.memory.take_released().filter(|_| !is_refused).map(|(_, plaintext)| plaintext.bytes)
    }

    /// Continues the machine, which executes these stores until power fails again. Returns the memory after this second
    /// loss.
    pub fn goes_on(&self, parts: &Parts, stores: &[(LineAddr, Line)]) -> SurvivingMemory {
        let Recovered { scheme, memory, .. } = self;
        match parts.persistence.point {
            Point::Controller => stores.iter().for_each(|(line, text)| run_now(scheme.write(memory, *line, text))),
            Point::Buffer => {
                let buffer = PersistBufferHandle::of(scheme);
                stores.iter().for_each(|(line, text)| run_now(buffer.accept(memory, *line, text)));
                run_now(buffer.drain_on_battery(memory));
            }
            Point::Caches => run_now(DurableCaches::of(scheme).drain_on_battery(memory, stores.to_vec())),
        }
        let media = memory.media.borrow().clone();
        SurvivingMemory { media, registers: memory.registers(), shown: Some(memory.ledger().clone()) }
    }

    /// Returns true if a pad has encrypted two texts since the machine was new, according to the ledger.
    pub fn has_used_a_pad_twice(&self) -> bool {
        self.memory.ledger().reuse().is_some()
    }
}
