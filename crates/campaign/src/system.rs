//! The processor of a victim with an operating system that loads records: its behaviour at an access, and its instructions.
//!
//! ```text
//! access ─ record on the chip? ─ yes ─ the access
//!                                no ─ exception ─ operating system ─ again
//! ```
//! The operating system owns all of memory. It is an actor that receives a [`Handler`]; an honest one is [`Handler::serve`].

use crate::tap::Tapped;
use crate::victim::TappedMachine;
use context::Root;
use protection::execution::{Untimed, run_now};
use protection::moving::SystemPort;
use protection::record::{HashCheck, LoadNode, NodeName};
use protection::verbs::{Fault, Slot};
use units::LineAddr;

/// Exceptions after which the processor denies service to a process without its record.
const EXCEPTIONS: usize = 4;

/// Result of an access to a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service<T> {
    /// The access was carried out.
    Done(T),
    /// The security exception was raised: the process is aborted.
    Aborted,
    /// The operating system did not load the record.
    Denied,
}

/// Interface that the handler of a TLB miss receives.
#[derive(Clone, Copy)]
pub struct Handler<'a> {
    port: SystemPort<'a>,
    memory: &'a Tapped,
    /// Line that missed the TLB.
    missed: LineAddr,
}

impl<'a> Handler<'a> {
    /// Creates a handler of a machine's exceptions for the page of this line; `None` if the operating system does not load its
    /// records.
    pub fn of(machine: &'a TappedMachine, missed: LineAddr) -> Option<Handler<'a>> {
        Some(Handler { port: SystemPort::of(machine.scheme())?, memory: machine.memory(), missed })
    }

    /// Returns the node of the missing record.
    pub fn record(&self) -> NodeName {
        self.port.name_of(self.missed)
    }

    /// Returns the node of the record of another line's page.
    pub fn record_of(&self, line: LineAddr) -> NodeName {
        self.port.name_of(line)
    }

    /// Returns the address of a node and its sibling, unless the operating system has moved them.
    pub fn address_of(&self, name: NodeName) -> Slot {
        self.port.address_of(name)
    }

    /// Executes the LoadNode instruction.
    pub fn load_node(&self, address: Slot, name: NodeName) -> LoadNode {
        run_now(self.port.load_node(&self.memory.verbs(), address, name))
    }

    /// Executes the HashCheck instruction.
    ///
    /// # Errors
    /// The security exception of the processor.
    pub fn hash_check(&self, depth: usize) -> Result<HashCheck<()>, Fault> {
        run_now(self.port.hash_check(&self.memory.verbs(), depth, self.missed))
    }

    /// Loads the record as an honest operating system does.
    ///
    /// # Errors
    /// The security exception of the processor.
    pub fn serve(&self) -> Result<(), Fault> {
        run_now(self.port.load_page_info(&self.memory.verbs(), self.missed))
    }

    /// Returns the root of the process's tree.
    pub fn root(&self) -> Root {
        self.port.root()
    }

    /// Sets the root that an imported context contains.
    pub fn set_root(&self, root: Root) {
        self.port.set_root(root);
    }

    /// Switches to another process.
    pub fn switch_process(&self) {
        self.port.switch_process();
    }

    fn has_record(&self) -> bool {
        self.port.has_record(self.missed)
    }

    /// Carries out an access to the line that missed, under an operating system.
    pub fn access<T>(
        &self,
        mut system: impl FnMut(&Handler<'_>) -> Result<(), Fault>,
        access: impl FnOnce() -> T,
    ) -> Service<T> {
        for _ in 0..EXCEPTIONS {
            if self.has_record() {
                return Service::Done(access());
            }
            if system(self).is_err() {
                return Service::Aborted;
            }
        }
        if self.has_record() { Service::Done(access()) } else { Service::Denied }
    }
}
