//! Flushes and fences that the program executes as instructions: `CLWB`, `CLFLUSHOPT`, `CLFLUSH`, non-temporal stores,
//! `SFENCE`, `MFENCE`.
//!
//! The recorder sends each as a word of its instruction (`wire::word::Control::{Flush, Fence}`). The line of a flush
//! follows from registers ([`crate::registers`]). Stores past the caches (non-temporal stores) are combined: the
//! recorder sends a flush of their line when the thread stores past the caches to another line, and before a fence. A
//! fence without an earlier flush orders no store, so the recorder does not send it.

use crate::blocks::CodeBlock;
use crate::position::InstructionId;
use crate::qemu::{self, Insn, Tb};
use crate::registers::{RegisterFunctions, registers};
use crate::thread::Thread;
use crate::{block_entered, memory_accessed, recorder, turns};
use libc::{c_uint, c_void};
use std::ptr;
use wire::encoding::{self, Address, Persist, SegmentBase};
use wire::ring::Ring;
use wire::word::{self, Control, LINE_BYTES};

/// Largest index of an instruction in its block to which words can be bound: the words have eight bits for it.
const LAST_BOUND: u16 = u8::MAX as u16;

/// A flushing instruction, as data of its callback. It is never freed, because translated code points to it.
struct FlushInstruction {
    address: Address,
    index: u16,
}

/// Ends the steps of all threads. A copy of the process calls this, because the threads that executed in single steps
/// do not exist in the copy.
pub fn restart() {
    registers().iter().for_each(RegisterFunctions::end_all_steps);
}

/// Instructions of a block that is being translated, and how the block must run for them.
#[derive(Default)]
pub struct FlushWatch {
    /// One more than the index of the last instruction up to which the block must run in steps; zero if the block runs
    /// as a whole.
    steps: u16,
}

impl FlushWatch {
    /// Registers the callbacks of an instruction that flushes, fences or stores past the caches. Returns true if these
    /// callbacks also record the instruction's accesses to memory.
    ///
    /// # Safety
    /// `insn` must be the instruction with these bytes, and QEMU must be translating its block.
    pub unsafe fn watch(&mut self, insn: *mut Insn, pc: u64, bytes: &[u8], instruction: InstructionId) -> bool {
        let Some(persist) = encoding::persist(pc, bytes) else { return false };
        let Some(_) = registers() else { return false };
        let is_bound = instruction.index <= LAST_BOUND;
        // SAFETY: the caller vouches for the instruction; callbacks have the types that QEMU expects.
        unsafe {
            match persist {
                Persist::Flush(address) => {
                    let flush = Box::leak(Box::new(FlushInstruction { address, index: instruction.index }));
                    let data = ptr::from_mut(flush).cast();
                    qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, line_flushed, qemu::NO_REGISTERS, data);
                    if instruction.index > 0 {
                        self.steps = instruction.index + 1;
                    }
                    return false;
                }
                Persist::Fence => {
                    qemu::qemu_plugin_register_vcpu_insn_exec_cb(
                        insn,
                        fence_met,
                        qemu::NO_REGISTERS,
                        instruction.pack(),
                    );
                }
                Persist::Store => {
                    qemu::qemu_plugin_register_vcpu_mem_cb(
                        insn,
                        stored_past_caches,
                        qemu::NO_REGISTERS,
                        qemu::READS_AND_WRITES,
                        instruction.pack(),
                    );
                }
            }
        }
        if !is_bound {
            self.steps = instruction.index + 1;
        }
        persist == Persist::Store
    }

    /// Registers a callback at the start of the block, if the block must run in steps or may be a step. Returns true if
    /// it has registered one.
    ///
    /// # Safety
    /// `tb` must be the block, and QEMU must be translating it.
    pub unsafe fn watch_block(&self, tb: *mut Tb, block: &'static CodeBlock) -> bool {
        let (entered, data): (qemu::EntryCallback, *mut c_void) = match (self.steps, block.instructions) {
            (0, 1) if registers().is_some() => (step_entered, ptr::from_ref(block).cast_mut().cast()),
            (0, _) => return false,
            (steps, _) => (block_met, ptr::from_mut(Box::leak(Box::new(Met { block, steps }))).cast()),
        };
        // SAFETY: the caller vouches for the block; the callbacks have the type that QEMU expects.
        unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_cb(tb, entered, qemu::NO_REGISTERS, data) };
        true
    }
}

/// A block that must run in steps, as data of the callback at its start.
struct Met {
    block: &'static CodeBlock,
    steps: u16,
}

/// Callback at the start of a block with registers to read. If the thread records the block, QEMU runs it again in
/// steps.
extern "C-unwind" fn block_met(vcpu: c_uint, met: *mut c_void) {
    // SAFETY: the callback was registered with a `Met`, which is never freed.
    let met = unsafe { &*met.cast::<Met>() };
    let recorder = recorder();
    let Some(thread) = recorder.thread(vcpu) else { return };
    turns::before_block(recorder.ring(), thread, vcpu, met.block);
    let may_record = thread.recording || thread.must_draw();
    if let Some(registers) = registers().filter(|_| may_record && thread.unfenced.steps == 0) {
        thread.unfenced.steps = met.steps;
        registers.restart(vcpu, met.block.address());
    }
    recorder.enter_block(thread, met.block);
}

/// Callback at the start of a block of one instruction, which may be a step.
extern "C-unwind" fn step_entered(vcpu: c_uint, block: *mut c_void) {
    if let Some(thread) = recorder().thread(vcpu)
        && thread.unfenced.steps > 0
    {
        thread.unfenced.steps -= 1;
        if thread.unfenced.steps == 0 {
            registers().iter().for_each(RegisterFunctions::end_steps);
        }
    }
    block_entered(vcpu, block);
}

extern "C" fn line_flushed(vcpu: c_uint, flush: *mut c_void) {
    // SAFETY: the callback was registered with a `FlushInstruction`, which is never freed.
    let FlushInstruction { address, index } = unsafe { &*flush.cast::<FlushInstruction>() };
    let recorder = recorder();
    let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.recording) else { return };
    // The values of registers are known only at the start of a block.
    if let Some(registers) = registers().filter(|_| *index == 0) {
        let address = effective(address, &registers, vcpu);
        thread.unfenced.is_flushed = true;
        push(thread, recorder.ring(), Control::Flush, *index, address);
    }
}

extern "C" fn stored_past_caches(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    let recorder = recorder();
    let index = InstructionId::unpack(instruction).index;
    if let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.is_at(InstructionId::unpack(instruction))) {
        let line = address / LINE_BYTES as u64;
        if thread.unfenced.combined != Some(line) {
            flush_combined(thread, recorder.ring(), index);
            thread.unfenced.combined = Some(line);
        }
    }
    memory_accessed(vcpu, info, address, instruction);
}

extern "C" fn fence_met(vcpu: c_uint, instruction: *mut c_void) {
    let recorder = recorder();
    let index = InstructionId::unpack(instruction).index;
    if let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.recording) {
        flush_combined(thread, recorder.ring(), index);
        if std::mem::take(&mut thread.unfenced.is_flushed) {
            push(thread, recorder.ring(), Control::Fence, index, 0);
        }
    }
}

/// Sends a flush of the line with combined stores, if the thread has one. It precedes the instruction with this index.
fn flush_combined(thread: &mut Thread, ring: &Ring, index: u16) {
    if let Some(line) = thread.unfenced.combined.take() {
        thread.unfenced.is_flushed = true;
        push(thread, ring, Control::Flush, index, line * LINE_BYTES as u64);
    }
}

fn push(thread: &mut Thread, ring: &Ring, which: Control, index: u16, operand: u64) {
    thread.push(ring, &[word::control(which, index.min(LAST_BOUND) as u8, operand)]);
}

/// Returns the address of an instruction's operand. Valid only at the start of a block, when the registers are known.
fn effective(address: &Address, registers: &RegisterFunctions, vcpu: u32) -> u64 {
    let base = address.base.map_or(0, |number| registers.general(vcpu, number));
    let index = address.index.map_or(0, |(number, shift)| registers.general(vcpu, number) << shift);
    let offset = base.wrapping_add(index).wrapping_add(address.displacement);
    let offset = if address.is_short { u64::from(offset as u32) } else { offset };
    offset.wrapping_add(match address.segment {
        Some(SegmentBase::Fs) => registers.fs_base(vcpu),
        Some(SegmentBase::Gs) => registers.gs_base(vcpu),
        None => 0,
    })
}
