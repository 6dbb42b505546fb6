//! What the keeper asks of the kernel.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

/// What a signal said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Nothing, or that a child has ended.
    Nothing,
    /// To end everything.
    ToEnd,
}

/// Makes every descendant whose parent dies a child of this process.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: sets a flag of this process.
    done(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) })
}

/// Signals come when they are waited for, and have no other effect.
pub fn hold_back() -> io::Result<()> {
    // SAFETY: the default action, which the caller may have changed: under it, ended children stay to be reaped.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    mask(libc::SIG_SETMASK, &every())
}

fn mask(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: changes the mask of this thread, the only one.
    done(unsafe { libc::sigprocmask(how, set, std::ptr::null_mut()) })
}

fn every() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: this initialises all of the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn only(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises all of the set; numbers that are no signals change nothing.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        signals.iter().for_each(|signal| _ = libc::sigaddset(set.as_mut_ptr(), *signal));
        set.assume_init()
    }
}

/// The program gets its signals, and dies with the keeper should that be killed.
pub fn prepare(command: &mut Command) {
    let keeper = std::process::id();
    let prepare = move || {
        mask(libc::SIG_UNBLOCK, &every())?;
        // SAFETY: sets a value of this process.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // The keeper may have died before that.
        if parent_id() == keeper { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: system calls alone, of which any may be made after `fork`.
    unsafe { command.pre_exec(prepare) };
}

/// A child that has ended, with how; `Some(None)` if all live, nothing if there are none.
pub fn reap() -> Option<Option<(u32, ExitStatus)>> {
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Some(None),
        pid @ 1.. => Some(Some((pid.unsigned_abs(), ExitStatus::from_raw(status)))),
        _ => None,
    }
}

/// Waits for a child to end or for a wish, but not longer than that.
pub fn wait(longest: Duration) -> Asked {
    let patience = libc::timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    let set = only(&[libc::SIGCHLD, libc::SIGTERM]);
    // SAFETY: nothing is written.
    let signal = unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &patience) };
    if signal == libc::SIGTERM { Asked::ToEnd } else { Asked::Nothing }
}

/// Ends this process as another has ended.
pub fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a signal's default action ends this process here, without a memory dump; there is nothing to clean up.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        // Held back until here. What else waits to be delivered stays where it is.
        let _ = mask(libc::SIG_UNBLOCK, &only(&[signal]));
    }
    ExitCode::from(status.code().unwrap_or_default() as u8)
}

fn done(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
