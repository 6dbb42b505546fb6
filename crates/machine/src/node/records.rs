//! Interface of a core for page records. The protection scheme keeps a record of each page, and can read a line of the
//! page only with this record.
//!
//! The chip holds the record of a page while a TLB holds the page. The node requests a record, and reports when it no
//! longer needs this record. The owner of the node fetches records, and counts the pages that need each record. After
//! each call of [`Node::run`], [`Node::answered`], [`Node::arrived_in_part`] and [`Node::record_arrived`], the owner
//! takes the requests of [`Tlbs::take_record_requests`].

use super::Node;
use super::interface::{PageKey, Request};
use super::pipeline::tlb::Tlbs;
use units::{Cycles, Duration, Time};

impl Node {
    /// Returns the TLBs, for the owner of the page records.
    pub fn tlbs_mut(&mut self) -> &mut Tlbs {
        &mut self.core.translation.tlbs
    }

    /// Reports that the record of a page arrived at `at`: the page enters the TLBs, and accesses to it continue. New
    /// requests of the node are appended to `out`. Returns the time for which the wait for this record had blocked
    /// retirement.
    pub fn record_arrived(&mut self, page: PageKey, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        let was_awaited = self.core.record_arrived(page, cycle);
        self.core.caches.outgoing.move_to(out);
        self.clock.span(Cycles(self.stalls.held_up_by_record(&self.core, &before, was_awaited, cycle)))
    }
}
