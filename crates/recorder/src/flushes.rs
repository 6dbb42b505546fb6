//! Flushes and fences that the program makes by itself: `CLWB`, `CLFLUSHOPT`, `CLFLUSH`, non-temporal stores, `SFENCE`, `MFENCE`.
//!
//! Each is sent as words of its instruction (`wire::word::Control::{Flush, Fence}`), as those of `msync` are. The line of a
//! flush follows from registers ([`crate::registers`]). Stores past the caches are combined: their line is flushed when the
//! thread stores past the caches to another, and before a fence. A fence behind no flush orders nothing, and is not sent.

use crate::blocks::Block;
use crate::position::Place;
use crate::qemu::{self, Insn, Tb};
use crate::registers::Registers;
use crate::thread::Thread;
use crate::{block_entered, memory_accessed, recorder};
use libc::{c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use wire::encoding::{self, Address, Persist, Segment};
use wire::ring::Ring;
use wire::word::{self, Control, LINE_BYTES};

/// The last instruction of a block to which words can be bound.
const LAST_BOUND: u16 = u8::MAX as u16;

/// An instruction that flushes, for its callback. It is never freed: translated code names it.
struct Flush {
    address: Address,
    index: u16,
}

fn registers() -> Option<Registers> {
    static REGISTERS: OnceLock<Option<Registers>> = OnceLock::new();
    *REGISTERS.get_or_init(Registers::find)
}

/// This is a copy of the process, without the threads that were making steps in it.
pub fn restart() {
    registers().iter().for_each(Registers::end_all_steps);
}

/// Instructions of a block that is being translated, and how it has to run for them.
#[derive(Default)]
pub struct Watched {
    /// One more than the index of the last instruction up to which it has to run in steps.
    steps: u16,
}

impl Watched {
    /// Asks QEMU to call back for an instruction, if it is one of these. Returns whether its accesses to memory are seen to as
    /// well.
    ///
    /// # Safety
    /// `insn` must be the instruction with these bytes, while its block is translated.
    pub unsafe fn watch(&mut self, insn: *mut Insn, pc: u64, bytes: &[u8], place: Place) -> bool {
        let Some(persist) = encoding::persist(pc, bytes) else { return false };
        let Some(_) = registers() else { return false };
        let is_bound = place.index <= LAST_BOUND;
        // SAFETY: the caller vouches for the instruction; callbacks have the types that QEMU expects.
        unsafe {
            match persist {
                Persist::Flush(address) => {
                    let flush = Box::leak(Box::new(Flush { address, index: place.index }));
                    let data = ptr::from_mut(flush).cast();
                    qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, line_flushed, qemu::NO_REGISTERS, data);
                    if place.index > 0 {
                        self.steps = place.index + 1;
                    }
                    return false;
                }
                Persist::Fence => {
                    qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, fence_met, qemu::NO_REGISTERS, place.pack());
                }
                Persist::Store => {
                    qemu::qemu_plugin_register_vcpu_mem_cb(
                        insn,
                        stored_past_caches,
                        qemu::NO_REGISTERS,
                        qemu::READS_AND_WRITES,
                        place.pack(),
                    );
                }
            }
        }
        if !is_bound {
            self.steps = place.index + 1;
        }
        persist == Persist::Store
    }

    /// Asks QEMU to call back where the block begins, if that is for this to do: one that has to run in steps, or that may be
    /// a step.
    ///
    /// # Safety
    /// `tb` must be the block, while it is translated.
    pub unsafe fn watch_block(&self, tb: *mut Tb, block: &'static Block) -> bool {
        let (entered, data): (qemu::EntryCallback, *mut c_void) = match (self.steps, block.instructions) {
            (0, 1) if registers().is_some() => (step_entered, ptr::from_ref(block).cast_mut().cast()),
            (0, _) => return false,
            (steps, _) => (block_met, ptr::from_mut(Box::leak(Box::new(Met { block, steps }))).cast()),
        };
        // SAFETY: as above.
        unsafe { qemu::qemu_plugin_register_vcpu_tb_exec_cb(tb, entered, qemu::NO_REGISTERS, data) };
        true
    }
}

/// A block that is about to begin.
struct Met {
    block: &'static Block,
    steps: u16,
}

/// A block begins in which a register is asked for: it runs in steps, if it is recorded.
extern "C-unwind" fn block_met(vcpu: c_uint, met: *mut c_void) {
    // SAFETY: registered with one, which is never freed.
    let met = unsafe { &*met.cast::<Met>() };
    let recorder = recorder();
    let Some(thread) = recorder.thread(vcpu) else { return };
    let may_record = thread.recording || thread.must_draw();
    if let Some(registers) = registers().filter(|_| may_record && thread.unfenced.steps == 0) {
        thread.unfenced.steps = met.steps;
        registers.restart(vcpu, met.block.address());
    }
    recorder.enter_block(thread, met.block);
}

/// A block of one instruction begins, which may be a step.
extern "C-unwind" fn step_entered(vcpu: c_uint, block: *mut c_void) {
    if let Some(thread) = recorder().thread(vcpu)
        && thread.unfenced.steps > 0
    {
        thread.unfenced.steps -= 1;
        if thread.unfenced.steps == 0 {
            registers().iter().for_each(Registers::end_steps);
        }
    }
    block_entered(vcpu, block);
}

extern "C" fn line_flushed(vcpu: c_uint, flush: *mut c_void) {
    // SAFETY: registered with one, which is never freed.
    let Flush { address, index } = unsafe { &*flush.cast::<Flush>() };
    let recorder = recorder();
    let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.recording) else { return };
    // Of a block that did not begin here, registers are not known.
    if let Some(registers) = registers().filter(|_| *index == 0) {
        let address = effective(address, &registers, vcpu);
        thread.unfenced.is_flushed = true;
        push(thread, recorder.ring(), Control::Flush, *index, address);
    }
}

extern "C" fn stored_past_caches(vcpu: c_uint, info: u32, address: u64, place: *mut c_void) {
    let recorder = recorder();
    let index = Place::unpack(place).index;
    if let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.is_at(Place::unpack(place))) {
        let line = address / LINE_BYTES as u64;
        if thread.unfenced.combined != Some(line) {
            flush_combined(thread, recorder.ring(), index);
            thread.unfenced.combined = Some(line);
        }
    }
    memory_accessed(vcpu, info, address, place);
}

extern "C" fn fence_met(vcpu: c_uint, place: *mut c_void) {
    let recorder = recorder();
    let index = Place::unpack(place).index;
    if let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.recording) {
        flush_combined(thread, recorder.ring(), index);
        if std::mem::take(&mut thread.unfenced.is_flushed) {
            push(thread, recorder.ring(), Control::Fence, index, 0);
        }
    }
}

/// Sends that the line which was stored to past the caches goes to memory, before an instruction.
fn flush_combined(thread: &mut Thread, ring: &Ring, index: u16) {
    if let Some(line) = thread.unfenced.combined.take() {
        thread.unfenced.is_flushed = true;
        push(thread, ring, Control::Flush, index, line * LINE_BYTES as u64);
    }
}

fn push(thread: &mut Thread, ring: &Ring, which: Control, index: u16, operand: u64) {
    thread.push(ring, &[word::control(which, index.min(LAST_BOUND) as u8, operand)]);
}

/// The address of an instruction's operand, where its registers are known.
fn effective(address: &Address, registers: &Registers, vcpu: u32) -> u64 {
    let base = address.base.map_or(0, |number| registers.general(vcpu, number));
    let index = address.index.map_or(0, |(number, shift)| registers.general(vcpu, number) << shift);
    let offset = base.wrapping_add(index).wrapping_add(address.displacement);
    let offset = if address.is_short { u64::from(offset as u32) } else { offset };
    offset.wrapping_add(match address.segment {
        Some(Segment::Fs) => registers.fs_base(vcpu),
        Some(Segment::Gs) => registers.gs_base(vcpu),
        None => 0,
    })
}
