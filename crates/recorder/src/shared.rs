//! Files that the program maps shared, and which of their lines it has stored to since it last made them durable.
//!
//! What a program stores to such a mapping is the file's, and outlives the process. `msync`, `fsync` and `fdatasync` make it
//! outlive the machine: each writes back what was stored to a part of a file, through whichever of the mappings, and returns
//! when that has been done (msync(2) and fsync(2)). The recorder tells them as flushes and a fence. The kernel knows what
//! there is to write back page by page; here it is known line by line, so that a flush is told for no line that is clean.
//!
//! `MS_ASYNC` does nothing on Linux, and is told as nothing. `CLWB`, `CLFLUSHOPT` and `CLFLUSH` are not seen: QEMU reports no
//! address for them. What the kernel itself writes into a mapping (`read`) is no store of the program's. Stores of another
//! process to the same file, and those through a mapping that is no more, are not followed.

use crate::lines::{LineMap, lines_of};
use libc::{c_int, c_long};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard};
use wire::word::LINE_BYTES;

/// Mappings begin and end at multiples of this.
const PAGE_BYTES: u64 = 4096;

/// A file, by its device and its number there.
type File = (u64, u64);

/// A part of a file in the program's memory.
#[derive(Clone)]
struct Mapping {
    addresses: Range<u64>,
    file: File,
    /// Where in the file its first byte is.
    offset: u64,
}

/// All such mappings of this process.
pub struct SharedFiles {
    mappings: Mutex<Vec<Mapping>>,
    /// From the first mapping to the end of the last one: elsewhere nothing needs to be looked up.
    from: AtomicU64,
    to: AtomicU64,
    /// Lines between those two that were stored to.
    stored: LineMap,
}

impl SharedFiles {
    /// None.
    pub fn new() -> std::io::Result<SharedFiles> {
        let (from, to) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(SharedFiles { mappings: Mutex::default(), from, to, stored: LineMap::new()? })
    }

    /// Whether a byte of memory is one of a file's.
    pub fn holds(&self, address: u64) -> bool {
        self.spans(&(address..address + 1)) && self.lock().iter().any(|mapping| mapping.addresses.contains(&address))
    }

    /// The program stores to these addresses.
    #[inline]
    pub fn store(&self, addresses: &Range<u64>) {
        if self.spans(addresses) {
            self.stored.set_all(lines_of(addresses.start, addresses.end - addresses.start));
        }
    }

    /// What the program stored is no longer its own: it is a copy of the process that did.
    pub fn restart(&self) {
        self.stored.clear_all();
    }

    /// A system call has returned, and may have changed what is mapped.
    pub fn follow(&self, number: c_long, arguments: &[u64; 6], returned: i64) {
        let [address, bytes, new_bytes, flags, file, offset] = *arguments;
        let Ok(result) = u64::try_from(returned) else {
            return;
        };
        match number {
            libc::SYS_mmap => {
                let file = if is_shared(flags as c_int) { file_behind(file as c_int) } else { None };
                self.map(result..result.saturating_add(whole_pages(bytes)), file, offset);
            }
            libc::SYS_munmap => self.unmap(address..address.saturating_add(whole_pages(bytes))),
            libc::SYS_mremap => self.remap(address, whole_pages(bytes), result, whole_pages(new_bytes)),
            _ => {}
        }
    }

    /// A system call has returned. Returns whether it has made anything of a mapped file durable; `flush` gets the address of
    /// each line to which that applies.
    pub fn made_durable(
        &self,
        number: c_long,
        arguments: &[u64; 6],
        returned: i64,
        mut flush: impl FnMut(u64),
    ) -> bool {
        if returned != 0 {
            return false;
        }
        let mappings = self.lock();
        let parts: Vec<(File, Range<u64>)> = match number {
            libc::SYS_msync if arguments[2] as c_int & libc::MS_SYNC != 0 => {
                let synced = arguments[0]..arguments[0].saturating_add(whole_pages(arguments[1]));
                mappings.iter().filter_map(|mapping| mapping.part_in(&synced)).collect()
            }
            libc::SYS_fsync | libc::SYS_fdatasync => {
                file_behind(arguments[0] as c_int).map(|file| (file, 0..u64::MAX)).into_iter().collect()
            }
            _ => return false,
        };
        let mut any = false;
        for (file, part) in parts {
            for addresses in mappings.iter().filter_map(|mapping| mapping.addresses_of(file, &part)) {
                any = true;
                let lines = lines_of(addresses.start, addresses.end - addresses.start);
                self.stored.take(lines, |line| flush(line * LINE_BYTES as u64));
            }
        }
        any
    }

    /// These addresses are a part of this file from now on, or of none.
    fn map(&self, addresses: Range<u64>, file: Option<File>, offset: u64) {
        self.unmap(addresses.clone());
        if let Some(file) = file.filter(|_| !addresses.is_empty()) {
            let mut mappings = self.lock();
            mappings.push(Mapping { addresses, file, offset });
            self.span(&mappings);
        }
    }

    fn unmap(&self, addresses: Range<u64>) {
        if !self.spans(&addresses) {
            return;
        }
        let mut mappings = self.lock();
        let left = mappings.iter().flat_map(|mapping| mapping.without(&addresses)).collect();
        *mappings = left;
        self.span(&mappings);
        self.stored.clear(lines_of(addresses.start, addresses.end - addresses.start));
    }

    /// What was mapped at `old` is at `new`. Where that is the same place, what is mapped before and after stays as it is.
    fn remap(&self, old: u64, old_bytes: u64, new: u64, new_bytes: u64) {
        let moved = self.lock().iter().find(|mapping| mapping.addresses.contains(&old)).cloned();
        let kept = if new == old { old_bytes.min(new_bytes) } else { 0 };
        self.unmap(old + kept..old + old_bytes);
        let offset = moved.as_ref().map_or(0, |mapping| mapping.offset_of(old) + kept);
        self.map(new + kept..new + new_bytes, moved.map(|mapping| mapping.file), offset);
    }

    /// Whether a mapping may be among these addresses.
    #[inline]
    fn spans(&self, addresses: &Range<u64>) -> bool {
        addresses.start < self.to.load(Relaxed) && addresses.end > self.from.load(Relaxed)
    }

    fn span(&self, mappings: &[Mapping]) {
        let from = mappings.iter().map(|mapping| mapping.addresses.start).min();
        let to = mappings.iter().map(|mapping| mapping.addresses.end).max();
        self.from.store(from.unwrap_or(0), Relaxed);
        self.to.store(to.unwrap_or(0), Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Mapping>> {
        self.mappings.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Mapping {
    fn offset_of(&self, address: u64) -> u64 {
        self.offset + (address - self.addresses.start)
    }

    /// What is left of it without these addresses.
    fn without(&self, addresses: &Range<u64>) -> impl Iterator<Item = Mapping> + use<> {
        let Mapping { addresses: own, file, offset } = self.clone();
        let before = own.start..own.end.min(addresses.start);
        let after = own.start.max(addresses.end)..own.end;
        let left = [before, after].into_iter().filter(|part| !part.is_empty());
        left.map(move |part| Mapping { offset: offset + (part.start - own.start), addresses: part, file })
    }

    /// The part of its file that is at these addresses.
    fn part_in(&self, addresses: &Range<u64>) -> Option<(File, Range<u64>)> {
        let common = common(&self.addresses, addresses)?;
        Some((self.file, self.offset_of(common.start)..self.offset_of(common.end)))
    }

    /// The addresses at which it has a part of a file.
    fn addresses_of(&self, file: File, part: &Range<u64>) -> Option<Range<u64>> {
        let own = self.offset..self.offset_of(self.addresses.end);
        let common = if self.file == file { common(&own, part) } else { None }?;
        let address_of = |offset: u64| self.addresses.start + (offset - self.offset);
        Some(address_of(common.start)..address_of(common.end))
    }
}

/// What two ranges have in common.
fn common(one: &Range<u64>, other: &Range<u64>) -> Option<Range<u64>> {
    let common = one.start.max(other.start)..one.end.min(other.end);
    (!common.is_empty()).then_some(common)
}

fn whole_pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES).saturating_mul(PAGE_BYTES)
}

/// Whether a mapping with these flags passes stores on to a file.
fn is_shared(flags: c_int) -> bool {
    let kind = flags & libc::MAP_TYPE;
    flags & libc::MAP_ANONYMOUS == 0 && (kind == libc::MAP_SHARED || kind == libc::MAP_SHARED_VALIDATE)
}

/// The ordinary file that is open under this number, which QEMU and the program share.
fn file_behind(descriptor: c_int) -> Option<File> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: any number may be asked for, and `stat` is ours to write.
    let known = unsafe { libc::fstat(descriptor, &mut stat) } == 0;
    (known && stat.st_mode & libc::S_IFMT == libc::S_IFREG).then_some((stat.st_dev, stat.st_ino))
}
