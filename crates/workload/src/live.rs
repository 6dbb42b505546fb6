//! A program as it runs: QEMU in a process group of its own, and the ring between.

mod launch;

pub use launch::{Input, LiveOptions, Output, RECORDER_VARIABLE, recorder_from_environment};

use crate::assemble::Assembler;
use crate::error::WorkloadError;
use crate::source::{Finish, Origin, Source};
use crate::stream::Chunk;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::Duration;
use wire::process;
use wire::ring::Ring;

/// How long to sleep when the program has nothing to tell yet.
const NAP: Duration = Duration::from_micros(100);
/// How much of QEMU's complaints is shown.
const SAID_BYTES: usize = 2000;

/// A running program. Dropping it ends the program and everything that it started.
///
/// When the limit is reached the program is ended too: what it would still have written is not written. A program's exit
/// status is not an error, but a signal that ends it is.
pub struct Live {
    program: PathBuf,
    origin: Origin,
    ring: Ring,
    child: Child,
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
            child: started.child,
            complaints: started.complaints,
            status: None,
            assembler: Assembler::default(),
            finished: false,
        })
    }

    /// The process, and process group, that the program runs as.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether everything is over and published: the limit reached, or every process ended.
    fn is_over(&mut self) -> Result<bool, WorkloadError> {
        if self.ring.is_limit_reached() {
            return Ok(true);
        }
        if self.status.is_none() {
            self.status = self.child.try_wait().map_err(WorkloadError::io("waiting for", &self.program))?;
        }
        Ok(self.status.is_some() && !self.ring.has_live_process())
    }

    /// Ends what still runs and finds out how it went.
    fn finish(&mut self) -> Result<(), WorkloadError> {
        self.finished = true;
        if self.ring.is_limit_reached() {
            self.origin.finish = Finish::LimitReached;
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
        if let Some(signal) = status.signal() {
            return Err(WorkloadError::Killed { program: self.program.clone(), signal });
        }
        self.origin.finish = Finish::Exited(status.code().unwrap_or_default());
        Ok(())
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
        self.ring.stop();
        if self.status.is_none() {
            process::kill_group(self.child.id());
            // It was killed, so this returns at once; there is nobody left to tell if it does not.
            self.status = self.child.wait().ok();
        }
    }
}

impl Source for Live {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        while !self.finished {
            // Asked before the ring is looked at, so that what was published last is not missed.
            let over = self.is_over()?;
            if let Some(raw) = self.ring.take() {
                return self.assembler.assemble(raw).map(|chunk| Some(Arc::new(chunk)));
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
