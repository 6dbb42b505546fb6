//! Starts and ends the keeper: the process that supervises a recorded program and ends with it.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::process;

/// Keeper process of a recorded program.
pub struct Keeper(Ender);

/// Handle that ends a program and every process that it started.
#[derive(Clone)]
pub struct Ender(Arc<KeeperState>);

struct KeeperState {
    /// Keeper process. Callers lock it to wait for it or to signal it: after the wait, another process may have its
    /// number.
    child: Mutex<Child>,
    end_requested: AtomicBool,
}

impl Keeper {
    /// Starts the keeper by this command.
    pub fn start(command: &mut Command) -> io::Result<Keeper> {
        let shared = KeeperState { child: Mutex::new(command.spawn()?), end_requested: AtomicBool::new(false) };
        Ok(Keeper(Ender(Arc::new(shared))))
    }

    /// Returns the status of the program, if the program and all processes that it started have ended.
    pub fn status(&self) -> io::Result<Option<ExitStatus>> {
        self.0.child().try_wait()
    }

    /// Returns a handle that ends the program from another thread.
    pub fn ender(&self) -> Ender {
        self.0.clone()
    }

    /// True if a caller requested the end while the program was still running.
    pub fn was_end_requested(&self) -> bool {
        self.0.0.end_requested.load(Ordering::Acquire)
    }

    /// Ends the program and every process that it started. All of them have ended when this function returns.
    pub fn end(&self) {
        self.0.end();
        // Killed processes end quickly, so the wait is short; an error of the wait has no remedy.
        let _ = self.0.child().wait();
    }
}

impl Ender {
    /// Requests the end of the program, without waiting for it. Does not signal a program that has ended.
    pub fn end(&self) {
        let mut child = self.child();
        if matches!(child.try_wait(), Ok(None)) {
            self.0.end_requested.store(true, Ordering::Release);
            process::terminate(child.id());
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        // The lock is usable after a panic, because every change under it is complete.
        self.0.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
