//! Large reservations, before QEMU makes them.
//!
//! QEMU 7 keeps a word for each page of a mapping, whether the program ever touches the page or not. A reservation of many
//! terabytes, which costs natively nothing, then takes all of the host's memory and ends this computer's other programs.
//! So the recorder compares the cost of each mapping with the memory that the host has left. The program is ended where
//! that is too little; otherwise the simulator learns what QEMU is doing meanwhile.

use crate::thread::Thread;
use libc::c_long;
use wire::host::{Work, table_bytes};
use wire::ring::Ring;

/// Work on fewer bytes is done in a tenth of a second or two.
const LONG_BYTES: u64 = 16 << 30;
/// The share of the host's free memory that is left alone, as one of so many parts.
const PARTS_LEFT: u64 = 8;

/// The program makes a system call. Does not return if the host has no memory for it.
pub fn enter(ring: &Ring, thread: &mut Thread, number: c_long, arguments: &[u64; 6]) {
    let Some((work, bytes)) = Work::of(number, arguments).filter(|(_, bytes)| *bytes >= LONG_BYTES) else {
        return;
    };
    let per_page = u64::from(ring.settings().host_bytes_per_page);
    if per_page == 0 {
        return;
    }
    if work == Work::Reserve && free_bytes().is_some_and(|free| table_bytes(bytes, per_page) > free - free / PARTS_LEFT)
    {
        thread.publish(ring);
        ring.host().refuse(bytes);
        // SAFETY: ends the process without running anything of QEMU's or the program's.
        unsafe { libc::_exit(crate::FAILED) };
    }
    ring.host().begin(work, bytes);
}

/// How much memory the host can still give out: the machine's, or that of the group of processes that this is in.
fn free_bytes() -> Option<u64> {
    let kilobytes = |line: &str| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
    let machine = std::fs::read_to_string("/proc/meminfo").ok()?.lines().find_map(kilobytes)? << 10;
    let number =
        |name| std::fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("max").zip(number("current")).map(|(most, taken)| most.saturating_sub(taken));
    Some(group.map_or(machine, |group| group.min(machine)))
}
