//! The mappings of a process: its addresses, and the object and offset of the pages at them.
//!
//! A page belongs to an object and not to an address: to a file, to a System V segment, to memory that processes share,
//! or to the process itself. The recorder learns of mappings from system calls. From the kernel's list, it reads the
//! mappings that QEMU made before the program began.

use libc::c_int;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};
use wire::word::PAGE_BYTES;

/// End of the program's mappings in the host. QEMU places the program's address zero at the host's address zero.
const PROGRAM_END: u64 = wire::segment::FAR_HINT as u64;

/// Bits of an object's number below the two bits for its kind. A number has 56 bits in all.
const OBJECT_BITS: u32 = 54;
const SHARED_MEMORY: u64 = 1 << OBJECT_BITS;
const SEGMENT: u64 = 2 << OBJECT_BITS;

/// A file as the process found it: the content of its private pages before the first store.
pub struct Original {
    base: NonNull<u8>,
    mapped_bytes: usize,
    /// Number of these bytes that the file has.
    bytes: usize,
}

// SAFETY: the mapping is only read.
unsafe impl Send for Original {}
// SAFETY: as above.
unsafe impl Sync for Original {}

/// Owner of the pages of a mapping.
#[derive(Clone)]
pub enum Backing {
    /// Pages of the process itself.
    Anonymous {
        /// True if the pages are a stack.
        stack: bool,
    },
    /// Pages of an object, which receives all stores.
    Object {
        /// Number of the object.
        id: u64,
        /// True if the object is a file.
        file: bool,
        /// True if the whole object held zeros when it was mapped.
        blank: bool,
    },
    /// Pages of a file, until the process stores to them.
    Private {
        /// Number of the file.
        id: u64,
        /// The file's own content, if the process may store to the mapping from the beginning.
        original: Option<Arc<Original>>,
    },
}

/// Pages at consecutive addresses.
#[derive(Clone)]
pub struct Mapping {
    addresses: Range<u64>,
    backing: Backing,
    /// Offset of the first byte in the object, in bytes.
    offset: u64,
    /// Offset of the first byte in the original, in bytes.
    original_offset: u64,
}

/// Part of an object that is mapped.
pub struct ObjectPart {
    /// Number of the object.
    pub id: u64,
    /// Addresses of the part.
    pub addresses: Range<u64>,
    /// Bytes of the object at these addresses.
    pub bytes: Range<u64>,
}

/// All known mappings, by their first addresses.
pub struct Mappings {
    by_start: Mutex<BTreeMap<u64, Mapping>>,
    /// Number of shared mappings without an ordinary file that were made by this process, or by one that it is a copy
    /// of.
    shared_memory: AtomicU64,
    program_break: AtomicU64,
    has_objects: AtomicBool,
}

impl Mapping {
    /// Returns the owner of the pages.
    pub fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Returns the offset of an address in the object, in bytes.
    pub fn offset_of(&self, address: u64) -> u64 {
        self.offset + (address - self.addresses.start)
    }

    /// Returns the original content of the page at an address from its file, if it is known.
    pub fn original_page(&self, address: u64) -> Option<[u64; PAGE_BYTES / 8]> {
        let Backing::Private { original: Some(original), .. } = &self.backing else { return None };
        original.page(self.original_offset + (address - self.addresses.start))
    }

    /// Returns the parts of the mapping that remain without these addresses.
    fn without(&self, addresses: &Range<u64>) -> impl Iterator<Item = Mapping> + use<> {
        let own = self.addresses.clone();
        let before = own.start..own.end.min(addresses.start);
        let after = own.start.max(addresses.end)..own.end;
        let whole = self.clone();
        [before, after].into_iter().filter(|part| !part.is_empty()).map(move |part| whole.part(part))
    }

    fn part(&self, addresses: Range<u64>) -> Mapping {
        let by = addresses.start - self.addresses.start;
        Mapping {
            addresses,
            backing: self.backing.clone(),
            offset: self.offset + by,
            original_offset: self.original_offset + by,
        }
    }
}

impl Mappings {
    /// Creates a table without mappings.
    pub fn new() -> Mappings {
        Mappings {
            by_start: Mutex::default(),
            shared_memory: AtomicU64::new(0),
            program_break: AtomicU64::new(0),
            has_objects: AtomicBool::new(false),
        }
    }

    /// Adds the files that QEMU mapped before the program began.
    pub fn learn_first(&self) {
        let list = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        list.lines().filter_map(first_mapping).for_each(|mapping| self.add(mapping));
    }

    /// Returns true if any object was ever mapped in a way that shares its stores.
    pub fn has_objects(&self) -> bool {
        self.has_objects.load(Relaxed)
    }

    /// Returns the mapping at an address.
    pub fn find(&self, address: u64) -> Option<Mapping> {
        let mappings = self.lock();
        let (_, mapping) = mappings.range(..=address).next_back()?;
        mapping.addresses.contains(&address).then(|| mapping.clone())
    }

    /// Returns the parts of objects that are mapped among these addresses.
    pub fn objects_in(&self, addresses: &Range<u64>) -> Vec<ObjectPart> {
        let part = |mapping: &Mapping| match mapping.backing {
            Backing::Object { id, .. } => {
                let addresses = common(&mapping.addresses, addresses)?;
                let bytes = mapping.offset_of(addresses.start)..mapping.offset_of(addresses.end);
                Some(ObjectPart { id, addresses, bytes })
            }
            _ => None,
        };
        self.lock().values().filter_map(part).collect()
    }

    /// Adds a mapping that the program has made. Returns the number of its object or file, if it has one.
    pub fn map(&self, addresses: Range<u64>, arguments: &[u64; 6], image: u32) -> Option<u64> {
        let [_, _, protection, flags, file, offset] = *arguments;
        let flags = flags as c_int;
        let is_shared = is_shared(flags);
        let file = if flags & libc::MAP_ANONYMOUS == 0 { file_behind(file as c_int) } else { None };
        let is_stack = flags & (libc::MAP_STACK | libc::MAP_GROWSDOWN) != 0;
        let is_writable = protection as c_int & libc::PROT_WRITE != 0;
        let (backing, id) = match (file, is_shared) {
            (Some(found), true) if found.is_regular => {
                (Backing::Object { id: found.id, file: true, blank: found.is_blank }, Some(found.id))
            }
            (Some(found), false) if found.is_regular => {
                let bytes = addresses.end - addresses.start;
                let original = is_writable.then(|| Original::of(arguments[4] as c_int, offset, bytes)).flatten();
                (Backing::Private { id: found.id, original: original.map(Arc::new) }, Some(found.id))
            }
            // Each mapping of `/dev/zero` is new memory.
            (_, true) => {
                let id = SHARED_MEMORY | u64::from(image) << 24 | self.shared_memory.fetch_add(1, Relaxed);
                (Backing::Object { id, file: false, blank: true }, Some(id))
            }
            _ => (Backing::Anonymous { stack: is_stack }, None),
        };
        self.add(Mapping { addresses, backing, offset, original_offset: 0 });
        id
    }

    /// Adds a System V segment that the program has attached. Returns its addresses and its number as an object.
    pub fn attach(&self, segment: c_int, address: u64) -> Option<(Range<u64>, u64)> {
        // SAFETY: all-zero is a valid `shmid_ds`.
        let mut found: libc::shmid_ds = unsafe { std::mem::zeroed() };
        // SAFETY: `shmctl` accepts any segment number, and `found` is ours to write.
        if unsafe { libc::shmctl(segment, libc::IPC_STAT, &mut found) } != 0 {
            return None;
        }
        let (addresses, id) = (address..address + whole_pages(found.shm_segsz as u64), SEGMENT | segment as u64);
        let backing = Backing::Object { id, file: false, blank: false };
        self.add(Mapping { addresses: addresses.clone(), backing, offset: 0, original_offset: 0 });
        Some((addresses, id))
    }

    /// Returns the addresses of the mapping that begins at `start`.
    pub fn addresses_from(&self, start: u64) -> Option<Range<u64>> {
        self.lock().get(&start).map(|mapping| mapping.addresses.clone())
    }

    /// Removes these addresses from all mappings.
    pub fn unmap(&self, addresses: &Range<u64>) {
        let mut mappings = self.lock();
        let within = mappings.range(..addresses.end).filter(|(_, mapping)| mapping.addresses.end > addresses.start);
        let touched: Vec<_> = within.map(|(start, _)| *start).collect();
        for mapping in touched.iter().filter_map(|start| mappings.remove(start)).collect::<Vec<_>>() {
            mappings.extend(mapping.without(addresses).map(|left| (left.addresses.start, left)));
        }
    }

    /// Moves the mapping at `old` to `new`, which may be longer. If `old` is empty, the mapping also remains at `old`.
    pub fn remap(&self, old: Range<u64>, new: Range<u64>) {
        let moved = self.find(old.start).map(|mapping| Mapping {
            addresses: new.clone(),
            offset: mapping.offset_of(old.start),
            original_offset: mapping.original_offset + (old.start - mapping.addresses.start),
            backing: mapping.backing,
        });
        self.unmap(&old);
        self.unmap(&new);
        if let Some(moved) = moved {
            self.add(moved);
        }
    }

    /// Returns the program break, if it is known.
    pub fn program_break(&self) -> Option<u64> {
        Some(self.program_break.load(Relaxed)).filter(|now| *now != 0)
    }

    /// Sets the program break. Returns the addresses that the heap has gained, and those that it has lost.
    pub fn set_break(&self, now: u64) -> (Range<u64>, Range<u64>) {
        let before = self.program_break.swap(now, Relaxed);
        let before = if before == 0 { now } else { before };
        let (low, high) = (whole_pages(before.min(now)), whole_pages(before.max(now)));
        if now < before {
            self.unmap(&(low..high));
            return (0..0, low..high);
        }
        self.add(Mapping {
            addresses: low..high,
            backing: Backing::Anonymous { stack: false },
            offset: 0,
            original_offset: 0,
        });
        (low..high, 0..0)
    }

    fn add(&self, mapping: Mapping) {
        if matches!(mapping.backing, Backing::Object { .. }) {
            self.has_objects.store(true, Relaxed);
        }
        if !mapping.addresses.is_empty() {
            self.unmap(&mapping.addresses);
            self.lock().insert(mapping.addresses.start, mapping);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Mapping>> {
        self.by_start.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Original {
    fn of(file: RawFd, offset: u64, bytes: u64) -> Option<Original> {
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let (hint, bytes) = (wire::segment::FAR_HINT as *mut _, bytes as usize);
        // SAFETY: without `MAP_FIXED`, the hint is not forced, so a new mapping does not replace another one.
        let base = unsafe { libc::mmap(hint, bytes, libc::PROT_READ, flags, file, offset as libc::off_t) };
        if base == libc::MAP_FAILED {
            return None;
        }
        // Pages behind the end of the file cannot be read.
        let end = found(file, c"", libc::AT_EMPTY_PATH).map_or(0, |found| found.stx_size);
        let in_file = bytes.min(end.saturating_sub(offset) as usize);
        Some(Original { base: NonNull::new(base.cast())?, mapped_bytes: bytes, bytes: in_file })
    }

    fn page(&self, offset: u64) -> Option<[u64; PAGE_BYTES / 8]> {
        let offset = offset as usize;
        let readable = offset < self.bytes;
        // SAFETY: the page begins within the file, and the kernel fills the file's last page with zeros.
        readable.then(|| unsafe { self.base.as_ptr().add(offset).cast::<[u64; PAGE_BYTES / 8]>().read_unaligned() })
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and pages are only copied from it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// An open file of the process.
pub struct OpenFile {
    /// Number of the file as an object.
    pub id: u64,
    /// True if it is an ordinary file.
    pub is_regular: bool,
    /// True if the whole file reads as zeros.
    pub is_blank: bool,
}

/// Returns true if all mappings of the same memory with these flags see each other's stores.
pub fn is_shared(flags: c_int) -> bool {
    matches!(flags & libc::MAP_TYPE, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE)
}

/// Returns the open file of a descriptor. QEMU and the program share descriptors.
pub fn file_behind(descriptor: RawFd) -> Option<OpenFile> {
    let found = found(descriptor, c"", libc::AT_EMPTY_PATH)?;
    let is_regular = u32::from(found.stx_mode) & libc::S_IFMT == libc::S_IFREG;
    Some(OpenFile { id: id_of(&found), is_regular, is_blank: is_regular && found.stx_blocks == 0 })
}

/// Returns the number as an object of the file with this path.
pub fn id_of_path(path: &CStr) -> Option<u64> {
    found(libc::AT_FDCWD, path, 0).map(|found| id_of(&found))
}

fn found(folder: RawFd, path: &CStr, flags: c_int) -> Option<libc::statx> {
    // SAFETY: all-zero is a valid `statx`.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let wanted = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    // SAFETY: `path` is a C string, and `found` is ours to write.
    (unsafe { libc::statx(folder, path.as_ptr(), flags, wanted, &mut found) } == 0).then_some(found)
}

/// Returns a file's number as an object: a hash of its device, its number on the device and its time of birth. A new
/// file may get the number of a deleted file. Some file systems keep no time of birth; it is then zero.
fn id_of(found: &libc::statx) -> u64 {
    let mix = |hash: u64, value: u64| {
        let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    let birth = [found.stx_btime.tv_sec as u64, found.stx_btime.tv_nsec.into()];
    [found.stx_ino, device, birth[0], birth[1]].into_iter().fold(0, mix) >> (u64::BITS - OBJECT_BITS)
}

/// Parses a line of the kernel's list. Returns its mapping if it belongs to the program and maps a file.
fn first_mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (addresses, access, offset) = (words.next()?, words.next()?, words.next()?);
    let (start, end) = addresses.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (addresses, offset) = (hex(start)?..hex(end)?, hex(offset)?);
    let path = words.nth(2).filter(|path| path.starts_with('/') && addresses.end <= PROGRAM_END)?;
    let file = File::open(path).ok()?;
    let found = file_behind(file.as_raw_fd()).filter(|found| found.is_regular)?;
    let writable = access.as_bytes().get(1) == Some(&b'w');
    let bytes = addresses.end - addresses.start;
    let original = writable.then(|| Original::of(file.as_raw_fd(), offset, bytes)).flatten();
    let backing = Backing::Private { id: found.id, original: original.map(Arc::new) };
    Some(Mapping { addresses, backing, offset, original_offset: 0 })
}

/// Returns the overlap of two ranges, if they overlap.
fn common(one: &Range<u64>, other: &Range<u64>) -> Option<Range<u64>> {
    let common = one.start.max(other.start)..one.end.min(other.end);
    (!common.is_empty()).then_some(common)
}

/// Rounds a number of bytes up to whole pages.
pub fn whole_pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES as u64).saturating_mul(PAGE_BYTES as u64)
}
