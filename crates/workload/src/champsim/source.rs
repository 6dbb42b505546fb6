//! Turns trace records into the stream that the machine reads.
//!
//! A trace contains the registers and addresses of an instruction, but not its operation. Each record becomes a block
//! of one instruction. The source declares the block at the first record with its address and shape:
//!
//! * an instruction with an access is only a load or a store, and waits for all its source registers;
//! * an instruction that writes the instruction pointer is a branch ([`InstructionRecord::flow`]), any other one an addition;
//! * an access has eight bytes and is aligned downwards, so that it does not cross a line;
//! * the length of an instruction is the distance to the next one, or four if this distance is not a valid length.
//!
//! A trace contains no values either. Stores write words drawn from the seed, and each line of memory has drawn content
//! at its first access: [`Values::Seeded`](crate::Values) marks the program.

use super::record::{INSTRUCTION_POINTER, InstructionRecord, STACK_POINTER};
use crate::drawn::SeededContent;
use crate::error::WorkloadError;
use crate::source::{Finish, Origin, Source};
use crate::stream::{Batch, Block, BlockId, Strand};
use arrayvec::ArrayVec;
use isa::{Class, Flow, Instruction, Reg};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use units::VirtAddr;
use wire::word::{self, Birth, Control};

/// Words after which the source returns a batch.
const BATCH_WORDS: usize = 8 << 10;
/// Length of the longest instruction of the architecture, in bytes.
const LENGTH_MAX: u64 = 15;
/// Length of an instruction if the trace does not determine it, in bytes.
const LENGTH: u64 = 4;

/// Properties that distinguish two blocks at one address.
#[derive(Clone, Copy, PartialEq, Eq)]
struct BlockShape {
    length: u8,
    flow: Flow,
    destinations: [u8; 2],
    sources: [u8; 4],
    memory: [u8; 2],
}

/// The records of a trace, in the order of its execution.
pub trait Trace: Iterator<Item = Result<InstructionRecord, WorkloadError>> + Send {
    /// Number of restarts at the end of the trace.
    fn restarts(&self) -> u64;
}

/// A trace as a source of batches.
pub struct ChampsimSource<R> {
    records: R,
    origin: Origin,
    /// Next record; it determines the length of the one before.
    next_record: Option<InstructionRecord>,
    started: bool,
    /// First block at each address. Nearly all addresses have only one, so one look-up by address finds it.
    first: FxHashMap<u64, (BlockShape, BlockId)>,
    /// Further blocks at each address.
    further: FxHashMap<u64, Vec<(BlockShape, BlockId)>>,
    declared: u32,
    names: RegisterNames,
    drawn: SeededContent,
}

impl<R: Trace> ChampsimSource<R> {
    /// Returns a source for the records. It draws the content of memory and the stored words from `seed`.
    pub fn new(records: R, origin: Origin, seed: u64) -> ChampsimSource<R> {
        ChampsimSource {
            records,
            origin,
            next_record: None,
            started: false,
            first: FxHashMap::default(),
            further: FxHashMap::default(),
            declared: 0,
            names: RegisterNames::default(),
            drawn: SeededContent::new(seed),
        }
    }

    fn emit(&mut self, record: &InstructionRecord, next: Option<u64>, batch: &mut Batch) {
        let id = self.block(record, next, batch);
        batch.words.push(word::block(id, 1));
        for address in record.loads.into_iter().filter(|address| *address != 0) {
            let address = self.drawn.touch(address, batch);
            batch.words.push(word::access(false, 3, false, 0, address));
        }
        for address in record.stores.into_iter().filter(|address| *address != 0) {
            let address = self.drawn.touch(address, batch);
            self.drawn.store(address, batch);
        }
    }

    /// Returns the number of the record's block, and declares the block if it is new.
    fn block(&mut self, record: &InstructionRecord, next: Option<u64>, batch: &mut Batch) -> u32 {
        let flow = record.flow();
        let shape = BlockShape {
            length: length(record, flow, next),
            flow,
            destinations: record.destinations,
            sources: record.sources,
            memory: [record.loads.iter(), record.stores.iter()].map(|list| list.filter(|a| **a != 0).count() as u8),
        };
        let new = (shape, BlockId(self.declared));
        let (known, id) = *self.first.entry(record.pc).or_insert(new);
        let id = if known == shape { id } else { self.further_block(record.pc, new) };
        if id.0 < self.declared {
            return id.0;
        }
        self.declared += 1;
        let instructions = vec![self.names.instruction(record.pc, &shape)];
        batch.new_blocks.push(Arc::new(Block { id, instructions, code: Box::default() }));
        id.0
    }

    /// Returns the block of another shape at an address: a known block, or else this new one.
    fn further_block(&mut self, pc: u64, new: (BlockShape, BlockId)) -> BlockId {
        let here = self.further.entry(pc).or_default();
        let known = here.iter().find(|(shape, _)| *shape == new.0).map(|(_, id)| *id);
        known.unwrap_or_else(|| {
            here.push(new);
            new.1
        })
    }
}

impl<R: Trace> Source for ChampsimSource<R> {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        let mut batch = Batch { strand: Strand::default(), ..Batch::default() };
        if !std::mem::replace(&mut self.started, true) {
            let beginning =
                [word::control(Control::Process, Birth::First as u8, 0), word::control(Control::Thread, 0, 0)];
            batch.words.extend(beginning);
            self.next_record = self.records.next().transpose()?;
        }
        while batch.words.len() < BATCH_WORDS {
            let Some(record) = self.next_record.take() else { break };
            self.next_record = self.records.next().transpose()?;
            let next = self.next_record.map(|next| next.pc);
            self.emit(&record, next, &mut batch);
        }
        self.origin.restarts = self.records.restarts();
        if batch.words.is_empty() {
            self.origin.finish = Finish::Exited(0);
            return Ok(None);
        }
        Ok(Some(Arc::new(batch)))
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// Returns the length of the instruction in bytes. An instruction that follows itself gets length zero, which separates
/// its executions. A taken branch gets a length that does not end at its target.
fn length(record: &InstructionRecord, flow: Flow, next: Option<u64>) -> u8 {
    let way = next.map_or(LENGTH, |next| next.wrapping_sub(record.pc));
    let taken = flow != Flow::Next && (flow != Flow::Conditional || record.taken);
    match (taken, way) {
        (true, LENGTH) => LENGTH as u8 - 1,
        (false, 0..=LENGTH_MAX) => way as u8,
        _ => LENGTH as u8,
    }
}

/// Our names of ChampSim's registers, assigned at the first use of each.
struct RegisterNames {
    names: [Option<Reg>; 256],
    given: u8,
}

impl Default for RegisterNames {
    fn default() -> RegisterNames {
        let mut names = [None; 256];
        names[usize::from(STACK_POINTER)] = Some(RegisterNames::STACK_POINTER);
        names[usize::from(INSTRUCTION_POINTER)] = Some(RegisterNames::INSTRUCTION_POINTER);
        RegisterNames { names, given: 0 }
    }
}

impl RegisterNames {
    const STACK_POINTER: Reg = Reg(Reg::GENERAL.0 + 4);
    /// In ChampSim, branches depend on each other through the instruction pointer.
    const INSTRUCTION_POINTER: Reg = Reg(Reg::COUNT as u8 - 1);

    /// Returns the name of a register. The flags get a name like any register, because the trace does not show that
    /// their writer is a comparison. When all names are assigned, further registers share the last one.
    fn name(&mut self, register: u8) -> Reg {
        if let Some(name) = self.names[usize::from(register)] {
            return name;
        }
        while [RegisterNames::STACK_POINTER, Reg::FLAGS].contains(&Reg(self.given)) {
            self.given += 1;
        }
        let name = Reg(self.given.min(RegisterNames::INSTRUCTION_POINTER.0 - 1));
        self.given = name.0 + 1;
        self.names[usize::from(register)] = Some(name);
        name
    }

    fn list(&mut self, registers: &[u8]) -> ArrayVec<Reg, 4> {
        registers.iter().filter(|register| **register != 0).map(|&register| self.name(register)).collect()
    }

    fn instruction(&mut self, pc: u64, shape: &BlockShape) -> Instruction {
        let sources = self.list(&shape.sources);
        let memory = shape.memory != [0, 0];
        let (address_sources, sources) = if memory { (sources, ArrayVec::new()) } else { (ArrayVec::new(), sources) };
        Instruction {
            pc: VirtAddr(pc),
            bytes: shape.length,
            class: if shape.flow == Flow::Next { Class::IntAlu } else { Class::Branch },
            flow: shape.flow,
            persist: Default::default(),
            address_sources,
            sources,
            destinations: self.list(&shape.destinations),
        }
    }
}
