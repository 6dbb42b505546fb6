//! Interface of a core for page records. The protection scheme keeps a record of each page, and can read a line of the
//! page only with this record.
//!
//! The chip holds the record of a page while a TLB holds the page. The node requests a record, and reports when it no
//! longer needs this record. The owner of the node fetches records, and counts the pages that need each record. After
//! each call of [`Node::run`], [`Node::answered`], [`Node::arrived_in_part`] and [`Node::record_arrived`], the owner
//! takes the requests of [`Node::take_record_requests`].

use super::Node;
use super::interface::{PageKey, RecordRequest, Request};
use super::pipeline::page_records::PageRecordRequest;
use units::{Cycles, Duration, Time};

impl Node {
    /// Requires records from now on: an access to a page that no TLB holds waits for the record of the page. See
    /// [`Node::take_record_requests`]. Call it before the first instruction.
    ///
    /// # Panics
    /// If there is a walker.
    pub fn keep_records(&mut self) {
        self.core.tlbs.keep_records();
    }

    /// Returns the requests of records, and the reports of records given up, since the last call. Their times are not
    /// sorted, but all are at or after the latest answer to the node. The reply to each [`RecordRequest::Bring`] is
    /// [`Node::record_arrived`]. At most one [`RecordRequest::GiveUp`] follows it later.
    pub fn take_record_requests(&mut self) -> impl Iterator<Item = RecordRequest> + use<> {
        let clock = self.clock;
        let requests = self.core.tlbs.records.as_mut().map_or_else(Vec::new, |records| records.take_requests());
        requests.into_iter().map(move |PageRecordRequest { cycle, page, line, is_needed }| {
            let at = clock.start_of(Cycles(cycle));
            if is_needed { RecordRequest::Bring { at, page, line } } else { RecordRequest::GiveUp { at, line } }
        })
    }

    /// Reports that the record of a page arrived at `at`: the page enters the TLBs, and accesses to it continue. New
    /// requests of the node are appended to `out`. Returns the time for which the wait for this record had blocked
    /// retirement.
    pub fn record_arrived(&mut self, page: PageKey, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        let was_awaited = self.core.record_arrived(page, cycle, out);
        self.clock.span(Cycles(self.stalls.held_up_by_record(&self.core, &before, was_awaited, cycle)))
    }
}
