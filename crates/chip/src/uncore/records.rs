//! Fetches page records for TLB misses, in a memory that permutes the lines within a page.

use super::Uncore;
use machine::node::{PageKey, RecordRequest};
use protection::execution::{Attended, ExcerptVerbs, Timed};
use protection::scheme::RecordPort;
use std::rc::Rc;
use units::{LineAddr, Time};

/// A record that a core needs.
#[derive(Clone, Copy)]
struct Needed {
    core: usize,
    page: PageKey,
    line: LineAddr,
    requested: Time,
}

impl Uncore {
    /// Handles the requests of a core's TLBs for page records.
    pub fn take_up_records(self: &Rc<Uncore>, core: usize) {
        if RecordPort::of(&self.scheme).is_none() {
            return;
        }
        let requests = self.chip.cores.nodes()[core].borrow_mut().tlbs_mut().take_record_requests();
        for request in requests {
            match request {
                RecordRequest::Bring { at, page, line } => {
                    self.spawn_bringer(Needed { core, page, line, requested: at })
                }
                RecordRequest::GiveUp { at, line } => {
                    let uncore = Rc::clone(self);
                    self.clock.spawn(async move {
                        uncore.clock.sleep_until(at).await;
                        RecordPort::of(&uncore.scheme).iter().for_each(|records| records.release(line));
                    });
                }
            }
        }
    }

    fn spawn_bringer(self: &Rc<Uncore>, needed: Needed) {
        self.reads.set(self.reads.get() + 1);
        let plain = Timed::new(&self.memory);
        match self.chip.account.excerpt() {
            None => self.clock.spawn(self.clone().bring_record(plain, needed)),
            Some(excerpt) => {
                self.clock.spawn(self.clone().bring_record(ExcerptVerbs::new(plain, excerpt), needed));
            }
        }
    }

    /// Fetches a record from memory to the memory controller, and then lets the core continue.
    async fn bring_record(self: Rc<Uncore>, attended: impl Attended, needed: Needed) {
        let Needed { core, page, line, requested } = needed;
        self.clock.sleep_until(requested).await;
        let way = self.chip.latencies.network.way(core, line) + self.path;
        self.clock.sleep(way).await;
        let is_there = match RecordPort::of(&self.scheme) {
            Some(records) => records.acquire(attended.verbs(), line).await,
            None => true,
        };
        if is_there {
            self.clock.sleep(way).await;
            self.chip.record_arrived(core, page, requested);
        }
        self.reads.set(self.reads.get() - 1);
        self.wake_if_at_rest();
    }
}
