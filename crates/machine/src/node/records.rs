//! The face of a core whose memory keeps a record of each page, without which no line of the page can be read.
//!
//! The chip has the record of a page while a TLB has the page. The node says when it needs a record and when it gives one up; its
//! owner brings records, and counts how many pages need each. After each call of [`Node::run`], [`Node::answered`],
//! [`Node::came_in_part`] and [`Node::record_arrived`], the owner takes what [`Node::take_record_requests`] gives.

use super::Node;
use super::interface::{PageKey, RecordRequest, Request};
use super::pipeline::page_records::PageRecordRequest;
use units::{Cycles, Duration, Time};

impl Node {
    /// From now on, a page that no TLB has is accessed only when its record is there: see [`Node::take_record_requests`]. To be
    /// asked for before the first instruction.
    ///
    /// # Panics
    /// If there is a walker.
    pub fn keep_records(&mut self) {
        self.core.tlbs.keep_records();
    }

    /// Which records are needed, and which are given up, since this was last asked. Times are not sorted, but none is before the
    /// latest answer that the node got. Each [`RecordRequest::Bring`] is answered by [`Node::record_arrived`], and there is at most
    /// one [`RecordRequest::GiveUp`] for it, later.
    pub fn take_record_requests(&mut self) -> impl Iterator<Item = RecordRequest> + use<> {
        let clock = self.clock;
        let asked = self.core.tlbs.records.as_mut().map_or_else(Vec::new, |records| records.take_requests());
        asked.into_iter().map(move |PageRecordRequest { cycle, page, line, is_needed }| {
            let at = clock.start_of(Cycles(cycle));
            if is_needed { RecordRequest::Bring { at, page, line } } else { RecordRequest::GiveUp { at, line } }
        })
    }

    /// The record of a page is there at `at`: the page enters the TLBs, and accesses to it go on. Requests that follow from that go
    /// to `out`. Returns for how long nothing had retired because of that.
    pub fn record_arrived(&mut self, page: PageKey, at: Time, out: &mut Vec<Request>) -> Duration {
        let (before, cycle) = (self.standing(), self.clock.cycle_at_or_after(at).0);
        self.core.stores.answered(cycle);
        let was_awaited = self.core.record_arrived(page, cycle, out);
        self.clock.span(Cycles(self.held_up_by_record(&before, was_awaited, cycle)))
    }
}
