//! QEMU's plug-in interface, version 1 (QEMU 4.2 to 8.x), as far as the recorder uses it.
//!
//! The declarations follow `qemu-plugin.h` by hand: the interface is small, and Debian ships no header.

use libc::{c_char, c_int, c_uint, c_void};

/// Opaque: a translation block that QEMU is translating.
#[repr(C)]
pub struct Tb(c_void);
/// Opaque: an instruction that QEMU is translating.
#[repr(C)]
pub struct Insn(c_void);

/// QEMU's handle of the plug-in.
pub type Id = u64;
/// A callback on execution, with the pointer given at registration.
pub type ExecCallback = extern "C" fn(vcpu: c_uint, data: *mut c_void);
/// Like [`ExecCallback`], at the start of a block. The callback may leave the block and not return.
pub type EntryCallback = extern "C-unwind" fn(vcpu: c_uint, data: *mut c_void);
/// A callback after an access to memory.
pub type MemoryCallback = extern "C" fn(vcpu: c_uint, info: u32, address: u64, data: *mut c_void);
/// A callback before a system call.
pub type SyscallCallback = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// `QEMU_PLUGIN_CB_NO_REGS`: the callback reads no registers.
pub const NO_REGISTERS: c_int = 0;
/// Bit of `QEMU_PLUGIN_MEM_R` in the description of an access. QEMU reports an atomic instruction once, after it has loaded
/// and stored.
pub const ALSO_LOADS: u32 = 1 << 16;
/// `QEMU_PLUGIN_MEM_RW`: the callback receives both loads and stores.
pub const READS_AND_WRITES: c_int = 3;

/// `qemu_info_t`, up to the last field that the recorder reads.
#[repr(C)]
pub struct Info {
    /// Architecture of the guest, as in `x86_64`.
    pub target_name: *const c_char,
    /// Oldest version of the interface that this QEMU supports.
    pub version_min: c_int,
    /// Newest version of the interface that this QEMU supports.
    pub version_current: c_int,
    /// True if QEMU emulates a whole machine.
    pub system_emulation: bool,
}

unsafe extern "C" {
    /// Host address of the guest's address zero.
    pub static guest_base: usize;

    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, callback: extern "C" fn(Id, c_uint));
    pub fn qemu_plugin_register_vcpu_exit_cb(id: Id, callback: extern "C" fn(Id, c_uint));
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: extern "C" fn(Id, *mut Tb));
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(tb: *mut Tb, callback: EntryCallback, flags: c_int, data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        insn: *mut Insn,
        callback: ExecCallback,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        insn: *mut Insn,
        callback: MemoryCallback,
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_syscall_cb(id: Id, callback: SyscallCallback);
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, callback: extern "C" fn(Id, c_uint, i64, i64));
    pub fn qemu_plugin_register_atexit_cb(id: Id, callback: extern "C" fn(Id, *mut c_void), data: *mut c_void);
    pub fn qemu_plugin_tb_n_insns(tb: *const Tb) -> usize;
    pub fn qemu_plugin_tb_vaddr(tb: *const Tb) -> u64;
    pub fn qemu_plugin_tb_get_insn(tb: *const Tb, index: usize) -> *mut Insn;
    pub fn qemu_plugin_insn_data(insn: *const Insn) -> *const c_void;
    pub fn qemu_plugin_insn_size(insn: *const Insn) -> usize;
    pub fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    pub fn qemu_plugin_mem_is_store(info: u32) -> bool;
}

/// Reads a value from the program's memory.
///
/// # Safety
/// All of `[address, address + size_of::<T>())` must be mapped, and any bytes must be a valid `T`.
#[inline]
pub unsafe fn guest<T: Copy>(address: u64) -> T {
    // SAFETY: the caller vouches for the range; `guest_base` is fixed before any code runs.
    unsafe { ((guest_base + address as usize) as *const T).read_unaligned() }
}
