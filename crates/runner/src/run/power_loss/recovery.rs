//! A fresh chip on the memory after a loss of power.

use super::battery::SurvivingMemory;
use crate::run::{RunError, RunOptions};
use protection::design::{Parts, Point};
use protection::execution::{Functional, Untimed, run_now};
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

/// Answer of the chip to a read.
pub(super) struct ReadAnswer {
    /// Content of the line, if the chip released it.
    pub released: Option<Line>,
    /// True if the chip reported tampering.
    pub reported: bool,
}

impl Recovered {
    /// Recovers the memory with the keys of the machine before the loss, on a chip with this planted bug.
    ///
    /// # Errors
    /// The errors of composing the design, which already succeeded before the loss of power.
    pub fn of(options: &RunOptions, left: &SurvivingMemory, planted: PlantedBug) -> Result<Recovered, RunError> {
        let scheme = options.compose(planted)?;
        let memory = Functional::new(scheme.layout().total_lines());
        memory.media.replace(left.media.clone());
        memory.go_on_with(left.registers.clone());
        left.shown.iter().for_each(|shown| memory.carry(shown.clone()));
        run_now(scheme.recover(&memory.verbs(), &left.registers));
        let fault = memory.take_fault();
        Ok(Recovered { scheme, memory, fault })
    }

    /// Returns true if memory has no content for a line.
    pub fn is_blank(&self, line: LineAddr) -> bool {
        self.memory.media.borrow().is_blank(self.scheme.layout().data_slot(line).slot())
    }

    /// Reads a line; `None` if the chip does not release it.
    pub fn read(&self, line: LineAddr) -> Option<Line> {
        let ReadAnswer { released, reported } = self.answer(line);
        released.filter(|_| !reported)
    }

    /// Reads a line through the recovered chip.
    pub fn answer(&self, line: LineAddr) -> ReadAnswer {
        run_now(self.scheme.read(&self.memory.verbs(), line));
        let reported = self.memory.take_fault().is_some();
        ReadAnswer { released: self.memory.take_released().map(|(_, plaintext)| plaintext.bytes), reported }
    }

    /// Continues the machine, which executes these stores until power fails again. Returns the memory after this second
    /// loss.
    pub fn goes_on(&self, parts: &Parts, stores: &[(LineAddr, Line)]) -> SurvivingMemory {
        let Recovered { scheme, memory, .. } = self;
        match parts.persistence.point {
            Point::Controller => {
                stores.iter().for_each(|(line, text)| run_now(scheme.write(&memory.verbs(), *line, text)))
            }
            Point::Buffer => {
                let buffer = PersistBufferHandle::of(scheme);
                stores.iter().for_each(|(line, text)| run_now(buffer.accept(&memory.verbs(), *line, text)));
                run_now(buffer.drain_on_battery(&memory.verbs()));
            }
            Point::Caches => run_now(DurableCaches::of(scheme).drain_on_battery(&memory.verbs(), stores.to_vec())),
        }
        let media = memory.media.borrow().clone();
        SurvivingMemory { media, registers: memory.registers(), shown: Some(memory.ledger().clone()) }
    }

    /// Returns true if a pad has encrypted two texts since the machine was new, according to the ledger.
    pub fn has_used_a_pad_twice(&self) -> bool {
        self.memory.ledger().reuse().is_some()
    }
}
