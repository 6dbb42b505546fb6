//! A named piece of shared memory.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr::NonNull;

/// Where mappings are asked to go. A large mapping near QEMU's own pushes its code buffer out of reach of the recorder's
/// callbacks (more than 2 GB), which then take a slow indirect call each and double the run time.
pub const FAR_HINT: usize = 0x2000_0000_0000;

/// A mapping of a shared memory object. The one who created it removes the name when dropped.
pub struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    name: CString,
    is_owner: bool,
}

// SAFETY: the mapping is plain shared memory; whoever uses it does so through atomics or under the ring's tickets.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes a new object of zero bytes that only this user may open.
    pub fn create(name: &str, bytes: usize) -> io::Result<Segment> {
        let name = c_name(name)?;
        // SAFETY: `name` is a valid C string.
        let fd = unsafe { libc::shm_open(name.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // Allocated now rather than on first use: a full /dev/shm is an error here and a SIGBUS later.
        // SAFETY: `fd` is open.
        let failed = unsafe { libc::posix_fallocate(fd, 0, bytes as libc::off_t) };
        let mapped = if failed == 0 { map(fd, bytes) } else { Err(io::Error::from_raw_os_error(failed)) };
        match mapped {
            Ok(base) => Ok(Segment { base, bytes, name, is_owner: true }),
            Err(error) => {
                // SAFETY: `name` is a valid C string.
                unsafe { libc::shm_unlink(name.as_ptr()) };
                Err(error)
            }
        }
    }

    /// Opens an object that someone else made.
    pub fn open(name: &OsStr) -> io::Result<Segment> {
        let name = CString::new(name.as_bytes())?;
        // SAFETY: `name` is a valid C string.
        let fd = unsafe { libc::shm_open(name.as_ptr(), libc::O_RDWR, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: all-zero is a valid `stat`, and `fd` is open.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `stat` is ours to write.
        let bytes = if unsafe { libc::fstat(fd, &mut stat) } == 0 { stat.st_size as usize } else { 0 };
        Ok(Segment { base: map(fd, bytes)?, bytes, name, is_owner: false })
    }

    /// The first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Nobody shall open it any more.
    pub fn remove_name(&self) {
        // SAFETY: `name` is a valid C string.
        unsafe { libc::shm_unlink(self.name.as_ptr()) };
    }

    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

fn c_name(name: &str) -> io::Result<CString> {
    Ok(CString::new(name)?)
}

/// Maps `fd` and closes it.
fn map(fd: libc::c_int, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at a hint that is not forced replaces nothing.
    let base = unsafe { libc::mmap(FAR_HINT as *mut _, bytes, protection, libc::MAP_SHARED, fd, 0) };
    let error = io::Error::last_os_error();
    // SAFETY: `fd` is open and not used again.
    unsafe { libc::close(fd) };
    if base == libc::MAP_FAILED {
        return Err(error);
    }
    NonNull::new(base.cast()).ok_or(error)
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody can hold a reference into it beyond our own lifetime.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        if self.is_owner {
            self.remove_name();
        }
    }
}
