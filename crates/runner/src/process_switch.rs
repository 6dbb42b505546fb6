//! Switches of processes on one core: the core retires all its instructions, the chip switches contexts, and the core
//! continues.

use crate::sampling::Turn;
use catalogue::{ClockInterrupt, Machine};
use chip::uncore::{Switch, SwitchOutcome, Uncore};
use machine::node::Node;
use protection::moving::ContextError;
use sim::Clock;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Cycles, Duration, Time};

/// Clock interrupts of one core.
#[derive(Clone, Copy)]
pub struct ClockInterrupts {
    /// Time from one interrupt to the next.
    pub every: Duration,
    /// Additional time after the switch until the process continues.
    pub away: Duration,
}

impl ClockInterrupts {
    /// The clock interrupts of a core of a machine.
    pub fn of(interrupt: ClockInterrupt, machine: &Machine) -> ClockInterrupts {
        let ClockInterrupt { every_us, away_cycles } = interrupt;
        let away = machine.node.clock_mhz.clock().span(Cycles(away_cycles));
        ClockInterrupts { every: Duration::from_ns(1_000 * every_us), away }
    }
}

/// State of the core between two steps.
#[derive(Default)]
enum SwitchPhase {
    #[default]
    Running,
    /// The core waits until all instructions before the switch have retired.
    Draining(Switch),
    /// The chip is switching to the next process.
    Switching(Rc<SwitchOutcome>),
}

/// Switches of one core.
pub struct ProcessSwitches {
    state: SwitchPhase,
    interrupts: Option<ClockInterrupts>,
    /// Time of the next clock interrupt.
    next_interrupt: Time,
}

impl ProcessSwitches {
    /// Switches of a core that runs its first process.
    pub fn new(interrupts: Option<ClockInterrupts>) -> ProcessSwitches {
        let next_interrupt = interrupts.map_or(Time::NEVER, |interrupts| Time::ZERO + interrupts.every);
        ProcessSwitches { state: SwitchPhase::Running, interrupts, next_interrupt }
    }

    /// Time of the next clock interrupt. The core must not run beyond this time before the interrupt is taken.
    pub fn next_interrupt(&self) -> Time {
        self.next_interrupt
    }

    /// Returns true if a switch has begun but not ended.
    pub fn is_under_way(&self) -> bool {
        !matches!(self.state, SwitchPhase::Running)
    }

    /// Requests a switch that must end before the core continues.
    pub fn request(&mut self, switch: Switch) {
        self.state = SwitchPhase::Draining(switch);
    }

    /// Additional time after the switch at a clock interrupt.
    pub fn away(&self) -> Duration {
        self.interrupts.map_or(Duration::ZERO, |interrupts| interrupts.away)
    }

    /// Takes the clock interrupt if the core has reached it. Returns true if an interrupt was due. Interrupts during a longer switch are
    /// lost.
    pub fn take_interrupt(&mut self, reached: Time) -> bool {
        let Some(ClockInterrupts { every, .. }) = self.interrupts else { return false };
        let is_due = reached >= self.next_interrupt;
        while reached >= self.next_interrupt {
            self.next_interrupt += every;
        }
        is_due
    }

    /// Advances the switch as far as possible.
    ///
    /// # Errors
    /// [`ContextError`] if the context unit refuses the switch.
    pub fn advance(&mut self, clock: &Clock, node: &RefCell<Node>, uncore: &Rc<Uncore>) -> Result<Turn, ContextError> {
        match std::mem::take(&mut self.state) {
            SwitchPhase::Running => Ok(Turn::GoOn),
            SwitchPhase::Draining(switch) => {
                let (outstanding, retired) = (node.borrow().outstanding(), node.borrow().retired_at());
                let is_at_rest = outstanding == 0 && uncore.is_at_rest();
                if is_at_rest && retired <= clock.now() {
                    self.state = SwitchPhase::Switching(uncore.begin_switch(switch));
                    return Ok(Turn::Woken);
                }
                self.state = SwitchPhase::Draining(switch);
                Ok(if is_at_rest { Turn::At(retired) } else { Turn::AtRest })
            }
            SwitchPhase::Switching(outcome) => match outcome.take() {
                None => {
                    self.state = SwitchPhase::Switching(outcome);
                    Ok(Turn::Woken)
                }
                Some(result) => {
                    result?;
                    node.borrow_mut().switched(clock.now());
                    // At least one instruction enters before the next interrupt.
                    self.take_interrupt(clock.now());
                    Ok(Turn::GoOn)
                }
            },
        }
    }
}
