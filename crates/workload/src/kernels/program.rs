//! Runs a kernel as a plain function on a separate thread, and reads its batches through a bounded channel.
//!
//! A kernel is thus ordinary code with loops, not a state machine that can stop at any point. The channel keeps the
//! kernel at most a few batches ahead of its consumer. The batches do not depend on thread scheduling, so two runs of a
//! kernel are identical. If the consumer drops the channel, the next send fails and the kernel returns.

use super::arena::Arena;
use super::durable::Recovery;
use super::emitter::{ClosedStream, Emitter, StreamSelection};
use super::parameters::Settings;
use crate::stream::Batch;
use crate::{Finish, Medium, Origin, Persistent, Source, Values, WorkloadError};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::mem::replace;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use units::random::{Random, mix};
use units::{Bytes, VirtAddr};

/// Maximum batches in the channel.
const BATCHES_IN_FLIGHT: usize = 4;
/// Lowest address of position-independent executables on 64-bit Linux.
const EXECUTABLES: u64 = 0x5555_5555_4000;

/// An algorithm with its settings.
pub trait Program: Send + 'static {
    /// Returns the memory that the program needs, in bytes.
    fn arena_bytes(&self) -> u64;

    /// Runs to the end and returns the result of the computation, reduced to one number.
    ///
    /// # Errors
    /// [`ClosedStream`] from the emitter.
    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, ClosedStream>;

    /// Returns the recovery of a program that survives a loss of power, for an arena at this address. `random` must be
    /// in the same state as for [`Program::run`].
    fn recovery(&self, _arena: u64, _random: &mut Random) -> Option<Box<dyn Recovery>> {
        None
    }
}

/// Runs `program`, sends its execution to `batches`, and returns its result.
///
/// # Errors
/// [`ClosedStream`] if the receiver of `batches` was dropped.
pub fn execute(
    program: &dyn Program,
    seed: u64,
    extent: StreamSelection,
    batches: Sender<Arc<Batch>>,
) -> Result<u64, ClosedStream> {
    let arena = Arena::new(program.arena_bytes(), seed);
    // Draws 28 bits of the page number, as Linux does for address space layout randomisation.
    let code = VirtAddr(EXECUTABLES + (mix(seed) >> 36 << 12));
    let mut emit = Emitter::new(arena, code, extent, batches);
    let result = program.run(&mut emit, &mut Random::new(seed))?;
    emit.finish()?;
    Ok(result)
}

/// Source that runs a kernel.
pub struct KernelSource {
    origin: Origin,
    footprint: Bytes,
    state: KernelState,
}

enum KernelState {
    /// The kernel has not started and has no arena: a caller may drop it if its footprint is too large.
    Prepared {
        program: Box<dyn Program>,
        seed: u64,
    },
    Running {
        batches: Receiver<Arc<Batch>>,
        thread: JoinHandle<()>,
    },
    Ended,
}

impl KernelSource {
    /// Returns a source for `program`, the kernel `name` with these settings. The kernel starts at the first request
    /// for a batch.
    pub fn new(name: &str, program: Box<dyn Program>, settings: &Settings, seed: u64) -> KernelSource {
        let origin = Origin {
            program: vec![name.to_owned()],
            skip: settings.skip(),
            limit: None,
            values: Values::Exact,
            load_values: settings.load_values(),
            medium: Medium::BuiltIn,
            conditions: settings.conditions().into_iter().chain([("seed".into(), seed.to_string())]).collect(),
            persistent: Persistent::All,
            requests: None,
            restarts: 0,
            finish: Finish::Running,
            suspects: Vec::new(),
        };
        let footprint = Bytes(program.arena_bytes());
        KernelSource { origin, footprint, state: KernelState::Prepared { program, seed } }
    }

    fn start(program: Box<dyn Program>, seed: u64, extent: StreamSelection) -> KernelState {
        let (sender, batches) = bounded(BATCHES_IN_FLIGHT);
        let thread = thread::spawn(move || {
            // The result is ignored: the kernel either completed, or stopped because its consumer was dropped.
            let _ = execute(&*program, seed, extent, sender);
        });
        KernelState::Running { batches, thread }
    }

    /// Stops the kernel if it runs. Returns the kernel's panic as an error.
    fn end(&mut self) -> thread::Result<()> {
        match replace(&mut self.state, KernelState::Ended) {
            KernelState::Running { batches, thread } => {
                drop(batches);
                thread.join()
            }
            KernelState::Prepared { .. } | KernelState::Ended => Ok(()),
        }
    }
}

impl Source for KernelSource {
    /// # Panics
    /// If the kernel panicked.
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        self.state = match replace(&mut self.state, KernelState::Ended) {
            KernelState::Prepared { program, seed } => {
                let Origin { skip, load_values, .. } = self.origin;
                KernelSource::start(program, seed, StreamSelection { skip, load_values })
            }
            other => other,
        };
        let KernelState::Running { batches, .. } = &self.state else { return Ok(None) };
        let batch = batches.recv().ok();
        if batch.is_none() {
            self.end().unwrap_or_else(|panic| resume_unwind(panic));
            self.origin.finish = Finish::Exited(0);
        }
        Ok(batch)
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn footprint(&self) -> Option<Bytes> {
        Some(self.footprint)
    }
}

impl Drop for KernelSource {
    fn drop(&mut self) {
        // The consumer does not need the result, so a panic of the kernel is ignored.
        let _ = self.end();
    }
}
