//! The task that runs the core: lets it go ahead in its own time, as far as memory's answers allow.
//!
//! The core may be ahead of the simulated clock by at most [`AHEAD`]; what it asks for meanwhile carries the time at
//! which it asks. A core that waits for memory is woken by the next line that arrives.

use crate::chip::Chip;
use crate::feed::{FeedError, Program};
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
    /// When the task has asked to be woken, if it has.
    appointment: Cell<Time>,
    end: Rc<RefCell<Option<End>>>,
}

impl<S: Source + 'static> CoreTask<S> {
    /// Starts the core; `end` says how it ended, once it has.
    pub fn start(
        clock: &Clock,
        chip: Rc<Chip>,
        uncore: Rc<Uncore>,
        memory: Rc<TimedMemory<Rc<Chip>>>,
        program: Rc<RefCell<Program<S>>>,
        end: Rc<RefCell<Option<End>>>,
    ) {
        let task =
            CoreTask { clock: clock.clone(), chip, uncore, memory, program, appointment: Cell::new(Time::ZERO), end };
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
        let mut requests = self.chip.outbox.take();
        let mut program = self.program.borrow_mut();
        let pause = self.chip.node.borrow_mut().run(&mut *program, self.clock.now() + AHEAD, &mut requests);
        self.uncore.take_up(&mut requests);
        *self.chip.outbox.borrow_mut() = requests;
        for line in program.take_foreign() {
            let in_memory = !self.memory.media().borrow().is_blank(Slot(line.0));
            self.chip.changed_from_outside(line, in_memory);
        }
        self.chip.forget_what_left();
        let node = self.chip.node.borrow();
        match pause {
            Err(error) => return Some(End::Failed(error)),
            Ok(Pause::Finished) if node.outstanding() == 0 => return Some(End::Finished),
            Ok(Pause::Reached) if node.now() > self.appointment.get() => {
                self.appointment.set(node.now());
                self.clock.wake_at(self.clock.current_task(), node.now());
            }
            Ok(Pause::Finished | Pause::Reached | Pause::Blocked) => {}
        }
        None
    }
}
