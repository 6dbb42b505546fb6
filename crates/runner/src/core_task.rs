//! The tasks that run the cores: each lets its core go ahead in its own time, as far as memory's answers allow.
//!
//! A core may be ahead of the simulated clock, and what it asks for meanwhile carries the time at which it asks. How far
//! depends on what could disturb it. A core by itself may be [`AHEAD`]. Where there are several, what the last-level cache
//! does now (such as taking a line away because another core writes it) reaches a core after the shortest way of the network;
//! a core that is ahead by no more than that never used a line that it no longer had. A core that waits for memory is woken by
//! the next line that arrives, one that has nothing to execute by another core of its program.

use crate::process_switch::{ClockInterrupts, ProcessSwitches};
use crate::sampling::{Sampler, Turn};
use chip::Chip;
use chip::feed::{FeedError, Program};
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

/// How far a core by itself may be ahead of the clock.
const AHEAD: Duration = Duration::from_ns(500);

/// How far the cores of a chip may be ahead of the clock.
fn ahead(chip: &Chip) -> Duration {
    if chip.cores.nodes().len() == 1 { AHEAD } else { chip.network.shortest() }
}

/// How the programs ended, or how many cores still run.
pub struct Ends {
    running: Cell<usize>,
    error: RefCell<Option<FeedError>>,
}

impl Ends {
    /// So many cores run.
    pub fn new(cores: usize) -> Ends {
        Ends { running: Cell::new(cores), error: RefCell::new(None) }
    }

    /// Whether all instructions have retired, or one core had no next one to be had.
    pub fn is_over(&self) -> bool {
        self.running.get() == 0 || self.error.borrow().is_some()
    }

    /// One core has no next instruction to be had.
    pub fn fail(&self, error: FeedError) {
        self.error.borrow_mut().get_or_insert(error);
    }

    /// All instructions of one core have retired.
    pub fn ended(&self) {
        self.running.set(self.running.get() - 1);
    }

    /// Why there was no next instruction, if there was none.
    pub fn take_error(&self) -> Option<FeedError> {
        self.error.take()
    }
}

/// What the cores of one program share.
pub struct Team<S> {
    /// Hands the program out to them.
    pub dealer: Rc<RefCell<Dealer<S>>>,
    /// Those that have nothing to execute for the moment.
    pub idle: RefCell<Vec<TaskId>>,
    /// The dealer's progress when they were woken last.
    pub progress: Cell<u64>,
}

/// One core, its program, and what it talks to.
pub struct CoreTask<S> {
    /// The simulated clock.
    pub clock: Clock,
    /// Which core.
    pub core: usize,
    /// What the core is on.
    pub chip: Rc<Chip>,
    /// What takes its requests.
    pub uncore: Rc<Uncore>,
    /// What it executes.
    pub program: Rc<RefCell<Program<Hand<S>>>>,
    /// With which other cores.
    pub team: Rc<Team<S>>,
    /// What decides which part of it is in detail, if not all is.
    pub sampler: Option<Rc<RefCell<Sampler>>>,
    /// Clock interrupts, if the machine has such.
    pub interrupts: Option<ClockInterrupts>,
    /// Gets how it ended.
    pub ends: Rc<Ends>,
}

/// What a core task remembers from one call to the next.
struct Progress {
    ahead: Duration,
    /// When the task has asked to be woken, if it has.
    appointment: Time,
    idle: bool,
    switches: ProcessSwitches,
}

impl<S: Source + 'static> CoreTask<S> {
    /// Runs the core, sampled or in detail throughout, until its program has ended.
    pub fn run(self) -> impl Future<Output = ()> {
        let switches = ProcessSwitches::new(self.interrupts);
        let mut progress = Progress { ahead: ahead(&self.chip), appointment: Time::ZERO, idle: false, switches };
        poll_fn(move |_| {
            self.chip.set_core_task(self.core, self.clock.current_task());
            if !self.go_on(&mut progress) {
                return Poll::Pending;
            }
            self.ends.ended();
            Poll::Ready(())
        })
    }

    /// Goes on as far as possible; whether that was to the end.
    fn go_on(&self, progress: &mut Progress) -> bool {
        if !self.chip.has_power() {
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

    /// Brings a switch of processes forward, or else the program.
    fn step(&self, program: &mut Program<Hand<S>>, progress: &mut Progress) -> Result<Turn, FeedError> {
        if progress.switches.is_under_way() {
            self.take_up(self.chip.outbox(self.core).take());
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

    /// Another process is next; or the clock interrupts this one, if none is named.
    fn request_switch(&self, program: &mut Program<Hand<S>>, progress: &mut Progress, next: Option<ProcessId>) {
        let (ended, owners) = (program.take_ended(), program.owners());
        let away = if next.is_none() { progress.switches.away() } else { Duration::ZERO };
        progress.switches.request(Switch { core: self.core, next, ended, owners, away });
    }

    fn node(&self) -> &RefCell<Node> {
        &self.chip.cores.nodes()[self.core]
    }

    /// Runs the core as far as it may go.
    fn advance(&self, program: &mut Program<Hand<S>>, progress: &mut Progress) -> Result<Pause, FeedError> {
        let mut node = self.node().borrow_mut();
        if std::mem::take(&mut progress.idle) {
            node.resume(self.clock.now());
        }
        let mut requests = self.chip.outbox(self.core).take();
        let until = (self.clock.now() + progress.ahead).min(progress.switches.next_interrupt());
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

    /// Takes up what the core asks for.
    fn take_up(&self, mut requests: Vec<Request>) {
        self.uncore.take_up(self.core, &mut requests);
        self.uncore.take_up_records(self.core);
        self.chip.settle_entries(self.core);
        *self.chip.outbox(self.core).borrow_mut() = requests;
    }

    /// What to do now that the program has nothing more for now.
    fn turn(&self, program: &mut Program<Hand<S>>) -> Result<Turn, FeedError> {
        match &self.sampler {
            Some(sampler) => sampler.borrow_mut().turn(program, self.clock.now()),
            // Woken by the last line that arrives.
            None if self.node().borrow().outstanding() > 0 || !self.chip.has_persisted(self.core) => Ok(Turn::AtRest),
            None => Ok(Turn::End),
        }
    }

    /// Asks to be woken at `time`, once.
    fn appoint(&self, time: Time, progress: &mut Progress) {
        if time > progress.appointment {
            progress.appointment = time;
            self.clock.wake_at(self.clock.current_task(), time);
        } else if time == self.clock.now() {
            self.clock.wake(self.clock.current_task());
        }
    }

    /// There is nothing to execute for the moment: another core of the program says when there may be.
    fn idle(&self, progress: &mut Progress) {
        progress.idle = true;
        let task = self.clock.current_task();
        let mut idle = self.team.idle.borrow_mut();
        if !idle.contains(&task) {
            idle.push(task);
        }
    }

    /// Other cores of the program may go on when this one has used up what was kept for it, and end when it is spent.
    fn wake_idle(&self, spent: bool) {
        let mut idle = self.team.idle.borrow_mut();
        let dealer = self.team.dealer.borrow();
        // Without progress they would wake each other for ever.
        let is_new = self.team.progress.replace(dealer.progress()) != dealer.progress();
        if !idle.is_empty() && (spent || is_new && dealer.has_room()) {
            idle.drain(..).for_each(|task| self.clock.wake(task));
        }
    }
}
