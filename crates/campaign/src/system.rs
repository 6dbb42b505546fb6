//! The processor of a victim whose operating system brings records: what it does at an access, and which instructions it has.
//!
//! ```text
//! access ─ record on the chip? ─ yes ─ the access
//!                                no ─ exception ─ operating system ─ again
//! ```
//! The operating system owns all of memory. It is an actor that is given a [`Handler`]: an honest one is [`Handler::serve`].

use crate::tap::Tapped;
use crate::victim::Victim;
use context::Root;
use protection::execution::run_now;
use protection::moving::SystemPort;
use protection::record::{HashCheck, LoadNode, NodeName};
use protection::verbs::{Fault, Slot};
use units::LineAddr;

/// Exceptions after which a process that gets no record is denied service.
const EXCEPTIONS: usize = 4;

/// How an access to a line ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service<T> {
    /// The access was carried out.
    Done(T),
    /// The security exception was raised: the process is aborted.
    Aborted,
    /// The record never came.
    Denied,
}

/// What the handler of a TLB miss is given.
#[derive(Clone, Copy)]
pub struct Handler<'a> {
    port: SystemPort<'a>,
    memory: &'a Tapped,
    /// The line that missed.
    missed: LineAddr,
}

impl<'a> Handler<'a> {
    /// A handler of exceptions of a victim for the page of this line; nothing if its records are no matter of the operating system.
    pub fn of(victim: &'a Victim, missed: LineAddr) -> Option<Handler<'a>> {
        let (port, memory) = victim.system()?;
        Some(Handler { port, memory, missed })
    }

    /// The node of the record that is missing.
    pub fn record(&self) -> NodeName {
        self.port.name_of(self.missed)
    }

    /// The node of the record of another line's page.
    pub fn record_of(&self, line: LineAddr) -> NodeName {
        self.port.name_of(line)
    }

    /// Where a node lies with its sibling, where the operating system has not moved it.
    pub fn address_of(&self, name: NodeName) -> Slot {
        self.port.address_of(name)
    }

    /// LoadNode.
    pub fn load_node(&self, address: Slot, name: NodeName) -> LoadNode {
        run_now(self.port.load_node(self.memory, address, name))
    }

    /// HashCheck.
    ///
    /// # Errors
    /// The security exception.
    pub fn hash_check(&self, depth: usize) -> Result<HashCheck<()>, Fault> {
        run_now(self.port.hash_check(self.memory, depth, self.missed))
    }

    /// Brings the record as an honest operating system does.
    ///
    /// # Errors
    /// The security exception.
    pub fn serve(&self) -> Result<(), Fault> {
        run_now(self.port.load_page_info(self.memory, self.missed))
    }

    /// The root of the process's tree.
    pub fn root(&self) -> Root {
        self.port.root()
    }

    /// The root that a context has brought back.
    pub fn set_root(&self, root: Root) {
        self.port.set_root(root);
    }

    /// Another process runs.
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
