//! Prefetchers: predict the next lines that a cache requests from the accesses that it sees.
//!
//! The kinds are next-line, stride and stream. *Next-line* predicts the lines after the current line, on every access
//! (the "always prefetch" of Smith, ACM Computing Surveys 14(3), 1982). *Stride* uses the reference prediction table of
//! Chen and Baer (IEEE Transactions on Computers 44(5), 1995). For each instruction that accesses data, the table
//! contains the latest address, the stride to it, and the state of a confidence automaton. If the stride of an
//! instruction changes twice in a row, the prefetcher ignores the instruction until a stride repeats. *Stream* follows
//! pages that are accessed in one direction by any instructions (`stream`).
//!
//! Strides below the size of a line are rounded up to one line in their direction, since the current line is in the cache
//! already. Prefetchers predict no address beyond the 4 KB frame of the access, because the next physical frame may
//! belong to another program. The caches decide which predicted lines to request, depending on their content and free
//! registers (`ahead.rs`).

mod stream;

use crate::cache::{EntryIndex, TagArray};
use crate::node::interface::Touch;
use crate::node::lines::LineSize;
use serde::{Deserialize, Serialize};
use stream::Streams;
use units::LINE_BYTES;

/// Associativity of the reference prediction table.
pub(in crate::node) const TABLE_WAYS: usize = 4;
/// Bits of an address within a frame of 4 KB.
const FRAME_BITS: u32 = 12;

/// A prefetcher as written in a machine file: `{ stride = { degree = 2, entries = 64 } }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PrefetcherConfig {
    /// The lines behind each access.
    NextLine {
        /// Number of lines ahead.
        degree: u32,
    },
    /// The lines at multiples of an instruction's stride from its latest address.
    Stride {
        /// Number of strides ahead.
        degree: u32,
        /// Instructions that the table holds, in sets of four.
        entries: usize,
    },
    /// The next lines of a page that is accessed in one direction.
    Stream {
        /// Maximum number of lines per access.
        degree: u32,
        /// Maximum number of lines between an access and its prefetches.
        distance: u32,
        /// Number of pages that are followed at once.
        pages: usize,
    },
}

impl PrefetcherConfig {
    /// Returns the maximum number of lines that one access predicts.
    pub(in crate::node) fn degree(self) -> u32 {
        match self {
            PrefetcherConfig::NextLine { degree }
            | PrefetcherConfig::Stride { degree, .. }
            | PrefetcherConfig::Stream { degree, .. } => degree,
        }
    }
}

/// An access as a prefetcher sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) struct Seen {
    /// The source of the access: instruction and kind of access.
    pub(in crate::node) origin: u64,
    /// The first byte's physical address.
    pub(in crate::node) address: u64,
}

impl Seen {
    /// An access of the instruction at `pc`.
    pub(in crate::node) fn of(pc: u32, touch: &Touch) -> Seen {
        let address = touch.line.0 * LINE_BYTES as u64 + u64::from(touch.offset);
        Seen { origin: u64::from(pc) << 1 | u64::from(touch.store), address }
    }
}

/// Confidence in the stride of an instruction: states of the automaton of Chen and Baer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trust {
    Initial,
    Transient,
    Steady,
    NoPrediction,
}

/// History of one instruction.
#[derive(Clone, Copy, Debug)]
struct Reference {
    address: u64,
    stride: i64,
    trust: Trust,
}

impl Reference {
    const fn new(address: u64) -> Reference {
        Reference { address, stride: 0, trust: Trust::Initial }
    }

    /// Updates the stride and the confidence with the next address.
    fn learn(&mut self, address: u64) {
        let stride = address.wrapping_sub(self.address) as i64;
        let right = stride == self.stride;
        self.address = address;
        // A steady stride survives one misprediction.
        if !right && self.trust != Trust::Steady {
            self.stride = stride;
        }
        self.trust = match (self.trust, right) {
            (Trust::Initial | Trust::Transient | Trust::Steady, true) => Trust::Steady,
            (Trust::NoPrediction, true) | (Trust::Initial, false) => Trust::Transient,
            (Trust::Steady, false) => Trust::Initial,
            (Trust::Transient | Trust::NoPrediction, false) => Trust::NoPrediction,
        };
    }
}

/// The reference prediction table.
#[derive(Clone, Debug)]
struct ReferenceTable {
    tags: TagArray,
    references: Box<[Reference]>,
}

impl ReferenceTable {
    fn new(entries: usize) -> ReferenceTable {
        let tags = TagArray::new(entries / TABLE_WAYS, TABLE_WAYS);
        ReferenceTable { references: vec![Reference::new(0); tags.slots()].into(), tags }
    }

    /// Returns the predicted stride after this access, or zero without a prediction.
    fn stride_after(&mut self, seen: Seen) -> i64 {
        let Some(slot) = self.tags.lookup(seen.origin) else {
            let (slot, _) = self.tags.insert(seen.origin, false);
            self.references[slot.index()] = Reference::new(seen.address);
            return 0;
        };
        let reference = &mut self.references[slot.index()];
        reference.learn(seen.address);
        if reference.trust == Trust::NoPrediction { 0 } else { reference.stride }
    }
}

/// Prediction method of a prefetcher.
#[derive(Clone, Debug)]
enum PrefetcherKind {
    NextLine,
    Stride(ReferenceTable),
    Stream(Streams),
}

/// The prefetcher of one cache.
#[derive(Clone, Debug)]
pub(in crate::node) struct Prefetcher {
    kind: PrefetcherKind,
    degree: u32,
    line_bytes: i64,
}

impl Prefetcher {
    /// Creates the prefetcher of a cache with lines of this size.
    pub(in crate::node) fn new(config: PrefetcherConfig, lines: LineSize) -> Prefetcher {
        let line_bytes = lines.bytes() as i64;
        let kind = match config {
            PrefetcherConfig::NextLine { .. } => PrefetcherKind::NextLine,
            PrefetcherConfig::Stride { entries, .. } => PrefetcherKind::Stride(ReferenceTable::new(entries)),
            PrefetcherConfig::Stream { degree, distance, pages } => {
                PrefetcherKind::Stream(Streams::new(pages, degree, distance, line_bytes))
            }
        };
        Prefetcher { kind, degree: config.degree(), line_bytes }
    }

    /// Returns the predicted addresses after this access, the nearest first.
    pub(in crate::node) fn expect(&mut self, seen: Seen) -> impl Iterator<Item = u64> + use<> {
        let (from, stride, steps) = match &mut self.kind {
            PrefetcherKind::NextLine => (seen.address, self.line_bytes, self.degree),
            PrefetcherKind::Stream(streams) => streams.after(seen),
            PrefetcherKind::Stride(table) => {
                let stride = table.stride_after(seen);
                let whole = stride.signum() * stride.abs().max(self.line_bytes);
                (seen.address, whole, if stride == 0 { 0 } else { self.degree })
            }
        };
        let frame = seen.address >> FRAME_BITS;
        let address = move |steps: u32| from.wrapping_add_signed(stride.wrapping_mul(steps.into()));
        (1..=steps).map(address).take_while(move |address| address >> FRAME_BITS == frame)
    }
}

/// Marks of cache entries that were prefetched and not used since. Empty without a prefetcher.
#[derive(Clone, Debug)]
pub(in crate::node) struct Unused(Box<[bool]>);

impl Unused {
    pub(in crate::node) fn new(slots: usize, prefetcher: Option<PrefetcherConfig>) -> Unused {
        Unused(vec![false; if prefetcher.is_some() { slots } else { 0 }].into())
    }

    /// Marks the entry as prefetched.
    pub(in crate::node) fn note(&mut self, slot: EntryIndex) {
        self.0[slot.index()] = true;
    }

    /// Removes the mark of the entry; returns true if it was marked.
    #[inline]
    pub(in crate::node) fn take(&mut self, slot: EntryIndex) -> bool {
        self.0.get_mut(slot.index()).is_some_and(std::mem::take)
    }
}
