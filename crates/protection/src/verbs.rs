//! The verbs: every operation that a protection scheme can request of the machine it runs on.
//!
//! The types here carry the trust. Memory returns [`Untrusted`] lines; the core may use [`Plaintext`], which records whether a tag
//! vouches for it; a [`Fault`] is a result, not an error.

use crate::domain::RegisterUpdate;
pub use crate::keystream::Keystream;
pub use crate::lock_name::LockName;
use crate::placement::DataSlot;
pub use crate::slot::{Part, Role, Slot, Untrusted};
pub use crypto::BlockCipher;
pub use machine::channel::BusPriority;
pub use machine::dram::{Beats, Wanted};
use serde::Serialize;
use sim::lock::Mode;
use sim::pipe::IdleBatch;
use std::fmt;
use std::future::Future;
use units::{Duration, Line, LineAddr, Time, Words};

/// A line on its way from memory, with its content and the time at which each of its words arrives.
///
/// The simulator has the bytes at once. The code of a scheme must wait for a word before it uses the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arriving {
    /// Content that memory returns.
    pub content: Untrusted,
    /// Arrival times of the words.
    pub beats: Beats,
}

impl Arriving {
    /// Returns a line that has arrived completely.
    pub fn whole(content: Untrusted) -> Arriving {
        Arriving { content, beats: Beats::at_once(Time::ZERO) }
    }
}

/// A line in plaintext, on its way to the core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Plaintext {
    /// Bytes of the line.
    pub bytes: Line,
    /// True if a tag vouched for the bytes.
    pub verified: bool,
}

/// Reason why an access ended without its effect. Only `Tag`, `Tree` and `Root` are direct evidence that memory was tampered with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The tag of a data line does not match its content.
    Tag(LineAddr),
    /// A counter line or a tree node does not match its parent.
    Tree(Slot),
    /// After a loss of power, the memory is not the one that the root register vouches for.
    Root,
    /// The counter of a data line is at its maximum. This is no attack: the write needs a new key, and was not executed.
    Exhausted(LineAddr),
    /// A write to a line, or its first use, followed another write that was given up half-way: memory stays as it is until power returns.
    Halted(LineAddr),
    /// Stores to this line were durable, but the battery could not write them to memory: reads of the line fail until it is written
    /// again.
    Lost(LineAddr),
    /// A read was refused while the write to this line waited for its verdict, and the write may have been computed from that read.
    Tainted(LineAddr),
    /// The software that requested the page is not its owner, or does not own it at that address.
    Refused(LineAddr),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Tag(line) => write!(f, "the tag of line {line} does not fit"),
            Fault::Tree(slot) => write!(f, "slot {slot} does not fit its parent in the tree"),
            Fault::Root => f.write_str("the memory is not the one that the root register vouches for"),
            Fault::Exhausted(line) => write!(f, "the counter of line {line} is exhausted: memory needs a new key"),
            Fault::Halted(line) => {
                write!(f, "line {line} stays as it is until power returns: an earlier write was given up half-way")
            }
            Fault::Lost(line) => {
                write!(f, "the battery lost the last stores to line {line}: write the whole line again")
            }
            Fault::Tainted(line) => {
                write!(f, "the write to line {line} may have been computed from what was refused")
            }
            Fault::Refused(line) => write!(f, "the page of line {line} is not what was asked for by its owner"),
        }
    }
}

/// A leg of the path of a request or a reply on the chip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Leg {
    /// From a core's L2 to the line's slice of the last-level cache, with the look-up in the cache.
    Request(usize, LineAddr),
    /// From the line's slice of the last-level cache to the core's L2.
    Answer(usize, LineAddr),
    /// From the last-level cache to the memory controller.
    ToController,
    /// From the memory controller to the last-level cache.
    FromController,
    /// From an L2 straight to the memory controller, on the prediction that the last-level cache does not hold the line. The message
    /// left when the L2's look-up began, so this leg is the remaining path at the time of the L2's miss.
    Predicted,
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Leg::Request(..) => "to last-level cache",
            Leg::Answer(..) => "to L2",
            Leg::ToController => "to controller",
            Leg::FromController => "from controller",
            Leg::Predicted => "past last level",
        })
    }
}

/// Time at which a counter is known, after its counter line is decoded. The code of a scheme does not read this value. Content that
/// needs no decoding is known at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Known(pub(crate) Time);

/// A cache on the chip in which an access looks up a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cache {
    /// The controller's cache for lines of this role.
    Controller(Role),
    /// The machine's last-level cache, for a metadata line.
    LastLevel(Slot),
    /// An L2, for a line of this role.
    L2(Role),
    /// The computed candidates of a speculation, looked up for a chunk that has arrived.
    Candidates,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cache::Controller(role) => write!(f, "{role} cache"),
            Cache::LastLevel(_) => f.write_str("last-level cache"),
            Cache::L2(role) => write!(f, "{role} in L2"),
            Cache::Candidates => f.write_str("candidates"),
        }
    }
}

/// Block operations of a cipher: first a chain, then blocks in parallel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Blocks {
    /// Block cipher that the blocks pass through.
    pub cipher: BlockCipher,
    /// Number of chained blocks: each waits for the one before.
    pub chained: u32,
    /// Number of parallel blocks, which wait only for the end of the chain.
    pub parallel: u32,
    /// Purpose of the blocks.
    pub purpose: Purpose,
    /// Words of the piece, if the blocks process only a piece of the line.
    pub piece: Words,
}

/// Purpose of blocks that pass through a cipher.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// To compute values that need only the nonce: pads, offsets, masks of tags.
    Nonce,
    /// To encrypt the line.
    Sealing,
    /// To decrypt the line, in the inverse cipher.
    Opening,
    /// To compute the line's tag.
    Tag,
    /// To encrypt the candidates of a chunk, and to compute their tags.
    Candidates,
}

impl Blocks {
    /// Returns `parallel` blocks side by side.
    pub(crate) const fn parallel(cipher: BlockCipher, purpose: Purpose, parallel: u32) -> Blocks {
        Blocks { cipher, chained: 0, parallel, purpose, piece: Words::NONE }
    }

    /// Returns `chained` blocks in a chain: each waits for the one before.
    pub(crate) fn chained(cipher: BlockCipher, purpose: Purpose, chained: u32) -> Blocks {
        Blocks { cipher, chained, parallel: 0, purpose, piece: Words::NONE }
    }

    /// Returns the block of a piece that is as long as one block.
    pub(crate) fn of_piece(cipher: BlockCipher, purpose: Purpose, piece: Words) -> Blocks {
        Blocks { cipher, chained: 0, parallel: 1, purpose, piece }
    }

    /// Number of all blocks.
    pub fn count(&self) -> u32 {
        self.chained + self.parallel
    }

    /// Returns these blocks, or `None` if their number is zero.
    pub(crate) fn any(self) -> Option<Blocks> {
        (self.count() > 0).then_some(self)
    }
}

/// Location of the AES units that process the blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AesUnits {
    /// The AES units of the memory controller.
    Controller,
    /// The units in this core's L2, or the controller's if L2s have no units.
    L2(usize),
}

/// Exit at which plaintext leaves the scheme.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// From the memory controller, after the verdict on the line.
    Controller,
    /// From the memory controller, before the verdict on the line, which [`ExitVerbs::settle`] reports.
    BeforeVerdict,
    /// In the L2 that requested the line.
    L2,
    /// From the last-level cache, if the line arrived in the meantime.
    LastLevel,
}

/// Operations that a scheme can request of the machine: five traits by subject. The traits have no default methods, so each runner, and
/// each wrapper of a runner, defines every verb. The verbs of runs without time are defined once, in `untimed.rs`.
///
/// # Contract
/// * The bytes of a `store` are in memory when it returns, and a `fetch` sees all earlier stores.
/// * `pad`, `mac` and `hash` model only the time of the unit; the parts of the design compute the bytes. The work begins with the call,
///   so the code of a scheme may start it, execute other steps, and await it when it needs the result.
/// * A scheme changes its on-chip state only between two verbs, never across one.
/// * Plaintext leaves only through `release` and `release_first`.
pub trait Verbs: MemoryVerbs + EngineVerbs + TransitVerbs + LockVerbs + ExitVerbs {}

impl<V: MemoryVerbs + EngineVerbs + TransitVerbs + LockVerbs + ExitVerbs> Verbs for V {}

/// Blocks in the units of a cipher. The code of a scheme keeps this value until it needs the output of the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passing {
    /// Units that process the blocks.
    pub(crate) units: AesUnits,
    pub(crate) blocks: Blocks,
    /// Time at which the blocks could have entered the units, and how long the units were then busy with other blocks.
    pub(crate) ready: Time,
    pub(crate) waited: Duration,
    /// Time at which the last block leaves the units.
    pub(crate) done: Time,
}

impl Passing {
    /// Returns the time at which the output is known.
    pub(crate) fn known(&self) -> Known {
        Known(self.done)
    }
}

/// Blocks that were offered to the units of a cipher as idle work.
#[derive(Clone, Debug)]
pub struct IdleBlocks {
    /// Blocks that were offered.
    pub(crate) blocks: Blocks,
    /// Earliest time at which the blocks may enter.
    pub(crate) ready: Time,
    /// The units' record of the batch; `None` in a run without time.
    pub(crate) batch: Option<IdleBatch>,
}

/// Operations of the memory.
pub trait MemoryVerbs {
    /// Reads a slot of memory, and waits for the `wanted` words; [`MemoryVerbs::await_words`] waits for the remaining words.
    fn fetch(&self, slot: Slot, role: Role, wanted: Wanted) -> impl Future<Output = Arriving>;
    /// Returns the priority of transfers in the background: they use the bus only while no other request waits, until
    /// their priority is raised.
    fn background(&self) -> BusPriority;
    /// Waits until a transfer of this slot may begin under this priority. The transfer must then begin at once.
    fn await_turn(&self, priority: &BusPriority, slot: Slot) -> impl Future<Output = ()>;
    /// Waits for words of a line that was fetched.
    fn await_words(&self, beats: Beats, words: Words) -> impl Future<Output = ()>;
    /// Returns the current content of a slot that was fetched earlier, or `None` if the slot was written after the fetch.
    fn still_stored(&self, slot: Slot, fetched: Untrusted) -> Option<Untrusted>;
    /// Writes a slot of memory; blank content makes the slot blank.
    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()>;
    /// Writes a slot of memory as a part of the open tuple: the content survives a loss of power once the tuple is complete.
    fn persist(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()>;
    /// Like [`MemoryVerbs::persist`], but writes only some bits of a slot and keeps the other bits. Returns the slot's new content.
    fn persist_part(&self, slot: Slot, role: Role, part: Part) -> impl Future<Output = Untrusted>;
    /// Waits until all persisted content is in the persistence domain. If the queue is a part of the domain, accepted content is in it.
    fn fence(&self) -> impl Future<Output = ()>;
    /// Completes the open tuple and sets the registers that outlive power, in one instant.
    fn complete(&self, completion: RegisterUpdate);
    /// Returns the content that the machine started with for a line that is not in memory yet. Returns `None` if the line is in memory,
    /// or if the machine starts empty. A scheme calls it once, under the line's lock. For a line that moves, the scheme itself knows
    /// whether memory has it.
    fn start_up(&self, at: DataSlot) -> Option<Line>;
    /// Changes a slot as if booting had written this content. Takes no time.
    fn boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted);
}

/// Operations of the cryptographic units.
pub trait EngineVerbs {
    /// Decodes a counter line that is available now, if decoding takes time on this machine.
    fn decode(&self) -> Known;
    /// Sends these blocks through units of their cipher, when the counter is known; [`EngineVerbs::await_blocks`] waits for them.
    fn pad(&self, units: AesUnits, blocks: Blocks, counter: Known) -> Passing;
    /// Waits until these blocks have left the units.
    fn await_blocks(&self, passing: Passing) -> impl Future<Output = ()>;
    /// Offers blocks to the controller's units as idle work, in the order in which they are to enter, from `ready` on.
    fn offer(&self, blocks: Blocks, ready: Known) -> IdleBlocks;
    /// Waits until an offered block has left the units. Returns whether the block had already left at the call.
    fn await_offered(&self, offered: &IdleBlocks, block: u32) -> impl Future<Output = bool>;
    /// Gives up the offered blocks that have not entered the units. Returns their number.
    fn give_up(&self, offered: &IdleBlocks) -> u32;
    /// Returns whether a core's L2 accepts `blocks` blocks for a line that it misses, predicted to be in memory or not. The L2 refuses
    /// if its AES units are reserved for other lines for a longer time than verification in the L2 would save.
    fn take_on(&self, core: usize, line: LineAddr, blocks: u32, predicted: bool) -> bool;
    /// Computes the authentication code of one line.
    fn mac(&self) -> impl Future<Output = ()>;
    /// Computes the hash of one metadata line.
    fn hash(&self) -> impl Future<Output = ()>;
    /// XORs a pad with its line.
    fn xor(&self) -> impl Future<Output = ()>;
}

/// Operations that take time on the chip and in queues, outside the units.
pub trait TransitVerbs {
    /// Looks up a line in a cache.
    fn look_up(&self, cache: Cache) -> impl Future<Output = ()>;
    /// Waits for one leg of the path on the chip.
    fn travel(&self, leg: Leg) -> impl Future<Output = ()>;
    /// Waits for the time in which the last-level cache returns a hit to a core; the time begins with the call.
    fn outwait_hit(&self, core: usize, line: LineAddr) -> impl Future<Output = ()>;
    /// Waits while the operating system's handler of a missing record executes its instructions.
    fn handle_exception(&self) -> impl Future<Output = ()>;
    /// Waits for admission to the controller, holding no lock, while a write waits to begin [`TransitVerbs::renewing`].
    fn come_in(&self) -> impl Future<Output = ()>;
    /// Renews a group, as soon as a machine that limits concurrent renewals permits another. A renewal that waits for its
    /// permit raises the priorities of those under way.
    fn renewing<T>(&self, priority: &BusPriority, work: impl Future<Output = T>) -> impl Future<Output = T>;
    /// Runs `work`, which reads and writes these slots for a renewal, when the memory's queue has free entries for them. Waits until
    /// all writes have left the queue.
    fn in_places<T>(&self, slots: &[Slot], work: impl Future<Output = T>) -> impl Future<Output = T>;
}

/// Operations that order concurrent accesses.
pub trait LockVerbs {
    /// Guard that holds a lock until it is dropped.
    type Guard<'a>
    where
        Self: 'a;

    /// Takes the lock in this mode.
    fn lock(&self, name: LockName, mode: Mode) -> impl Future<Output = Self::Guard<'_>>;
}

/// Operations that pass results out of the scheme.
pub trait ExitVerbs {
    /// Releases these words of a line to the core, before the remaining words: [`ExitVerbs::release`] follows, or a fault.
    fn release_first(&self, line: LineAddr, plaintext: Plaintext, words: Words);
    /// Releases plaintext to the core.
    fn release(&self, line: LineAddr, plaintext: Plaintext, exit: Exit);
    /// Reports the verdict of a line that was released before the verdict.
    fn settle(&self, line: LineAddr, good: bool);
    /// Waits for the verdicts of all lines that were released without one before this call. Returns true if no verdict was bad in the
    /// meantime. A run without time does not wait.
    fn await_verdicts(&self) -> impl Future<Output = bool>;
    /// Reports a fault; the scheme releases no plaintext.
    fn fault(&self, fault: Fault);
    /// Passes the permutation of a page chunk to another task. Returns false if the machine has no task for it; the caller
    /// then permutes.
    fn pass_on(&self, chunk: u64) -> bool;
    /// Records keystream that hides the line in this slot or its tag, if a ledger is kept. Without a ledger, a runner need not call
    /// `keystream`.
    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>);
}
