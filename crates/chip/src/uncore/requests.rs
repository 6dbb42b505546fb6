//! Passes the requests of a trace that was recorded behind the caches to the memory controller.

use super::Uncore;
use catalogue::Machine;
use protection::execution::{Attended, ExcerptVerbs, Timed};
use sim::resource::WorkQueue;
use std::rc::Rc;
use units::{LineAddr, Word};

/// Index of the core that an excerpt shows as the source of the requests.
const CORE: usize = 0;

/// Sends requests to memory: as many reads at once as the last-level cache has miss registers, and as many writes as it
/// has buffers for lines on their way out.
pub struct Requests {
    uncore: Rc<Uncore>,
    reads: WorkQueue<LineAddr>,
    most_reads: usize,
}

impl Requests {
    /// Starts the reader tasks.
    pub fn start(uncore: &Rc<Uncore>, machine: &Machine) -> Rc<Requests> {
        let (reads, most_reads) = (WorkQueue::new(&uncore.clock), machine.llc.mshrs);
        let requests = Rc::new(Requests { uncore: uncore.clone(), reads, most_reads });
        let plain = || Timed::new(&uncore.memory);
        for _ in 0..most_reads {
            match uncore.chip.account.excerpt() {
                None => uncore.clock.spawn(requests.clone().read_forever(plain())),
                Some(excerpt) => uncore.clock.spawn(requests.clone().read_forever(ExcerptVerbs::new(plain(), excerpt))),
            };
        }
        requests
    }

    /// True if another read can start now.
    pub fn takes_read(&self) -> bool {
        self.uncore.reads.get() < self.most_reads
    }

    /// Reads a line; `number` identifies the read.
    pub fn read(&self, line: LineAddr, number: u64) {
        self.uncore.prefetch_host(line);
        if self.uncore.chip.read_directly(line, number) {
            self.uncore.reads.set(self.uncore.reads.get() + 1);
            self.reads.push(self.uncore.clock.now(), line);
        }
    }

    /// Writes a line, as soon as a buffer is free.
    pub async fn write(&self, line: LineAddr) {
        self.uncore.writeback_buffer().await;
        self.uncore.chip.write_back(line);
    }

    async fn read_forever(self: Rc<Requests>, attended: impl Attended) {
        let Uncore { chip, scheme, reads, .. } = &*self.uncore;
        loop {
            let line = self.reads.next().await;
            attended.reads(CORE, line);
            scheme.read_at_controller(attended.verbs(), line, Word::default()).await;
            reads.set(reads.get() - 1);
            chip.under_way.direct.wake_issuer();
            self.uncore.wake_if_at_rest();
        }
    }
}
