//! The program's registers, in a QEMU whose plug-in interface has none.
//!
//! The interface of version 1 does not show registers. Debian's `qemu-x86_64` 7.2 exports the functions by which QEMU's own
//! debugger reads and writes them, and its switch for single steps. QEMU keeps registers of a block that runs in those of the
//! host, so what these functions return is true where a block begins, and there alone.
//!
//! A block with an instruction in it whose registers are asked for therefore does not run. Where it would begin, the switch is
//! turned on and QEMU is sent back to its main loop: it runs the same code again, as blocks of one instruction each, up to
//! that instruction ([`Registers::restart`], [`Registers::end_steps`]). Other code is not slowed down.
//!
//! Where the functions are not exported, no register can be read.

use libc::{c_int, c_void};
use std::ffi::CStr;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{AcqRel, Release};

/// Numbers of registers, as QEMU's debugger has them; the first 16 are not in the order of the instruction set.
const INSTRUCTION_POINTER: c_int = 16;
const FS_BASE: c_int = 24;
const GS_BASE: c_int = 25;
/// The general registers by their numbers in instructions: `%rax`, `%rcx`, `%rdx`, `%rbx`, `%rsp`, `%rbp`, `%rsi`, `%rdi`.
const GENERAL: [c_int; 8] = [0, 2, 3, 1, 7, 6, 4, 5];

/// A growing array of GLib's, up to what is read of it.
#[repr(C)]
struct ByteArray {
    data: *const u8,
    length: u32,
}

type Cpu = *mut c_void;

/// QEMU's functions.
#[derive(Clone, Copy)]
pub struct Registers {
    cpu: unsafe extern "C" fn(c_int) -> Cpu,
    read: unsafe extern "C" fn(Cpu, *mut ByteArray, c_int) -> c_int,
    write: unsafe extern "C" fn(Cpu, *const u8, c_int) -> c_int,
    leave: unsafe extern "C-unwind" fn(Cpu) -> !,
    steps: *mut i32,
    new_array: unsafe extern "C" fn() -> *mut ByteArray,
    free_array: unsafe extern "C" fn(*mut ByteArray, c_int) -> *mut u8,
}

// SAFETY: functions and the address of a variable that all threads of QEMU use.
unsafe impl Send for Registers {}
// SAFETY: as above; the variable is changed atomically.
unsafe impl Sync for Registers {}

impl Registers {
    /// The functions of this QEMU, if it exports all of them.
    pub fn find() -> Option<Registers> {
        // SAFETY: these are the types that they have in QEMU 7.2 and in GLib; QEMU 8 has no `singlestep`.
        unsafe {
            Some(Registers {
                cpu: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> Cpu>(symbol(c"qemu_get_cpu")?),
                read: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Cpu, *mut ByteArray, c_int) -> c_int>(
                    symbol(c"x86_cpu_gdb_read_register")?,
                ),
                write: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Cpu, *const u8, c_int) -> c_int>(
                    symbol(c"x86_cpu_gdb_write_register")?,
                ),
                leave: std::mem::transmute::<*mut c_void, unsafe extern "C-unwind" fn(Cpu) -> !>(symbol(
                    c"cpu_loop_exit_noexc",
                )?),
                steps: symbol(c"singlestep")?.cast(),
                new_array: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut ByteArray>(symbol(
                    c"g_byte_array_new",
                )?),
                free_array: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut ByteArray, c_int) -> *mut u8>(
                    symbol(c"g_byte_array_free")?,
                ),
            })
        }
    }

    /// A general register, by its number in instructions. Only where a block begins.
    pub fn general(&self, vcpu: u32, number: u8) -> u64 {
        self.read(vcpu, GENERAL.get(usize::from(number)).copied().unwrap_or(number.into()))
    }

    /// The base of `%fs`.
    pub fn fs_base(&self, vcpu: u32) -> u64 {
        self.read(vcpu, FS_BASE)
    }

    /// The base of `%gs`.
    pub fn gs_base(&self, vcpu: u32) -> u64 {
        self.read(vcpu, GS_BASE)
    }

    /// Leaves the block at `pc`, of which nothing has run, and lets it and what follows run in steps of one instruction.
    ///
    /// Does not return: it jumps over the frames between the block and QEMU's main loop, in which nothing may have to be
    /// dropped.
    pub fn restart(&self, vcpu: u32, pc: u64) -> ! {
        self.switch().fetch_add(1, AcqRel);
        // SAFETY: the thread's own CPU, where a block begins: all of its state is in memory but the instruction pointer, which
        // blocks that are chained do not store.
        unsafe {
            let cpu = (self.cpu)(vcpu as c_int);
            (self.write)(cpu, pc.to_le_bytes().as_ptr(), INSTRUCTION_POINTER);
            (self.leave)(cpu)
        }
    }

    /// What comes behind the block that begins runs as usual again.
    pub fn end_steps(&self) {
        self.switch().fetch_sub(1, AcqRel);
    }

    /// No thread makes steps any more.
    pub fn end_all_steps(&self) {
        self.switch().store(0, Release);
    }

    /// How many threads make steps: QEMU makes some if it is not zero.
    fn switch(&self) -> &AtomicI32 {
        // SAFETY: a variable of QEMU's, of this type and alive as long as it is; QEMU itself only reads it.
        unsafe { AtomicI32::from_ptr(self.steps) }
    }

    fn read(&self, vcpu: u32, number: c_int) -> u64 {
        let mut value = [0; 8];
        // SAFETY: the thread's own CPU; the array is ours, and has as many bytes as it says.
        unsafe {
            let array = (self.new_array)();
            let bytes = (self.read)((self.cpu)(vcpu as c_int), array, number).clamp(0, 8) as usize;
            let bytes = bytes.min((*array).length as usize);
            value[..bytes].copy_from_slice(std::slice::from_raw_parts((*array).data, bytes));
            (self.free_array)(array, 1);
        }
        u64::from_le_bytes(value)
    }
}

/// The address of a symbol of QEMU's, or of a library that it is linked to.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up among what is loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
