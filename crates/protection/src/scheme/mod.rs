//! Reads and writes of a line in a protected memory, for all designs.
//!
//! ```text
//! read:   fetch ciphertext ─┐
//!         counter ─ pad ────┼─ decrypt, compute tag, compare ─ release
//!         stored tag ───────┘
//! write:  counter + 1 ─ encrypt ─ tag ─ store both
//! ```
//! [`read`] performs a read in stages, with its policies and with the early steps of L2s and predictions. [`write`]
//! performs a write in steps, in place or in tuples that outlive a loss of power. [`renew`] handles overflows,
//! [`recover`] a loss of power. All share an [`access`]. [`entrance`] is where accesses of the controller begin, [`owner`]
//! checks the rights of software, and [`counted`] has the statistics. The [`codec`](crate::codec) computes bytes;
//! [`metadata`](crate::metadata) returns verified counters and tags.
//!
//! This is the text of all designs whose lines have fixed slots ([`fixed`]). Permuted lines have a separate text
//! ([`moving`](crate::moving)). A [`Scheme`] executes one of them: only this file chooses between the texts, once for
//! each operation that both have.

mod access;
mod bitmap;
mod counted;
mod entrance;
mod fixed;
mod measured;
mod offsets;
mod owner;
mod permuting;
mod read;
mod recover;
mod renew;
mod write;

pub use crate::release::Release;
pub(crate) use counted::CounterCell;
pub use counted::{CountersFound, Renewals, SchemeCounts};
pub use fixed::FixedScheme;
pub use measured::Computed;
pub use permuting::{Permutations, RecordPort};
pub use read::in_l2::Demand;
pub(crate) use write::PendingWrites;
pub use write::{DurableCaches, ObservedState, Observers, PersistBufferHandle};

use crate::counter::Age;
use crate::domain::Registers;
use crate::layout::Layout;
use crate::moving::MovingLines;
use crate::ownership::Asker;
use crate::placement::DataSlot;
use crate::planted::PlantedBug;
use crate::slot::Slot;
use crate::speculation::Speculation;
use crate::verbs::Verbs;
use access::DataAccess;
use fixed::under_way;
use std::future::{Future, Ready, ready};
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use units::{Line, LineAddr, Word};

/// The protection scheme of a memory, with its state on the chip.
pub struct Scheme {
    text: SchemeText,
    layout: Rc<Layout>,
    /// Weakness built into the scheme and into the chip around it, if any.
    pub planted: PlantedBug,
}

/// The text that a scheme executes, with its parts.
enum SchemeText {
    /// Lines stay in their slots.
    Fixed(Box<FixedScheme>),
    /// Lines move, since the scheme permutes their page chunks.
    Moving(Box<MovingLines>),
}

impl From<FixedScheme> for Scheme {
    fn from(scheme: FixedScheme) -> Scheme {
        let (layout, planted) = (Rc::clone(&scheme.layout), scheme.planted);
        Scheme { text: SchemeText::Fixed(Box::new(scheme)), layout, planted }
    }
}

impl Scheme {
    /// Returns the scheme of a memory with permuted lines.
    pub(crate) fn permuting(lines: MovingLines, layout: Rc<Layout>, planted: PlantedBug) -> Scheme {
        Scheme { text: SchemeText::Moving(Box::new(lines)), layout, planted }
    }

    /// The text of lines with fixed slots, with its parts; `None` if lines move.
    pub fn fixed(&self) -> Option<&FixedScheme> {
        match &self.text {
            SchemeText::Fixed(scheme) => Some(scheme),
            SchemeText::Moving(_) => None,
        }
    }

    /// The same text, to change its parts before the first access.
    pub fn fixed_mut(&mut self) -> Option<&mut FixedScheme> {
        match &mut self.text {
            SchemeText::Fixed(scheme) => Some(scheme),
            SchemeText::Moving(_) => None,
        }
    }

    /// The permuted lines; `None` if lines have fixed slots.
    fn moving(&self) -> Option<&MovingLines> {
        match &self.text {
            SchemeText::Fixed(_) => None,
            SchemeText::Moving(lines) => Some(lines),
        }
    }

    /// Slots of data and metadata.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns a copy of the scheme with the same keys and on-chip state. Later changes to either do not affect the other.
    ///
    /// # Panics
    /// If an access is under way, or if the scheme shares a machine's last-level cache.
    pub fn twin(&self) -> Scheme {
        let text = match &self.text {
            SchemeText::Fixed(scheme) => SchemeText::Fixed(Box::new(scheme.twin())),
            SchemeText::Moving(lines) => SchemeText::Moving(Box::new(lines.twin())),
        };
        Scheme { text, layout: Rc::clone(&self.layout), planted: self.planted }
    }

    /// Returns whether memory has a line of data. `has` returns whether memory has a slot with a fixed line.
    pub fn is_in_memory(&self, line: LineAddr, has: impl FnOnce(DataSlot) -> bool) -> bool {
        match &self.text {
            SchemeText::Fixed(_) => has(self.layout.data_slot(line)),
            SchemeText::Moving(lines) => lines.is_in_memory(line),
        }
    }

    /// Statistics of the scheme so far.
    pub fn counted(&self) -> SchemeCounts {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.counted(),
            SchemeText::Moving(lines) => SchemeCounts { moving: lines.counted(), ..SchemeCounts::default() },
        }
    }

    /// Returns the amounts of cryptography computed so far.
    pub fn computed(&self) -> Computed {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.cryptography().computed(),
            SchemeText::Moving(lines) => {
                let (lines, tags, hashes) = lines.computed();
                Computed { lines, tags, tags_in_pairs: 0, hashes }
            }
        }
    }

    /// Returns the speculation on the content of lines, if the design has one.
    pub fn speculation(&self) -> Option<&Speculation> {
        self.fixed().and_then(|scheme| scheme.cryptography().speculation())
    }

    /// Calls `name` with each slot that a read of a line would fetch now, as far as the chip knows. Does not update
    /// replacement state.
    pub fn name_fetched(&self, line: LineAddr, name: impl FnMut(Slot)) {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.name_fetched(line, name),
            SchemeText::Moving(lines) => lines.name_fetched(line, name),
        }
    }

    /// Writes back all dirty metadata and drops the clean lines, as if other accesses had evicted them. Permuted lines
    /// are then in memory, and their records and nodes are no longer on the chip.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.flush(verbs).await,
            SchemeText::Moving(lines) => Box::pin(lines.flush(verbs)).await,
        }
    }

    /// Sets the counters of a line and of its group to the values of a long life, if there are counters; permuted lines have
    /// none. The caller must not have written any of these lines yet, since the scheme does not re-encrypt them.
    pub async fn age<V: Verbs>(&self, verbs: &V, line: LineAddr, age: Age) {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.age(verbs, line, age).await,
            SchemeText::Moving(_) => {}
        }
    }

    /// Lets a fresh chip continue with the memory that a loss of power has left, or reports a fault if this memory
    /// cannot be trusted. In a design without persistence, the chip stays in its initial state.
    pub async fn recover<V: Verbs>(&self, verbs: &V, registers: &Registers) {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.recover(verbs, registers).await,
            SchemeText::Moving(_) => {}
        }
    }

    /// Writes a line as its tenant.
    pub async fn write<V: Verbs>(&self, verbs: &V, line: LineAddr, plaintext: &Line) {
        match &self.text {
            SchemeText::Fixed(scheme) => scheme.write_as(verbs, line, plaintext, Asker::tenant(line)).await,
            SchemeText::Moving(lines) => Box::pin(lines.write(verbs, line, plaintext)).await,
        }
    }

    /// Reads a line: releases its plaintext, or reports a fault. If L2s begin reads, the L2 of the first core begins
    /// this read.
    pub fn read<V: Verbs>(&self, verbs: &V, line: LineAddr) -> impl Future<Output = ()> {
        self.read_by(verbs, line, 0)
    }

    /// Reads a line for a core: releases its plaintext, or reports a fault. If L2s begin reads, the core's L2 begins
    /// this read.
    pub fn read_by<V: Verbs>(&self, verbs: &V, line: LineAddr, core: usize) -> impl Future<Output = ()> {
        self.read_from(verbs, Demand::of(line, core), ready(()), ready(true), None::<Ready<()>>)
    }

    /// Like [`Scheme::read`], for a reader that requests this word first. No L2 has begun any part of the read when the
    /// request arrives at the controller.
    pub async fn read_at_controller<V: Verbs>(&self, verbs: &V, line: LineAddr, word: Word) {
        match &self.text {
            SchemeText::Fixed(scheme) => {
                entrance::read(DataAccess { word, ..DataAccess::new(scheme, verbs, line) }, Asker::tenant(line)).await;
            }
            SchemeText::Moving(lines) => Box::pin(lines.read(verbs, line)).await,
        }
    }

    /// Reads a line that a core's L2 misses: releases its plaintext, or reports a fault. If L2s begin reads, this L2
    /// begins the read.
    ///
    /// `missed` waits until the L2 has missed the line. `request` then waits for the request's path to the controller.
    /// It returns true if the request arrives at the controller, and false if the line is found on the chip.
    /// `prediction` waits for the L2's message that it expects the line in memory, if the L2 sent one. The message left
    /// when the L2's look-up began, so that it may arrive before the L2 has missed the line.
    pub async fn read_from<V: Verbs>(
        &self,
        verbs: &V,
        demand: Demand,
        missed: impl Future<Output = ()>,
        request: impl Future<Output = bool>,
        prediction: Option<impl Future<Output = ()>>,
    ) {
        match &self.text {
            SchemeText::Fixed(scheme) => {
                let access = DataAccess { word: demand.word, ..DataAccess::new(scheme, verbs, demand.line) };
                read::in_l2::read_missed(access, demand.core, missed, request, prediction).await;
            }
            SchemeText::Moving(lines) => {
                missed.await;
                if request.await {
                    Box::pin(lines.read(verbs, demand.line)).await;
                }
            }
        }
    }
}

impl Hash for Scheme {
    /// Hashes the state of the chip between two accesses. Adds nothing for permuted lines.
    ///
    /// # Panics
    /// If metadata lines also use a last-level cache or L2s.
    fn hash<H: Hasher>(&self, hash: &mut H) {
        if let Some(scheme) = self.fixed() {
            scheme.hash(hash);
        }
    }
}
