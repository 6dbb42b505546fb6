//! Interfaces of the cores to the chip: requests that left the private caches, and the tasks that run the cores.

use machine::node::{Request, RequestKind};
use sim::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use units::LineAddr;

/// Interface of one core to the chip.
#[derive(Default)]
struct Port {
    /// Requests that left the private caches and that the chip has not handled yet.
    outbox: RefCell<Vec<Request>>,
    /// The task that runs the core.
    task: Cell<Option<TaskId>>,
}

/// Interfaces of all cores to the chip.
pub struct CorePorts {
    clock: Clock,
    ports: Box<[Port]>,
}

fn has_stores(request: &Request) -> bool {
    matches!(request.kind, RequestKind::WriteBack | RequestKind::PastCaches)
}

impl CorePorts {
    /// Creates the ports of `cores` cores.
    pub(super) fn new(clock: &Clock, cores: usize) -> CorePorts {
        CorePorts { clock: clock.clone(), ports: (0..cores).map(|_| Port::default()).collect() }
    }

    /// Number of cores of the machine.
    pub(super) fn count(&self) -> usize {
        self.ports.len()
    }

    /// Indices of all cores except one.
    pub(super) fn others(&self, core: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.ports.len()).filter(move |other| *other != core)
    }

    /// Sets the task that runs a core; the chip wakes it whenever a line arrives.
    pub fn set_task(&self, core: usize, task: TaskId) {
        self.ports[core].task.set(Some(task));
    }

    /// Wakes the task that runs a core.
    pub fn wake(&self, core: usize) {
        if let Some(task) = self.ports[core].task.get() {
            self.clock.wake(task);
        }
    }

    /// Takes the requests that left a core's private caches and that the chip has not handled yet.
    pub fn take_outbox(&self, core: usize) -> Vec<Request> {
        self.ports[core].outbox.take()
    }

    /// Sets the requests that left a core's private caches and that the chip has not handled yet.
    pub fn set_outbox(&self, core: usize, requests: Vec<Request>) {
        self.ports[core].outbox.replace(requests);
    }

    /// Takes the first request that left a core's private caches and that the chip has not handled yet.
    pub(crate) fn take_first(&self, core: usize) -> Option<Request> {
        let mut outbox = self.ports[core].outbox.borrow_mut();
        if outbox.is_empty() { None } else { Some(outbox.remove(0)) }
    }

    /// Calls a function that adds requests to a core's outbox, or handles some of them. The outbox is not borrowed
    /// during the call; no other part may add requests then.
    #[inline]
    pub(super) fn collect<R>(&self, core: usize, call: impl FnOnce(&mut Vec<Request>) -> R) -> R {
        let mut requests = self.take_outbox(core);
        let result = call(&mut requests);
        let added = self.ports[core].outbox.replace(requests);
        debug_assert!(added.is_empty(), "two parts add requests of core {core} at once");
        result
    }

    /// Lines with stores that left the private caches and that the chip has not handled yet.
    pub(super) fn stored(&self) -> Vec<LineAddr> {
        let mut lines = Vec::new();
        for port in &self.ports {
            lines.extend(port.outbox.borrow().iter().filter(|request| has_stores(request)).map(|request| request.line));
        }
        lines
    }

    /// True if `stored` contains the line.
    pub(crate) fn has_stored(&self, line: LineAddr) -> bool {
        let has = |port: &Port| port.outbox.borrow().iter().any(|request| has_stores(request) && request.line == line);
        self.ports.iter().any(has)
    }
}
