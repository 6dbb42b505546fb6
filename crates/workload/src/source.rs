//! Where chunks come from.

use crate::error::WorkloadError;
use crate::stream::Chunk;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::Bytes;

/// Something that executes: a live program, a stored trace, a built-in kernel.
///
/// **Contract.** Chunks of one strand come in the order of its execution. A block is among the `new_blocks` of a chunk of
/// its process before or in the chunk that first names it. After `Ok(None)` or an error nothing more comes, and the
/// same is returned again.
pub trait Source: Send {
    /// The next chunk, or nothing at the end.
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError>;

    /// What this is. How it finished is known after the last chunk.
    fn origin(&self) -> &Origin;

    /// The memory that it touches when it runs to its end, if that is known before.
    fn footprint(&self) -> Option<Bytes> {
        None
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        (**self).next_chunk()
    }

    fn origin(&self) -> &Origin {
        (**self).origin()
    }

    fn footprint(&self) -> Option<Bytes> {
        (**self).footprint()
    }
}

/// When a chunk was executed, as far as the recording says: after chunk `after`, and before chunk `number` was published, which
/// is itself. Chunks are numbered from one, over all strands of a program, in the order in which they were recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stretch {
    /// The number of the last chunk that was published before its execution began: the strand's own, or the one in which the
    /// strand was started. Zero if the recording does not say.
    pub after: u64,
    /// Its own number.
    pub number: u64,
}

impl Stretch {
    /// Whether two chunks of different strands may have been executed at the same time: then the recording does not order them.
    pub fn overlaps(&self, other: &Stretch) -> bool {
        self.after < other.number && other.after < self.number
    }
}

/// What a walker is given next.
#[derive(Clone, Debug)]
pub enum Supply {
    /// A chunk, and when it was executed.
    Chunk(Arc<Chunk>, Stretch),
    /// Nothing for the moment.
    Later,
    /// Nothing ever again.
    End,
}

/// Where a [walker](crate::walker::Walker) has its chunks from: a source, or a part of one that may run dry for a time.
pub trait Supplier {
    /// The next chunk, if there is one now.
    ///
    /// # Errors
    /// The source's.
    fn supply(&mut self) -> Result<Supply, WorkloadError>;
}

impl<S: Source> Supplier for S {
    fn supply(&mut self) -> Result<Supply, WorkloadError> {
        Ok(self.next_chunk()?.map_or(Supply::End, |chunk| Supply::Chunk(chunk, Stretch::default())))
    }
}

/// What was executed, and under which conditions: all that is needed to do it again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The program and its arguments, or the name of a built-in kernel.
    pub program: Vec<String>,
    /// Instructions that were let pass first.
    pub skip: u64,
    /// The most instructions to record; nothing for all.
    pub limit: Option<u64>,
    /// Whose bytes the values are.
    pub values: Values,
    /// Whether the values of loads are there as well.
    pub load_values: bool,
    /// How it reaches the machine.
    pub medium: Medium,
    /// Everything else that decides what the program does, as name and value.
    pub conditions: Vec<(String, String)>,
    /// What of its memory has to outlive a loss of power. Not said where that is all of it, as in older traces.
    #[serde(default, skip_serializing_if = "Persistent::is_all")]
    pub persistent: Persistent,
    /// When its requests come, if it is a trace of requests that lie behind the caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Pace>,
    /// How often it started again at its end, since more was to run than it has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u64,
    /// How it finished.
    pub finish: Finish,
    /// What may have ended it, if a fault did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<Suspect>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What of a program's memory has to outlive a loss of power, where a machine has a persist point beside its cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistent {
    /// All of it.
    #[default]
    All,
    /// What it maps shared from a file.
    Mapped,
    /// Its heap: what it gets by `brk`, and by `mmap` without a file, but for stacks.
    Heap,
}

impl Persistent {
    /// Whether it is all of it.
    pub fn is_all(&self) -> bool {
        *self == Persistent::All
    }
}

/// The condition that only what runs between a program's markers exists.
pub(crate) const MARKED_REGION: &str = "marked region only";

impl Origin {
    /// Whether only what runs between the program's markers exists.
    pub fn is_marked_region(&self) -> bool {
        self.conditions.iter().any(|(name, value)| name == MARKED_REGION && value == "yes")
    }
}

/// When the requests of a trace come that lies behind the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// One a clock of memory's, as soon as it is taken.
    AtOnce,
    /// Not before the clock of memory's that the trace states.
    AtClocks,
    /// After so many instructions, which a core dispatches with a window of its own; addresses are virtual.
    AfterInstructions,
}

/// Whose bytes the values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// The program's own, at every access.
    Exact,
    /// Made up from a seed.
    Seeded(u64),
}

/// How an execution reaches the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// As it happens.
    Live,
    /// From a file.
    Stored,
    /// It is made here.
    BuiltIn,
}

/// How an execution finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// Not yet.
    Running,
    /// The program exited with this status.
    Exited(i32),
    /// The program was ended by the signal of this number.
    Killed(i32),
    /// As much as was asked for is recorded; the program was ended there.
    LimitReached,
    /// The program was ended before it reserved so many bytes: QEMU would have taken more memory for that than the host has.
    Unbacked(u64),
}

/// What QEMU is known to run wrong. A program that a fault has ended may have been ended by that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suspect {
    /// A masked load of AVX, which QEMU lets fault at bytes that the mask leaves out.
    MaskedVector,
    /// Code that is written at one address and executed at another.
    CodeInTwoPlaces,
}
