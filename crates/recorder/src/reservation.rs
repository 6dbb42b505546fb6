//! Large reservations, before QEMU makes them.
//!
//! QEMU 7 keeps a word for each page of a mapping, whether the program ever touches the page or not. A reservation of many
//! terabytes, which costs natively nothing, then takes all of the host's memory and ends this computer's other programs.
//! So the recorder compares the cost of each mapping with the memory that the host has left. The program is ended where
//! that is too little; otherwise the simulator learns what QEMU is doing meanwhile.

use crate::thread::Thread;
use libc::{c_int, c_long};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::host::{Tables, Work, table_bytes};
use wire::ring::Ring;
use wire::word::ADDRESS_END;

/// Work on fewer bytes is done in a tenth of a second or two.
const LONG_BYTES: u64 = 16 << 30;
/// The share of the host's free memory that is left alone, as one of so many parts.
const PARTS_LEFT: u64 = 8;

/// What of this process QEMU has tables of, as far as it was mapped or reserved in large parts.
static TABLES: Mutex<Tables> = Mutex::new(Tables::new());

/// The program makes a system call. Does not return if the host has no memory for it.
pub fn enter(ring: &Ring, thread: &mut Thread, number: c_long, arguments: &[u64; 6]) {
    let per_page = u64::from(ring.settings().host_bytes_per_page);
    let Some((work, bytes)) = Work::of(number, arguments).filter(|(_, bytes)| *bytes >= LONG_BYTES && per_page > 0)
    else {
        return;
    };
    // The kernel refuses it, and QEMU begins nothing.
    if bytes >= ADDRESS_END || (number == libc::SYS_mmap && is_over_committed(arguments)) {
        return;
    }
    if work == Work::Reserve {
        let is_fixed = number == libc::SYS_mmap && arguments[3] as c_int & libc::MAP_FIXED != 0;
        let addresses = arguments[0]..arguments[0].saturating_add(bytes);
        let new = if is_fixed { tables().missing(&addresses) } else { bytes };
        if free_bytes().is_some_and(|free| table_bytes(new, per_page) > free - free / PARTS_LEFT) {
            thread.publish(ring);
            ring.host().refuse(bytes);
            // SAFETY: ends the process without running anything of QEMU's or the program's.
            unsafe { libc::_exit(crate::FAILED) };
        }
    }
    ring.host().begin(work, bytes);
}

/// A system call has returned.
pub fn leave(ring: &Ring, number: c_long, arguments: &[u64; 6], returned: i64) {
    if ring.host().busy().is_none() {
        return;
    }
    ring.host().end();
    if let (Some((Work::Reserve, bytes)), Ok(start)) = (Work::of(number, arguments), u64::try_from(returned)) {
        tables().add(start..start.saturating_add(bytes));
    }
}

fn tables() -> MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the kernel refuses a mapping since it is larger than all memory: one that may be written, is the process's own, and
/// has not waived that (proc(5), `overcommit_memory`).
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

/// A number of the kernel's about memory.
fn kilobytes(name: &str) -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    told.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok())
}

/// How much memory the host can still give out: the machine's, or that of the group of processes that this is in.
fn free_bytes() -> Option<u64> {
    let machine = kilobytes("MemAvailable:")? << 10;
    let number =
        |name| std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("max").zip(number("current")).map(|(most, taken)| most.saturating_sub(taken));
    Some(group.map_or(machine, |group| group.min(machine)))
}
