//! Detects program behaviour that QEMU 7.2 is known to execute wrongly, so that a message can name the possible cause
//! of a fault.
//!
//! QEMU begins signal handlers with a misaligned stack, copies the memory of a process that calls `vfork`, and does not
//! follow some advice about memory. QEMU loads the whole vector in a masked load, including bytes that the mask excludes and that may not exist. It
//! write-protects only the view from which it has translated code. It therefore misses a store through another view of
//! the same object, and executes the old code.

use crate::mappings::{file_behind, is_shared};
use libc::{PROT_EXEC, PROT_WRITE, c_int, c_long};
use std::sync::{Mutex, PoisonError};
use wire::encoding::is_masked_load;
use wire::host::{Host, Oddity};

/// Frees pages that are locked, since Linux 5.18; the C library's headers may lack it.
const MADV_DONTNEED_LOCKED: c_int = 24;

/// Shared objects that are mapped writable or executable, with the protection of each view.
static OBJECTS: Mutex<Vec<(u64, c_int)>> = Mutex::new(Vec::new());

/// Examines an instruction when QEMU translates it.
pub fn look_at(host: &Host, bytes: &[u8]) {
    if is_masked_load(bytes) {
        host.note(Oddity::MaskedVector);
    }
}

/// Examines a system call that the program is about to make.
pub fn enter(host: &Host, number: c_long, arguments: &[u64; 6]) {
    match number {
        libc::SYS_rt_sigreturn => host.clear(Oddity::Handler),
        libc::SYS_select | libc::SYS_pselect6 if arguments[0] as c_int > libc::FD_SETSIZE as c_int => {
            host.note(Oddity::ManyDescriptors);
        }
        _ => {}
    }
}

/// Examines a system call that has returned. Notes advice that QEMU does not follow, and an object that is writable in
/// one view and executable in another.
pub fn follow(host: &Host, number: c_long, arguments: &[u64; 6], returned: i64) {
    if number == libc::SYS_madvise && returned == 0 {
        match arguments[2] as c_int {
            libc::MADV_WIPEONFORK => host.note(Oddity::WipedOnFork),
            libc::MADV_REMOVE | MADV_DONTNEED_LOCKED => host.note(Oddity::IgnoredAdvice),
            _ => {}
        }
    }
    let [_, _, protection, flags, descriptor, _] = *arguments;
    let protection = protection as c_int & (PROT_WRITE | PROT_EXEC);
    if number != libc::SYS_mmap || returned < 0 || protection == 0 || !is_shared(flags as c_int) {
        return;
    }
    let Some(object) = file_behind(descriptor as c_int) else { return };
    let mut objects = OBJECTS.lock().unwrap_or_else(PoisonError::into_inner);
    if has_two_views(&mut objects, object.id, protection) {
        host.note(Oddity::CodeInTwoPlaces);
    }
}

/// Adds a view of an object. Returns true if the object had another view, and the views together can be written and
/// executed.
fn has_two_views(objects: &mut Vec<(u64, c_int)>, object: u64, protection: c_int) -> bool {
    let had = objects.iter().filter(|(known, _)| *known == object).fold(0, |all, (_, had)| all | had);
    if !objects.contains(&(object, protection)) {
        objects.push((object, protection));
    }
    had != 0 && had | protection == PROT_WRITE | PROT_EXEC
}
