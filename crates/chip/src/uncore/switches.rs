//! Switches processes on a core: empties its TLBs, and lets the scheme park one context and continue another.

use super::Uncore;
use crate::feed::PageOwners;
use protection::execution::Timed;
use protection::moving::{ContextError, ProcessId, ProcessPort};
use std::cell::Cell;
use std::rc::Rc;
use units::Duration;

/// A switch of processes to perform, while the core is idle.
pub struct Switch {
    /// Index of the core.
    pub core: usize,
    /// The process that runs next; `None` at a clock interrupt, after which the interrupted process continues.
    pub next: Option<ProcessId>,
    /// Processes that have ended since the last switch.
    pub ended: Vec<ProcessId>,
    /// Page chunks of each process.
    pub owners: PageOwners,
    /// Additional time after the switch until the process continues.
    pub away: Duration,
}

/// Result of a switch, set at its end.
#[derive(Default)]
pub struct SwitchOutcome(Cell<Option<Result<(), ContextError>>>);

impl SwitchOutcome {
    /// Returns the result, if the switch has ended.
    pub fn take(&self) -> Option<Result<(), ContextError>> {
        self.0.take()
    }
}

impl Uncore {
    /// Begins a switch, and wakes the task of the core when the switch ends. Excerpts do not contain switches: excerpts
    /// need lines of 64 bytes.
    pub fn begin_switch(self: &Rc<Uncore>, switch: Switch) -> Rc<SwitchOutcome> {
        let outcome = Rc::new(SwitchOutcome::default());
        let (uncore, result) = (Rc::clone(self), Rc::clone(&outcome));
        self.clock.spawn(async move {
            uncore.clock.sleep(switch.away).await;
            let core = switch.core;
            result.0.set(Some(uncore.switch(switch).await));
            uncore.chip.ports.wake(core);
        });
        outcome
    }

    async fn switch(self: &Rc<Uncore>, switch: Switch) -> Result<(), ContextError> {
        let Switch { core, next, ended, owners, .. } = switch;
        self.chip.cores.nodes()[core].borrow_mut().empty_tlbs(self.clock.now());
        self.take_up_records(core);
        let Some(processes) = ProcessPort::of(&self.scheme) else { return Ok(()) };
        ended.into_iter().try_for_each(|process| processes.end(process))?;
        match next {
            Some(next) => processes.switch(&Timed::new(&self.memory), next, &owners).await,
            None => processes.interrupt(),
        }
    }
}
