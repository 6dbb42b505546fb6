//! What programs have stored, and what of it is durable: an account that shares nothing with what is simulated, which a loss of
//! power is judged by.
//!
//! The feeds note each store, with its bytes as recorded, in the order of its program. Whoever makes stores durable notes of which
//! core the next one was *accepted*. In a persist buffer or a durable cache it is durable from then on. At the memory controller it
//! is *under way* until its line has arrived there: it may be durable or not. What the program shows of a line, and no store of it
//! explains, is a change from outside, which takes effect behind the stores before it.
//!
//! Where two cores store to the same bytes, the later one by execution has the last word, whichever is accepted first.

mod held;
mod orders;
#[cfg(test)]
mod tests;

pub use held::{Held, Store};

use held::KnownBytes;
use machine::node::Orders as Ordered;
use orders::{Flush, Orders};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, Time, VirtAddr, ZERO_LINE};

/// When a store is certain to be durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certain {
    /// When it is accepted.
    Accepted,
    /// When its line has arrived in memory after that.
    Arrived,
    /// The same, or when a store behind a fence is accepted, before which the line was flushed.
    Fenced,
}

/// What one line comes to after a loss of power.
pub struct Surviving {
    /// What it holds for certain.
    pub held: Held,
    /// Stores that may be durable, in the order in which they would be.
    pub under_way: Vec<Store>,
    /// Changes from outside that may have taken effect, in their order, whatever the stores did.
    pub from_outside: Vec<Store>,
}

impl Surviving {
    /// Whether a program has stored to it, durably for all that is known.
    pub fn is_stored_to(&self) -> bool {
        self.held.last().is_some() || !self.under_way.is_empty()
    }
}

/// Eight bytes or fewer of a store, and who stored them where.
struct Piece {
    line: LineAddr,
    range: Range<usize>,
    bytes: [u8; 8],
    pc: VirtAddr,
    address: VirtAddr,
}

#[derive(Default)]
struct UnderWay {
    stores: VecDeque<Store>,
    /// How many have left it.
    arrived: u64,
}

/// The stores of one core's program.
#[derive(Default)]
struct OfCore {
    /// What was not accepted, in the order of the program.
    waiting: VecDeque<Store>,
    /// How many stores the program has made.
    made: u64,
    accepted: u64,
    /// Of stores that have come to where they are accepted, and were not: when, and whether the core went on then.
    came: VecDeque<(Time, bool)>,
    orders: Orders,
}

impl OfCore {
    fn not_accepted(&self) -> impl Iterator<Item = &Store> {
        self.waiting.iter().filter(|store| !store.from_outside)
    }

    /// How many it had gone on from by then, that were not accepted.
    fn left_out(&self, until: Time) -> usize {
        self.came.iter().filter(|(at, goes_on)| *goes_on && *at <= until).count()
    }
}

/// The account.
pub struct StoreLog {
    certain: Certain,
    cores: Box<[OfCore]>,
    /// The pieces of the store that is just noted.
    pieces: Vec<Piece>,
    /// What the programs' stores have made of each line.
    executed: FxHashMap<LineAddr, KnownBytes>,
    durable: FxHashMap<LineAddr, Held>,
    under_way: FxHashMap<LineAddr, UnderWay>,
    guessed: FxHashSet<LineAddr>,
    order: u64,
    /// Stores that were accepted before one that comes first.
    overtaking: Vec<Store>,
}

impl StoreLog {
    /// An empty account of so many cores.
    pub fn new(cores: usize, certain: Certain) -> StoreLog {
        StoreLog {
            certain,
            cores: (0..cores).map(|_| OfCore::default()).collect(),
            pieces: Vec::new(),
            executed: FxHashMap::default(),
            durable: FxHashMap::default(),
            under_way: FxHashMap::default(),
            guessed: FxHashSet::default(),
            order: 0,
            overtaking: Vec::new(),
        }
    }

    /// The program of a core is about to see this content of a line.
    pub(crate) fn told(&mut self, core: usize, line: LineAddr, content: &Line) {
        self.durable.entry(line).or_insert_with(Held::nothing).fill(content);
        let seen = self.executed.insert(line, KnownBytes { bytes: *content, known: u64::MAX });
        if seen.is_none_or(|executed| executed.first_other(content).is_none()) {
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

    /// Eight bytes or fewer of the store that a core's program makes now, as recorded.
    pub(crate) fn piece(
        &mut self,
        line: LineAddr,
        range: Range<usize>,
        value: u64,
        (pc, address): (VirtAddr, VirtAddr),
    ) {
        self.pieces.push(Piece { line, range, bytes: value.to_le_bytes(), pc, address });
    }

    /// The store whose pieces came before is to this part of a line, and is to be durable.
    pub(crate) fn stored(&mut self, core: usize, line: LineAddr, range: Range<usize>) {
        let is_of =
            |piece: &&Piece| piece.line == line && range.start <= piece.range.start && piece.range.end <= range.end;
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
        // Of a store without a value nothing happens.
        let range = if begin < end { begin..end } else { 0..0 };
        let (pc, address) = at;
        let store = Store { core, number, pc, address, line, from_outside: false, range, bytes, order: self.order };
        let executed = self.executed.entry(line).or_insert_with(KnownBytes::nothing);
        store.range.clone().for_each(|place| executed.set(place, store.bytes[place]));
        self.cores[core].waiting.push_back(store);
    }

    /// The program of a core flushes lines or fences, before it stores again.
    pub(crate) fn ordered(&mut self, core: usize, ordered: &Ordered) {
        if self.certain != Certain::Fenced {
            return;
        }
        let OfCore { orders, made: stores, .. } = &mut self.cores[core];
        if ordered.fence {
            orders.fenced(*stores);
        }
        ordered.flushes.iter().for_each(|line| orders.flushed(*line, *stores));
    }

    /// The instruction is over.
    pub(crate) fn executed(&mut self) {
        self.pieces.clear();
    }

    /// Memory starts up with zeros in the place of a line that no program has shown.
    pub(crate) fn guessed(&mut self, line: LineAddr) {
        self.guessed.insert(line);
    }

    /// Whether memory may still have the zeros of a line that it started up with before a program has shown it: then the program
    /// has seen nothing of them.
    pub fn was_guessed(&self, line: LineAddr) -> bool {
        self.guessed.contains(&line)
    }

    /// The next store of a core comes at that time to where it is accepted, and the core `goes_on`, or waits for an answer.
    pub(crate) fn came(&mut self, core: usize, at: Time, goes_on: bool) {
        self.cores[core].came.push_back((at, goes_on));
    }

    /// Stores that their core had gone on from by then, and that were not accepted.
    pub fn left_out(&self, until: Time) -> impl Iterator<Item = &Store> {
        self.cores.iter().flat_map(move |core| core.not_accepted().take(core.left_out(until)))
    }

    /// Stores that were not accepted.
    pub fn not_accepted(&self) -> impl Iterator<Item = &Store> {
        self.cores.iter().flat_map(OfCore::not_accepted)
    }

    /// The next store of a core is accepted, which is to this line.
    pub(crate) fn accept(&mut self, core: usize, line: LineAddr) {
        self.let_outside_in(core);
        let waiting = &mut self.cores[core].waiting;
        let place = waiting.iter().position(|store| store.line == line && !store.from_outside);
        let Some(store) = place.and_then(|place| waiting.remove(place)) else { return };
        if place != Some(0) {
            self.overtaking.push(store.clone());
        }
        let of_core = &mut self.cores[core];
        of_core.accepted += 1;
        of_core.came.pop_front();
        let over = of_core.orders.accepted(store.number);
        over.into_iter().for_each(|flush| self.flush_is_over(core, &flush));
        self.goes_on(store);
    }

    /// Changes from outside take effect that come before every store of a core that was not accepted.
    fn let_outside_in(&mut self, core: usize) {
        while self.cores[core].waiting.front().is_some_and(|next| next.from_outside)
            && let Some(change) = self.cores[core].waiting.pop_front()
        {
            self.goes_on(change);
        }
    }

    /// A store that was accepted is durable, or on its way there.
    fn goes_on(&mut self, store: Store) {
        match self.certain {
            Certain::Accepted => self.take_effect(&store),
            Certain::Arrived | Certain::Fenced => self.under_way.entry(store.line).or_default().stores.push_back(store),
        }
    }

    fn take_effect(&mut self, store: &Store) {
        self.durable.entry(store.line).or_insert_with(Held::nothing).take(store);
    }

    /// How many stores of a line were accepted so far.
    pub(crate) fn accepted_of(&self, line: LineAddr) -> u64 {
        self.under_way.get(&line).map_or(0, |way| way.arrived + way.stores.len() as u64)
    }

    /// So many of the stores to a line have arrived in memory, if as many were accepted.
    pub(crate) fn arrived(&mut self, line: LineAddr, count: u64) {
        let Some(way) = self.under_way.get_mut(&line) else { return };
        let held = self.durable.entry(line).or_insert_with(Held::nothing);
        while way.arrived < count
            && let Some(store) = way.stores.pop_front()
        {
            held.take(&store);
            way.arrived += 1;
        }
    }

    /// Memory has what a core stored to a line before it flushed that, and all that was accepted before those stores.
    fn flush_is_over(&mut self, core: usize, flush: &Flush) {
        let Some(way) = self.under_way.get(&flush.line) else { return };
        let is_before = |store: &Store| store.core == core && store.number < flush.stores;
        if let Some(last) = way.stores.iter().rposition(is_before) {
            self.arrived(flush.line, way.arrived + last as u64 + 1);
        }
    }

    /// Of each core, how many stores its program has made and how many of them were accepted.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.cores.iter().map(|core| (core.made, core.accepted))
    }

    /// Whether every store of the programs was accepted.
    pub fn has_accepted_all(&self) -> bool {
        self.counts().all(|(made, accepted)| made == accepted)
    }

    /// Stores that were accepted before one that comes first in the order of their program.
    pub fn overtaking(&self) -> &[Store] {
        &self.overtaking
    }

    /// What each line comes to if power fails now, in order.
    pub fn surviving(&self) -> Vec<(LineAddr, Surviving)> {
        let next = self.next_from_outside().map(|change| &change.line);
        let mut lines: Vec<LineAddr> = self.durable.keys().chain(self.under_way.keys()).chain(next).copied().collect();
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| (line, self.surviving_of(line))).collect()
    }

    fn surviving_of(&self, line: LineAddr) -> Surviving {
        let held = self.durable.get(&line).cloned().unwrap_or_else(Held::nothing);
        let accepted = self.under_way.get(&line).into_iter().flat_map(|way| &way.stores);
        let outside = self.next_from_outside().filter(|change| change.line == line);
        let (from_outside, under_way) = accepted.chain(outside).cloned().partition(|store| store.from_outside);
        Surviving { held, under_way, from_outside }
    }

    /// The changes from outside that have not come yet: memory may boot with their content before.
    fn next_from_outside(&self) -> impl Iterator<Item = &Store> {
        self.cores.iter().flat_map(|core| &core.waiting).filter(|next| next.from_outside)
    }
}
