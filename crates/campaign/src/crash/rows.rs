//! Rows of a crash report: each combines a loss of power with another event, such as tampering.

use super::durable;
use super::dying;
use super::history::History;
use super::on_battery::{self, Died};
use super::over_sessions::drawn::{self, DrawnResult};
use super::revival::{Contents, Revival, changes_of_recovery};
use super::states::{self, Arrivals, DeadMemory};
use super::strikes::{self, Strikes};
use super::trials::{Case, RestartResult, SALT, after_tampering, plain_loss};
use super::{CaseBudget, CrashOptions};
use crate::bus::Recording;
use catalogue::{Loss, Verdict};
use protection::design::Point;
use protection::domain::WritePendingQueue;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use units::random::Random;

/// Maximum number of nested losses of power during recovery.
const DEPTH_MAX: usize = 3;
/// Number of memories left by a loss during recovery with which each level continues.
const GOES_ON_WITH: usize = 4;
/// Combinations of the lines in flight that are tried at a point of a recovery.
const ARRIVALS_IN_RECOVERY: Arrivals = Arrivals::Any(16);

/// Memories that one history leaves, with their trials. Each kind of trial runs when a row first needs it.
pub struct Aftermath<'a> {
    history: &'a History,
    extent: CaseBudget,
    left: OnceCell<Vec<DeadMemory>>,
    plain: OnceCell<Vec<RestartResult>>,
    tampered: OnceCell<Vec<RestartResult>>,
    died: OnceCell<Died>,
    /// Histories over several sessions, and the attacks in them.
    over_sessions: Cell<(usize, usize)>,
}

impl<'a> Aftermath<'a> {
    /// Returns the trials on the memories that a history leaves; none of them has run yet.
    pub fn of(history: &'a History, options: &CrashOptions) -> Aftermath<'a> {
        Aftermath {
            history,
            extent: options.extent(history),
            left: OnceCell::new(),
            plain: OnceCell::new(),
            tampered: OnceCell::new(),
            died: OnceCell::new(),
            over_sessions: Cell::default(),
        }
    }

    /// Returns every state that a loss of power leaves, point by point. Only histories over several sessions do without them.
    fn left(&self) -> &[DeadMemory] {
        self.left.get_or_init(|| match self.history.parts.persistence.has_battery() {
            true => dying::left(self.history, self.extent.events),
            false => self.history.left(self.extent.arrivals),
        })
    }

    /// Number of points at which power failed; none if only histories over several sessions were carried out.
    pub fn points(&self) -> usize {
        self.left.get().map_or(0, |left| left.chunk_by(|one, next| one.point == next.point).count())
    }

    /// Number of different memories that losses left, also by dead batteries. The second number counts those that need a
    /// torn or reordered write. Both are zero if only histories over several sessions were carried out.
    pub fn memories(&self) -> (usize, usize) {
        let by_dead_batteries = self.died.get().map_or(&[][..], |died| &died.left);
        states::distinct(self.left.get().into_iter().flatten().chain(by_dead_batteries))
    }

    /// Number of memories that the attacker tampered with, if a row needed any.
    pub fn tampered_with(&self) -> usize {
        self.tampered.get().map_or(0, Vec::len)
            + self.died.get().map_or(0, |died| died.put_back)
            + self.over_sessions.get().1
    }

    /// Number of histories over several sessions, if a row needed any.
    pub fn histories(&self) -> usize {
        self.over_sessions.get().0
    }

    /// Returns all cases of a row.
    pub fn cases(&self, loss: Loss) -> Vec<Case> {
        let survives = self.history.parts.persistence.exists();
        if loss != Loss::TamperingOverSessions {
            self.left();
        }
        match loss {
            Loss::PowerLoss => self.plain().iter().map(RestartResult::content).collect(),
            _ if !survives => Vec::new(),
            Loss::LossInRecovery => {
                self.chosen().into_iter().flat_map(|dead| loss_in_recovery(self.history, dead)).collect()
            }
            Loss::PadReuseAfterLoss => {
                self.plain().iter().chain(self.tampered()).map(RestartResult::keystream).collect()
            }
            _ if loss.is_on_battery() && !self.history.parts.persistence.has_battery() => Vec::new(),
            Loss::TamperingOnBattery => self.on_battery(),
            Loss::TamperingOverSessions => self.over_sessions(),
            Loss::BatteryLost => self.died().trials.iter().flat_map(RestartResult::evils).collect(),
            Loss::TamperingWhileOff => self.tampered().iter().flat_map(RestartResult::evils).collect(),
            Loss::QueueLost => self.queue_lost(),
        }
    }

    /// Cases of an attacker who is present while the battery works.
    fn on_battery(&self) -> Vec<Case> {
        let history = self.history;
        let mut random = Random::new(history.seed ^ SALT);
        let left = on_battery::attacked(history, self.extent.on_battery, &mut random);
        let trial = |(dead, story)| after_tampering(history, &dead, &history.allowed(&dead), story, &mut random);
        let trials: Vec<RestartResult> = left.into_iter().map(trial).collect();
        trials.iter().flat_map(RestartResult::evils).collect()
    }

    /// Cases of an attacker who is present over several sessions. The workload only selects the histories.
    fn over_sessions(&self) -> Vec<Case> {
        let History { parts, seed, planted, workload, .. } = self.history;
        let setup = drawn::setup(parts, *seed, *planted);
        let seeds =
            workload.to_string().bytes().fold(*seed ^ SALT, |seeds, byte| seeds.rotate_left(7) ^ u64::from(byte));
        let mut random = Random::new(seeds);
        let results = (0..self.extent.over_sessions).map(|_| drawn::carry_out(parts, &setup, random.word()));
        let carried_out = |DrawnResult { cases, attacks }| {
            let before = self.over_sessions.get();
            self.over_sessions.set((before.0 + 1, before.1 + attacks));
            cases
        };
        results.flat_map(carried_out).collect()
    }

    fn died(&self) -> &Died {
        let (tries, arrivals) = (self.extent.on_battery, self.extent.arrivals);
        let mut random = Random::new(self.history.seed ^ SALT);
        self.died.get_or_init(|| on_battery::died(self.history, tries, arrivals, &mut random))
    }

    fn plain(&self) -> &[RestartResult] {
        self.plain.get_or_init(|| self.left().iter().map(|dead| plain_loss(self.history, dead)).collect())
    }

    /// Selects, at each point, the states in which all lines have arrived, and a limited number of other states. A memory that
    /// several points leave is taken at the last of them, when most writes have returned.
    fn chosen(&self) -> Vec<&DeadMemory> {
        let few = self.extent.torn_at_a_point;
        let of_each_point = self.left().chunk_by(|one, next| one.point == next.point).flat_map(|at_point| {
            let (in_order, torn): (Vec<_>, Vec<_>) = at_point.iter().partition(|dead| dead.in_order);
            let step = torn.len().div_ceil(few).max(1);
            in_order.into_iter().chain(torn.into_iter().step_by(step).take(few))
        });
        let last: BTreeMap<_, _> = of_each_point.map(|dead| ((&dead.image, &dead.registers), dead)).collect();
        let mut chosen: Vec<&DeadMemory> = last.into_values().collect();
        chosen.sort_by_key(|dead| dead.point);
        chosen
    }

    /// Cases without an attacker, on a machine without stored energy for its queue.
    fn queue_lost(&self) -> Vec<Case> {
        let history = self.history;
        let left = history.left_without_energy(self.extent.arrivals);
        left.iter().flat_map(|dead| plain_loss(history, dead).evils().collect::<Vec<_>>()).collect()
    }

    fn tampered(&self) -> &[RestartResult] {
        self.tampered.get_or_init(|| self.chosen().into_iter().flat_map(|dead| self.tampering(dead)).collect())
    }

    /// Attacks a dead memory. With durable caches, also lets the battery work after that recovery. If lines are being
    /// re-encrypted, attacks again after a second loss while the machine recovers.
    fn tampering(&self, dead: &DeadMemory) -> Vec<RestartResult> {
        let history = self.history;
        let mut random = Random::new(history.seed ^ SALT ^ dead.point as u64);
        let went_through =
            dead.changes.as_ref().map(|changes| states::memories_between(&changes.operations, &history.start()));
        let seen = self.seen(dead, went_through.as_deref());
        let allowed = [durable::contents(history, dead)];
        let mut trials = Vec::new();
        for (image, how) in strikes::tampered(history, &dead.image, &seen, self.extent.strikes, &mut random) {
            let struck = DeadMemory { image, ..dead.clone() };
            let story = format!("power failed, and then: {how}");
            trials.push(after_tampering(history, &struck, &allowed, story.clone(), &mut random));
            // The battery may drain the caches of a chip that has just been switched on.
            if history.parts.persistence.point == Point::Caches {
                let again = Revival::fails_again(history, &struck, true);
                if (&again.image, &again.registers) != (&struck.image, &struck.registers) {
                    let story = format!("{story}; and it failed again after recovery");
                    trials.push(after_tampering(history, &again, &allowed, story, &mut random));
                }
            }
            if dead.registers.renewal.is_some() {
                trials.extend(self.struck_again(&struck, &allowed, &seen, &how, &mut random));
            }
        }
        trials
    }

    /// Returns the memories that an attacker has seen on the bus until then: `went_through` if given, else the earlier states of
    /// the history.
    fn seen<'d>(&'d self, dead: &DeadMemory, went_through: Option<&'d [Recording]>) -> Vec<&'d Recording> {
        let earlier = self.left().iter().filter(|earlier| earlier.in_order && earlier.point < dead.point);
        let mut seen = vec![&self.history.memory];
        match went_through {
            Some(memories) => seen.extend(memories.iter().filter(|memory| **memory != dead.image)),
            None => seen.extend(earlier.map(|dead| &dead.image)),
        }
        seen.dedup();
        seen
    }

    /// Cuts the power again while the machine recovers from a memory under attack, and tampers with the result once more.
    fn struck_again(
        &self,
        struck: &DeadMemory,
        allowed: &[Contents],
        seen: &[&Recording],
        how: &str,
        random: &mut Random,
    ) -> Vec<RestartResult> {
        let history = self.history;
        let mut between = left_by_recovery(history, struck, Arrivals::InOrder);
        random.shuffle(&mut between);
        between.truncate(self.extent.between_strikes);
        let mut trials = Vec::new();
        for again in between {
            let second = strikes::tampered(history, &again.image, seen, Strikes::Few(1), random).pop();
            for (image, then) in std::iter::once((again.image.clone(), "nothing".to_owned())).chain(second) {
                let twice = DeadMemory { image, point: struck.point, ..again.clone() };
                let story = format!("power failed, and then: {how}; it failed again during recovery, and then: {then}");
                trials.push(after_tampering(history, &twice, allowed, story, random));
            }
        }
        trials
    }
}

/// Recovers with losses in between, then once more. The last recovery must not change the memory.
fn loss_in_recovery(history: &History, dead: &DeadMemory) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut now = vec![dead.clone()];
    for depth in 1..=DEPTH_MAX {
        let left = |before| left_by_recovery(history, before, ARRIVALS_IN_RECOVERY);
        let next: BTreeMap<_, _> =
            now.iter().flat_map(left).map(|left| ((left.image.clone(), left.registers.clone()), left)).collect();
        let next: Vec<DeadMemory> = next.into_values().collect();
        for left in &next {
            let times = if depth == 1 { "once".to_owned() } else { format!("{depth} times") };
            let story = format!("power failed, and {times} more during recovery");
            cases.push(Case { verdict: recovers_twice(history, left), point: dead.point, story });
        }
        let step = next.len().div_ceil(GOES_ON_WITH).max(1);
        now = next.into_iter().rev().step_by(step).collect();
    }
    cases
}

/// Returns the states that a loss during recovery can leave. A battery works on a chip before its recovery begins, or after it
/// ends.
fn left_by_recovery(history: &History, before: &DeadMemory, arrivals: Arrivals) -> Vec<DeadMemory> {
    let changes = changes_of_recovery(history, before);
    let start = history.start_from(before);
    let left =
        states::states_of(&changes, &start, WritePendingQueue::Inside, arrivals, history.seed, &|_| before.progress);
    let has_battery = history.parts.persistence.has_battery();
    let left = left.into_iter().filter(|left| !has_battery || left.point < changes.operations.len());
    let left = left.map(|left| DeadMemory { accepted: before.accepted.clone(), ..left });
    let on_battery =
        has_battery.then(|| [false, true].map(|recovered| Revival::fails_again(history, before, recovered)));
    left.chain(on_battery.into_iter().flatten()).collect()
}

/// Recovers, loses power and recovers again. The second recovery must not change the memory.
fn recovers_twice(history: &History, left: &DeadMemory) -> Verdict {
    let settled = Revival::fails_again(history, left, true);
    let again = Revival::fails_again(history, &settled, true);
    if (again.image, again.registers) != (settled.image.clone(), settled.registers.clone()) {
        return Verdict::Garbled;
    }
    let again = Revival::of(history, &settled);
    let content = again.judge(history, &history.allowed(left), false);
    let (_, leaked) = again.goes_on(history, &mut Random::new(history.seed ^ SALT));
    if leaked { content.max(Verdict::Leaked) } else { content }
}

#[cfg(test)]
mod tests {
    use super::super::workload::{BYSTANDER, LINES, Workload};
    use super::*;
    use protection::planted::PlantedBug;
    use std::collections::BTreeSet;
    use units::LineAddr;

    fn history(under: &str, writes: &[LineAddr], old: bool) -> History {
        let workload = Workload::of_one_core(writes.to_vec(), true, old);
        History::of(&catalogue::design(under).unwrap(), &workload, 1, PlantedBug::NONE)
    }

    #[test]
    fn power_loss_is_tested_at_40_spread_events_and_the_end_of_a_long_battery_drain() {
        let history = history("secpb-cobcm", &[LINES[0], LINES[1], LINES[2], BYSTANDER], false);
        let aftermath = Aftermath::of(&history, &CrashOptions::default());
        let points: Vec<usize> = aftermath.left().iter().map(|dead| dead.point).collect();
        let events = *points.last().unwrap();
        let step = events.div_ceil(40);
        assert!(step > 1, "the scene is not set: {events} events");
        assert_eq!(points, (0..events).step_by(step).chain([events]).collect::<Vec<usize>>());
        assert_eq!(aftermath.points(), points.len());
    }

    /// After one write all memories are attacked; after three, those that arrive in order and one other at each point.
    #[test]
    fn memory_images_with_torn_lines_are_attacked_too() {
        let of_one = history("plp-sp", &LINES[..1], true);
        let aftermath = Aftermath::of(&of_one, &CrashOptions::default());
        let (all, torn) = states::distinct(aftermath.left());
        let chosen = aftermath.chosen();
        assert_eq!(chosen.len(), all);
        assert!(torn > 0 && chosen.iter().filter(|dead| !dead.in_order).count() >= torn, "{torn} of {all}");
        let of_three = history("plp-sp", &LINES, true);
        let aftermath = Aftermath::of(&of_three, &CrashOptions::default());
        let is_torn = |dead: &&DeadMemory| !dead.in_order;
        let last = aftermath.left().iter().rfind(is_torn).unwrap().point;
        let torn_at_last = |dead: &&DeadMemory| is_torn(dead) && dead.point == last;
        assert!(aftermath.left().iter().filter(torn_at_last).count() > 1, "the scene is not set");
        assert_eq!(aftermath.chosen().into_iter().filter(torn_at_last).count(), 1);
    }

    /// Each of the lines drains in a separate tuple.
    #[test]
    fn an_attacker_knows_the_memory_image_after_each_tuple_of_a_battery_drain() {
        let history = history("secpb-cobcm", &[LINES[0], LINES[1], LINES[2], BYSTANDER], false);
        let aftermath = Aftermath::of(&history, &CrashOptions::default());
        let dead = aftermath.left().last().unwrap();
        let went_through = states::memories_between(&dead.changes.as_ref().unwrap().operations, &history.start());
        let seen: BTreeSet<_> = aftermath.seen(dead, Some(&went_through)).into_iter().collect();
        assert_eq!(
            seen.len(),
            4,
            "the memory before, and after each of three tuples; after the fourth it is as it was left"
        );
        assert!(seen.contains(&history.memory) && !seen.contains(&dead.image));
    }
}
