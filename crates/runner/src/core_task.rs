//! The tasks that run the cores: each lets its core run ahead of the simulated clock, as far as the answers of memory
//! allow.
//!
//! A core may be ahead of the simulated clock, and each of its requests carries its time. The limit of the lead depends
//! on the events that could affect the core. The only core of a chip may be ahead by [`LEAD_MAX`]. With several cores,
//! an action of the last-level cache (such as an invalidation because another core writes the line) reaches a core
//! after the shortest latency of the network. A core with a lead of at most this latency never uses a line that another
//! core has invalidated. A core that waits for memory is woken by the next line that arrives. A core without
//! instructions is woken by another core of its program.

use crate::process_switch::{ClockInterrupts, ProcessSwitches};
use crate::sampling::{Sampler, Turn};
use chip::Chip;
use chip::feed::{FeedError, ProgramFeed};
use chip::uncore::{Switch, Uncore};
use machine::node::{Node, Pause, Request};
use protection::moving::ProcessId;
use sim::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use units::{Duration, Time};
use workload::Source;
use workload::deal::{Dealer, Hand};

/// Time by which the only core of a chip may be ahead of the clock.
const LEAD_MAX: Duration = Duration::from_ns(500);

/// Time by which the cores of a chip may be ahead of the clock.
fn lead(chip: &Chip) -> Duration {
    if chip.cores.nodes().len() == 1 { LEAD_MAX } else { chip.latencies.network.shortest() }
}

/// State of the programs: the number of cores that still run, and the first error.
pub struct Ends {
    running: Cell<usize>,
    error: RefCell<Option<FeedError>>,
}

impl Ends {
    /// The state with `cores` running cores.
    pub fn new(cores: usize) -> Ends {
        Ends { running: Cell::new(cores), error: RefCell::new(None) }
    }

    /// Returns true if all instructions have retired, or if the program of one core failed.
    pub fn is_over(&self) -> bool {
        self.running.get() == 0 || self.error.borrow().is_some()
    }

    /// Notes that the program of one core has failed to supply its next instruction.
    pub fn fail(&self, error: FeedError) {
        self.error.borrow_mut().get_or_insert(error);
    }

    /// Notes that all instructions of one core have retired.
    pub fn ended(&self) {
        self.running.set(self.running.get() - 1);
    }

    /// Takes the error of the program that failed, if one did.
    pub fn take_error(&self) -> Option<FeedError> {
        self.error.take()
    }
}

/// State shared by the cores of one program.
pub struct Team<S> {
    /// The dealer that distributes the strands of the program to the cores.
    pub dealer: Rc<RefCell<Dealer<S>>>,
    /// Tasks of the idle cores.
    pub idle: RefCell<Vec<TaskId>>,
    /// Progress of the dealer when the idle cores were last woken.
    pub progress: Cell<u64>,
}

/// One core with its program and the parts of the chip that it uses.
pub struct CoreTask<S> {
    /// The clock of the simulation.
    pub clock: Clock,
    /// Index of the core.
    pub core: usize,
    /// The chip that contains the core.
    pub chip: Rc<Chip>,
    /// The uncore, which takes the requests of the core.
    pub uncore: Rc<Uncore>,
    /// The program that the core executes.
    pub program: Rc<RefCell<ProgramFeed<Hand<S>>>>,
    /// The cores of the same program.
    pub team: Rc<Team<S>>,
    /// The sampler, which selects the part to simulate in detail; absent if all of the run is in detail.
    pub sampler: Option<Rc<RefCell<Sampler>>>,
    /// Clock interrupts, if the machine has them.
    pub interrupts: Option<ClockInterrupts>,
    /// Receives the end of the program or its error.
    pub ends: Rc<Ends>,
}

/// State of a core task from one poll to the next.
struct CoreTaskState {
    lead: Duration,
    /// The latest time at which the task will be woken.
    appointment: Time,
    idle: bool,
    switches: ProcessSwitches,
}

impl<S: Source + 'static> CoreTask<S> {
    /// Runs the core, sampled or in detail throughout, until its program has ended.
    pub fn run(self) -> impl Future<Output = ()> {
        let switches = ProcessSwitches::new(self.interrupts);
        let mut progress = CoreTaskState { lead: lead(&self.chip), appointment: Time::ZERO, idle: false, switches };
        poll_fn(move |_| {
            self.chip.ports.set_task(self.core, self.clock.current_task());
            if !self.go_on(&mut progress) {
                return Poll::Pending;
            }
            self.ends.ended();
            Poll::Ready(())
        })
    }

    /// Runs the core as far as possible. Returns true if the program has ended.
    fn go_on(&self, progress: &mut CoreTaskState) -> bool {
        if self.chip.power.has_failed() {
            return false;
        }
        let mut program = self.program.borrow_mut();
        loop {
            match self.step(&mut program, progress) {
                Err(error) => self.ends.fail(error),
                Ok(Turn::End) => return true,
                Ok(Turn::GoOn) => continue,
                Ok(Turn::At(time)) => self.appoint(time, progress),
                Ok(Turn::AtRest) => self.uncore.wake_at_rest(),
                Ok(Turn::Woken) => {}
            }
            return false;
        }
    }

    /// Advances a switch of processes that is under way, otherwise the program.
    fn step(&self, program: &mut ProgramFeed<Hand<S>>, progress: &mut CoreTaskState) -> Result<Turn, FeedError> {
        if progress.switches.is_under_way() {
            self.take_up(self.chip.ports.take_outbox(self.core));
        }
        let switching = progress.switches.advance(&self.clock, self.node(), &self.uncore)?;
        if switching != Turn::GoOn {
            return Ok(switching);
        }
        Ok(match self.advance(program, progress)? {
            Pause::Finished => return self.turn(program),
            Pause::Reached => {
                let reached = self.node().borrow().now();
                if !progress.switches.take_interrupt(reached) {
                    return Ok(Turn::At(reached));
                }
                self.request_switch(program, progress, None);
                Turn::GoOn
            }
            Pause::Switch(process) => {
                self.request_switch(program, progress, Some(program.process_id(process)));
                Turn::GoOn
            }
            Pause::Idle => {
                self.idle(progress);
                Turn::Woken
            }
            Pause::Blocked => Turn::Woken,
        })
    }

    /// Requests a switch to the process `next`; `None` means a clock interrupt of the running process.
    fn request_switch(
        &self,
        program: &mut ProgramFeed<Hand<S>>,
        progress: &mut CoreTaskState,
        next: Option<ProcessId>,
    ) {
        let (ended, owners) = (program.take_ended(), program.owners());
        let away = if next.is_none() { progress.switches.away() } else { Duration::ZERO };
        progress.switches.request(Switch { core: self.core, next, ended, owners, away });
    }

    fn node(&self) -> &RefCell<Node> {
        &self.chip.cores.nodes()[self.core]
    }

    /// Runs the core as far ahead of the clock as it may be.
    fn advance(&self, program: &mut ProgramFeed<Hand<S>>, progress: &mut CoreTaskState) -> Result<Pause, FeedError> {
        let mut node = self.node().borrow_mut();
        if std::mem::take(&mut progress.idle) {
            node.resume(self.clock.now());
        }
        let mut requests = self.chip.ports.take_outbox(self.core);
        let until = (self.clock.now() + progress.lead).min(progress.switches.next_interrupt());
        let pause = node.run(program, until, &mut requests);
        drop(node);
        self.take_up(requests);
        let foreign = program.take_foreign();
        for line in &foreign {
            self.chip.changed_from_outside(*line, self.uncore.is_in_memory(*line));
        }
        if !foreign.is_empty() {
            self.chip.lines_changed_under(self.core);
        }
        self.wake_idle(program.is_spent());
        self.chip.forget_what_left();
        pause
    }

    /// Passes the requests of the core to the uncore.
    fn take_up(&self, mut requests: Vec<Request>) {
        self.chip.power.settle_written(self.core, &self.chip.cores, &self.chip.shadow);
        self.uncore.take_up(self.core, &mut requests);
        self.uncore.take_up_records(self.core);
        self.chip.settle_entries(self.core);
        self.chip.ports.set_outbox(self.core, requests);
    }

    /// Returns the next step after the program has paused or ended.
    fn turn(&self, program: &mut ProgramFeed<Hand<S>>) -> Result<Turn, FeedError> {
        match &self.sampler {
            Some(sampler) => sampler.borrow_mut().turn(program, self.clock.now()),
            // The last line that arrives wakes the task, or the last permutation that ends.
            None if self.node().borrow().outstanding() > 0
                || !self.chip.buffers.are_done(self.core)
                || self.chip.under_way.permutations.outstanding() > 0 =>
            {
                Ok(Turn::AtRest)
            }
            None => Ok(Turn::End),
        }
    }

    /// Schedules one wake-up of the task at `time`.
    fn appoint(&self, time: Time, progress: &mut CoreTaskState) {
        if time > progress.appointment {
            progress.appointment = time;
            self.clock.wake_at(self.clock.current_task(), time);
        } else if time == self.clock.now() {
            self.clock.wake(self.clock.current_task());
        }
    }

    /// Registers the task as idle; another core of the program wakes it.
    fn idle(&self, progress: &mut CoreTaskState) {
        progress.idle = true;
        let task = self.clock.current_task();
        let mut idle = self.team.idle.borrow_mut();
        if !idle.contains(&task) {
            idle.push(task);
        }
    }

    /// Wakes the idle cores of the program if this core has consumed batches that were kept for it, or if the program
    /// is spent.
    fn wake_idle(&self, spent: bool) {
        let mut idle = self.team.idle.borrow_mut();
        let dealer = self.team.dealer.borrow();
        // Idle cores would wake each other for ever if this required no progress.
        let is_new = self.team.progress.replace(dealer.progress()) != dealer.progress();
        if !idle.is_empty() && (spent || is_new && dealer.has_room()) {
            idle.drain(..).for_each(|task| self.clock.wake(task));
        }
    }
}
