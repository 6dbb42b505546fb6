//! A search through all histories of a few steps. The steps are stores, drains, losses of power and attacks, in every order,
//! on three lines of one group. The first of these lines is about to overflow its counter.
//!
//! The search deepens step by step, so that the first history that breaks the claim is a shortest one. States with the same hash
//! of memory, registers and chip are continued once for each number of steps and attacks that are left. The hash contains all
//! contents that the attacker has seen in a slot, but not which of them it saw together.

use super::machine::{AttackedMachine, FOLLOWED, Setup};
use super::step::{EarlierPart, HistoryStep};
use crate::bus::Structure;
use catalogue::Verdict;
use protection::counter::WRITES_LEFT;
use protection::design::Parts;
use protection::planted::PlantedBug;
use protection::verbs::{Slot, Untrusted};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;
use units::LineAddr;
use units::random::Random;

/// Lines of one group.
const LINES: [LineAddr; 3] = [FOLLOWED[0], FOLLOWED[1], FOLLOWED[2]];
/// Structures that the attacker changes. Recovery computes all nodes anew.
const CHANGED: [Structure; 3] = [Structure::Data, Structure::Tag, Structure::Counter];
/// Steps between two calls of the function that may end the search.
const BETWEEN_CALLS: u64 = 1 << 10;

/// Bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// Most steps of a history.
    pub actions: usize,
    /// Most steps in which the attacker takes part.
    pub attacks: usize,
}

/// Result of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SearchReport {
    /// The search has tried all histories of this many steps.
    pub depth: usize,
    /// Number of different states.
    pub states: usize,
    /// Number of steps carried out.
    pub steps: u64,
    /// A history that ended worse than "detected", if any: its steps, and its verdict.
    pub finding: Option<(String, Verdict)>,
}

/// Searches the histories of a design within these limits. `goes_on` receives the report so far from time to time; the search ends
/// when it returns false.
///
/// # Panics
/// If the design's parts do not fit together, or if metadata also uses a last-level cache.
pub fn search(
    parts: &Parts,
    limits: SearchLimits,
    planted: PlantedBug,
    goes_on: &mut dyn FnMut(&SearchReport) -> bool,
) -> SearchReport {
    let setup = Rc::new(Setup::new(parts, 1, planted));
    let start = AttackedMachine::new(&setup, [0, WRITES_LEFT - 1]);
    let mut search = HistorySearch {
        slots: concerned(&setup),
        visited: FxHashMap::default(),
        path: Vec::new(),
        report: SearchReport::default(),
        goes_on,
        is_over: false,
    };
    for depth in 1..=limits.actions {
        search.expand(&start, depth, limits.attacks);
        if search.is_over {
            break;
        }
        search.report.depth = depth;
    }
    search.report
}

/// Slots of the three lines that the attacker changes.
fn concerned(setup: &Setup) -> Vec<Slot> {
    let map = setup.map();
    let slots = CHANGED.into_iter().flat_map(|structure| LINES.map(|line| map.slot_bytes(structure, line)));
    slots.flatten().map(|(slot, _)| slot).collect::<BTreeSet<_>>().into_iter().collect()
}

struct HistorySearch<'a> {
    slots: Vec<Slot>,
    /// Steps left when a state with this number of attacks left was last continued.
    visited: FxHashMap<(u128, usize), usize>,
    path: Vec<HistoryStep>,
    report: SearchReport,
    goes_on: &'a mut dyn FnMut(&SearchReport) -> bool,
    is_over: bool,
}

impl HistorySearch<'_> {
    fn expand(&mut self, machine: &AttackedMachine, steps: usize, attacks: usize) {
        if steps == 0 {
            return;
        }
        for action in self.actions(machine, attacks > 0) {
            if self.is_over {
                return;
            }
            let mut next = machine.twin();
            next.carry_out(&action, &mut Random::new(0));
            let attacks = attacks - usize::from(action.is_attack());
            self.path.push(action);
            self.arrives(&next, steps - 1, attacks);
            self.path.pop();
        }
    }

    /// Judges a state that is new, and continues from it.
    fn arrives(&mut self, machine: &AttackedMachine, steps: usize, attacks: usize) {
        self.report.steps += 1;
        if self.report.steps.is_multiple_of(BETWEEN_CALLS) && !(self.goes_on)(&self.report) {
            self.is_over = true;
            return;
        }
        let key = (machine.digest(), attacks);
        let before = self.visited.get(&key).copied();
        if before.is_none() {
            self.report.states += 1;
            self.judge(machine);
        }
        if before.is_none_or(|before| before < steps) {
            self.visited.insert(key, steps);
            self.expand(machine, steps, attacks);
        }
    }

    fn judge(&mut self, machine: &AttackedMachine) {
        let leaked = if machine.has_leaked() { Verdict::Leaked } else { Verdict::Hidden };
        let verdict = machine.judged().0.max(leaked);
        if verdict > Verdict::Detected {
            let steps: Vec<String> = self.path.iter().map(ToString::to_string).collect();
            self.report.finding = Some((steps.join("; "), verdict));
            self.is_over = true;
        }
    }

    /// Returns the steps that may follow.
    fn actions(&self, machine: &AttackedMachine, attacks: bool) -> Vec<HistoryStep> {
        let mut actions = Vec::new();
        if machine.is_on() {
            actions.extend(LINES.map(HistoryStep::Store));
            actions.extend(machine.resident().into_iter().map(HistoryStep::Drain));
            actions.push(HistoryStep::LosePower { flipped: Vec::new() });
            let flipped = self.slots.iter().map(|slot| HistoryStep::LosePower { flipped: vec![*slot] });
            actions.extend(flipped.filter(|_| attacks));
        } else {
            actions.push(HistoryStep::Recover);
        }
        if attacks {
            actions.extend(self.slots.iter().copied().map(HistoryStep::Garble));
            actions.extend(self.earlier(machine));
        }
        actions
    }

    /// Returns the steps that put an earlier content back, one for each content that differs from the present one.
    fn earlier(&self, machine: &AttackedMachine) -> Vec<HistoryStep> {
        let mut actions = Vec::new();
        let of = |line| machine.slots_of(&[Structure::Data, Structure::Tag], line);
        let lines = LINES.map(|line| (EarlierPart::LineWithTag(line), of(line)));
        let slots = self.slots.iter().map(|slot| (EarlierPart::Slot(*slot), vec![*slot]));
        for (part, slots) in slots.chain(lines) {
            let now: Vec<Untrusted> = slots.iter().map(|slot| machine.content(*slot)).collect();
            let mut tried = BTreeSet::from([now]);
            for (recording, earlier) in machine.seen().iter().enumerate() {
                let then = slots.iter().map(|slot| earlier.get(*slot).unwrap_or(Untrusted::BLANK)).collect();
                if tried.insert(then) {
                    actions.push(HistoryStep::PutBack { recording, part });
                }
            }
        }
        actions
    }
}
