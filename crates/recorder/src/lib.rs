//! The recorder: a QEMU plug-in that sends the execution of an unmodified program to a simulator.
//!
//! It runs inside QEMU, in every thread of every process of the program, and writes [words](wire::word) into a
//! [ring](wire::ring) in shared memory. It does not simulate, and decodes only the few instructions in
//! [`wire::encoding`]. Its contract is exactness: the lines and stores that it sends are sufficient for a copy of the
//! program's memory. At every load, this copy has the bytes that the program loaded.
//!
//! One thread executes instructions at a time, over all processes ([`turns`]). So the order of the batches is the
//! order of the execution.
//!
//! Callbacks never unwind into QEMU: a panic ends the process with a message.
//!
//! Known limits:
//! - If an instruction faults in the middle of a block, the recorder sends neither this instruction nor the
//!   instructions since the block's last access to memory.
//! - If a fault or another process's signal ends a process, the words that each thread has not yet published are lost:
//!   at most one batch.
//! - Recordings do not contain kernel code and wrong-path execution.

mod blocks;
mod copies;
mod exec;
mod flushes;
mod follow;
mod lines;
mod mappings;
mod memory;
mod objects;
mod oddities;
mod pages;
mod position;
mod process_writes;
mod qemu;
mod quota;
mod registers;
mod reservation;
mod state;
mod syscalls;
mod thread;
mod thread_table;
mod turns;
mod unfenced;

use flushes::FlushWatch;
use libc::{c_char, c_int, c_uint, c_void};
use position::{InstructionId, ReportedAccess};
use qemu::{Id, Info, Tb};
use state::Recorder;
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Relaxed, Release};
use wire::launch::{FROM_OPTION, RING_OPTION};

/// Version of the plug-in interface that the recorder is written for. QEMU looks it up by name.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(std::ptr::null_mut());
/// `xchg %rbx,%rbx`, which compilers never emit. Programs mark regions by it.
const MARKER: [u8; 3] = [0x48, 0x87, 0xdb];
/// Exit status of a process after its recorder has failed.
const FAILED: c_int = 125;

fn recorder() -> &'static Recorder {
    // SAFETY: the callbacks are registered after the pointer is set, and the recorder is never freed.
    unsafe { &*RECORDER.load(Relaxed) }
}

/// Installs the plug-in. QEMU calls this function once, before the program starts.
///
/// # Safety
/// Only QEMU may call this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    std::panic::set_hook(Box::new(|panic| fail(&panic.to_string())));
    // SAFETY: QEMU passes a valid description of itself.
    let info = unsafe { &*info };
    // SAFETY: the description is valid, as above, and its name is a C string.
    if info.system_emulation || unsafe { CStr::from_ptr(info.target_name) } != c"x86_64" {
        return complain("only qemu-x86_64 can be recorded");
    }
    // SAFETY: QEMU passes `argc` C strings.
    let arguments = (0..argc as usize).map(|n| unsafe { CStr::from_ptr(*argv.add(n)) }.to_bytes());
    let (mut ring, mut from) = (None, None);
    for argument in arguments {
        if let Some(name) = argument.strip_prefix(RING_OPTION.as_bytes()) {
            ring = Some(OsStr::from_bytes(name).to_owned());
        } else if let Some(image) = argument.strip_prefix(FROM_OPTION.as_bytes()) {
            from = std::str::from_utf8(image).ok().and_then(|text| text.parse().ok());
        }
    }
    match ring.map(|name| start(id, name, from)) {
        Some(Ok(())) => 0,
        Some(Err(error)) => complain(&error.to_string()),
        None => complain("the option ring=NAME is missing"),
    }
}

fn start(id: Id, ring: OsString, from: Option<u32>) -> std::io::Result<()> {
    RECORDER.store(Box::into_raw(Box::new(Recorder::new(ring, from)?)), Release);
    // SAFETY: `id` is the handle of this plug-in, and the callbacks have the types that QEMU expects.
    unsafe {
        qemu::qemu_plugin_register_vcpu_init_cb(id, thread_made);
        qemu::qemu_plugin_register_vcpu_exit_cb(id, thread_gone);
        qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, block_translated);
        qemu::qemu_plugin_register_vcpu_syscall_cb(id, syscall_entered);
        qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, syscall_left);
        qemu::qemu_plugin_register_atexit_cb(id, process_ended, std::ptr::null_mut());
    }
    Ok(())
}

extern "C" fn thread_made(_: Id, vcpu: c_uint) {
    recorder().make_thread(vcpu);
}

extern "C" fn thread_gone(_: Id, vcpu: c_uint) {
    let recorder = recorder();
    if let Some(thread) = recorder.thread(vcpu) {
        turns::end(recorder.ring(), thread);
    }
}

extern "C" fn block_translated(_: Id, tb: *mut Tb) {
    // SAFETY: QEMU passes the block that it is translating. Its instructions and their bytes live until this callback
    // returns.
    unsafe {
        let insns = (0..qemu::qemu_plugin_tb_n_insns(tb)).map(|index| qemu::qemu_plugin_tb_get_insn(tb, index));
        let insns: Vec<_> = insns.collect();
        let bytes = |insn| {
            std::slice::from_raw_parts(qemu::qemu_plugin_insn_data(insn).cast(), qemu::qemu_plugin_insn_size(insn))
        };
        let lengths: Vec<u8> = insns.iter().map(|insn| bytes(*insn).len() as u8).collect();
        let code: Vec<u8> = insns.iter().flat_map(|insn| bytes(*insn)).copied().collect();
        recorder().begin();
        let block = recorder().blocks().find_or_add(qemu::qemu_plugin_tb_vaddr(tb), &lengths, &code);
        let (mut watched, mut pc) = (FlushWatch::default(), block.address());
        for (index, insn) in insns.into_iter().enumerate() {
            let instruction = InstructionId { block: block.id, index: index as u16 };
            let is_seen_to = watched.watch(insn, pc, bytes(insn), instruction);
            let instruction = instruction.pack();
            pc += bytes(insn).len() as u64;
            oddities::look_at(recorder().ring().host(), bytes(insn));
            if bytes(insn) == MARKER {
                qemu::qemu_plugin_register_vcpu_insn_exec_cb(insn, marker_met, qemu::NO_REGISTERS, instruction);
            }
            if !is_seen_to {
                qemu::qemu_plugin_register_vcpu_mem_cb(
                    insn,
                    memory_accessed,
                    qemu::NO_REGISTERS,
                    qemu::READS_AND_WRITES,
                    instruction,
                );
            }
        }
        if !watched.watch_block(tb, block) {
            let data = std::ptr::from_ref(block).cast_mut().cast();
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(tb, block_entered, qemu::NO_REGISTERS, data);
        }
    }
}

extern "C-unwind" fn block_entered(vcpu: c_uint, block: *mut c_void) {
    let recorder = recorder();
    if let Some(thread) = recorder.thread(vcpu) {
        // SAFETY: the callback was registered with a block, and blocks are never freed.
        let block = unsafe { &*block.cast::<blocks::CodeBlock>() };
        if block.synchronises || thread.must_draw() {
            turns::before_block(recorder.ring(), thread, vcpu, block);
        }
        recorder.enter_block(thread, block);
    }
}

extern "C" fn memory_accessed(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    let recorder = recorder();
    let instruction = InstructionId::unpack(instruction);
    let Some(thread) = recorder.thread(vcpu).filter(|thread| thread.is_at(instruction)) else {
        return;
    };
    // SAFETY: these functions only extract fields of the number `info`.
    let (log2_bytes, store) = unsafe { (qemu::qemu_plugin_mem_size_shift(info), qemu::qemu_plugin_mem_is_store(info)) };
    let kind = match store {
        false => ReportedAccess::Load,
        true if info & qemu::ALSO_LOADS == 0 => ReportedAccess::Store,
        true => ReportedAccess::LoadAndStore,
    };
    // QEMU reports wider accesses as accesses of eight bytes, except a few that it reports whole.
    for part in 0..1 << log2_bytes.saturating_sub(3) {
        recorder.access(thread, kind, log2_bytes.min(3) as u8, address + 8 * part, instruction.index);
    }
}

extern "C" fn marker_met(vcpu: c_uint, instruction: *mut c_void) {
    let recorder = recorder();
    if let Some(thread) = recorder.thread(vcpu) {
        recorder.pass_marker(thread, InstructionId::unpack(instruction).index);
    }
}

#[allow(clippy::too_many_arguments)]
extern "C" fn syscall_entered(
    _: Id,
    vcpu: c_uint,
    n: i64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    _: u64,
    _: u64,
) {
    let recorder = recorder();
    if let Some(thread) = recorder.thread(vcpu) {
        recorder.enter_syscall(thread, n, [a, b, c, d, e, f]);
    }
}

extern "C" fn syscall_left(_: Id, vcpu: c_uint, number: i64, returned: i64) {
    recorder().leave_syscall(vcpu, number, returned);
}

extern "C" fn process_ended(_: Id, _: *mut c_void) {
    recorder().end();
}

fn complain(text: &str) -> c_int {
    eprintln!("casemate recorder: {text}");
    1
}

fn fail(text: &str) -> ! {
    complain(text);
    // SAFETY: `_exit` ends the process without running code of QEMU or of the program.
    unsafe { libc::_exit(FAILED) }
}
