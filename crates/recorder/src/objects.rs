//! Follows kernel writes to objects that some process maps: `write` to a file, and all calls that cut or fill a file.
//!
//! Other mappings of the object, in this process and in other processes, show the change at once, so the recorder sends
//! the new lines by object. It ignores a file that no process maps.

use crate::mappings::{file_behind, id_of_path};
use crate::qemu::guest;
use libc::*;
use std::ffi::CStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use wire::word::{self, Control, LINE_BYTES};

/// Effect of a system call on an object.
pub enum ObjectChange {
    /// The kernel has written these bytes of the file that is open under a descriptor.
    Written(c_int, Range<u64>),
    /// The file with this number as an object now ends at this byte.
    Cut(u64, u64),
}

/// Returns the effect of a system call on a file, if it has one.
pub fn change(number: c_long, arguments: &[u64; 6], returned: i64) -> Option<ObjectChange> {
    let count = u64::try_from(returned).ok()?;
    let [first, second, third, fourth, ..] = *arguments;
    let file = first as c_int;
    Some(match number {
        libc::SYS_write | libc::SYS_writev => ObjectChange::Written(file, before_position(file, count)?),
        libc::SYS_pwrite64 | libc::SYS_pwritev => ObjectChange::Written(file, written_at(file, fourth, count)?),
        libc::SYS_pwritev2 if fourth as i64 == -1 => ObjectChange::Written(file, before_position(file, count)?),
        libc::SYS_pwritev2 => ObjectChange::Written(file, written_at(file, fourth, count)?),
        libc::SYS_sendfile => ObjectChange::Written(file, before_position(file, count)?),
        libc::SYS_copy_file_range | libc::SYS_splice => {
            let to = third as c_int;
            ObjectChange::Written(
                to,
                if fourth == 0 { before_position(to, count)? } else { before_pointer(fourth, count) },
            )
        }
        libc::SYS_fallocate if second as c_int & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE) != 0 => {
            ObjectChange::Written(file, third..u64::MAX)
        }
        libc::SYS_fallocate if second as c_int & !FALLOC_FL_KEEP_SIZE != 0 => {
            ObjectChange::Written(file, third..third.saturating_add(fourth))
        }
        libc::SYS_ftruncate => ObjectChange::Cut(file_behind(file)?.id, second),
        libc::SYS_truncate => ObjectChange::Cut(id_at(first)?, second),
        libc::SYS_open if second as c_int & O_TRUNC != 0 => ObjectChange::Cut(file_behind(returned as c_int)?.id, 0),
        libc::SYS_openat if third as c_int & O_TRUNC != 0 => ObjectChange::Cut(file_behind(returned as c_int)?.id, 0),
        libc::SYS_creat => ObjectChange::Cut(file_behind(returned as c_int)?.id, 0),
        _ => return None,
    })
}

/// Sends the current content of the lines that contain these bytes of an object. `file` is its open descriptor.
pub fn send_lines(object: u64, file: c_int, bytes: &Range<u64>, mut push: impl FnMut(&[u64])) {
    // The descriptor may allow only writes, so the file is opened again.
    let Ok(file) = File::open(format!("/proc/self/fd/{file}")) else { return };
    let end = file.metadata().map_or(0, |found| found.len());
    let line_bytes = LINE_BYTES as u64;
    for line in bytes.start / line_bytes..bytes.end.min(end).div_ceil(line_bytes) {
        let mut content = [0; LINE_BYTES];
        let mut known = 0;
        while let Ok(read @ 1..) = file.read_at(&mut content[known..], line * line_bytes + known as u64) {
            known += read;
        }
        let mut record = [word::control(Control::ObjectLine, 0, 0); 3 + LINE_BYTES / 8];
        (record[1], record[2]) = (object, line);
        for (word, bytes) in record[3..].iter_mut().zip(content.chunks_exact(8)) {
            *word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        push(&record);
    }
}

/// Returns the last `count` bytes before the position of an open file.
fn before_position(file: c_int, count: u64) -> Option<Range<u64>> {
    // SAFETY: the call returns the position and does not change it.
    let position = u64::try_from(unsafe { lseek(file, 0, SEEK_CUR) }).ok()?;
    Some(position.saturating_sub(count)..position)
}

/// Returns the bytes that a write at an offset has changed. In a file that is open for appending, they are at its end.
fn written_at(file: c_int, offset: u64, count: u64) -> Option<Range<u64>> {
    // SAFETY: the call returns the flags of an open file.
    if unsafe { fcntl(file, F_GETFL) } & O_APPEND != 0 {
        // SAFETY: all-zero is a valid `stat`.
        let mut stat: stat = unsafe { std::mem::zeroed() };
        // SAFETY: `fstat` accepts any descriptor, and `stat` is ours to write.
        let end = (unsafe { fstat(file, &mut stat) } == 0).then_some(stat.st_size as u64)?;
        return Some(end.saturating_sub(count)..end);
    }
    Some(offset..offset.saturating_add(count))
}

/// Returns the last `count` bytes before the offset that the kernel has advanced.
fn before_pointer(pointer: u64, count: u64) -> Range<u64> {
    // SAFETY: the successful call read and wrote this offset.
    let position = unsafe { guest::<u64>(pointer) };
    position.saturating_sub(count)..position
}

fn id_at(path: u64) -> Option<u64> {
    // SAFETY: the successful call read this string.
    id_of_path(unsafe { CStr::from_ptr((crate::qemu::guest_base + path as usize) as *const c_char) })
}
