//! The keeper from its caller's side: the process that looks after a program and ends with it.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::process;

/// A keeper, and so its program.
pub struct Keeper(Ender);

/// Ends a program and everything that it started.
#[derive(Clone)]
pub struct Ender(Arc<Shared>);

struct Shared {
    /// Locked wherever it is waited for or signalled: once it was waited for, its number may be another's.
    child: Mutex<Child>,
    told_to_end: AtomicBool,
}

impl Keeper {
    /// Starts it.
    pub fn start(command: &mut Command) -> io::Result<Keeper> {
        let shared = Shared { child: Mutex::new(command.spawn()?), told_to_end: AtomicBool::new(false) };
        Ok(Keeper(Ender(Arc::new(shared))))
    }

    /// How the program ended, if it has, and everything that it started.
    pub fn status(&self) -> io::Result<Option<ExitStatus>> {
        self.0.child().try_wait()
    }

    /// What ends the program from elsewhere.
    pub fn ender(&self) -> Ender {
        self.0.clone()
    }

    /// Whether it was asked to end the program before that had ended by itself.
    pub fn was_told_to_end(&self) -> bool {
        self.0.0.told_to_end.load(Ordering::Acquire)
    }

    /// Ends the program and everything that it started. When this returns, nothing of it is left.
    pub fn end(&self) {
        self.0.end();
        // Killed processes cannot delay this for long, and if waiting fails there is nothing left to be done.
        let _ = self.0.child().wait();
    }
}

impl Ender {
    /// Asks for the end, without waiting for it. A program that has ended already is left alone.
    pub fn end(&self) {
        let mut child = self.child();
        if matches!(child.try_wait(), Ok(None)) {
            self.0.told_to_end.store(true, Ordering::Release);
            process::terminate(child.id());
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        // Nothing is ever half done to it.
        self.0.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
