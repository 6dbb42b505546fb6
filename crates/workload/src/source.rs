//! Sources of batches and the origin of an execution.

use crate::error::WorkloadError;
use crate::stream::Batch;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::Bytes;

/// An execution that yields batches: a live program, a stored trace or a built-in kernel.
///
/// **Contract.** The source returns the batches of one strand in the order of its execution. It passes each block in
/// the `new_blocks` of a batch of the same process, at the latest in the batch that first names the block. After
/// `Ok(None)` or an error, the source returns no more batches and repeats the same result.
pub trait Source: Send {
    /// Returns the next batch, or `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError>;

    /// Describes the execution. Its finish is known after the last batch.
    fn origin(&self) -> &Origin;

    /// Memory that the complete execution touches, if known in advance.
    fn footprint(&self) -> Option<Bytes> {
        None
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        (**self).next_batch()
    }

    fn origin(&self) -> &Origin {
        (**self).origin()
    }

    fn footprint(&self) -> Option<Bytes> {
        (**self).footprint()
    }
}

/// Time span of a batch's execution, as far as the recording shows: after batch `after` was published, and before this
/// batch, `number`. Batches are numbered from one, over all strands of a program, in recorded order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stretch {
    /// Number of the last batch published before this execution began: the previous one of the strand, or the one in
    /// which the strand was started. Zero if the recording does not contain it.
    pub after: u64,
    /// Number of this batch.
    pub number: u64,
}

impl Stretch {
    /// True if two batches of different strands may have run at the same time: the recording then does not order them.
    pub fn overlaps(&self, other: &Stretch) -> bool {
        self.after < other.number && other.after < self.number
    }
}

/// Answer of a supplier to a walker.
#[derive(Clone, Debug)]
pub enum Supply {
    /// A batch and the time span of its execution.
    Batch(Arc<Batch>, Stretch),
    /// The supplier has no batch for the moment.
    Later,
    /// The supplier is at its end.
    End,
}

/// Supplies batches to a [walker](crate::walker::Walker): a source, or a part of a source that may have no batch at the
/// moment.
pub trait Supplier {
    /// Returns the next batch, if one is available now.
    ///
    /// # Errors
    /// Errors of the source.
    fn supply(&mut self) -> Result<Supply, WorkloadError>;
}

impl<S: Source> Supplier for S {
    fn supply(&mut self) -> Result<Supply, WorkloadError> {
        Ok(self.next_batch()?.map_or(Supply::End, |batch| Supply::Batch(batch, Stretch::default())))
    }
}

/// Description of an execution and its conditions, sufficient to repeat it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The program and its arguments, or the name of a built-in kernel.
    pub program: Vec<String>,
    /// Number of instructions skipped before recording.
    pub skip: u64,
    /// Maximum number of instructions to record; `None` for all.
    pub limit: Option<u64>,
    /// Origin of the data values.
    pub values: Values,
    /// True if the values of loads are recorded as well.
    pub load_values: bool,
    /// Path by which the execution reaches the machine.
    pub medium: Medium,
    /// All other conditions that affect the program, as name and value.
    pub conditions: Vec<(String, String)>,
    /// Part of the program's memory that must survive a loss of power. Omitted if it is all memory, as in older traces.
    #[serde(default, skip_serializing_if = "Persistent::is_all")]
    pub persistent: Persistent,
    /// Timing of the requests, in a trace of requests recorded behind the caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestPace>,
    /// Number of restarts at the end, if the run needs more instructions than the execution has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restarts: u64,
    /// Status at the end of the execution.
    pub finish: Finish,
    /// Possible causes in QEMU, if a fault ended the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<Suspect>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Part of a program's memory that must survive a loss of power, under a design that makes each store durable
/// separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistent {
    /// The program's whole memory.
    #[default]
    All,
    /// Pages that the program maps shared from a file.
    Mapped,
    /// The heap: memory from `brk`, and from `mmap` without a file, except stacks.
    Heap,
}

impl Persistent {
    /// True if all memory is persistent.
    pub fn is_all(&self) -> bool {
        *self == Persistent::All
    }
}

/// Condition under which only the code between a program's markers was recorded.
pub(crate) const MARKED_REGION: &str = "marked region only";

impl Origin {
    /// True if only the code between the program's markers was recorded.
    pub fn is_marked_region(&self) -> bool {
        self.conditions.iter().any(|(name, value)| name == MARKED_REGION && value == "yes")
    }
}

/// Timing of the requests in a trace recorded behind the caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestPace {
    /// One request per memory clock, as soon as the memory accepts it.
    AtOnce,
    /// Not before the memory clock that the trace states.
    AtClocks,
    /// After the number of instructions that the trace states; a core dispatches these instructions through its window.
    /// Addresses are virtual.
    AfterInstructions,
}

/// Origin of the data values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// The program's own values, at every access.
    Exact,
    /// Values generated from a seed.
    Seeded(u64),
}

/// Path by which an execution reaches the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// Recorded while the program runs.
    Live,
    /// Read from a file.
    Stored,
    /// Generated by a built-in kernel.
    BuiltIn,
}

/// Status at the end of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The execution has not finished.
    Running,
    /// The program exited with this status.
    Exited(i32),
    /// The program was ended by the signal of this number.
    Killed(i32),
    /// The recording reached its limit and ended the program.
    LimitReached,
    /// The recorder ended the program before it reserved this number of bytes: QEMU would have needed more memory than
    /// the host has.
    Unbacked(u64),
}

/// Known defect of QEMU that a program has met, or that may be the cause of the fault that ended the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suspect {
    /// A masked AVX load: QEMU lets it fault at bytes that the mask excludes.
    MaskedVector,
    /// Code that is written at one address and executed at another.
    CodeInTwoPlaces,
    /// A signal handler: QEMU begins it with a misaligned stack.
    HandlerStack,
    /// A child of `vfork` that ended without executing another program: QEMU copies the memory of its parent.
    VforkedChild,
    /// Memory that shall be zero in children: QEMU copies it.
    WipedOnFork,
    /// Advice about memory that QEMU accepts and does not follow.
    IgnoredAdvice,
    /// `select` with more descriptors than QEMU can wait for.
    ManyDescriptors,
}
