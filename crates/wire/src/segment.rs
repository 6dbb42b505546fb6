//! Shared memory without a name. The kernel frees it when the last process that uses it ends, from any cause.
//!
//! The kernel shows an open file of a process under `/proc`, and other processes open the memory by this path. To pass
//! the open file down would not work: programs close files that they do not know.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::NonNull;

/// Address hint for mappings. A large mapping near QEMU's own pushes QEMU's code buffer more than 2 GB away from the
/// recorder's callbacks. Each callback then takes a slow indirect call, which doubles the run time.
pub const FAR_HINT: usize = 0x2000_0000_0000;

/// A mapping of shared memory.
pub struct Segment {
    base: NonNull<u8>,
    bytes: usize,
    /// Open while other processes may open the memory.
    file: Option<OwnedFd>,
}

// SAFETY: the mapping is plain shared memory; all uses are through atomics or under the ring's tickets.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Creates memory of `bytes` bytes, all zero, that only this user may open. The kernel shows it under the name
    /// `label`.
    pub fn create(label: &CStr, bytes: usize) -> io::Result<Segment> {
        // SAFETY: `label` is a valid C string.
        let file = owned(unsafe { libc::memfd_create(label.as_ptr(), libc::MFD_CLOEXEC) })?;
        // Allocated now and not on first use: a lack of memory is an error here, but would be a SIGBUS later.
        // SAFETY: `file` is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
            0 => Ok(Segment { base: map(&file, bytes)?, bytes, file: Some(file) }),
            failed => Err(io::Error::from_raw_os_error(failed)),
        }
    }

    /// Opens memory that another process created, by its [path](Self::path).
    pub fn open(path: &OsStr) -> io::Result<Segment> {
        let path = CString::new(path.as_bytes())?;
        // SAFETY: `path` is a valid C string.
        let file = owned(unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) })?;
        // SAFETY: all-zero is a valid `stat`.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: `file` is open and `stat` is ours to write.
        let bytes = if unsafe { libc::fstat(file.as_raw_fd(), &mut stat) } == 0 { stat.st_size as usize } else { 0 };
        Ok(Segment { base: map(&file, bytes)?, bytes, file: None })
    }

    /// Returns the path by which other processes open the memory while this process keeps it, or `None` if this process
    /// has itself opened it by a path.
    pub fn path(&self) -> Option<PathBuf> {
        let file = self.file.as_ref()?.as_raw_fd();
        Some(PathBuf::from(format!("/proc/{}/fd/{file}", std::process::id())))
    }

    /// Returns the address of the first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

fn owned(opened: libc::c_int) -> io::Result<OwnedFd> {
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and has no other owner yet.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

fn map(file: &OwnedFd, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: without `MAP_FIXED`, the hint is not forced, so a new mapping does not replace another one.
    let base = unsafe { libc::mmap(FAR_HINT as *mut _, bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    let error = io::Error::last_os_error();
    if base == libc::MAP_FAILED {
        return Err(error);
    }
    NonNull::new(base.cast()).ok_or(error)
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and references into it do not outlive us.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
