//! System calls of the keeper for signals and child processes.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

/// Request that a signal carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalRequest {
    /// No request: a child has ended, or the time is over.
    Nothing,
    /// A request to end all processes.
    ToEnd,
}

/// Makes this process the parent of each descendant that loses its parent.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: sets a flag of this process.
    done(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) })
}

/// Blocks all signals, so that they take effect only in [`wait`].
pub fn hold_back() -> io::Result<()> {
    // SAFETY: sets the default action, which the caller may have changed. With it, ended children wait to be reaped.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    mask(libc::SIG_SETMASK, &every())
}

fn mask(how: libc::c_int, set: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: changes the mask of this thread, the only one.
    done(unsafe { libc::sigprocmask(how, set, std::ptr::null_mut()) })
}

fn every() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigfillset` initialises the whole set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn only(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises the whole set, and `sigaddset` ignores numbers that are no signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        signals.iter().for_each(|signal| _ = libc::sigaddset(set.as_mut_ptr(), *signal));
        set.assume_init()
    }
}

/// Unblocks all signals in the program's process, and lets the kernel kill the program if the keeper is killed.
pub fn prepare(command: &mut Command) {
    let keeper = std::process::id();
    let prepare = move || {
        mask(libc::SIG_UNBLOCK, &every())?;
        // SAFETY: sets a value of this process.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // The keeper may have died before the call above.
        if parent_id() == keeper { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: the closure makes only system calls that are allowed after `fork`.
    unsafe { command.pre_exec(prepare) };
}

/// Reaps a child that has ended, and returns its number and status. Returns `Some(None)` if all children are alive, and
/// `None` if this process has no child.
pub fn reap() -> Option<Option<(u32, ExitStatus)>> {
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Some(None),
        pid @ 1.. => Some(Some((pid.unsigned_abs(), ExitStatus::from_raw(status)))),
        _ => None,
    }
}

/// Waits until a child ends or a request arrives, but no longer than `longest`, which must be below a second.
pub fn wait(longest: Duration) -> SignalRequest {
    let patience = libc::timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    let set = only(&[libc::SIGCHLD, libc::SIGTERM]);
    // SAFETY: the call writes no memory, because the pointer for the signal's information is null.
    let signal = unsafe { libc::sigtimedwait(&set, std::ptr::null_mut(), &patience) };
    if signal == libc::SIGTERM { SignalRequest::ToEnd } else { SignalRequest::Nothing }
}

/// Ends this process by the signal that ended the program, or returns the program's exit status.
pub fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the signal's default action ends this process, without a memory dump. The keeper has no state to
        // clean up.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        // The signal is blocked until this call. Other pending signals stay blocked.
        let _ = mask(libc::SIG_UNBLOCK, &only(&[signal]));
    }
    ExitCode::from(status.code().unwrap_or_default() as u8)
}

fn done(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
