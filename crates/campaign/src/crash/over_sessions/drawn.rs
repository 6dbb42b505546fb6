//! Histories that are drawn at random, and their verdicts.

use super::machine::{AttackedMachine, FOLLOWED, Setup};
use super::step::{EarlierPart, HistoryStep};
use crate::crash::trials::Case;
use catalogue::Verdict;
use protection::counter::WRITES_LEFT;
use protection::design::{Parts, Point};
use protection::planted::PlantedBug;
use protection::verbs::Slot;
use std::rc::Rc;
use units::LineAddr;
use units::random::Random;

/// Sessions of a history.
const SESSIONS: usize = 3;
/// Fewest and most steps of the program and the attacker in a session.
const STEPS: (u64, u64) = (4, 14);
/// Most attacks between a loss of power and the next recovery.
const ATTACKS_WHILE_OFF: u64 = 3;
/// Most slots that are flipped during one drain.
const FLIPS: u64 = 3;
/// Thousandths, for shares of a step.
const WHOLE: u64 = 1000;

/// A history while it is drawn and carried out.
struct DrawnHistory {
    machine: AttackedMachine,
    point: Point,
    random: Random,
    /// One of this many steps of a running machine is an attack; 0 without an attacker.
    attacks_in: u64,
    /// Slots that the attacker has garbled and not yet put back, with the recording before each change.
    garbled: Vec<(Slot, usize)>,
    story: Vec<String>,
    /// Number of steps in which the attacker took part.
    attacks: usize,
}

/// Result of a history.
pub struct DrawnResult {
    /// A case for the content, and another if a pad has hidden two texts.
    pub cases: Vec<Case>,
    /// Number of steps in which the attacker took part.
    pub attacks: usize,
}

/// Draws a history of a design, and carries it out.
pub fn carry_out(parts: &Parts, setup: &Rc<Setup>, seed: u64) -> DrawnResult {
    let mut random = Random::new(seed);
    let left = [(); 2].map(|()| random.below(WRITES_LEFT));
    let attacks_in = [0, 2, 3, 3, 4, 4, 6, 8][random.below(8) as usize];
    let machine = AttackedMachine::new(setup, left);
    let (point, garbled, story) = (parts.persistence.point, Vec::new(), Vec::new());
    let mut history = DrawnHistory { machine, point, random, attacks_in, garbled, story, attacks: 0 };
    for session in 1..=SESSIONS {
        history.runs();
        if session < SESSIONS {
            history.loses_power();
        }
    }
    history.result()
}

/// Returns the setup of the machines for histories of a design.
pub fn setup(parts: &Parts, seed: u64, planted: PlantedBug) -> Rc<Setup> {
    Rc::new(Setup::new(parts, seed, planted))
}

impl DrawnHistory {
    fn takes(&mut self, action: HistoryStep) {
        self.attacks += usize::from(action.is_attack());
        self.story.push(format!("{}: {action}", self.story.len() + 1));
        self.machine.carry_out(&action, &mut self.random);
    }

    fn line(&mut self) -> LineAddr {
        // The first line of each group overflows soonest: these two are drawn twice as often.
        let all = [FOLLOWED[0], FOLLOWED[0], FOLLOWED[1], FOLLOWED[2], FOLLOWED[3], FOLLOWED[3]];
        all[self.random.below(all.len() as u64) as usize]
    }

    /// The program runs, with attacks between its steps.
    fn runs(&mut self) {
        for _ in 0..STEPS.0 + self.random.below(STEPS.1 - STEPS.0 + 1) {
            let action = if self.is_time_to_attack() { self.attack() } else { self.step() };
            self.takes(action);
        }
    }

    fn is_time_to_attack(&mut self) -> bool {
        self.attacks_in > 0 && self.random.below(self.attacks_in) == 0
    }

    fn step(&mut self) -> HistoryStep {
        let resident = self.machine.resident();
        match self.random.below(10) {
            0..=4 => HistoryStep::Store(self.line()),
            5..=7 if !resident.is_empty() => {
                HistoryStep::Drain(resident[self.random.below(resident.len() as u64) as usize])
            }
            8 => HistoryStep::Evict,
            9 => HistoryStep::Read(self.line()),
            _ => HistoryStep::Store(self.line()),
        }
    }

    /// Returns an attack. Half of the time, the attacker puts a garbled slot back, so that the chip works again.
    fn attack(&mut self) -> HistoryStep {
        if self.random.below(2) == 0
            && let Some((slot, recording)) = self.garbled.pop()
        {
            return HistoryStep::PutBack { recording, part: EarlierPart::Slot(slot) };
        }
        let slots = self.machine.slots();
        let slot = slots[self.random.below(slots.len() as u64) as usize];
        let recording = self.random.below(self.machine.seen().len() as u64) as usize;
        let part = match self.random.below(8) {
            0..=3 => {
                self.garbled.push((slot, self.machine.seen().len() - 1));
                return HistoryStep::Garble(slot);
            }
            4 => EarlierPart::Slot(slot),
            5 => EarlierPart::LineWithTag(self.line()),
            6 => EarlierPart::DataAndTags,
            _ => EarlierPart::Everything,
        };
        HistoryStep::PutBack { recording, part }
    }

    /// Power fails, perhaps in the middle of a store; it may fail once more during recovery. The attacker acts each time.
    fn loses_power(&mut self) {
        self.restores();
        let is_cut = self.point == Point::Controller && self.random.below(2) == 0;
        let (line, share) = (self.line(), self.random.below(WHOLE + 1));
        let flipped = self.flipped();
        self.takes(if is_cut {
            HistoryStep::LosePowerInStore(line, share)
        } else {
            HistoryStep::LosePower { flipped }
        });
        self.attacks_while_off();
        if self.random.below(3) == 0 {
            let share = self.random.below(WHOLE + 1);
            self.takes(HistoryStep::LosePowerInRecovery(share));
            self.attacks_while_off();
        }
        self.restores();
        self.takes(HistoryStep::Recover);
    }

    fn flipped(&mut self) -> Vec<Slot> {
        if self.attacks_in == 0 || self.point == Point::Controller || self.random.below(3) == 0 {
            return Vec::new();
        }
        let mut slots = self.machine.slots();
        self.random.shuffle(&mut slots);
        slots.truncate(1 + self.random.below(FLIPS) as usize);
        slots
    }

    /// Most often, the attacker puts back all that it has garbled, so that recovery accepts the memory.
    fn restores(&mut self) {
        if self.random.below(4) > 0 {
            while let Some((slot, recording)) = self.garbled.pop() {
                self.takes(HistoryStep::PutBack { recording, part: EarlierPart::Slot(slot) });
            }
        }
    }

    fn attacks_while_off(&mut self) {
        if self.attacks_in > 0 {
            for _ in 0..self.random.below(ATTACKS_WHILE_OFF + 1) {
                let action = self.attack();
                self.takes(action);
            }
        }
    }

    fn result(self) -> DrawnResult {
        let point = self.story.len();
        let (ended, line) = self.machine.judged();
        let read = line.map_or_else(String::new, |line| format!("; a read of line {line} then ended {ended}"));
        let story = self.story.join("; ") + &read;
        let case = |verdict| Case { verdict, point, story: story.clone() };
        let leaked = self.machine.has_leaked().then_some(Verdict::Leaked);
        let cases = std::iter::once(ended).chain(leaked).map(case).collect();
        DrawnResult { cases, attacks: self.attacks }
    }
}
