//! Permuted lines: each page chunk of memory is permuted before one of its addresses recurs on the bus (HIDE: Zhuang,
//! Zhang and Pande, ASPLOS 2004). Each permutation encrypts and authenticates every slot anew, under a fresh record
//! (CryptoPage: Duc and Keryell, ACSAC 2006).
//!
//! ```text
//! read:    reserve a way ─ record of the page chunk ─ slot ─ fetch ─┬─ pad ─ line ─┬─ into the cache, locked
//!                                                                   └─ code ───────┘
//! write:   into the cache, locked
//! no way:  permute the page chunk that has most lines locked: read what was not read, draw the record anew, write all slots
//! ```
//! A line is locked in the cache from its fill or first store until its page chunk is permuted; a permutation writes all
//! lines of a page chunk back together. So between two permutations a slot is written once and read once, and its pad is
//! used once.
//!
//! The last-level cache records which lines are locked ([`LockingCache`]). The [record](crate::record) of a page chunk
//! gives the slot of each line, and is on the chip while it is in use ([`held`]). The module [`lines`] opens and seals
//! lines, and [`permutation`] permutes a page chunk. The record of a page chunk that was never permuted is derived from
//! the chip's key.

mod access;
mod background;
mod contexts_design;
mod counted;
mod entered;
mod free;
mod held;
mod judge;
mod lines;
mod locks;
mod opening;
mod page_chunk;
mod permutation;
mod processes;
mod requests;
mod slot_access;
mod switch;
mod system;
mod under_way;

pub use background::BackgroundStart;
pub use context::ContextError;
pub use contexts_design::ContextsDesign;
pub use counted::{ContextCounts, MovingCounts, WalkCounts};
pub use free::PermutationTime;
pub use judge::SlotsForJudge;
pub use lines::PageChunkLines;
pub use locks::{LockingCache, Room, SmallCache};
pub use opening::FirstSlot;
pub use page_chunk::SLOTS_PER_TAG_MAX;
pub use processes::ProcessId;
pub use requests::PermutationRequests;
pub use switch::{ProcessPageChunks, ProcessPort};
pub use system::SystemPort;

use crate::meetings::Mechanism;
use crate::planted::{PageChunkBug, PlantedBug};
use crate::record::{Records, SLOTS};
use crate::release::Release;
use crate::slot::Slot;
use crate::verbs::{Fault, LockName, Verbs};
use access::LineAccess;
use counted::EpochCounts;
use entered::Entered;
use held::PageChunkRecords;
use page_chunk::{chunk_of, group_of, groups, placed};
use processes::Processes;
use sim::lock::Mode;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use under_way::PermutationsUnderWay;
use units::random::Random;
use units::{Line, LineAddr};

/// Number of lines in a page chunk.
pub const LINES_PER_PAGE_CHUNK: u64 = SLOTS as u64;

/// Policies of a memory with permuted lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MovingPolicy {
    /// Release of lines before or after their verdicts.
    pub release: Release,
    /// Time of permutations: charged, or free.
    pub time: PermutationTime,
    /// Moment at which permutations begin in the background.
    pub background: BackgroundStart,
    /// Maximum number of permutations under way at which another one begins in the background.
    pub at_once: usize,
}

impl MovingPolicy {
    /// Default number of permutations at once, each with a buffer of one page chunk. The papers name no number.
    pub const AT_ONCE: usize = 4;
}

impl Default for MovingPolicy {
    fn default() -> MovingPolicy {
        MovingPolicy {
            release: Release::default(),
            time: PermutationTime::default(),
            background: BackgroundStart::default(),
            at_once: MovingPolicy::AT_ONCE,
        }
    }
}

/// A memory with permuted lines, and its state on the chip.
pub struct MovingLines {
    records: PageChunkRecords,
    lines: PageChunkLines,
    cache: RefCell<Rc<dyn LockingCache>>,
    counted: RefCell<EpochCounts>,
    entered: RefCell<Entered>,
    policy: MovingPolicy,
    under_way: RefCell<PermutationsUnderWay>,
    /// True if a permutation was given up after its first write.
    halted: Cell<bool>,
    /// Secure processes, if the design has contexts.
    processes: Option<RefCell<Processes>>,
    planted: PlantedBug,
}

impl MovingLines {
    /// Returns a blank memory under these records. In addition to the records of pages in TLBs, the chip has a buffer of
    /// `record_buffer` records, at least one.
    pub fn new(
        records: Records,
        lines: PageChunkLines,
        (cache, record_buffer): (Rc<dyn LockingCache>, usize),
        policy: MovingPolicy,
        planted: PlantedBug,
    ) -> MovingLines {
        MovingLines {
            records: PageChunkRecords::new(records, record_buffer, planted),
            lines,
            cache: RefCell::new(cache),
            counted: RefCell::default(),
            entered: RefCell::default(),
            policy,
            under_way: RefCell::default(),
            halted: Cell::new(false),
            processes: None,
            planted,
        }
    }

    /// Returns the memory with contexts of secure processes, made from these random numbers. Those outside the chip are
    /// stored from slot `first` on, under a key that is drawn from a seed.
    #[must_use]
    pub fn with_contexts(self, design: ContextsDesign, draws: (Random, u64), first: Slot) -> MovingLines {
        MovingLines { processes: Some(RefCell::new(Processes::new(design, draws, first))), ..self }
    }

    /// Returns a copy of the memory, between two accesses.
    ///
    /// # Panics
    /// If its lines are locked in a machine's last-level cache.
    pub fn twin(&self) -> MovingLines {
        MovingLines {
            records: self.records.twin(),
            lines: self.lines.twin(),
            cache: RefCell::new(self.cache().twin()),
            counted: self.counted.clone(),
            entered: self.entered.clone(),
            policy: self.policy,
            under_way: self.under_way.clone(),
            halted: self.halted.clone(),
            processes: self.processes.clone(),
            planted: self.planted,
        }
    }

    /// Locks lines in this cache from now on, instead of the separate small cache. Must be called before the first
    /// access.
    pub fn lock_in(&self, cache: Rc<dyn LockingCache>) {
        self.cache.replace(cache);
    }

    fn cache(&self) -> Rc<dyn LockingCache> {
        self.cache.borrow().clone()
    }

    /// Returns the slot of a line now.
    ///
    /// # Errors
    /// Same errors as a read, if the record of the line's page chunk is refused.
    pub async fn slot_of<V: Verbs>(&self, verbs: &V, line: LineAddr) -> Result<Slot, Fault> {
        Ok(placed(&*self.records.get(verbs, chunk_of(line)).await?, line).slot())
    }

    /// Returns the slots of all lines now, for the judge of an attack.
    pub fn for_judge(&self) -> SlotsForJudge<'_> {
        SlotsForJudge(self)
    }

    /// Calls `name` with each slot that a read of a line would fetch now, as far as the chip knows. These are the line's slot and
    /// those under its tag, or the slots of the record that gives them.
    pub fn name_fetched(&self, line: LineAddr, mut name: impl FnMut(Slot)) {
        let chunk = chunk_of(line);
        let record = self.records.held(chunk).or_else(|| self.records.all().merkle_cache().peek(chunk).map(Rc::new));
        match record {
            Some(record) => group_of(&record, line, self.lines.slots_per_tag()).iter().for_each(|at| name(at.slot())),
            None => self.records.all().name_fetched(chunk, name),
        }
    }

    /// Returns the numbers of lines encrypted or decrypted so far, of tags of lines and of hashes of the tree.
    pub fn computed(&self) -> (u64, u64, u64) {
        let (lines, tags) = self.lines.computed();
        (lines, tags, self.records.all().hashed())
    }

    /// Returns all counts so far.
    pub fn counted(&self) -> MovingCounts {
        MovingCounts { walks: self.records.walks(), ..self.counted.borrow().sum() }
    }

    /// Returns whether memory has a line, in any slot.
    pub fn is_in_memory(&self, line: LineAddr) -> bool {
        self.entered.borrow().has(line)
    }

    /// Reads a line: from the cache, or from memory into the cache.
    pub async fn read<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        let outcome = LineAccess { lines: self, verbs, line }.read().await;
        report(verbs, outcome);
    }

    /// Fetches and checks the record of a page with this line, which a TLB misses. The record stays on the chip until
    /// [`MovingLines::release_record`]. Returns true if the record is on the chip; else tampering was reported.
    pub async fn acquire_record<V: Verbs>(&self, verbs: &V, line: LineAddr) -> bool {
        let chunk = chunk_of(line);
        // A walk returns the tree's lock before it decrypts the record. A permutation of the page chunk must not write
        // a new record before the chip keeps this one.
        self.under_way.borrow_mut().wait(chunk);
        let _shared = match self.planted.has(PageChunkBug::TlbWalkUnlocked) {
            false => Some(verbs.lock(LockName::Group(chunk), Mode::Shared).await),
            true => None,
        };
        let outcome = match self.refuse_if_halted(line) {
            Ok(()) => self.records.acquire(verbs, chunk).await,
            Err(fault) => Err(fault),
        };
        report(verbs, outcome);
        outcome.is_ok()
    }

    /// Releases the record of a page with this line, which was translated: TLBs no longer hold the page.
    pub fn release_record(&self, line: LineAddr) {
        self.records.release(chunk_of(line));
    }

    /// Returns the operating system's interface, if the operating system loads records.
    pub fn system(&self) -> Option<SystemPort<'_>> {
        self.records.all().are_brought_by_system().then(|| SystemPort::new(&self.records, self.planted))
    }

    /// Returns the interface of secure processes, if the design has contexts.
    pub fn processes(&self) -> Option<ProcessPort<'_>> {
        self.processes.as_ref().map(|processes| ProcessPort::new(self, processes))
    }

    /// Stores a whole line, in the cache.
    pub async fn write<V: Verbs>(&self, verbs: &V, line: LineAddr, text: &Line) {
        let outcome = LineAccess { lines: self, verbs, line }.store(text).await;
        report(verbs, outcome);
    }

    /// Permutes every page chunk with locked lines, and drops all lines, records and nodes from the chip.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        for chunk in self.cache().chunks_with_locks() {
            self.under_way.borrow_mut().wait(chunk);
            let outcome = self.permute(verbs, chunk, None).await;
            report(verbs, outcome.map(|_| ()));
        }
        self.cache().empty();
        self.forget_records();
        self.records.all().forget_nodes();
    }

    /// Number of page chunks with locked lines in the cache.
    pub fn chunks_with_locks(&self) -> usize {
        self.cache().chunks_with_locks().len()
    }

    /// Permutes the page chunk of a line, however many of its lines are locked.
    pub async fn permute_chunk_of<V: Verbs>(&self, verbs: &V, line: LineAddr) {
        self.under_way.borrow_mut().wait(chunk_of(line));
        let outcome = self.permute(verbs, chunk_of(line), None).await;
        report(verbs, outcome.map(|_| ()));
    }

    /// Puts the machine's start-up content into memory, as booting does: takes no time.
    pub fn boot<V: Verbs>(&self, verbs: &V, chunks: u64) {
        for chunk in 0..chunks {
            let record = self.records.all().first(chunk);
            for group in groups(chunk, &record, self.lines.slots_per_tag()) {
                for at in &group {
                    self.lines.boot(verbs, (&group, &record), at.line(), &self.entered);
                }
            }
        }
    }

    /// Requests for permutations of page chunks.
    pub fn permutation_requests(&self) -> PermutationRequests<'_> {
        PermutationRequests(self)
    }

    /// Drops all records from the chip, as if records of other pages had evicted them.
    pub fn forget_records(&self) {
        self.records.give_up_held();
    }

    fn refuse_if_halted(&self, line: LineAddr) -> Result<(), Fault> {
        if self.halted.get() && !self.planted.has(PageChunkBug::HaltIgnored) {
            Err(Fault::Halted(line))
        } else {
            Ok(())
        }
    }
}

/// Numbers of records on the chip for pages in TLBs, and of entries of the Merkle cache.
pub fn records_on_chip(lines: &MovingLines) -> (usize, usize) {
    lines.records.numbers()
}

/// The states of the chip that are set.
fn set(lines: &MovingLines) -> Option<Mechanism> {
    lines.halted.get().then_some(Mechanism::HaltedChip)
}

fn report<V: Verbs>(verbs: &V, outcome: Result<(), Fault>) {
    if let Err(fault) = outcome {
        verbs.fault(fault);
    }
}
