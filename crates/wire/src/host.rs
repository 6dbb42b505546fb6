//! Costs of a recorded program for the host: words in the ring's header, written by the recorder for the simulator.
//!
//! QEMU 7.2 keeps a word for each page that a program maps, also for pages that the program only reserves. A
//! reservation of a terabyte takes seconds in which no instruction is recorded, and occupies gigabytes of the host's
//! memory.

use std::ops::Range;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

const PAGE_BYTES: u64 = 4096;

/// Work of QEMU in a long system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum HostWork {
    /// Maps or reserves pages.
    Reserve = 1,
    /// Changes the protection of mapped pages.
    Protect = 2,
    /// Unmaps pages of the program.
    Unmap = 3,
}

impl HostWork {
    /// Returns QEMU's work on its tables of pages in a system call, with the number of bytes of the program's memory.
    pub fn of(number: libc::c_long, arguments: &[u64; 6]) -> Option<(HostWork, u64)> {
        let [_, bytes, new_bytes, ..] = *arguments;
        match number {
            libc::SYS_mmap => Some((HostWork::Reserve, bytes)),
            libc::SYS_mremap => Some((HostWork::Reserve, new_bytes.saturating_sub(bytes))),
            libc::SYS_mprotect => Some((HostWork::Protect, bytes)),
            libc::SYS_munmap => Some((HostWork::Unmap, bytes)),
            _ => None,
        }
    }
}

/// Returns the bytes of host memory that QEMU takes for a mapping of `bytes` bytes, at `per_page` bytes for each page.
pub fn table_bytes(bytes: u64, per_page: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES).saturating_mul(per_page)
}

/// Addresses that already have a table in QEMU. QEMU keeps the table when they are unmapped.
#[derive(Debug, Default)]
pub struct HostTables(Vec<Range<u64>>);

impl HostTables {
    /// Creates an empty set.
    pub const fn new() -> HostTables {
        HostTables(Vec::new())
    }

    /// Returns how many bytes of these addresses have no table.
    pub fn missing(&self, addresses: &Range<u64>) -> u64 {
        let common = |known: &Range<u64>| known.end.min(addresses.end).saturating_sub(known.start.max(addresses.start));
        (addresses.end - addresses.start) - self.0.iter().map(common).sum::<u64>()
    }

    /// Adds addresses that have a table from now on.
    pub fn add(&mut self, mut addresses: Range<u64>) {
        self.0.retain(|known| {
            let apart = known.end < addresses.start || known.start > addresses.end;
            if !apart {
                addresses = known.start.min(addresses.start)..known.end.max(addresses.end);
            }
            apart
        });
        self.0.push(addresses);
    }
}

/// Signals with which a program ends because of QEMU's known defects.
pub const FAULTS: [i32; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL];

/// Behaviour of a program that QEMU is known to execute wrongly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Oddity {
    /// An object in memory or a file is mapped writable in one place and executable in another.
    CodeInTwoPlaces = 1,
    /// The program loads AVX vectors under a mask.
    MaskedVector = 2,
    /// A signal handler runs.
    Handler = 4,
    /// A child of `vfork`, or of a call like it, has ended without executing another program.
    VforkedChild = 8,
    /// Memory shall be zero in children (`MADV_WIPEONFORK`).
    WipedOnFork = 16,
    /// Advice about memory that QEMU accepts and does not follow (`MADV_REMOVE`, `MADV_DONTNEED_LOCKED`).
    IgnoredAdvice = 32,
    /// `select` waits for more descriptors than QEMU can.
    ManyDescriptors = 64,
}

/// The words in the ring's header. All are zero until the program makes a request.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Host {
    /// A [`HostWork`] in the lowest byte, and above it the size of the work in kilobytes.
    work: AtomicU64,
    refused: AtomicU64,
    oddities: AtomicU32,
}

impl Host {
    /// Notes that QEMU begins work on this number of bytes of the program's memory.
    pub fn begin(&self, work: HostWork, bytes: u64) {
        self.work.store((bytes >> 10) << 8 | work as u64, Release);
    }

    /// Notes that QEMU has finished its work and continues with the program.
    pub fn end(&self) {
        if self.work.load(Relaxed) != 0 {
            self.work.store(0, Release);
        }
    }

    /// Returns QEMU's current work and its bytes, if QEMU is busy.
    pub fn busy(&self) -> Option<(HostWork, u64)> {
        let word = self.work.load(Acquire);
        let work = match word as u8 {
            1 => HostWork::Reserve,
            2 => HostWork::Protect,
            3 => HostWork::Unmap,
            _ => return None,
        };
        Some((work, word >> 8 << 10))
    }

    /// Notes that the program is ended, because the host has no memory for a reservation of this number of bytes.
    pub fn refuse(&self, bytes: u64) {
        self.refused.store(bytes, Release);
    }

    /// Returns the bytes of the refused reservation, if the program was ended for one.
    pub fn refused(&self) -> Option<u64> {
        Some(self.refused.load(Acquire)).filter(|bytes| *bytes > 0)
    }

    /// Notes that the program does this.
    pub fn note(&self, oddity: Oddity) {
        self.oddities.fetch_or(oddity as u32, AcqRel);
    }

    /// Notes that the program does this no more.
    pub fn clear(&self, oddity: Oddity) {
        if self.has(oddity) {
            self.oddities.fetch_and(!(oddity as u32), AcqRel);
        }
    }

    /// Returns true if the program has done this.
    pub fn has(&self, oddity: Oddity) -> bool {
        self.oddities.load(Acquire) & oddity as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_reports_memory_mapping_work_of_qemu_until_it_ends() {
        let host = Host::default();
        for work in [HostWork::Reserve, HostWork::Protect, HostWork::Unmap] {
            host.begin(work, 1 << 46);
            assert_eq!(host.busy(), Some((work, 1 << 46)));
            host.end();
            assert_eq!(host.busy(), None);
        }
    }

    #[test]
    fn page_tables_of_qemu_for_a_terabyte_need_six_gigabytes_of_host_memory() {
        assert_eq!(table_bytes(1 << 40, 24), 6 << 30);
        assert_eq!(table_bytes(u64::MAX, 24), u64::MAX.div_ceil(PAGE_BYTES) * 24);
    }

    #[test]
    fn system_calls_that_visit_every_page_are_recognised_with_their_bytes() {
        let arguments = [1 << 40, 1 << 36, 3 << 36, 0, 0, 0];
        assert_eq!(HostWork::of(libc::SYS_mmap, &arguments), Some((HostWork::Reserve, 1 << 36)));
        assert_eq!(HostWork::of(libc::SYS_mremap, &arguments), Some((HostWork::Reserve, 2 << 36)));
        assert_eq!(HostWork::of(libc::SYS_mprotect, &arguments), Some((HostWork::Protect, 1 << 36)));
        assert_eq!(HostWork::of(libc::SYS_munmap, &arguments), Some((HostWork::Unmap, 1 << 36)));
        assert_eq!(HostWork::of(libc::SYS_read, &arguments), None);
    }

    #[test]
    fn addresses_with_a_host_page_table_do_not_count_as_missing() {
        let mut tables = HostTables::new();
        assert_eq!(tables.missing(&(100..300)), 200);
        tables.add(100..300);
        tables.add(500..600);
        assert_eq!([0..100, 0..150, 100..300, 250..550].map(|range| tables.missing(&range)), [100, 100, 0, 200]);
        tables.add(200..500);
        assert_eq!(tables.missing(&(0..700)), 200);
        tables.add(0..700);
        assert_eq!(tables.missing(&(0..700)), 0);
    }

    #[test]
    fn the_recorder_state_stores_a_refused_reservation_and_an_oddity_of_the_program() {
        let host = Host::default();
        assert_eq!((host.refused(), host.has(Oddity::CodeInTwoPlaces)), (None, false));
        host.refuse(8 << 40);
        host.note(Oddity::CodeInTwoPlaces);
        assert_eq!((host.refused(), host.has(Oddity::CodeInTwoPlaces)), (Some(8 << 40), true));
        host.note(Oddity::Handler);
        host.clear(Oddity::Handler);
        assert_eq!([Oddity::Handler, Oddity::CodeInTwoPlaces].map(|oddity| host.has(oddity)), [false, true]);
    }
}
