//! Switches of processes on a core: its TLBs are emptied, and the scheme parks one context and continues another.

use super::Uncore;
use crate::feed::PageOwners;
use machine::node::RecordRequest;
use protection::execution::{Attended, Clipper, Explained, Timed};
use protection::moving::{ContextError, ProcessId};
use std::cell::Cell;
use std::rc::Rc;
use units::Duration;

/// A switch that is to be carried out. The core is at rest.
pub struct Switch {
    /// The core.
    pub core: usize,
    /// The process that runs next; `None` at a clock interrupt, after which the interrupted process continues.
    pub next: Option<ProcessId>,
    /// Processes that have ended since the last switch.
    pub ended: Vec<ProcessId>,
    /// The chunks of each process.
    pub owners: PageOwners,
    /// Time until the process continues, besides that of the switch.
    pub away: Duration,
}

/// Result of a switch, once it is over.
#[derive(Default)]
pub struct SwitchOutcome(Cell<Option<Result<(), ContextError>>>);

impl SwitchOutcome {
    /// The result, if the switch is over.
    pub fn take(&self) -> Option<Result<(), ContextError>> {
        self.0.take()
    }
}

impl Uncore {
    /// Begins a switch, and wakes the task of the core when it is over.
    pub fn begin_switch(self: &Rc<Uncore>, switch: Switch) -> Rc<SwitchOutcome> {
        let outcome = Rc::new(SwitchOutcome::default());
        let plain = Timed::new(&self.memory);
        match self.chip.excerpt.get() {
            None => self.clock.spawn(self.clone().switch(plain, switch, outcome.clone())),
            Some(excerpt) => {
                let kept = Explained::keeping(plain, Clipper::new(excerpt));
                self.clock.spawn(self.clone().switch(kept, switch, outcome.clone()));
            }
        }
        outcome
    }

    async fn switch<V: Attended>(self: Rc<Uncore>, verbs: V, switch: Switch, outcome: Rc<SwitchOutcome>) {
        self.clock.sleep(switch.away).await;
        let core = switch.core;
        let result = self.switch_contexts(&verbs, switch).await;
        outcome.0.set(Some(result));
        self.chip.wake_core(core);
    }

    async fn switch_contexts<V: Attended>(&self, verbs: &V, switch: Switch) -> Result<(), ContextError> {
        let Switch { core, next, ended, owners, .. } = switch;
        let requests: Vec<RecordRequest> = {
            let mut node = self.chip.cores.nodes()[core].borrow_mut();
            node.empty_tlbs(self.clock.now());
            node.take_record_requests().collect()
        };
        let Some(moving) = self.scheme.moving() else { return Ok(()) };
        for request in requests {
            if let RecordRequest::GiveUp { line, .. } = request {
                moving.release_record(line);
            }
        }
        let Some(processes) = moving.processes() else { return Ok(()) };
        ended.into_iter().try_for_each(|process| processes.end(process))?;
        match next {
            Some(next) => processes.switch(verbs, next, &owners).await,
            None => processes.interrupt(),
        }
    }
}
