//! A kernel at work: a plain function on a thread of its own, read through a bounded channel.
//!
//! Written this way a kernel is ordinary code with loops, not a machine that must be able to stop anywhere. The channel
//! holds it a few chunks ahead of its consumer; what it sends does not depend on when it is scheduled, so a run is as
//! repeatable as without the thread. When the consumer goes away, the next hand-over fails and the kernel returns.

use super::arena::Arena;
use super::emitter::{Emitter, Stopped};
use super::parameters::Settings;
use crate::stream::Chunk;
use crate::{Finish, Medium, Origin, Source, Values, WorkloadError};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use units::VirtAddr;
use units::random::{Random, mix};

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
}

/// Runs `program`, sending what it does to `chunks`; gives its result.
///
/// # Errors
/// [`Stopped`] if `chunks` has no receiver any more.
pub fn execute(
    program: &dyn Program,
    seed: u64,
    load_values: bool,
    chunks: Sender<Arc<Chunk>>,
) -> Result<u64, Stopped> {
    let arena = Arena::new(program.arena_bytes(), seed);
    // 28 bits of page number, as the kernel's address space layout randomisation gives.
    let code = VirtAddr(EXECUTABLES + (mix(seed) >> 36 << 12));
    let mut emit = Emitter::new(arena, code, load_values, chunks);
    let result = program.run(&mut emit, &mut Random::new(seed))?;
    emit.finish()?;
    Ok(result)
}

/// A running kernel, as its consumer sees it.
pub struct KernelSource {
    origin: Origin,
    /// Taken only when the source is dropped.
    chunks: Option<Receiver<Arc<Chunk>>>,
    /// Taken when the kernel has ended.
    thread: Option<JoinHandle<()>>,
}

impl KernelSource {
    /// Starts the kernel `name`, which `program` is, under these settings.
    pub fn start(name: &str, program: Box<dyn Program>, settings: &Settings, seed: u64) -> KernelSource {
        let load_values = settings.load_values();
        let (sender, chunks) = bounded(CHUNKS_AHEAD);
        let thread = thread::spawn(move || {
            // Being stopped is one of the two ways to end, and by then nobody is there to be told.
            let _ = execute(&*program, seed, load_values, sender);
        });
        let origin = Origin {
            program: vec![name.to_owned()],
            skip: 0,
            limit: None,
            values: Values::Exact,
            load_values,
            medium: Medium::BuiltIn,
            conditions: settings.conditions().into_iter().chain([("seed".into(), seed.to_string())]).collect(),
            finish: Finish::Running,
        };
        KernelSource { origin, chunks: Some(chunks), thread: Some(thread) }
    }
}

impl Source for KernelSource {
    /// # Panics
    /// If the kernel did.
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        let chunk = self.chunks.as_ref().and_then(|chunks| chunks.recv().ok());
        if chunk.is_none()
            && let Some(thread) = self.thread.take()
        {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            self.origin.finish = Finish::Exited(0);
        }
        Ok(chunk)
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl Drop for KernelSource {
    fn drop(&mut self) {
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            // A panic of a kernel whose result nobody wants is of no interest.
            let _ = thread.join();
        }
    }
}
