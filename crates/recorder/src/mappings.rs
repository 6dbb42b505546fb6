//! The mappings of a process: which addresses are pages of which object.
//!
//! A page belongs to an object and not to an address: to a file, to a System V segment, to memory that processes share, or to the
//! process itself. The recorder learns of mappings from system calls; of those that QEMU made before the program began, from the
//! kernel's list.

use libc::{c_int, c_long};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};
use wire::word::PAGE_BYTES;

/// The host's mappings below are the program's, since QEMU puts the program's address zero at its own.
const PROGRAM_END: u64 = wire::segment::FAR_HINT as u64;

/// Objects are numbered with 56 bits, of which the top two say what they are.
const OBJECT_BITS: u32 = 54;
const SHARED_MEMORY: u64 = 1 << OBJECT_BITS;
const SEGMENT: u64 = 2 << OBJECT_BITS;

/// A file as the process found it: what private pages of it hold before the first store.
pub struct Original {
    base: NonNull<u8>,
    mapped_bytes: usize,
    /// How many of these the file has.
    bytes: usize,
}

// SAFETY: the mapping is only read.
unsafe impl Send for Original {}
// SAFETY: as above.
unsafe impl Sync for Original {}

/// What pages are of.
#[derive(Clone)]
pub enum Backing {
    /// Of the process itself.
    Anonymous {
        /// Whether they are a stack.
        stack: bool,
    },
    /// Of an object, to which all stores go.
    Object {
        /// Its number.
        id: u64,
        /// Whether it is a file.
        file: bool,
        /// Whether all of it held zeros when it was mapped.
        blank: bool,
    },
    /// Of a file, until the process stores to them.
    Private {
        /// The file's number.
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
    /// Where in its object the first byte is.
    offset: u64,
    /// Where in its original.
    original_offset: u64,
}

/// All mappings that are known, by their first addresses.
pub struct Mappings {
    by_start: Mutex<BTreeMap<u64, Mapping>>,
    /// How much memory this process, or one that it is a copy of, has made to be shared.
    shared_memory: AtomicU64,
    program_break: AtomicU64,
    has_objects: AtomicBool,
}

impl Mapping {
    /// Whose they are.
    pub fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Where in its object an address is.
    pub fn offset_of(&self, address: u64) -> u64 {
        self.offset + (address - self.addresses.start)
    }

    /// What the page at an address held in its file, if that is known.
    pub fn original_page(&self, address: u64) -> Option<[u64; PAGE_BYTES / 8]> {
        let Backing::Private { original: Some(original), .. } = &self.backing else { return None };
        original.page(self.original_offset + (address - self.addresses.start))
    }

    /// What is left of it without these addresses.
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
    /// None.
    pub fn new() -> Mappings {
        Mappings {
            by_start: Mutex::default(),
            shared_memory: AtomicU64::new(0),
            program_break: AtomicU64::new(0),
            has_objects: AtomicBool::new(false),
        }
    }

    /// Learns what QEMU has mapped of files before the program began.
    pub fn learn_first(&self) {
        let list = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        list.lines().filter_map(first_mapping).for_each(|mapping| self.add(mapping));
    }

    /// Whether any object was mapped so that its stores are shared.
    pub fn has_objects(&self) -> bool {
        self.has_objects.load(Relaxed)
    }

    /// The mapping at an address.
    pub fn find(&self, address: u64) -> Option<Mapping> {
        let mappings = self.lock();
        let (_, mapping) = mappings.range(..=address).next_back()?;
        mapping.addresses.contains(&address).then(|| mapping.clone())
    }

    /// The parts of objects that are mapped among these addresses.
    pub fn objects_in(&self, addresses: &Range<u64>) -> Vec<(u64, Range<u64>)> {
        let part = |mapping: &Mapping| match mapping.backing {
            Backing::Object { id, .. } => {
                let common = common(&mapping.addresses, addresses)?;
                Some((id, mapping.offset_of(common.start)..mapping.offset_of(common.end)))
            }
            _ => None,
        };
        self.lock().values().filter_map(part).collect()
    }

    /// The addresses among these at which an object is mapped.
    pub fn shared_in(&self, addresses: &Range<u64>) -> Vec<Range<u64>> {
        let shared = |mapping: &Mapping| {
            let common = common(&mapping.addresses, addresses);
            common.filter(|_| matches!(mapping.backing, Backing::Object { .. }))
        };
        self.lock().values().filter_map(shared).collect()
    }

    /// The program has mapped something: the number of the object that it is of, if it is of one.
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

    /// The program has attached a System V segment at an address: where it is, and its number.
    pub fn attach(&self, segment: c_int, address: u64) -> Option<(Range<u64>, u64)> {
        // SAFETY: all-zero is a valid `shmid_ds`.
        let mut found: libc::shmid_ds = unsafe { std::mem::zeroed() };
        // SAFETY: any number may be asked for, and `found` is ours to write.
        if unsafe { libc::shmctl(segment, libc::IPC_STAT, &mut found) } != 0 {
            return None;
        }
        let (addresses, id) = (address..address + whole_pages(found.shm_segsz as u64), SEGMENT | segment as u64);
        let backing = Backing::Object { id, file: false, blank: false };
        self.add(Mapping { addresses: addresses.clone(), backing, offset: 0, original_offset: 0 });
        Some((addresses, id))
    }

    /// The addresses of the mapping that begins at one.
    pub fn addresses_from(&self, start: u64) -> Option<Range<u64>> {
        self.lock().get(&start).map(|mapping| mapping.addresses.clone())
    }

    /// Nothing is mapped at these addresses.
    pub fn unmap(&self, addresses: &Range<u64>) {
        let mut mappings = self.lock();
        let within = mappings.range(..addresses.end).filter(|(_, mapping)| mapping.addresses.end > addresses.start);
        let touched: Vec<_> = within.map(|(start, _)| *start).collect();
        for mapping in touched.iter().filter_map(|start| mappings.remove(start)).collect::<Vec<_>>() {
            mappings.extend(mapping.without(addresses).map(|left| (left.addresses.start, left)));
        }
    }

    /// What was mapped at `old` is at `new`, which may be longer; if `old` is empty, it is there as well.
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

    /// The program's break, if that is known.
    pub fn program_break(&self) -> Option<u64> {
        Some(self.program_break.load(Relaxed)).filter(|now| *now != 0)
    }

    /// The program's break is here now: the addresses that it has gained, and those that it has lost.
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
        // SAFETY: a new mapping at a hint that is not forced replaces nothing.
        let base = unsafe { libc::mmap(hint, bytes, libc::PROT_READ, flags, file, offset as libc::off_t) };
        if base == libc::MAP_FAILED {
            return None;
        }
        // Pages behind the end of the file cannot be read.
        let end = found(file).map_or(0, |found| found.st_size as u64);
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

/// A file that is open.
pub struct OpenFile {
    /// Its number.
    pub id: u64,
    /// Whether it is an ordinary file.
    pub is_regular: bool,
    /// Whether all of it reads as zeros.
    pub is_blank: bool,
}

/// Whether all that map the same memory with these flags see each other's stores.
pub fn is_shared(flags: c_int) -> bool {
    matches!(flags & libc::MAP_TYPE, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE)
}

/// The file that is open under this number, which QEMU and the program share.
pub fn file_behind(descriptor: RawFd) -> Option<OpenFile> {
    let stat = found(descriptor)?;
    let is_regular = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    Some(OpenFile { id: file_id(&stat), is_regular, is_blank: is_regular && stat.st_blocks == 0 })
}

fn found(descriptor: RawFd) -> Option<libc::stat> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: any number may be asked for, and `stat` is ours to write.
    (unsafe { libc::fstat(descriptor, &mut stat) } == 0).then_some(stat)
}

/// A file's number as an object: of its device and its number there.
pub fn file_id(stat: &libc::stat) -> u64 {
    let mixed = (stat.st_ino ^ stat.st_dev.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (u64::BITS - OBJECT_BITS)
}

/// A line of the kernel's list that is the program's and of a file.
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

/// What two ranges have in common.
fn common(one: &Range<u64>, other: &Range<u64>) -> Option<Range<u64>> {
    let common = one.start.max(other.start)..one.end.min(other.end);
    (!common.is_empty()).then_some(common)
}

/// So many bytes, as whole pages.
pub fn whole_pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES as u64).saturating_mul(PAGE_BYTES as u64)
}

/// Whether a call copies its process, and does not start a thread of it.
pub fn copies_process(number: c_long, arguments: &[u64; 6]) -> bool {
    match number {
        libc::SYS_fork | libc::SYS_vfork => true,
        // QEMU makes a copy where Linux would let the child borrow its parent's memory.
        libc::SYS_clone => {
            let flags = arguments[0] as c_int;
            flags & libc::CLONE_VM == 0 || flags & libc::CLONE_VFORK != 0
        }
        _ => false,
    }
}
