//! A kernel at work: a plain function on a thread of its own, read through a bounded channel.
//!
//! Written this way a kernel is ordinary code with loops, not a machine that must be able to stop anywhere. The channel
//! holds it a few chunks ahead of its consumer; what it sends does not depend on when it is scheduled, so a run is as
//! repeatable as without the thread. When the consumer goes away, the next hand-over fails and the kernel returns.

use super::arena::Arena;
use super::durable::Recovery;
use super::emitter::{Emitter, Extent, Stopped};
use super::parameters::Settings;
use crate::stream::Chunk;
use crate::{Finish, Medium, Origin, Persistent, Source, Values, WorkloadError};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::mem::replace;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use units::random::{Random, mix};
use units::{Bytes, VirtAddr};

/// Chunks that a kernel may be ahead of its consumer.
const CHUNKS_AHEAD: usize = 4;
/// Where position-independent executables lie on 64-bit Linux.
const EXECUTABLES: u64 = 0x5555_5555_4000;

/// An algorithm with its settings.
pub trait Program: Send + 'static {
    /// How much memory it needs, in bytes.
    fn arena_bytes(&self) -> u64;

    /// Runs to the end and gives the result of the computation, reduced to one number.
    ///
    /// # Errors
    /// [`Stopped`], passed on from the emitter.
    fn run(&self, emit: &mut Emitter, random: &mut Random) -> Result<u64, Stopped>;

    /// How it starts again after a loss of power, if it outlives that, in an arena at this address. The random words are
    /// those that [`Program::run`] gets.
    fn recovery(&self, _arena: u64, _random: &mut Random) -> Option<Box<dyn Recovery>> {
        None
    }
}

/// Runs `program`, sending what it does to `chunks`; gives its result.
///
/// # Errors
/// [`Stopped`] if `chunks` has no receiver any more.
pub fn execute(program: &dyn Program, seed: u64, extent: Extent, chunks: Sender<Arc<Chunk>>) -> Result<u64, Stopped> {
    let arena = Arena::new(program.arena_bytes(), seed);
    // 28 bits of page number, as the kernel's address space layout randomisation gives.
    let code = VirtAddr(EXECUTABLES + (mix(seed) >> 36 << 12));
    let mut emit = Emitter::new(arena, code, extent, chunks);
    let result = program.run(&mut emit, &mut Random::new(seed))?;
    emit.finish()?;
    Ok(result)
}

/// A kernel as its consumer sees it.
pub struct KernelSource {
    origin: Origin,
    footprint: Bytes,
    state: State,
}

enum State {
    /// Nothing has run and nothing takes memory: a caller that finds the kernel too large can let it go.
    Prepared {
        program: Box<dyn Program>,
        seed: u64,
    },
    Running {
        chunks: Receiver<Arc<Chunk>>,
        thread: JoinHandle<()>,
    },
    Ended,
}

impl KernelSource {
    /// The kernel `name`, which `program` is, under these settings. It starts when its first chunk is asked for.
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
        KernelSource { origin, footprint, state: State::Prepared { program, seed } }
    }

    fn start(program: Box<dyn Program>, seed: u64, extent: Extent) -> State {
        let (sender, chunks) = bounded(CHUNKS_AHEAD);
        let thread = thread::spawn(move || {
            // Being stopped is one of the two ways to end, and by then no consumer is left to learn of it.
            let _ = execute(&*program, seed, extent, sender);
        });
        State::Running { chunks, thread }
    }

    /// Stops the kernel, if it runs; the panic that it ended with, if it did.
    fn end(&mut self) -> thread::Result<()> {
        match replace(&mut self.state, State::Ended) {
            State::Running { chunks, thread } => {
                drop(chunks);
                thread.join()
            }
            State::Prepared { .. } | State::Ended => Ok(()),
        }
    }
}

impl Source for KernelSource {
    /// # Panics
    /// If the kernel did.
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        self.state = match replace(&mut self.state, State::Ended) {
            State::Prepared { program, seed } => {
                let Origin { skip, load_values, .. } = self.origin;
                KernelSource::start(program, seed, Extent { skip, load_values })
            }
            other => other,
        };
        let State::Running { chunks, .. } = &self.state else { return Ok(None) };
        let chunk = chunks.recv().ok();
        if chunk.is_none() {
            self.end().unwrap_or_else(|panic| resume_unwind(panic));
            self.origin.finish = Finish::Exited(0);
        }
        Ok(chunk)
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
        // A panic of a kernel whose result is not wanted is of no interest.
        let _ = self.end();
    }
}
