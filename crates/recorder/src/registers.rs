//! Reads the program's registers in a QEMU that does not show them to plug-ins.
//!
//! Version 1 of the plug-in interface does not show registers. Debian's `qemu-x86_64` 7.2 exports the functions by
//! which QEMU's debugger reads and writes them, and its switch for single steps. While a block runs, QEMU keeps
//! registers in those of the host. The functions therefore return the correct values only at the start of a block.
//!
//! So a block does not run if the recorder needs the registers of an instruction in it. At the start of the block, the
//! recorder turns the switch on and sends QEMU back to its main loop. QEMU then runs the same code again, as blocks of
//! one instruction each, up to that instruction ([`RegisterFunctions::restart`], [`RegisterFunctions::end_steps`]).
//! Other code runs at its usual speed.
//!
//! If QEMU does not export the functions, the recorder cannot read registers.

use libc::{c_int, c_void};
use std::ffi::CStr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::{AcqRel, Release};

/// Returns QEMU's functions, if it exports all of them.
pub fn registers() -> Option<RegisterFunctions> {
    static REGISTERS: OnceLock<Option<RegisterFunctions>> = OnceLock::new();
    *REGISTERS.get_or_init(RegisterFunctions::find)
}

/// Numbers of registers in QEMU's debugger. The first 16 are not in the order of the instruction set.
const INSTRUCTION_POINTER: c_int = 16;
const FS_BASE: c_int = 24;
const GS_BASE: c_int = 25;
/// Numbers in the debugger of the general registers, by their numbers in instructions: `%rax`, `%rcx`, `%rdx`, `%rbx`,
/// `%rsp`, `%rbp`, `%rsi`, `%rdi`.
const GENERAL: [c_int; 8] = [0, 2, 3, 1, 7, 6, 4, 5];

/// GLib's growing array, up to the last field that the recorder reads.
#[repr(C)]
struct ByteArray {
    data: *const u8,
    length: u32,
}

type Cpu = *mut c_void;

/// QEMU's functions for registers and steps.
#[derive(Clone, Copy)]
pub struct RegisterFunctions {
    cpu: unsafe extern "C" fn(c_int) -> Cpu,
    read: unsafe extern "C" fn(Cpu, *mut ByteArray, c_int) -> c_int,
    write: unsafe extern "C" fn(Cpu, *const u8, c_int) -> c_int,
    leave: unsafe extern "C-unwind" fn(Cpu) -> !,
    pause: unsafe extern "C" fn(Cpu),
    resume: unsafe extern "C" fn(Cpu),
    steps: *mut i32,
    new_array: unsafe extern "C" fn() -> *mut ByteArray,
    free_array: unsafe extern "C" fn(*mut ByteArray, c_int) -> *mut u8,
}

// SAFETY: the fields are functions, and the address of a variable that all threads of QEMU use.
unsafe impl Send for RegisterFunctions {}
// SAFETY: as above; the recorder changes the variable atomically.
unsafe impl Sync for RegisterFunctions {}

impl RegisterFunctions {
    /// Returns the functions of this QEMU, if it exports all of them.
    fn find() -> Option<RegisterFunctions> {
        // SAFETY: the symbols have these types in QEMU 7.2 and in GLib; QEMU 8 has no `singlestep`.
        unsafe {
            Some(RegisterFunctions {
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
                pause: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Cpu)>(symbol(c"cpu_exec_end")?),
                resume: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Cpu)>(symbol(c"cpu_exec_start")?),
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

    /// Returns a general register by its number in instructions. Valid only at the start of a block.
    pub fn general(&self, vcpu: u32, number: u8) -> u64 {
        self.read(vcpu, GENERAL.get(usize::from(number)).copied().unwrap_or(number.into()))
    }

    /// Returns the base of `%fs`. Valid only at the start of a block.
    pub fn fs_base(&self, vcpu: u32) -> u64 {
        self.read(vcpu, FS_BASE)
    }

    /// Returns the base of `%gs`. Valid only at the start of a block.
    pub fn gs_base(&self, vcpu: u32) -> u64 {
        self.read(vcpu, GS_BASE)
    }

    /// Leaves the block at `pc` before its first instruction. QEMU runs it and the code after it in steps of one
    /// instruction.
    ///
    /// Does not return: it jumps over the frames between the block and QEMU's main loop. These frames must not hold
    /// values that need to be dropped.
    pub fn restart(&self, vcpu: u32, pc: u64) -> ! {
        self.switch().fetch_add(1, AcqRel);
        self.leave_block(vcpu, pc)
    }

    /// Leaves the block at `pc` before its first instruction, after `wait` has returned. Meanwhile QEMU counts the thread as
    /// one that executes no code, so that it can free all translated code. QEMU then runs the block again. Does not return,
    /// like [`restart`](Self::restart).
    pub fn wait_before(&self, vcpu: u32, pc: u64, wait: impl FnOnce()) -> ! {
        // SAFETY: this is the calling thread's CPU, which executes code until it is paused here.
        unsafe {
            let cpu = (self.cpu)(vcpu as c_int);
            (self.pause)(cpu);
            wait();
            (self.resume)(cpu);
        }
        self.leave_block(vcpu, pc)
    }

    fn leave_block(&self, vcpu: u32, pc: u64) -> ! {
        // SAFETY: this is the calling thread's CPU, at the start of a block. All of its state is in memory except the
        // instruction pointer, because chained blocks do not store it.
        unsafe {
            let cpu = (self.cpu)(vcpu as c_int);
            (self.write)(cpu, pc.to_le_bytes().as_ptr(), INSTRUCTION_POINTER);
            (self.leave)(cpu)
        }
    }

    /// Ends the steps of a thread: the code after the block that begins runs as usual.
    pub fn end_steps(&self) {
        self.switch().fetch_sub(1, AcqRel);
    }

    /// Ends the steps of all threads.
    pub fn end_all_steps(&self) {
        self.switch().store(0, Release);
    }

    /// Returns QEMU's switch, as the number of threads that make steps. QEMU makes steps if it is not zero.
    fn switch(&self) -> &AtomicI32 {
        // SAFETY: the variable of QEMU has this type and lives as long as QEMU; QEMU itself only reads it.
        unsafe { AtomicI32::from_ptr(self.steps) }
    }

    fn read(&self, vcpu: u32, number: c_int) -> u64 {
        let mut value = [0; 8];
        // SAFETY: this is the calling thread's CPU. The array is ours, and has as many bytes as its length states.
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

/// Returns the address of a symbol of QEMU, or of a library that it is linked to.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the call looks up a name among the loaded symbols.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
