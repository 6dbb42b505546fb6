//! The task that runs the core: lets it go ahead in its own time, as far as memory's answers allow.
//!
//! The core may be ahead of the simulated clock by at most [`AHEAD`]; what it asks for meanwhile carries the time at
//! which it asks. A core that waits for memory is woken by the next line that arrives.

use crate::chip::Chip;
use crate::feed::{FeedError, Program};
use crate::sampling::{Sampler, Turn};
use crate::uncore::Uncore;
use machine::node::Pause;
use protection::verbs::Slot;
use protection::ways::TimedMemory;
use sim::Clock;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use units::{Duration, Time};
use workload::Source;

/// How far the core may be ahead of the clock.
const AHEAD: Duration = Duration::from_ns(500);

/// How the core's program ended.
pub enum End {
    /// All instructions have retired.
    Finished,
    /// There was no next instruction to be had.
    Failed(FeedError),
}

/// The core, its program, and what it talks to.
pub struct CoreTask<S> {
    clock: Clock,
    chip: Rc<Chip>,
    uncore: Rc<Uncore>,
    memory: Rc<TimedMemory<Rc<Chip>>>,
    program: Rc<RefCell<Program<S>>>,
    sampler: Option<Rc<RefCell<Sampler>>>,
    /// When the task has asked to be woken, if it has.
    appointment: Cell<Time>,
    end: Rc<RefCell<Option<End>>>,
}

impl<S: Source + 'static> CoreTask<S> {
    /// Starts the core, sampled or in detail throughout; `end` says how it ended, once it has.
    pub fn start(
        clock: &Clock,
        chip: Rc<Chip>,
        uncore: Rc<Uncore>,
        memory: Rc<TimedMemory<Rc<Chip>>>,
        program: Rc<RefCell<Program<S>>>,
        sampler: Option<Rc<RefCell<Sampler>>>,
        end: Rc<RefCell<Option<End>>>,
    ) {
        let appointment = Cell::new(Time::ZERO);
        let task = CoreTask { clock: clock.clone(), chip, uncore, memory, program, sampler, appointment, end };
        clock.spawn(task.run());
    }

    fn run(self) -> impl Future<Output = ()> {
        poll_fn(move |_| {
            self.chip.set_core_task(self.clock.current_task());
            match self.go_on() {
                Some(end) => {
                    *self.end.borrow_mut() = Some(end);
                    Poll::Ready(())
                }
                None => Poll::Pending,
            }
        })
    }

    fn go_on(&self) -> Option<End> {
        let mut program = self.program.borrow_mut();
        loop {
            match self.advance(&mut program) {
                Err(error) => return Some(End::Failed(error)),
                Ok(Pause::Finished) => match self.turn(&mut program) {
                    Err(error) => return Some(End::Failed(error)),
                    Ok(Turn::End) => return Some(End::Finished),
                    Ok(Turn::GoOn) => continue,
                    Ok(Turn::At(time)) => self.appoint(time),
                    Ok(Turn::AtRest) => self.uncore.wake_at_rest(),
                },
                Ok(Pause::Reached) => self.appoint(self.chip.node.borrow().now()),
                Ok(Pause::Blocked) => {}
            }
            return None;
        }
    }

    /// Runs the core as far as it may go.
    fn advance(&self, program: &mut Program<S>) -> Result<Pause, FeedError> {
        let mut requests = self.chip.outbox.take();
        let pause = self.chip.node.borrow_mut().run(program, self.clock.now() + AHEAD, &mut requests);
        self.uncore.take_up(&mut requests);
        *self.chip.outbox.borrow_mut() = requests;
        for line in program.take_foreign() {
            let in_memory = !self.memory.media().borrow().is_blank(Slot(line.0));
            self.chip.changed_from_outside(line, in_memory);
        }
        self.chip.forget_what_left();
        pause
    }

    /// What to do now that the program has nothing more for now.
    fn turn(&self, program: &mut Program<S>) -> Result<Turn, FeedError> {
        match &self.sampler {
            Some(sampler) => sampler.borrow_mut().turn(program, self.clock.now()),
            None if self.chip.node.borrow().outstanding() > 0 => Ok(Turn::AtRest),
            None => Ok(Turn::End),
        }
    }

    /// Asks to be woken at `time`, once.
    fn appoint(&self, time: Time) {
        if time > self.appointment.get() {
            self.appointment.set(time);
            self.clock.wake_at(self.clock.current_task(), time);
        } else if time == self.clock.now() {
            self.clock.wake(self.clock.current_task());
        }
    }
}
