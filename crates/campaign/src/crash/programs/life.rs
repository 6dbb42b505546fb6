//! The life of a program and of its memory: power fails repeatedly, and each time the program continues with the
//! recovered state.
//!
//! A machine over blank memory gets the program's first content. The core stores until power fails. A fresh chip
//! recovers from the memory that is left, and the program's recovery reads this memory. The program then continues
//! after the last operation found, over the same memory, until all operations are done. Every second life has tiny
//! metadata caches, so that metadata leaves the chip all the time. In every fourth life the first counters are just
//! before their overflow.
//!
//! If stores are durable in a persist buffer, the program also crashes while the machine continues. The machine admits the
//! program's recovery when the buffer has drained. The recovery must find the same operations in memory only, which a fresh chip
//! reads, and through the machine.
//!
//! The ledger of keystream survives a loss if the keys do, with all keystream that had left the chip by then.

use super::core::{Core, DurableState, Reached};
use super::script::Script;
use crate::crash::bench::Bench;
use crate::crash::revival::OTHER_KEYS;
use crate::crash::workload::PROGRAM_LINES;
use crate::victim::with_tiny_caches;
use catalogue::{Design, Verdict};
use protection::counter::Age;
use protection::design::{Parts, Seeds};
use protection::execution::{AtOnce, Receiver, Untimed, run_now};
use protection::planted::PlantedBug;
use protection::verbs::{Fault, Plaintext};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};
use workload::kernels::durable::{Damage, RecoveredOperation};

/// Upper bound of the operations until power fails.
const OPERATIONS_MAX: u64 = 4;
/// Upper bound of the events from the drawn step until power fails.
const EVENTS_MAX: u64 = 64;
/// One stop in this many is a crash of the program without a loss of power, where stores are durable in a persist buffer.
const STOPS_PER_CRASH: u64 = 4;
/// Separates the random numbers of a life from those of its program.
const LIFE: u64 = 0x11fe;

/// Records the chip's first alarm and ignores all other output.
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

/// Outcome of a life.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lived {
    /// Number of losses of power.
    pub losses: u64,
    /// Number of crashes of the program while the machine continued.
    pub crashes: u64,
    /// Operations that recovery found again, each counted once.
    pub operations: u64,
    /// True if the latest stop was a crash of the program.
    ended_in_crash: bool,
    /// Verdict and events of the last stop, if the life ended badly.
    pub fall: Option<(Verdict, String)>,
}

impl Lived {
    /// Returns the losses that a replay must request to reach this end: a crash precedes the loss that would be next.
    pub fn losses_to_its_end(&self) -> u64 {
        self.losses + u64::from(self.ended_in_crash)
    }
}

/// A life under a design.
pub struct Life<'a> {
    parts: Parts,
    script: &'a Script,
    seed: u64,
    /// Number of starts after the first.
    starts: u64,
    planted: PlantedBug,
    random: Random,
}

/// State that the program's recovery finds after a stop.
struct CrashStop {
    /// Numbers of operations that recovery may find.
    expected: RangeInclusive<u64>,
    /// After a crash of the program, a fresh chip over a copy of memory, which only reads.
    observer: Option<PoweredMachine>,
    /// Machine with which the program continues. After a loss of power, a fresh chip that has recovered.
    machine: PoweredMachine,
}

/// A machine that is switched on.
struct PoweredMachine {
    bench: Bench,
    alarm: Rc<Alarm>,
}

impl<'a> Life<'a> {
    /// Creates a life at its beginning.
    pub fn new(design: &Design, script: &'a Script, seed: u64, planted: PlantedBug) -> Life<'a> {
        let tiny = seed % 2 == 1;
        let parts = if tiny { with_tiny_caches(&design.parts) } else { design.parts.clone() };
        Life { parts, script, seed, starts: 0, planted, random: Random::for_purpose(seed, LIFE) }
    }

    /// Lives until the program has done all its operations, a loss is not survived, or power has failed `losses` times.
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

    /// Returns a machine over blank memory with the initial content of the program written.
    fn first_machine(&self) -> PoweredMachine {
        let machine = PoweredMachine::new(&self.parts, self.seed, self.planted, Rc::default());
        let (scheme, at_once) = (&machine.bench.scheme, machine.at_once());
        if self.seed % 4 == 3 {
            run_now(scheme.age(&at_once.verbs(), LineAddr(0), Age::BeforeRenewal));
        }
        self.script.before.iter().for_each(|(line, content)| run_now(scheme.write(&at_once.verbs(), *line, content)));
        machine
    }

    /// Runs the program behind the operations that are done, until power fails or it crashes.
    fn until_it_stops(&mut self, machine: PoweredMachine, done: usize) -> CrashStop {
        let first = self.script.resumed_after(done);
        let end = self.script.behind(done + self.random.below(OPERATIONS_MAX) as usize).max(first);
        let step = self.random.below((end - first) as u64 + 1) as usize;
        let drawn = self.random.below(EVENTS_MAX);
        // A write at the controller may take more events than that. Behind the last step all writes complete, or no life would
        // end.
        let is_last = first + step == self.script.steps.len() && !self.parts.persistence.has_battery();
        let events = if is_last { u64::MAX } else { drawn };
        let PoweredMachine { mut bench, alarm } = machine;
        let steps = &self.script.steps[first..];
        let core = Core::start(&bench, &self.parts.persistence, steps, &mut self.random);
        bench.run_until(|| core.begun() >= step || core.is_idle());
        let left = Cell::new(events);
        // Called before the first event, after each event, and again at the end.
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
            return CrashStop { expected: expected(reached), observer, machine: PoweredMachine { bench, alarm } };
        }
        let (reached, kept) = core.lose_power(bench, &mut self.random);
        CrashStop { expected: expected(reached), observer: None, machine: self.revived(kept, alarm) }
    }

    /// Returns a fresh chip over the state that outlived power, after its recovery.
    fn revived(&mut self, kept: DurableState, alarm: Rc<Alarm>) -> PoweredMachine {
        let durable = self.parts.persistence.exists();
        self.starts += 1;
        let seeds =
            if durable { Seeds::started_again(self.seed, self.starts) } else { (self.seed ^ OTHER_KEYS).into() };
        let machine = PoweredMachine::new(&self.parts, seeds, self.planted, alarm);
        machine.bench.memory.media().replace(kept.media);
        machine.bench.memory.go_on_with(kept.registers.clone());
        if durable {
            machine.bench.memory.carry(kept.shown);
        }
        let at_once = machine.at_once();
        run_now(machine.bench.scheme.recover(&at_once.verbs(), &kept.registers));
        machine
    }

    /// Returns the number of operations that the program finds, if they are as requested; else the verdict and the reason.
    fn judge(&self, machine: &PoweredMachine, stop: &CrashStop) -> Result<u64, (Verdict, String)> {
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
            (verdict, said(format!("its recovery reports: {damage}")))
        })?;
        if operations < least {
            return Err((Verdict::Stale, said(format!("its recovery finds {operations}"))));
        }
        if operations > most {
            return Err((Verdict::Garbled, said(format!("its recovery finds {operations}"))));
        }
        if let Some(wrong) = wrong_among(&held, operations, |number| self.script.expected_words(number)) {
            return Err((Verdict::Garbled, said(wrong)));
        }
        match machine.bench.memory.keystream_reuse() {
            Some(_) => Err((Verdict::Leaked, said("a pad had hidden two texts".to_owned()))),
            None => Ok(operations),
        }
    }
}

/// Describes the error in the operations that a program holds, if any: one is out of order, or has other content than requested.
/// Each operation contains its number. Without the check of the order, a misplaced operation would be compared with its original.
fn wrong_among(
    held: &[RecoveredOperation],
    operations: u64,
    expected_words: impl Fn(u64) -> Vec<u64>,
) -> Option<String> {
    let (first, last) = (held.first()?.number, held.last()?.number);
    if let Some((number, held)) = (first..).zip(held).find(|(number, held)| held.number != *number) {
        return Some(format!("operation {} is in the place of {number}", held.number));
    }
    if last + 1 < operations {
        return Some(format!("its recovery finds {operations}, but holds only operations up to {last}"));
    }
    let wrong = held.iter().find(|held| held.words != expected_words(held.number))?;
    Some(format!("operation {} differs from the requested one", wrong.number))
}

impl PoweredMachine {
    /// Creates a machine that reports its faults to this alarm.
    fn new(parts: &Parts, seeds: impl Into<Seeds>, planted: PlantedBug, alarm: Rc<Alarm>) -> PoweredMachine {
        PoweredMachine { bench: Bench::facing(alarm.clone(), parts, PROGRAM_LINES, true, seeds, planted), alarm }
    }

    fn at_once(&self) -> AtOnce {
        AtOnce::new(&self.bench.memory)
    }

    fn read(&self, line: LineAddr) -> Option<Line> {
        let at_once = self.at_once();
        run_now(self.bench.scheme.read(&at_once.verbs(), line));
        at_once.take_released().map(|plaintext| plaintext.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Choice, ScriptStep};
    use super::*;

    fn script(name: &str, seed: u64) -> Script {
        Script::of(&Choice { name: name.to_owned(), settings: Default::default() }, seed).unwrap()
    }

    /// Verdict of a program's judge on a memory in which all steps of a script are durable, for a range of expected operations.
    fn judged(judge: &Script, durable: &Script, expected: RangeInclusive<u64>) -> Result<u64, (Verdict, String)> {
        let life = Life::new(&catalogue::design("secpb-cobcm").unwrap(), judge, 0, PlantedBug::NONE);
        let machine = life.first_machine();
        let (scheme, at_once) = (&machine.bench.scheme, machine.at_once());
        for (line, content) in durable.steps.iter().filter_map(ScriptStep::stored) {
            run_now(scheme.write(&at_once.verbs(), line, &content));
        }
        let stop = CrashStop { expected, observer: None, machine };
        life.judge(&stop.machine, &stop)
    }

    #[test]
    fn the_checker_accepts_a_recovery_only_if_it_finds_the_committed_number_of_operations() {
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

    /// Memory is consistent, and the same program wrote it with other inputs. A log finds its records in it. A tree would not,
    /// since its pointers are addresses, which are drawn with the inputs.
    #[test]
    fn the_checker_reports_recovered_log_records_of_other_inputs_as_garbled() {
        let (verdict, story) = judged(&script("log", 3), &script("log", 4), 0..=48).unwrap_err();
        assert!(verdict == Verdict::Garbled && story.ends_with("differs from the requested one"), "{story}");
    }

    #[test]
    fn recovered_log_records_must_be_the_last_committed_operations_in_order() {
        let expected_words = |number: u64| vec![100 + number];
        let wrong = |numbers: &[u64], operations| {
            let held: Vec<RecoveredOperation> = numbers
                .iter()
                .map(|number| RecoveredOperation { number: *number, words: expected_words(*number) })
                .collect();
            wrong_among(&held, operations, expected_words)
        };
        assert_eq!((wrong(&[], 7), wrong(&[5, 6], 7), wrong(&[0, 1, 2], 2)), (None, None, None));
        assert_eq!(wrong(&[6, 5], 6).as_deref(), Some("operation 5 is in the place of 7"));
        assert_eq!(wrong(&[4, 6], 7).as_deref(), Some("operation 6 is in the place of 5"));
        assert_eq!(wrong(&[4, 5], 7).as_deref(), Some("its recovery finds 7, but holds only operations up to 5"));
        let other = [RecoveredOperation { number: 6, words: expected_words(5) }];
        assert_eq!(
            wrong_among(&other, 7, expected_words).as_deref(),
            Some("operation 6 differs from the requested one")
        );
    }

    #[test]
    fn the_ledger_of_used_pads_survives_a_loss_of_power_only_if_the_keys_do() {
        let script = script("btree", 3);
        let pads = |under: &str| {
            let mut life = Life::new(&catalogue::design(under).unwrap(), &script, 0, PlantedBug::NONE);
            let machine = life.first_machine();
            let pads = |machine: &PoweredMachine| machine.bench.memory.ledger().unwrap().pads();
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

    /// The core decides which operations are committed; memory is then replaced by a new one.
    #[test]
    fn under_epoch_persistency_a_committed_operation_missing_from_memory_is_stale() {
        let script = script("log", 3);
        let mut life = Life::new(&catalogue::design("plp-coalesced").unwrap(), &script, 0, PlantedBug::NONE);
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
