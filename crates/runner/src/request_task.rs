//! The task that issues a trace of requests recorded behind the caches. No core runs, and the requests bypass all
//! caches.
//!
//! The task issues at most one request per memory clock to the controller, in the order of the trace. A request that
//! the controller does not accept delays all later requests. A write waits until no read of its line is under way.
//!
//! Ramulator's CPU traces give numbers of instructions instead of clocks. A core dispatches these instructions at its
//! width. Dispatch stops when the core's window is full behind a read that is not yet released. The instructions have
//! no dependences.

use crate::core_task::Ends;
use catalogue::Machine;
use chip::Chip;
use chip::feed::{FeedError, ProgramFeed};
use chip::uncore::{Requests, Uncore};
use machine::node::Feed;
use sim::Clock;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use units::{Cycles, LineAddr, Time};
use workload::deal::Hand;
use workload::{RequestPace, Source};

/// One request of the trace.
struct TraceRequest {
    read: Option<LineAddr>,
    write: Option<LineAddr>,
    due: u64,
}

/// The core that dispatches the instructions of a CPU trace.
struct DispatchWindow {
    clock: units::Clock,
    width: u64,
    entries: u64,
    /// Number of dispatched instructions.
    dispatched: u64,
    /// Cycle of the last dispatch.
    cycle: u64,
}

/// Issues the requests of a trace.
pub struct RequestTask<S> {
    clock: Clock,
    chip: Rc<Chip>,
    uncore: Rc<Uncore>,
    requests: Rc<Requests>,
    program: Rc<RefCell<ProgramFeed<Hand<S>>>>,
    ends: Rc<Ends>,
    pace: RequestPace,
    memory_clock: units::Clock,
    window: DispatchWindow,
}

impl<S: Source + 'static> RequestTask<S> {
    /// A task for the trace `program` on a machine.
    pub fn new(
        clock: &Clock,
        machine: &Machine,
        (chip, uncore): (&Rc<Chip>, &Rc<Uncore>),
        program: Rc<RefCell<ProgramFeed<Hand<S>>>>,
        (ends, pace): (&Rc<Ends>, RequestPace),
    ) -> RequestTask<S> {
        let node = &machine.node;
        RequestTask {
            clock: clock.clone(),
            chip: chip.clone(),
            uncore: uncore.clone(),
            requests: Requests::start(uncore, machine),
            program,
            ends: ends.clone(),
            pace,
            memory_clock: machine.memory_config().device.clock(),
            window: DispatchWindow {
                clock: node.clock_mhz.clock(),
                width: node.dispatch_width.into(),
                entries: node.rob.into(),
                dispatched: 0,
                cycle: 0,
            },
        }
    }

    /// Issues all requests, and ends when the last is done.
    pub async fn run(mut self) {
        poll_fn(|_| {
            self.chip.under_way.direct.set_issuer(self.clock.current_task());
            Poll::Ready(())
        })
        .await;
        let mut number = 0;
        let mut next = Time::ZERO;
        loop {
            let request = match self.next() {
                Ok(Some(request)) => request,
                Ok(None) => break,
                Err(error) => return self.ends.fail(error),
            };
            self.chip.forget_what_left();
            number = self.come(&request, number, next).await;
            if let Some(line) = request.read {
                self.until(|task| task.requests.takes_read()).await;
                self.requests.read(line, number);
            }
            if let Some(line) = request.write {
                self.until(|task| !task.chip.under_way.direct.has(line)).await;
                self.requests.write(line).await;
            }
            next = self.edge(self.memory_clock.cycle_at_or_after(self.clock.now()).0 + 1);
        }
        self.until(|task| {
            task.uncore.wake_at_rest();
            task.uncore.is_at_rest()
        })
        .await;
        self.ends.ended();
    }

    fn next(&self) -> Result<Option<TraceRequest>, FeedError> {
        let mut program = self.program.borrow_mut();
        let Some(step) = program.next()? else { return Ok(None) };
        let line = |store| step.touches.iter().find(|touch| touch.store == store).map(|touch| touch.line);
        let (read, write) = (line(false), line(true));
        Ok(Some(TraceRequest { read, write, due: program.due() }))
    }

    /// Waits until the request is due, but at least until `next`, and returns its number. In a CPU trace this is the
    /// number of the request's instruction.
    async fn come(&mut self, request: &TraceRequest, number: u64, next: Time) -> u64 {
        match self.pace {
            RequestPace::AtOnce => self.sleep_until(next).await,
            RequestPace::AtClocks => self.sleep_until(self.edge(request.due).max(next)).await,
            RequestPace::AfterInstructions => return self.dispatch(request.due).await,
        }
        number + 1
    }

    /// Waits until `before` instructions and the instruction of the request are dispatched; returns the number of the
    /// request's instruction.
    async fn dispatch(&mut self, before: u64) -> u64 {
        let DispatchWindow { clock, width, entries, .. } = self.window;
        let dispatched = self.window.dispatched + before + 1;
        let cycles = dispatched / width - self.window.dispatched / width;
        self.sleep_until(clock.start_of(Cycles(self.window.cycle + cycles))).await;
        self.until(|task| task.chip.under_way.direct.oldest().is_none_or(|oldest| oldest + entries > dispatched)).await;
        self.window.dispatched = dispatched;
        self.window.cycle = clock.cycle_at_or_after(self.clock.now()).0;
        dispatched
    }

    fn edge(&self, clocks: u64) -> Time {
        self.memory_clock.start_of(Cycles(clocks))
    }

    async fn sleep_until(&self, time: Time) {
        if time > self.clock.now() {
            self.clock.sleep(time.since(self.clock.now())).await;
        }
    }

    /// Waits for a condition that can change only when a line is released or the chip is at rest.
    async fn until(&self, condition: impl Fn(&RequestTask<S>) -> bool) {
        poll_fn(|_| if condition(self) { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}
