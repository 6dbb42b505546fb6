//! The life of a program and of its memory: power fails again and again, and each time it goes on with what it finds.
//!
//! A machine over blank memory gets the program's first content. The core stores until power fails. A fresh chip recovers from
//! what is left, the program's own recovery reads that, and the program goes on behind the last operation that it has
//! found, over the same memory, until it has done all. Every second life has tiny metadata caches, so that metadata leaves
//! the chip all the time, and of every fourth the first counters are just before their overflow.
//!
//! Where stores are durable in a persist buffer, the program also crashes while the machine goes on. Its recovery is let in when
//! the buffer has drained, and must find the same in memory by itself, which a fresh chip reads, and through the machine.
//!
//! The ledger of keystream goes over losses as far as the keys do, with what had left the chip by then.

use super::core::{Core, Kept, Reached};
use super::script::Script;
use crate::crash::bench::Bench;
use crate::crash::revival::OTHER_KEYS;
use crate::crash::workload::PROGRAM_LINES;
use crate::victim::with_tiny_caches;
use catalogue::{Design, Verdict};
use protection::counter::Age;
use protection::design::Parts;
use protection::execution::{AtOnce, Receiver, run_now};
use protection::planted::Planted;
use protection::verbs::{Fault, Plaintext};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};
use workload::kernels::durable::{Damage, Held};

/// Power fails within so many operations.
const OPERATIONS_MAX: u64 = 4;
/// And so many events beyond the step that was drawn.
const EVENTS_MAX: u64 = 64;
/// In so many stops the program crashes once and power does not fail, where stores are durable in a persist buffer.
const STOPS_PER_CRASH: u64 = 4;
/// Sets what a life draws apart from what its program does.
const LIFE: u64 = 0x11fe;

/// The chip's alarms; nothing else is listened to.
#[derive(Default)]
struct Alarm(Cell<Option<Fault>>);

impl Receiver for Alarm {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        self.0.set(self.0.get().or(Some(fault)));
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// What a life came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lived {
    /// How often power failed.
    pub losses: u64,
    /// How often the program crashed besides, and the machine went on.
    pub crashes: u64,
    /// Operations that were found again, each once.
    pub operations: u64,
    /// Whether the latest stop was such a crash.
    ended_in_crash: bool,
    /// How it ended if not well: how, and what happened at its last stop.
    pub fall: Option<(Verdict, String)>,
}

impl Lived {
    /// Losses that must be asked for to see its end: a crash comes before the loss that would be next.
    pub fn losses_to_its_end(&self) -> u64 {
        self.losses + u64::from(self.ended_in_crash)
    }
}

/// A life under a design.
pub struct Life<'a> {
    parts: Parts,
    script: &'a Script,
    seed: u64,
    planted: Planted,
    random: Random,
}

/// What there is for the program's recovery when it has stopped.
struct Stop {
    /// How many operations may be there.
    expected: RangeInclusive<u64>,
    /// If the program has crashed, memory by itself: a fresh chip over it, which only looks.
    observer: Option<Machine>,
    /// The machine that the program goes on with. If power has failed, a fresh chip that has recovered.
    machine: Machine,
}

/// A machine that is switched on.
struct Machine {
    bench: Bench,
    alarm: Rc<Alarm>,
}

impl<'a> Life<'a> {
    /// One that begins.
    pub fn new(design: &Design, script: &'a Script, seed: u64, planted: Planted) -> Life<'a> {
        let tiny = seed % 2 == 1;
        let parts = if tiny { with_tiny_caches(&design.parts) } else { design.parts.clone() };
        Life { parts, script, seed, planted, random: Random::for_purpose(seed, LIFE) }
    }

    /// Lives until the program has done all, until a loss is not survived, or so many losses.
    pub fn live(mut self, losses: u64) -> Lived {
        let mut machine = self.first_machine();
        let mut lived = Lived::default();
        while lived.losses < losses && lived.operations < self.script.operations() as u64 {
            let stop = self.until_it_stops(machine, lived.operations as usize);
            lived.ended_in_crash = stop.observer.is_some();
            *(if lived.ended_in_crash { &mut lived.crashes } else { &mut lived.losses }) += 1;
            for seen in stop.observer.iter().chain([&stop.machine]) {
                match self.judge(seen, &stop) {
                    Ok(operations) => lived.operations = operations,
                    fall => return Lived { fall: fall.err(), ..lived },
                }
            }
            machine = stop.machine;
        }
        lived
    }

    /// A machine over blank memory, which then holds what the program begins with.
    fn first_machine(&self) -> Machine {
        let machine = Machine::new(&self.parts, self.seed, self.planted, Rc::default());
        let (scheme, verbs) = (&machine.bench.scheme, machine.at_once());
        if self.seed % 4 == 3 {
            run_now(scheme.age(&verbs, LineAddr(0), Age::BeforeRenewal));
        }
        self.script.before.iter().for_each(|(line, content)| run_now(scheme.write(&verbs, *line, content)));
        machine
    }

    /// The program goes on behind so many operations, until power fails or it crashes.
    fn until_it_stops(&mut self, machine: Machine, done: usize) -> Stop {
        let first = self.script.resumed_after(done);
        let end = self.script.behind(done + self.random.below(OPERATIONS_MAX) as usize).max(first);
        let step = self.random.below((end - first) as u64 + 1) as usize;
        let drawn = self.random.below(EVENTS_MAX);
        // A write at the controller may take more than that: behind the last step all comes to its end, or no life would.
        let is_last = first + step == self.script.steps.len() && !self.parts.persistence.has_battery();
        let events = if is_last { u64::MAX } else { drawn };
        let Machine { mut bench, alarm } = machine;
        let steps = &self.script.steps[first..];
        let core = Core::start(&bench, &self.parts.persistence, steps, &mut self.random);
        bench.run_until(|| core.begun() >= step || core.is_idle());
        let left = Cell::new(events);
        // Asked before the first event and after each, and at the end again.
        bench.run_until(|| {
            left.get() == 0 || core.is_idle() || {
                left.set(left.get() - 1);
                false
            }
        });
        let committed = |steps| self.script.committed_by(first + steps) as u64;
        let expected = |reached: Reached| committed(reached.durable)..=committed(reached.begun);
        let crashes = self.parts.persistence.has_buffer() && self.random.below(STOPS_PER_CRASH) == 0;
        if crashes && let Some((reached, kept)) = core.crash(&mut bench) {
            let observer = Some(self.revived(kept, Rc::default()));
            return Stop { expected: expected(reached), observer, machine: Machine { bench, alarm } };
        }
        let (reached, kept) = core.lose_power(bench, &mut self.random);
        Stop { expected: expected(reached), observer: None, machine: self.revived(kept, alarm) }
    }

    /// A fresh chip over what outlived power, which has recovered.
    fn revived(&self, kept: Kept, alarm: Rc<Alarm>) -> Machine {
        let durable = self.parts.persistence.exists();
        let keys = if durable { self.seed } else { self.seed ^ OTHER_KEYS };
        let machine = Machine::new(&self.parts, keys, self.planted, alarm);
        machine.bench.memory.media().replace(kept.media);
        machine.bench.memory.go_on_with(kept.registers.clone());
        if durable {
            machine.bench.memory.carry(kept.shown);
        }
        let verbs = machine.at_once();
        run_now(machine.bench.scheme.recover(&verbs, &kept.registers));
        machine
    }

    /// What the program finds: so many operations, all that it was asked for; or how it fell.
    fn judge(&self, machine: &Machine, stop: &Stop) -> Result<u64, (Verdict, String)> {
        let (least, most) = (*stop.expected.start(), *stop.expected.end());
        let why = if stop.observer.is_some() { "the program crashed" } else { "power failed" };
        let committed = match (least, most) {
            (1, 1) => "1 operation".to_owned(),
            _ if least == most => format!("{least} operations"),
            _ => format!("{least} to {most} operations"),
        };
        let said = |what: String| format!("{why} when {committed} had been committed; {what}");
        if let Some(fault) = machine.alarm.0.take() {
            return Err((Verdict::Unrecoverable, said(format!("the chip refused memory: {fault}"))));
        }
        let (operations, held) = self.script.recover(&mut |line| machine.read(line)).map_err(|damage| {
            let verdict = match damage {
                Damage::Refused(_) => Verdict::Unrecoverable,
                Damage::Inconsistent(_) => Verdict::Garbled,
            };
            (verdict, said(format!("its recovery says: {damage}")))
        })?;
        if operations < least {
            return Err((Verdict::Stale, said(format!("its recovery finds {operations}"))));
        }
        if operations > most {
            return Err((Verdict::Garbled, said(format!("its recovery finds {operations}"))));
        }
        if let Some(wrong) = wrong_among(&held, operations, |number| self.script.asked_for(number)) {
            return Err((Verdict::Garbled, said(wrong)));
        }
        match machine.bench.memory.keystream_reuse() {
            Some(_) => Err((Verdict::Leaked, said("a pad had hidden two texts".to_owned()))),
            None => Ok(operations),
        }
    }
}

/// What is wrong with what a program holds of so many operations, if anything: one is not where it was, or not what was asked for.
/// An operation says its number itself, and if that were all, one in another's place would be compared with what it had been.
fn wrong_among(held: &[Held], operations: u64, asked_for: impl Fn(u64) -> Vec<u64>) -> Option<String> {
    let (first, last) = (held.first()?.number, held.last()?.number);
    if let Some((number, held)) = (first..).zip(held).find(|(number, held)| held.number != *number) {
        return Some(format!("operation {} is where {number} was", held.number));
    }
    if last + 1 < operations {
        return Some(format!("its recovery finds {operations}, and holds none behind operation {last}"));
    }
    let wrong = held.iter().find(|held| held.words != asked_for(held.number))?;
    Some(format!("operation {} is not what was asked for", wrong.number))
}

impl Machine {
    /// One whose alarms go there.
    fn new(parts: &Parts, seed: u64, planted: Planted, alarm: Rc<Alarm>) -> Machine {
        Machine { bench: Bench::facing(alarm.clone(), parts, (PROGRAM_LINES, true), seed, planted), alarm }
    }

    fn at_once(&self) -> AtOnce {
        AtOnce::new(&self.bench.memory)
    }

    fn read(&self, line: LineAddr) -> Option<Line> {
        let verbs = self.at_once();
        run_now(self.bench.scheme.read(&verbs, line));
        verbs.take_released().map(|plaintext| plaintext.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Choice, Step};
    use super::*;

    fn script(name: &str, seed: u64) -> Script {
        Script::of(&Choice { name: name.to_owned(), settings: Default::default() }, seed).unwrap()
    }

    /// What the judge of a program says of a memory where all steps of a script are durable, if so many operations may be there.
    fn judged(judge: &Script, durable: &Script, expected: RangeInclusive<u64>) -> Result<u64, (Verdict, String)> {
        let life = Life::new(&catalogue::design("secpb-cobcm").unwrap(), judge, 0, Planted::NONE);
        let machine = life.first_machine();
        let (scheme, verbs) = (&machine.bench.scheme, machine.at_once());
        for (line, content) in durable.steps.iter().filter_map(Step::stored) {
            run_now(scheme.write(&verbs, line, &content));
        }
        let stop = Stop { expected, observer: None, machine };
        life.judge(&stop.machine, &stop)
    }

    #[test]
    fn the_judge_takes_as_many_operations_as_were_committed_no_fewer_and_no_more() {
        for name in ["log", "btree"] {
            let script = script(name, 3);
            let all = script.operations() as u64;
            let judged = |expected| judged(&script, &script, expected);
            let found = |committed: &str| {
                format!("power failed when {committed} operations had been committed; its recovery finds {all}")
            };
            assert_eq!((judged(all..=all), judged(0..=all + 1)), (Ok(all), Ok(all)), "{name}");
            assert!(judged(1..=1).unwrap_err().1.contains("when 1 operation had been committed"));
            assert_eq!(judged(0..=all - 1), Err((Verdict::Garbled, found("0 to 47"))), "{name}");
            assert_eq!(judged(all + 1..=all + 1), Err((Verdict::Stale, found("49"))), "{name}");
        }
    }

    /// Memory is whole and consistent, and was written by the same program with other inputs. A log finds its records in it; a
    /// tree would not, since its pointers are addresses, which are drawn with the inputs.
    #[test]
    fn the_judge_compares_what_is_held_with_what_was_asked_for() {
        let (verdict, story) = judged(&script("log", 3), &script("log", 4), 0..=48).unwrap_err();
        assert!(verdict == Verdict::Garbled && story.ends_with("is not what was asked for"), "{story}");
    }

    #[test]
    fn what_is_held_must_have_the_numbers_of_the_last_operations_in_their_order() {
        let asked_for = |number: u64| vec![100 + number];
        let wrong = |numbers: &[u64], operations| {
            let held: Vec<Held> =
                numbers.iter().map(|number| Held { number: *number, words: asked_for(*number) }).collect();
            wrong_among(&held, operations, asked_for)
        };
        assert_eq!((wrong(&[], 7), wrong(&[5, 6], 7), wrong(&[0, 1, 2], 2)), (None, None, None));
        assert_eq!(wrong(&[6, 5], 6).as_deref(), Some("operation 5 is where 7 was"));
        assert_eq!(wrong(&[4, 6], 7).as_deref(), Some("operation 6 is where 5 was"));
        assert_eq!(wrong(&[4, 5], 7).as_deref(), Some("its recovery finds 7, and holds none behind operation 5"));
        let other = [Held { number: 6, words: asked_for(5) }];
        assert_eq!(wrong_among(&other, 7, asked_for).as_deref(), Some("operation 6 is not what was asked for"));
    }

    #[test]
    fn the_ledger_of_a_life_goes_over_its_losses_as_far_as_its_keys_do() {
        let script = script("btree", 3);
        let pads = |under: &str| {
            let mut life = Life::new(&catalogue::design(under).unwrap(), &script, 0, Planted::NONE);
            let machine = life.first_machine();
            let pads = |machine: &Machine| machine.bench.memory.ledger().unwrap().pads();
            let before = pads(&machine);
            (before, pads(&life.until_it_stops(machine, 0).machine))
        };
        for under in ["secpb-cobcm", "secure-eadr", "plp-sp"] {
            let (before, after) = pads(under);
            assert!(0 < before && before < after, "{under}: {before}, {after}");
        }
        let (before, after) = pads("sc64-bmt");
        assert!(before > 0 && after == 0, "other keys make other pads: {before}, {after}");
    }

    /// Which operations are committed, the core says; memory is then as new.
    #[test]
    fn under_epochs_a_committed_operation_that_memory_has_lost_is_stale() {
        let script = script("log", 3);
        let mut life = Life::new(&catalogue::design("plp-coalesced").unwrap(), &script, 0, Planted::NONE);
        let verdicts = (0..8).map(|_| {
            let machine = life.first_machine();
            let stop = life.until_it_stops(machine, 0);
            let judged = life.judge(&life.first_machine(), &stop);
            (*stop.expected.start(), judged.map_err(|(verdict, _)| verdict))
        });
        let verdicts: Vec<_> = verdicts.collect();
        assert!(verdicts.iter().any(|(committed, _)| *committed > 0), "{verdicts:?}");
        for (committed, judged) in verdicts {
            assert_eq!(judged, if committed > 0 { Err(Verdict::Stale) } else { Ok(0) });
        }
    }
}
