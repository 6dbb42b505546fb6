//! A running program: QEMU under a keeper, and the ring through which its words arrive.

pub(crate) mod environment;
mod keeper;
mod launch;
mod observer;
mod sweep;

pub use environment::{RECORDER_VARIABLE, recorder_from_environment};
pub use keeper::Ender;
pub use launch::{Input, LiveOptions, Output};
pub use observer::QemuObserver;
pub use wire::host::HostWork;

use crate::assemble::Assembler;
use crate::error::WorkloadError;
use crate::source::{Finish, Origin, Source, Suspect};
use crate::stream::Batch;
use keeper::Keeper;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use wire::host::{FAULTS, Oddity};
use wire::ring::Ring;

/// Time to sleep when the program has not sent data yet.
const NAP: Duration = Duration::from_micros(100);
/// Maximum bytes of QEMU's error output in a message.
const SAID_BYTES: usize = 2000;
/// Exit status of QEMU after an error of its own.
const QEMU_GAVE_UP: i32 = 127;

/// A running program: one process and all its descendants. It ends when all of them have ended. Dropping this value
/// ends all processes of the program, and so does the end of the Casemate process, for any reason.
///
/// When the limit of recorded instructions is reached, the program is ended as well, without its remaining output. No
/// exit status or signal of the program counts as an error.
pub struct Live {
    program: PathBuf,
    origin: Origin,
    ring: Ring,
    keeper: Keeper,
    status: Option<ExitStatus>,
    complaints: Option<File>,
    assembler: Assembler,
    finished: bool,
}

impl Live {
    /// Starts a program under the recorder.
    pub fn start(options: LiveOptions) -> Result<Live, WorkloadError> {
        let started = launch::start(&options)?;
        Ok(Live {
            program: started.program,
            origin: started.origin,
            ring: started.ring,
            keeper: started.keeper,
            complaints: started.complaints,
            status: None,
            assembler: Assembler::default(),
            finished: false,
        })
    }

    /// Returns a handle that can end the program from another thread while this one waits for it.
    pub fn ender(&self) -> Ender {
        self.keeper.ender()
    }

    /// Returns a handle that can observe QEMU from another thread while this one waits for it.
    pub fn observer(&self) -> Result<QemuObserver, WorkloadError> {
        QemuObserver::of(&self.ring).map_err(WorkloadError::io("looking at the ring of", &self.program))
    }

    /// True if all words are published: at the limit, after the end of every process, or after one of them lacked
    /// memory.
    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        if self.status.is_none() {
            self.status = self.keeper.status().map_err(WorkloadError::io("waiting for", &self.program))?;
        }
        Ok(self.status.is_some() || self.ring.is_limit_reached() || self.ring.host().refused().is_some())
    }

    /// Ends the remaining processes and determines the finish.
    fn finish(&mut self) -> Result<(), WorkloadError> {
        self.finished = true;
        if self.ring.is_limit_reached() {
            self.origin.finish = Finish::LimitReached;
            self.end();
            return Ok(());
        }
        if self.keeper.was_end_requested() {
            return Ok(());
        }
        if let Some(bytes) = self.ring.host().refused() {
            self.origin.finish = Finish::Unbacked(bytes);
            self.end();
            return Ok(());
        }
        let status = self.status.unwrap_or_default();
        if self.ring.images() == 0 {
            return Err(WorkloadError::NotRecorded {
                program: self.program.clone(),
                status: status.to_string(),
                said: self.said(),
            });
        }
        self.origin.finish = status.signal().map_or(Finish::Exited(status.code().unwrap_or_default()), Finish::Killed);
        self.origin.suspects = self.suspects();
        Ok(())
    }

    /// Known defects of QEMU that this program has met, and those that may be the cause if a fault has ended it.
    fn suspects(&self) -> Vec<Suspect> {
        let faulted = matches!(self.origin.finish, Finish::Killed(signal) if FAULTS.contains(&signal));
        let of_faults = [
            (Oddity::MaskedVector, Suspect::MaskedVector),
            (Oddity::CodeInTwoPlaces, Suspect::CodeInTwoPlaces),
            (Oddity::Handler, Suspect::HandlerStack),
        ];
        let of_calls = [
            (Oddity::VforkedChild, Suspect::VforkedChild),
            (Oddity::WipedOnFork, Suspect::WipedOnFork),
            (Oddity::IgnoredAdvice, Suspect::IgnoredAdvice),
        ];
        let ended_by_qemu = matches!(self.origin.finish, Finish::Exited(QEMU_GAVE_UP));
        let of_ends = [(Oddity::ManyDescriptors, Suspect::ManyDescriptors)];
        let known = of_faults.into_iter().filter(|_| faulted).chain(of_calls);
        let known = known.chain(of_ends.into_iter().filter(|_| ended_by_qemu));
        let met = known.filter(|(oddity, _)| self.ring.host().has(*oddity));
        met.map(|(_, suspect)| suspect).collect()
    }

    fn said(&mut self) -> String {
        let mut said = Vec::new();
        if let Some(file) = &mut self.complaints {
            // Only to explain an error that is reported anyway.
            let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut said));
        }
        let tail = &said[said.len().saturating_sub(SAID_BYTES)..];
        String::from_utf8_lossy(tail).trim().to_owned()
    }

    fn end(&mut self) {
        // Processes that are just starting notice this without a signal.
        self.ring.stop();
        self.keeper.end();
    }
}

impl Source for Live {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        while !self.finished {
            // Checked before the ring, so that the words published last are not missed.
            let over = self.is_over()?;
            if let Some(raw) = self.ring.take() {
                return self.assembler.assemble(raw).map(|batch| Some(Arc::new(batch)));
            }
            if over && (!self.ring.is_pending() || self.ring.is_limit_reached()) {
                self.finish()?;
            } else {
                std::thread::sleep(NAP);
            }
        }
        Ok(None)
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}
