//! Records all stores of programs and their durability. A run with a loss of power compares the memory with this
//! account, which shares no code with the simulated buffers and caches.
//!
//! The feeds note each store, with its bytes as recorded, in program order. The component that makes stores durable (a
//! persist buffer, a cache or the memory controller) reports each *accepted* store with its core. In a persist buffer
//! or a durable cache, a store is durable from its acceptance on. At the memory controller, an accepted store is *under
//! way* until its line has arrived in memory: until then the store may or may not be durable. If the recording shows a
//! line with content that differs from the result of the program's stores, this is a change from outside. The change
//! takes effect after all earlier stores.
//!
//! If two cores store to the same bytes, the store that was executed later determines the content, in whatever order
//! the two are accepted.

mod changes;
mod held;
mod in_memory;
mod orders;
#[cfg(test)]
mod tests;

pub use held::{CertainContent, Store};
pub use in_memory::LineInMemory;

use held::KnownBytes;
use in_memory::LinesInMemory;
use machine::node::Orders;
use orders::{FenceQueue, LineFlush};
use protection::planted::{ChipBug, PlantedBug};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, Time, VirtAddr, ZERO_LINE};

/// Condition under which a store is certain to be durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certain {
    /// The store was accepted.
    Accepted,
    /// The line of the store arrived in memory after acceptance.
    Arrived,
    /// The condition of `Arrived` is true; or the line was flushed after the store, and a store behind the next fence
    /// was accepted.
    Fenced,
}

/// Possible contents of one line after a loss of power.
pub struct Surviving {
    /// Content that memory must have.
    pub held: CertainContent,
    /// Stores that may be durable, in the order in which they become durable.
    pub under_way: Vec<Store>,
    /// Changes from outside that may have taken effect, in order, independently of the stores.
    pub from_outside: Vec<Store>,
    /// The line in memory before the loss, apart from stores.
    pub before: LineInMemory,
}

impl Surviving {
    /// True if a program stored to the line and the store is, or may be, durable.
    pub fn is_stored_to(&self) -> bool {
        self.held.last().is_some() || !self.under_way.is_empty()
    }
}

/// Up to eight bytes of a store, with its instruction and address.
struct StoreFragment {
    line: LineAddr,
    range: Range<usize>,
    bytes: [u8; 8],
    pc: VirtAddr,
    address: VirtAddr,
}

#[derive(Default)]
struct StoresInFlight {
    stores: VecDeque<Store>,
    /// Number of stores that have arrived in memory.
    arrived: u64,
}

/// The stores of one core's program.
#[derive(Default)]
struct CoreStores {
    /// Stores and changes that are not accepted, in program order.
    waiting: VecDeque<Store>,
    /// Number of stores that the program has executed.
    made: u64,
    accepted: u64,
    /// Pending stores that reached their point of acceptance: the time of each, and true if the core did not wait for
    /// the acceptance.
    reached_acceptance: VecDeque<(Time, bool)>,
    /// Accepted changes from outside, each with the number of accepted stores to its line at that moment. They arrive
    /// in memory before the next store of the core is accepted, if the controller handles stores one by one.
    changes: Vec<(LineAddr, u64)>,
    orders: FenceQueue,
}

impl CoreStores {
    fn not_accepted(&self) -> impl Iterator<Item = &Store> {
        self.waiting.iter().filter(|store| !store.from_outside)
    }

    /// Number of pending stores behind which the core had continued by the time `until`.
    fn left_out(&self, until: Time) -> usize {
        self.reached_acceptance.iter().filter(|(at, goes_on)| *goes_on && *at <= until).count()
    }
}

/// Account of all stores.
pub struct StoreLog {
    certain: Certain,
    cores: Box<[CoreStores]>,
    /// Pieces of the store that is being recorded.
    pieces: Vec<StoreFragment>,
    /// Content of each line after the programs' stores.
    executed: FxHashMap<LineAddr, KnownBytes>,
    durable: FxHashMap<LineAddr, CertainContent>,
    under_way: FxHashMap<LineAddr, StoresInFlight>,
    /// Lines that memory had before the loss, apart from stores.
    pub(crate) in_memory: LinesInMemory,
    order: u64,
    /// Stores that were accepted before an earlier store of their program.
    overtaking: Vec<Store>,
    planted: PlantedBug,
}

impl StoreLog {
    /// Creates an empty account for `cores` cores.
    pub fn new(cores: usize, certain: Certain) -> StoreLog {
        StoreLog {
            certain,
            cores: (0..cores).map(|_| CoreStores::default()).collect(),
            pieces: Vec::new(),
            executed: FxHashMap::default(),
            durable: FxHashMap::default(),
            under_way: FxHashMap::default(),
            in_memory: LinesInMemory::default(),
            order: 0,
            overtaking: Vec::new(),
            planted: PlantedBug::NONE,
        }
    }

    /// Plants a bug in the account.
    #[must_use]
    pub fn with_planted(self, planted: PlantedBug) -> StoreLog {
        StoreLog { planted, ..self }
    }

    /// Notes the content of a line before the program of a core sees it.
    pub(crate) fn shown(&mut self, core: usize, line: LineAddr, content: &Line) {
        self.durable.entry(line).or_insert_with(CertainContent::nothing).fill(content);
        let seen = self.executed.insert(line, KnownBytes { bytes: *content, known: u64::MAX });
        let is_as_executed = seen.is_none_or(|executed| executed.first_other(content).is_none());
        if is_as_executed || self.planted.has(ChipBug::KernelChangesNotNoted) {
            return;
        }
        self.order += 1;
        let (range, number) = (0..LINE_BYTES, self.cores[core].made);
        let nowhere = VirtAddr(0);
        let change = Store {
            core,
            number,
            pc: nowhere,
            address: nowhere,
            line,
            from_outside: true,
            range,
            bytes: *content,
            order: self.order,
        };
        self.cores[core].waiting.push_back(change);
    }

    /// Notes up to eight bytes, as recorded, of the store that a core's program executes now.
    pub(crate) fn piece(
        &mut self,
        line: LineAddr,
        range: Range<usize>,
        value: u64,
        (pc, address): (VirtAddr, VirtAddr),
    ) {
        self.pieces.push(StoreFragment { line, range, bytes: value.to_le_bytes(), pc, address });
    }

    /// Notes a store that must become durable: the part of the line that the last pieces cover.
    pub(crate) fn stored(&mut self, core: usize, line: LineAddr, range: Range<usize>) {
        let is_of = |piece: &&StoreFragment| {
            piece.line == line && range.start <= piece.range.start && piece.range.end <= range.end
        };
        let mut bytes = ZERO_LINE;
        let (mut begin, mut end, mut at) = (range.end, range.start, (VirtAddr(0), VirtAddr(0)));
        for piece in self.pieces.iter().filter(is_of) {
            let Range { start, end: stop } = piece.range;
            bytes[start..stop].copy_from_slice(&piece.bytes[..stop - start]);
            if start < begin {
                at = (piece.pc, piece.address);
            }
            (begin, end) = (begin.min(start), end.max(stop));
        }
        self.order += 1;
        let number = self.cores[core].made;
        self.cores[core].made += 1;
        // A store without a value changes no bytes.
        let range = if begin < end { begin..end } else { 0..0 };
        let (pc, address) = at;
        let store = Store { core, number, pc, address, line, from_outside: false, range, bytes, order: self.order };
        let executed = self.executed.entry(line).or_insert_with(KnownBytes::nothing);
        store.range.clone().for_each(|index| executed.set(index, store.bytes[index]));
        self.cores[core].waiting.push_back(store);
    }

    /// Notes flushes or a fence of a core's program, before its next store.
    pub(crate) fn ordered(&mut self, core: usize, ordered: &Orders) {
        if self.certain != Certain::Fenced {
            return;
        }
        let CoreStores { orders, made: stores, .. } = &mut self.cores[core];
        if ordered.fence {
            orders.fenced(*stores);
        }
        ordered.flushes.iter().for_each(|line| orders.flushed(*line, *stores));
    }

    /// Ends the instruction: drops its pieces.
    pub(crate) fn executed(&mut self) {
        self.pieces.clear();
    }

    /// Notes that the next store of a core reaches its point of acceptance; `goes_on` if the core does not wait.
    pub(crate) fn reached_acceptance(&mut self, core: usize, at: Time, goes_on: bool) {
        self.cores[core].reached_acceptance.push_back((at, goes_on));
    }

    /// Pending stores behind which their core had continued by the time `until`.
    pub fn left_out(&self, until: Time) -> impl Iterator<Item = &Store> {
        let counts = !self.planted.has(ChipBug::LeftOutNotCounted);
        self.cores.iter().filter(move |_| counts).flat_map(move |core| core.not_accepted().take(core.left_out(until)))
    }

    /// Stores that are not accepted.
    pub fn not_accepted(&self) -> impl Iterator<Item = &Store> {
        self.cores.iter().flat_map(CoreStores::not_accepted)
    }

    /// Accepts the next store of a core, which must be to this line.
    pub(crate) fn accept(&mut self, core: usize, line: LineAddr) {
        self.let_outside_in(core);
        let changes = std::mem::take(&mut self.cores[core].changes);
        changes.into_iter().for_each(|(line, stores)| self.change_arrived(line, stores));
        let waiting = &mut self.cores[core].waiting;
        let index = waiting.iter().position(|store| store.line == line && !store.from_outside);
        let Some(store) = index.and_then(|index| waiting.remove(index)) else { return };
        if index != Some(0) && !self.planted.has(ChipBug::OvertakingNotNoted) {
            self.overtaking.push(store.clone());
        }
        let of_core = &mut self.cores[core];
        of_core.accepted += 1;
        of_core.reached_acceptance.pop_front();
        let over = of_core.orders.accepted(store.number);
        over.into_iter().for_each(|flush| self.flush_is_over(core, &flush));
        self.goes_on(store);
    }

    /// Applies the changes from outside that precede every pending store of a core.
    fn let_outside_in(&mut self, core: usize) {
        while self.cores[core].waiting.front().is_some_and(|next| next.from_outside)
            && let Some(change) = self.cores[core].waiting.pop_front()
        {
            self.goes_on(change);
        }
    }

    /// Makes an accepted store durable, or puts it under way.
    fn goes_on(&mut self, store: Store) {
        match self.certain {
            Certain::Accepted => self.take_effect(&store),
            Certain::Arrived | Certain::Fenced => self.under_way.entry(store.line).or_default().stores.push_back(store),
        }
    }

    fn take_effect(&mut self, store: &Store) {
        self.durable.entry(store.line).or_insert_with(CertainContent::nothing).take(store);
    }

    /// Number of accepted stores to a line.
    pub(crate) fn accepted_of(&self, line: LineAddr) -> u64 {
        self.under_way.get(&line).map_or(0, |way| way.arrived + way.stores.len() as u64)
    }

    /// Marks the first `count` accepted stores to a line as arrived in memory.
    pub(crate) fn arrived(&mut self, line: LineAddr, count: u64) {
        let Some(way) = self.under_way.get_mut(&line) else { return };
        let held = self.durable.entry(line).or_insert_with(CertainContent::nothing);
        while way.arrived < count
            && let Some(store) = way.stores.pop_front()
        {
            held.take(&store);
            way.arrived += 1;
        }
    }

    /// Marks as arrived the stores of a core to a line before its flush, and all stores accepted before them.
    fn flush_is_over(&mut self, core: usize, flush: &LineFlush) {
        let Some(way) = self.under_way.get(&flush.line) else { return };
        let is_before = |store: &Store| store.core == core && store.number < flush.stores;
        if let Some(last) = way.stores.iter().rposition(is_before) {
            self.arrived(flush.line, way.arrived + last as u64 + 1);
        }
    }

    /// Numbers of stores made and accepted, per core.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.cores.iter().map(|core| (core.made, core.accepted))
    }

    /// True if every store of the programs was accepted.
    pub fn has_accepted_all(&self) -> bool {
        self.counts().all(|(made, accepted)| made == accepted)
    }

    /// Stores that were accepted before an earlier store of their program.
    pub fn overtaking(&self) -> &[Store] {
        &self.overtaking
    }

    /// Possible contents of each line if power fails now, by address.
    pub fn surviving(&self) -> Vec<(LineAddr, Surviving)> {
        let next = self.next_from_outside().map(|change| &change.line);
        let mut lines: Vec<LineAddr> = self.durable.keys().chain(self.under_way.keys()).chain(next).copied().collect();
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| (line, self.surviving_of(line))).collect()
    }

    fn surviving_of(&self, line: LineAddr) -> Surviving {
        let held = self.durable.get(&line).cloned().unwrap_or_else(CertainContent::nothing);
        let accepted = self.under_way.get(&line).into_iter().flat_map(|way| &way.stores);
        let outside = self.next_from_outside().filter(|change| change.line == line);
        let (from_outside, under_way) = accepted.chain(outside).cloned().partition(|store| store.from_outside);
        Surviving { held, under_way, from_outside, before: self.in_memory.of(line) }
    }

    /// Changes from outside that are still pending: memory may boot with their content early.
    fn next_from_outside(&self) -> impl Iterator<Item = &Store> {
        self.cores.iter().flat_map(|core| &core.waiting).filter(|next| next.from_outside)
    }
}
