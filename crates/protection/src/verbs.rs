//! The verbs: all that a protection scheme can ask of the machine it runs on.
//!
//! The types here carry the trust. What memory returns is [`Untrusted`]; what the core may use is [`Plaintext`], which
//! says whether anything vouches for it; a [`Fault`] is a result, not an error.

use crate::domain::Completion;
pub use crate::keystream::Keystream;
use crate::placement::DataSlot;
pub use crate::slot::{Part, Role, Slot, Untrusted};
pub use crypto::BlockCipher;
pub use machine::dram::{Beats, Wanted};
use serde::Serialize;
use sim::lock::Mode;
use sim::pipe::IdleBatch;
use std::fmt;
use std::future::Future;
use units::{Duration, LINE_BYTES, Line, LineAddr, Time, Words};

/// A line on its way from memory: what it holds, and when each of its words is there.
///
/// The bytes are known to the simulator at once. A text looks at no word before it has waited for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arriving {
    /// What memory returns.
    pub content: Untrusted,
    /// When.
    pub beats: Beats,
}

impl Arriving {
    /// A line that has arrived.
    pub fn whole(content: Untrusted) -> Arriving {
        Arriving { content, beats: Beats::at_once(Time::ZERO) }
    }
}

/// A line as the program knows it, on its way to the core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Plaintext {
    /// The bytes.
    pub bytes: Line,
    /// Whether a tag vouched for them.
    pub verified: bool,
}

/// Why an access ended without doing what it was for: evidence that memory was tampered with, but for the last two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The tag of a data line does not fit.
    Tag(LineAddr),
    /// A counter line or a tree node does not fit its parent.
    Tree(Slot),
    /// After a loss of power, the memory is not the one that the root register vouches for.
    Root,
    /// The counter of a data line is at its full width. No attack: a write that needs a new key, and did not happen.
    Exhausted(LineAddr),
    /// A write to a line, or its first use, came after another write had to be given up half-way: memory stays as it is until
    /// power returns.
    Halted(LineAddr),
    /// Stores to this line were durable, and the battery could not take them to memory: it is refused until it is written again.
    Lost(LineAddr),
    /// What a write to this line may have been computed from was refused while the write waited for its verdict.
    Tainted(LineAddr),
    /// The software that asked is not the owner of the page, or not at that place.
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

/// A leg of the way that a request or an answer takes on the chip.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Leg {
    /// From a core's L2 to where a line is in the last-level cache, which is looked up.
    Request(usize, LineAddr),
    /// From there to the core's L2.
    Answer(usize, LineAddr),
    /// From the last-level cache to the memory controller.
    ToController,
    /// From the memory controller to the last-level cache.
    FromController,
    /// From an L2 straight to the memory controller, on the prediction that the last-level cache has nothing. The
    /// message left when the L2's look-up began: this is what remains of its way when the L2 has missed.
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

/// When a counter is known that its line of counters has to be decoded for. A text hands it on and looks no further; what
/// needs no decoding is known at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Known(pub(crate) Time);

/// What is locked. Locks are always taken upward (a line, its group, then metadata from the leaf to the root; of durable
/// writes, the first stage together with the line and each later one before the nodes of its level), so no two accesses
/// ever wait for each other. Where renewals need a permit it is taken between the group and metadata, and so is the operating system's handler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockName {
    /// One data line.
    Line(LineAddr),
    /// A stage of becoming durable: the counters, then each level of the tree, then the root with the queue.
    Stage(u8),
    /// All lines that are re-encrypted together.
    Group(u64),
    /// One line of metadata.
    Metadata(Slot),
    /// Slots of lines that move and are under one tag, by the first.
    Tag(Slot),
    /// The operating system's handler of missing records.
    Handler,
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockName::Line(line) => write!(f, "line at {:#x}", line.0 * LINE_BYTES as u64),
            LockName::Stage(stage) => write!(f, "stage {stage}"),
            LockName::Group(group) => write!(f, "group {group}"),
            LockName::Metadata(slot) => write!(f, "metadata in slot {}", slot.0),
            LockName::Tag(slot) => write!(f, "tag over slot {}", slot.0),
            LockName::Handler => f.write_str("operating system"),
        }
    }
}

/// Which cache on the chip is looked into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cache {
    /// The controller's own for lines of this role.
    Controller(Role),
    /// The machine's last-level cache, for a line of metadata.
    LastLevel(Slot),
    /// An L2, for a line of this role.
    L2(Role),
    /// The candidates that are out, for a chunk that has come.
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

/// Uses of a block cipher: some one after the other, then others side by side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Blocks {
    /// Which.
    pub cipher: BlockCipher,
    /// Uses that wait for one another.
    pub chained: u32,
    /// Uses that wait for those alone.
    pub parallel: u32,
    /// What they are for.
    pub purpose: Purpose,
    /// The words of the line that they are about, if they are about a piece of it.
    pub piece: Words,
}

/// What blocks go through a cipher for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Purpose {
    /// What needs the nonce alone: pads, offsets, masks of tags.
    Ahead,
    /// To encrypt the line.
    Sealing,
    /// To decrypt it, in the inverse cipher.
    Opening,
    /// For its tag.
    Tag,
    /// To encrypt what it may be, and for the tags of that.
    Candidates,
}

impl Blocks {
    /// So many blocks side by side.
    pub(crate) const fn parallel(cipher: BlockCipher, purpose: Purpose, parallel: u32) -> Blocks {
        Blocks { cipher, chained: 0, parallel, purpose, piece: Words::NONE }
    }

    /// So many blocks of which each waits for the one before.
    pub(crate) fn chained(cipher: BlockCipher, purpose: Purpose, chained: u32) -> Blocks {
        Blocks { cipher, chained, parallel: 0, purpose, piece: Words::NONE }
    }

    /// The block of a piece, which is as long as one.
    pub(crate) fn of_piece(cipher: BlockCipher, purpose: Purpose, piece: Words) -> Blocks {
        Blocks { cipher, chained: 0, parallel: 1, purpose, piece }
    }

    /// All of them.
    pub fn count(&self) -> u32 {
        self.chained + self.parallel
    }

    /// The same; nothing if there are none.
    pub(crate) fn any(self) -> Option<Blocks> {
        (self.count() > 0).then_some(self)
    }
}

/// Which AES units do the work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AesUnits {
    /// The memory controller's.
    Controller,
    /// Those in this core's L2, or the controller's if L2s have none.
    L2(usize),
}

/// How plaintext leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// From the memory controller, with its verdict.
    Controller,
    /// From the memory controller, before its verdict, which [`ExitVerbs::settle`] gives.
    AheadOfVerdict,
    /// In the L2 that asked for the line.
    L2,
    /// From the last-level cache, where the line had come meanwhile.
    LastLevel,
}

/// What a scheme can ask of the machine: five traits by subject. None has a default, so that what runs a scheme or wraps
/// another way to run it says of every verb what becomes of it. What needs no time is said once, in `execution/untimed.rs`.
///
/// # Contract
/// * The bytes of a `store` are in place when it returns, and a `fetch` sees all stores before it.
/// * `pad`, `mac` and `hash` stand for the unit's time only; the parts compute the bytes themselves. The work begins when
///   they are called, so a text may start it, do something else, and await it when it needs it.
/// * A scheme changes its on-chip state only between two verbs, never across one.
/// * Plaintext leaves through `release` and `release_first` and by no other way.
pub trait Verbs: MemoryVerbs + EngineVerbs + TransitVerbs + LockVerbs + ExitVerbs {}

impl<V: MemoryVerbs + EngineVerbs + TransitVerbs + LockVerbs + ExitVerbs> Verbs for V {}

/// Blocks on their way through the units of a cipher. A text keeps it until it needs what comes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passing {
    /// Which blocks, and where.
    pub(crate) units: AesUnits,
    pub(crate) blocks: Blocks,
    /// When they could have gone in, and for how long the units were at work for others first.
    pub(crate) ready: Time,
    pub(crate) waited: Duration,
    /// When the last comes out.
    pub(crate) done: Time,
}

impl Passing {
    /// What comes out is known then.
    pub(crate) fn known(&self) -> Known {
        Known(self.done)
    }
}

/// Blocks that were offered to the units of a cipher as idle work.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Which.
    pub(crate) blocks: Blocks,
    /// From when on they may go in.
    pub(crate) ready: Time,
    /// The units' own account of them; nothing without time.
    pub(crate) batch: Option<IdleBatch>,
}

/// What memory does.
pub trait MemoryVerbs {
    /// Reads a slot of memory, until what is wanted first is there; for the rest [`MemoryVerbs::await_words`] waits.
    fn fetch(&self, slot: Slot, role: Role, wanted: Wanted) -> impl Future<Output = Arriving>;
    /// Waits for words of a line that was fetched.
    fn await_words(&self, beats: Beats, words: Words) -> impl Future<Output = ()>;
    /// What a slot holds that was fetched a while ago, unless it was written since.
    fn still_stored(&self, slot: Slot, fetched: Untrusted) -> Option<Untrusted>;
    /// Writes a slot of memory; with a blank, nothing is there any more.
    fn store(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()>;
    /// Writes a slot of memory as a part of the open tuple: it survives a loss of power once the tuple is complete.
    fn persist(&self, slot: Slot, role: Role, content: Untrusted) -> impl Future<Output = ()>;
    /// As [`MemoryVerbs::persist`], of some bits of a slot, which keeps the others. Returns what it holds then.
    fn persist_part(&self, slot: Slot, role: Role, part: Part) -> impl Future<Output = Untrusted>;
    /// Waits until all that was persisted is in the persistence domain. Where the queue is a part of it, what was accepted
    /// is.
    fn fence(&self) -> impl Future<Output = ()>;
    /// Completes the open tuple and sets the registers that outlive power, in one instant.
    fn complete(&self, completion: Completion);
    /// The content that the machine started with, of a line that is not in memory yet; nothing if it is, or if the machine
    /// starts with nothing. Asked under the line's lock, and once. Whether memory has a line that moves its scheme knows.
    fn start_up(&self, at: DataSlot) -> Option<Line>;
    /// Changes a slot as if booting had left it so: it takes no time.
    fn boot(&self, slot: Slot, role: Role, change: impl Fn(Untrusted) -> Untrusted);
}

/// What the units for cryptography do.
pub trait EngineVerbs {
    /// Decodes a line of counters that is there now, if a machine takes time for that.
    fn decode(&self) -> Known;
    /// Sends these blocks through units of their cipher, when the counter is known; [`EngineVerbs::await_blocks`] waits for them.
    fn pad(&self, units: AesUnits, blocks: Blocks, counter: Known) -> Passing;
    /// Waits until these blocks have come out.
    fn await_blocks(&self, passing: Passing) -> impl Future<Output = ()>;
    /// Offers blocks to the controller's units as idle work, in the order in which they are to go in, from when that is known.
    fn offer(&self, blocks: Blocks, ready: Known) -> Offered;
    /// Waits until a block that was offered has come out. Whether it had already.
    fn await_offered(&self, offered: &Offered, block: u32) -> impl Future<Output = bool>;
    /// Gives up what of offered blocks has not gone in. Returns how many these are.
    fn give_up(&self, offered: &Offered) -> u32;
    /// Whether a core's L2 takes on so many blocks for a line that it misses, predicted to be in memory or not. It does unless
    /// its AES units are promised to others for longer than verifying the line in the L2 saves.
    fn take_on(&self, core: usize, line: LineAddr, blocks: u32, predicted: bool) -> bool;
    /// Computes the authentication code of one line.
    fn mac(&self) -> impl Future<Output = ()>;
    /// Computes the hash of one line of metadata.
    fn hash(&self) -> impl Future<Output = ()>;
    /// Adds a pad to the line of it.
    fn xor(&self) -> impl Future<Output = ()>;
}

/// What takes time on the way, on the chip and in queues.
pub trait TransitVerbs {
    /// Looks into a cache.
    fn look_up(&self, cache: Cache) -> impl Future<Output = ()>;
    /// Goes a leg of the way on the chip.
    fn travel(&self, leg: Leg) -> impl Future<Output = ()>;
    /// Waits as long as the last-level cache takes to answer a core with a line that it has; the time begins with the call.
    fn outwait_hit(&self, core: usize, line: LineAddr) -> impl Future<Output = ()>;
    /// Waits while the operating system's handler of a missing record executes instructions of its own.
    fn handle_exception(&self) -> impl Future<Output = ()>;
    /// Waits at the controller's door, with nothing in hand, while a write waits to begin [`TransitVerbs::renewing`].
    fn come_in(&self) -> impl Future<Output = ()>;
    /// Renews a group, as soon as a machine that lets few groups be renewed at once lets one more.
    fn renewing<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = T>;
    /// Reads and writes these slots for a renewal, in entries of the memory's queue that were free, and waits until
    /// nothing of them is left in the queue.
    fn in_places<T>(&self, slots: &[Slot], work: impl Future<Output = T>) -> impl Future<Output = T>;
}

/// What keeps accesses apart.
pub trait LockVerbs {
    /// Keeps a lock until it is dropped.
    type Guard<'a>
    where
        Self: 'a;

    /// Takes a lock.
    fn lock(&self, name: LockName, mode: Mode) -> impl Future<Output = Self::Guard<'_>>;
}

/// What leaves the scheme.
pub trait ExitVerbs {
    /// Lets these words of a line out to the core, before the rest: [`ExitVerbs::release`] follows, or a fault.
    fn release_first(&self, line: LineAddr, plaintext: Plaintext, words: Words);
    /// Lets plaintext out to the core.
    fn release(&self, line: LineAddr, plaintext: Plaintext, exit: Exit);
    /// The verdict of a line that was released before it.
    fn settle(&self, line: LineAddr, good: bool);
    /// Waits until every line that was released before its verdict until now is settled; without time none is under
    /// way. Whether none was refused meanwhile.
    fn await_verdicts(&self) -> impl Future<Output = bool>;
    /// Reports a fault; nothing is released.
    fn fault(&self, fault: Fault);
    /// Notes keystream that hides something of the line in this slot, if a ledger is kept: else it is not asked for.
    fn spend(&self, slot: Slot, keystream: impl FnOnce() -> Option<Keystream>);
}
