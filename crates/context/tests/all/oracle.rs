//! Random sequences of operations against a naive oracle: lists, and a map from numbers to contexts.

use crate::common::{bytes, initial, processor, register_set, registers};
use context::planted::PlantedContextBug;
use context::{
    Context, ContextConfig, ContextError, ContextUnit, InitialContext, Location, ProcessNumber, Register, RegisterFile,
    seal_initial,
};
use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use units::VirtAddr;
use units::random::Random;

const SEQUENCES: u64 = 400;
const STEPS: usize = 150;
const VENDORS: u64 = 4;
/// Kinds of refusals that admissions, resumes, signals, exports and imports of honest bytes or modified ones meet.
const REFUSALS: usize = 10;

/// Oracle's copy of a context.
#[derive(Clone)]
struct Known {
    process: u64,
    state: InitialContext,
    visible: Vec<Register>,
    interrupted: Option<u64>,
}

impl Known {
    fn is(&self, context: &Context) -> bool {
        context.process() == ProcessNumber(self.process)
            && *context.registers() == self.state.registers
            && *context.keys() == self.state.keys
            && *context.root() == self.state.root
            && context.handler() == self.state.handler
            && context.visible().iter().eq(self.visible.iter().copied())
            && context.interrupted() == self.interrupted.map(VirtAddr)
    }

    fn seen(&self) -> RegisterFile {
        let mut seen = RegisterFile::default();
        for register in &self.visible {
            seen.get_mut(*register).copy_from_slice(self.state.registers.get(*register));
        }
        seen
    }

    fn resumed(mut self, from_system: &RegisterFile) -> Known {
        for register in std::mem::take(&mut self.visible) {
            self.state.registers.get_mut(register).copy_from_slice(from_system.get(register));
        }
        self
    }
}

/// The oracle's copy of a unit, next to the unit.
struct Pair {
    unit: ContextUnit,
    running: Option<Known>,
    buffers: Vec<Option<Known>>,
    outside: HashMap<u64, Known>,
    entries: usize,
    /// All contexts that ever left, for replays.
    exported: Vec<Vec<u8>>,
    admitted: u64,
    refused: HashSet<Discriminant<ContextError>>,
    random: Random,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let mut random = Random::new(seed);
        let (buffers, entries) = (1 + random.below(4) as usize, random.below(6) as usize);
        let config = ContextConfig { buffers, outside_entries: entries, planted: PlantedContextBug::NONE };
        let unit = ContextUnit::boot(config, processor(), seed).unwrap();
        let buffers = vec![None; buffers];
        let (outside, exported) = (HashMap::new(), Vec::new());
        Pair { unit, running: None, buffers, outside, entries, exported, admitted: 0, refused: HashSet::new(), random }
    }

    /// Notes the kind of a refusal, and returns the result without its value, to be compared.
    fn noted<T>(&mut self, expected: &Result<T, ContextError>) -> Result<(), ContextError> {
        self.refused.extend(expected.as_ref().err().map(discriminant));
        expected.as_ref().map(|_| ()).map_err(|error| *error)
    }

    fn some_buffer(&mut self) -> usize {
        self.random.below(self.buffers.len() as u64 + 1) as usize
    }

    fn held(&self, buffer: usize) -> Result<Known, ContextError> {
        let buffers = self.buffers.len();
        let held = self.buffers.get(buffer).ok_or(ContextError::NoSuchBuffer { buffer, buffers })?;
        held.clone().ok_or(ContextError::BufferEmpty { buffer })
    }

    fn free(&self) -> Result<usize, ContextError> {
        let buffers = self.buffers.len();
        let mut free: Vec<usize> = (0..buffers).filter(|buffer| self.buffers[*buffer].is_none()).collect();
        if self.running.is_some() && !free.is_empty() {
            free.remove(0);
        }
        free.first().copied().ok_or(ContextError::NoFreeBuffer { buffers })
    }

    fn admit(&mut self, vendors: &[(InitialContext, Vec<u8>)]) {
        let (state, sealed) = &vendors[self.random.below(vendors.len() as u64) as usize];
        let expected = self.free();
        assert_eq!(self.unit.admit(sealed), expected);
        let _ = self.noted(&expected);
        if let Ok(buffer) = expected {
            let (process, state) = (self.admitted, state.clone());
            self.buffers[buffer] = Some(Known { process, state, visible: Vec::new(), interrupted: None });
            self.admitted += 1;
        }
    }

    fn interrupt(&mut self) {
        let found = self.unit.interrupt();
        let Some(known) = self.running.take() else {
            return assert_eq!(found, Err(ContextError::NothingRunning));
        };
        let frame = found.unwrap();
        assert_eq!(frame.registers, known.seen());
        assert!(self.buffers[frame.buffer].replace(known).is_none());
    }

    fn resume(&mut self) {
        let (buffer, from_system) = (self.some_buffer(), registers(&mut self.random));
        let expected = match &self.running {
            Some(running) => Err(ContextError::AlreadyRunning { process: ProcessNumber(running.process) }),
            None => self.held(buffer),
        };
        assert_eq!(self.unit.resume(buffer, &from_system), self.noted(&expected));
        if let Ok(known) = expected {
            self.buffers[buffer] = None;
            self.running = Some(known.resumed(&from_system));
        }
    }

    fn signal(&mut self) {
        let (buffer, from_system) = (self.some_buffer(), registers(&mut self.random));
        let held = match &self.running {
            Some(running) => Err(ContextError::AlreadyRunning { process: ProcessNumber(running.process) }),
            None => self.held(buffer),
        };
        let expected = held.and_then(|known| {
            let process = ProcessNumber(known.process);
            match (known.state.handler, known.interrupted) {
                (None, _) => Err(ContextError::NoHandler { process }),
                (_, Some(_)) => Err(ContextError::SignalPending { process }),
                (Some(handler), None) => Ok((known, handler)),
            }
        });
        assert_eq!(self.unit.signal(buffer, &from_system), self.noted(&expected));
        if let Ok((known, handler)) = expected {
            let mut known = known.resumed(&from_system);
            known.interrupted = Some(known.state.registers.word(Register::RIP));
            known.state.registers.set_word(Register::RIP, handler.0);
            self.buffers[buffer] = None;
            self.running = Some(known);
        }
    }

    fn export(&mut self) {
        let (buffer, lines) = (self.some_buffer(), self.random.below(8).saturating_sub(6) as usize);
        let expected = self.held(buffer).and_then(|known| match known.process {
            process if lines > 0 => Err(ContextError::LockedLines { process: ProcessNumber(process), lines }),
            _ if self.outside.len() == self.entries => Err(ContextError::TableFull { entries: self.entries }),
            _ => Ok(known),
        });
        let found = self.unit.export(buffer, lines);
        let Ok(known) = expected else {
            return assert_eq!(found.map(|_| ()), self.noted(&expected));
        };
        let number = self.exported.len() as u64;
        self.exported.push(found.unwrap());
        self.buffers[buffer] = None;
        self.outside.insert(number, known);
    }

    /// Imports any context that ever left. One in four is modified, as by an attacker.
    fn import(&mut self) {
        if self.exported.is_empty() {
            return;
        }
        let outside: Vec<u64> = self.unit.outside().collect();
        let any = self.random.below(self.exported.len() as u64);
        let number = if self.random.below(2) == 0 { any } else { self.random.pick(&outside).unwrap_or(any) };
        let mut context = self.exported[number as usize].clone();
        let modified = self.random.below(4) == 0;
        if modified {
            let byte = 8 + self.random.below(context.len() as u64 - 8) as usize;
            context[byte] ^= 1 << self.random.below(8);
        }
        let expected = self.free().and_then(|buffer| match self.outside.contains_key(&number) {
            _ if modified => Err(ContextError::NotAuthentic),
            false => Err(ContextError::NotOutside { number }),
            true => Ok(buffer),
        });
        assert_eq!(self.unit.import(&context), expected);
        let _ = self.noted(&expected);
        if let Ok(buffer) = expected {
            self.buffers[buffer] = self.outside.remove(&number);
        }
    }

    /// The running process executes an instruction.
    fn execute(&mut self) {
        let (file, visible) = (registers(&mut self.random), register_set(&mut self.random));
        let (choice, word) = (self.random.below(4), self.random.word());
        let (Ok(context), Some(known)) = (self.unit.running_mut(), &mut self.running) else {
            return assert!(self.running.is_none() && self.unit.running().is_err());
        };
        match choice {
            0 => {
                *context.registers_mut() = file.clone();
                known.state.registers = file;
            }
            1 => {
                context.leave_visible(visible);
                known.visible = visible.iter().collect();
            }
            2 => {
                let handler = (word % 3 > 0).then_some(VirtAddr(word));
                context.register_handler(handler);
                known.state.handler = handler;
            }
            _ => {
                let process = ProcessNumber(known.process);
                let expected = known.interrupted.take().ok_or(ContextError::NoSignalPending { process });
                assert_eq!(context.return_from_signal(), expected.map(|_| ()));
                expected.into_iter().for_each(|rip| known.state.registers.set_word(Register::RIP, rip));
            }
        }
    }

    /// A permutation changes the root of any process.
    fn permute(&mut self) {
        if self.admitted == 0 {
            return;
        }
        let process = self.random.below(self.admitted);
        let root = bytes(&mut self.random);
        let on_chip = self.buffers.iter_mut().chain([&mut self.running]).flatten();
        let known = on_chip.into_iter().find(|known| known.process == process);
        let number = ProcessNumber(process);
        let found = self.unit.find(number).and_then(|location| {
            assert_eq!(Some(self.unit.keys_of(location)?), known.as_ref().map(|known| &known.state.keys));
            self.unit.set_root(location, root)
        });
        assert_eq!(found, known.as_ref().map(|_| ()).ok_or(ContextError::NotOnChip { process: number }));
        known.into_iter().for_each(|known| known.state.root = root);
    }

    /// The operating system kills a process.
    fn kill(&mut self) {
        let buffer = self.some_buffer();
        match self.random.below(3) {
            0 => {
                let expected = self.held(buffer);
                assert_eq!(self.unit.discard(buffer).err(), expected.as_ref().err().copied());
                expected.into_iter().for_each(|_| self.buffers[buffer] = None);
            }
            1 => assert_eq!(self.unit.end().is_ok(), self.running.take().is_some()),
            _ => {
                let number = self.random.below(self.exported.len() as u64 + 1);
                let expected = self.outside.remove(&number).map(|_| ()).ok_or(ContextError::NotOutside { number });
                assert_eq!(self.unit.forget(number), expected);
            }
        }
    }

    fn compare(&self) {
        let same = |known: &Option<Known>, location| match known {
            Some(known) => known.is(self.unit.context(location).unwrap()),
            None => self.unit.context(location).is_err(),
        };
        assert!(same(&self.running, Location::Running));
        for (buffer, known) in self.buffers.iter().enumerate() {
            assert!(same(known, Location::Buffer(buffer)), "buffer {buffer}");
        }
        let mut outside: Vec<u64> = self.outside.keys().copied().collect();
        outside.sort_unstable();
        assert!(self.unit.outside().eq(outside));
    }
}

#[test]
fn random_sequences_of_context_operations_match_a_naive_model() {
    let mut random = Random::new(50);
    let vendors: Vec<(InitialContext, Vec<u8>)> = (0..VENDORS)
        .map(|seed| {
            let state = initial(&mut random);
            let sealed = seal_initial(&processor().public(), &state, seed).unwrap();
            (state, sealed)
        })
        .collect();
    let (mut imports, mut refused) = (0, HashSet::new());
    for seed in 0..SEQUENCES {
        let mut pair = Pair::new(seed);
        for _ in 0..STEPS {
            let outside = pair.outside.len();
            match pair.random.below(24) {
                0 => pair.admit(&vendors),
                1..4 => pair.interrupt(),
                4..7 => pair.resume(),
                7 => pair.signal(),
                8..13 => pair.export(),
                13..18 => {
                    pair.import();
                    imports += outside - pair.outside.len();
                }
                18..21 => pair.execute(),
                _ if pair.random.below(8) == 0 => pair.kill(),
                _ => pair.permute(),
            }
            pair.compare();
        }
        refused.extend(pair.refused);
    }
    assert!(imports > 1000, "the sequences import too seldom: {imports} times");
    assert_eq!(refused.len(), REFUSALS);
}
