//! Checks large reservations of memory before QEMU makes them.
//!
//! QEMU 7 keeps a word for each page of a mapping, even if the program never touches the page. A reservation of many
//! terabytes costs no memory natively. Under QEMU, it occupies all of the host's memory, and the host then kills other
//! programs. So the recorder compares the memory that QEMU needs for each mapping with the free memory of the host. If
//! the free memory is too small, the recorder ends the program. Otherwise it notifies the simulator of the work that
//! QEMU is doing.

use crate::thread::Thread;
use libc::{c_int, c_long};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::host::{HostTables, HostWork, table_bytes};
use wire::ring::Ring;
use wire::word::ADDRESS_END;

/// Bytes from which the simulator is notified of work. Smaller work takes one or two tenths of a second.
const LONG_BYTES: u64 = 16 << 30;
/// Divisor: an eighth of the host's free memory must stay free.
const PARTS_LEFT: u64 = 8;

/// Addresses of this process with tables in QEMU, as far as they were mapped or reserved in large parts.
static TABLES: Mutex<HostTables> = Mutex::new(HostTables::new());

/// Checks a system call that the program makes. Does not return if the host has no memory for it.
pub fn enter(ring: &Ring, thread: &mut Thread, number: c_long, arguments: &[u64; 6]) {
    let per_page = u64::from(ring.settings().host_bytes_per_page);
    let Some((work, bytes)) = HostWork::of(number, arguments).filter(|(_, bytes)| *bytes >= LONG_BYTES && per_page > 0)
    else {
        return;
    };
    // The kernel refuses the call, and QEMU starts no work.
    if bytes >= ADDRESS_END || (number == libc::SYS_mmap && is_over_committed(arguments)) {
        return;
    }
    if work == HostWork::Reserve {
        let is_fixed = number == libc::SYS_mmap && arguments[3] as c_int & libc::MAP_FIXED != 0;
        let addresses = arguments[0]..arguments[0].saturating_add(bytes);
        let new = if is_fixed { tables().missing(&addresses) } else { bytes };
        if free_bytes().is_some_and(|free| table_bytes(new, per_page) > free - free / PARTS_LEFT) {
            thread.publish(ring);
            ring.host().refuse(bytes);
            // SAFETY: `_exit` ends the process without running code of QEMU or of the program.
            unsafe { libc::_exit(crate::FAILED) };
        }
    }
    ring.host().begin(work, bytes);
}

/// Notes that a system call has returned.
pub fn leave(ring: &Ring, number: c_long, arguments: &[u64; 6], returned: i64) {
    if ring.host().busy().is_none() {
        return;
    }
    ring.host().end();
    if let (Some((HostWork::Reserve, bytes)), Ok(start)) = (HostWork::of(number, arguments), u64::try_from(returned)) {
        tables().add(start..start.saturating_add(bytes));
    }
}

fn tables() -> MutexGuard<'static, HostTables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if the kernel refuses a mapping because it is larger than all memory. Only writable private mappings
/// without `MAP_NORESERVE` are refused for this (proc(5), `overcommit_memory`).
fn is_over_committed(arguments: &[u64; 6]) -> bool {
    let [_, bytes, protection, flags, ..] = *arguments;
    let flags = flags as c_int;
    let is_counted = protection as c_int & libc::PROT_WRITE != 0
        && flags & libc::MAP_TYPE == libc::MAP_PRIVATE
        && flags & libc::MAP_NORESERVE == 0;
    let never_refuses = std::fs::read("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.starts_with(b"1"));
    let all = kilobytes("MemTotal:").zip(kilobytes("SwapTotal:")).map(|(memory, swap)| (memory + swap) << 10);
    is_counted && !never_refuses && all.is_some_and(|all| bytes > all)
}

/// Returns a number about memory from the kernel, in kilobytes.
fn kilobytes(name: &str) -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    meminfo.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok())
}

/// Returns the bytes that the host can still allocate: the machine's, or those of this process's control group if
/// fewer.
fn free_bytes() -> Option<u64> {
    let machine = kilobytes("MemAvailable:")? << 10;
    let number =
        |name| std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("max").zip(number("current")).map(|(most, taken)| most.saturating_sub(taken));
    Some(group.map_or(machine, |group| group.min(machine)))
}
