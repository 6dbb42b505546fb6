//! Possible memory contents after a loss of power: for every point of a history, every legal subset of the writes in
//! flight.
//!
//! A line that was sent and not fenced may have arrived in full, in part or not at all. Memory writes eight bytes at
//! once, so a line can be torn between any two words. Four cases are tried for each line: not, whole, its first half,
//! every other word. All combinations are tried if they are few enough at a point, else a fixed number of random ones.
//! Combinations that leave the same memory and registers are one state, and reports count states.

use super::shown::Changes;
use crate::bus::Recording;
use protection::domain::{PersistenceDomain, Registers, WritePendingQueue};
use protection::execution::Operation;
use protection::ledger::Ledger;
use protection::media::Media;
use protection::verbs::Untrusted;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

/// Number of possible arrivals of a line in flight.
const CASES: u64 = 4;
/// Case in which a line arrives as it was sent.
const WHOLE: u64 = 1;

/// Possible arrivals of the lines in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// All lines arrive, in order and whole.
    InOrder,
    /// Any part arrives, torn or not: at most this many combinations at a point.
    Any(u64),
}

/// Numbers of writes of the program that memory may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WritesInMemory {
    /// Number of writes that had returned or were accepted: memory contains them.
    pub least: usize,
    /// Number of writes that had begun.
    pub most: usize,
}

impl WritesInMemory {
    /// Memory contains exactly this many writes.
    pub fn exactly(writes: usize) -> WritesInMemory {
        WritesInMemory { least: writes, most: writes }
    }
}

/// A memory that a loss of power left behind.
#[derive(Clone)]
pub struct DeadMemory {
    /// Number of operations issued to memory until the loss, or of events.
    pub point: usize,
    /// Writes of the program that memory contains.
    pub progress: WritesInMemory,
    /// True if all lines that were sent had arrived, whole.
    pub in_order: bool,
    /// Content of the memory.
    pub image: Recording,
    /// Content of the registers.
    pub registers: Registers,
    /// Keystream that the memory has ever shown.
    pub shown: Rc<Ledger>,
    /// Changes that the memory went through, if these are not a prefix of the history's changes.
    pub changes: Option<Rc<Changes>>,
    /// Accepted stores in order, where stores are durable before memory has them.
    pub accepted: Option<Vec<(LineAddr, Line)>>,
    /// Lines that were durable only in a buffer or in caches when power failed, the oldest first.
    pub resident: Vec<LineAddr>,
}

/// The state before a sequence of changes.
pub struct InitialState {
    /// Content of the memory.
    pub image: Recording,
    /// Content of the registers.
    pub registers: Registers,
    /// Keystream that the memory has shown.
    pub shown: Rc<Ledger>,
    /// Number of slots of the memory.
    pub slots: u64,
}

/// Returns every different state that these changes can leave, point by point; `progress` gives the writes that memory
/// contains at a point. Cases that are not tried in full are drawn with the seed.
pub fn states_of(
    changes: &Changes,
    start: &InitialState,
    queue: WritePendingQueue,
    arrivals: Arrivals,
    seed: u64,
    progress: &dyn Fn(usize) -> WritesInMemory,
) -> Vec<DeadMemory> {
    let mut random = Random::new(seed);
    let at = |(point, shown)| {
        let left = left_at(&changes.operations[..point], start, queue, arrivals, &mut random);
        left.into_iter().map(move |left| left.at(point, progress(point), &shown)).collect::<Vec<_>>()
    };
    changes.shown(&start.shown, queue).into_iter().enumerate().flat_map(at).collect()
}

/// Returns every different state that these changes to memory can leave, given the keystream shown until then.
pub fn states_at(
    changes: &[Operation],
    start: &InitialState,
    shown: &Rc<Ledger>,
    progress: WritesInMemory,
    arrivals: Arrivals,
    random: &mut Random,
) -> Vec<DeadMemory> {
    let left = left_at(changes, start, WritePendingQueue::Inside, arrivals, random);
    left.into_iter().map(|left| left.at(changes.len(), progress, shown)).collect()
}

/// Memory and registers that some operations can leave.
struct LeftState {
    image: Recording,
    registers: Registers,
    /// True if all lines that were sent had arrived, whole.
    in_order: bool,
}

impl LeftState {
    /// Returns the memory that power leaves if it fails in this state, after `point` operations.
    fn at(self, point: usize, progress: WritesInMemory, shown: &Rc<Ledger>) -> DeadMemory {
        let LeftState { image, registers, in_order } = self;
        let (shown, changes, accepted, resident) = (shown.clone(), None, None, Vec::new());
        DeadMemory { point, progress, in_order, image, registers, shown, changes, accepted, resident }
    }
}

/// Returns the different states that these operations can leave.
fn left_at(
    operations: &[Operation],
    start: &InitialState,
    queue: WritePendingQueue,
    arrivals: Arrivals,
    random: &mut Random,
) -> Vec<LeftState> {
    let on_its_way = on_its_way(operations, queue);
    let mut seen: BTreeMap<(Recording, Registers), bool> = BTreeMap::new();
    for fates in fates(on_its_way.len(), arrivals, random) {
        let in_order = fates.iter().all(|fate| *fate == WHOLE);
        let left = replay(operations, &on_its_way, &fates, start, queue);
        *seen.entry(left).or_insert(false) |= in_order;
    }
    seen.into_iter().map(|((image, registers), in_order)| LeftState { image, registers, in_order }).collect()
}

/// Returns the different memories that these changes go through, if all lines arrive in order.
pub fn memories_between(operations: &[Operation], start: &InitialState) -> Vec<Recording> {
    let mut domain =
        PersistenceDomain::new(WritePendingQueue::Inside, start.image.media(start.slots), start.registers.clone());
    let mut memories = vec![start.image.clone()];
    for operation in operations {
        carry_out(&mut domain, operation, |_, sent| Some(sent));
        // An open tuple is in the queue.
        if matches!(operation, Operation::Store(..) | Operation::Complete(_)) {
            memories.push(Recording::of(domain.media()));
        }
    }
    memories.dedup();
    memories
}

/// Counts the different memories among these states, and those that need a line to arrive torn, out of order or not at all.
pub fn distinct<'a>(states: impl IntoIterator<Item = &'a DeadMemory>) -> (usize, usize) {
    let mut in_order = BTreeMap::new();
    for dead in states {
        *in_order.entry((&dead.image, &dead.registers)).or_insert(false) |= dead.in_order;
    }
    (in_order.len(), in_order.values().filter(|in_order| !**in_order).count())
}

/// Returns the cases of `lines` lines, attempt by attempt.
fn fates(lines: usize, arrivals: Arrivals, random: &mut Random) -> Vec<Vec<u64>> {
    let in_order = vec![WHOLE; lines];
    let Arrivals::Any(most) = arrivals else { return vec![in_order] };
    match CASES.checked_pow(lines as u32).filter(|all| *all <= most) {
        Some(all) => {
            let digit = |combination: u64, line: usize| combination / CASES.pow(line as u32) % CASES;
            (0..all).map(|combination| (0..lines).map(|line| digit(combination, line)).collect()).collect()
        }
        None => {
            let drawn = (1..most).map(|_| (0..lines).map(|_| random.below(CASES)).collect());
            std::iter::once(in_order).chain(drawn).collect()
        }
    }
}

/// Returns the operations that sent a line that need not have arrived, if the case makes a difference. These are stores
/// outside tuples, and lines of tuples since the last fence, unless the tuple is open and will be discarded.
fn on_its_way(operations: &[Operation], queue: WritePendingQueue) -> Vec<usize> {
    let last = |is: fn(&Operation) -> bool| operations.iter().rposition(is).unwrap_or(0);
    let fence = last(|operation| matches!(operation, Operation::Fence));
    let complete = last(|operation| matches!(operation, Operation::Complete(_)));
    let open = |(index, operation): &(usize, &Operation)| match operation {
        Operation::Persist(..) => *index >= fence && (queue == WritePendingQueue::Outside || *index < complete),
        Operation::Store(_, _, content) => !content.is_blank(),
        _ => false,
    };
    operations.iter().enumerate().filter(open).map(|(index, _)| index).collect()
}

/// Returns the memory and registers after these operations, with these cases for those in flight.
fn replay(
    operations: &[Operation],
    on_its_way: &[usize],
    fates: &[u64],
    start: &InitialState,
    queue: WritePendingQueue,
) -> (Recording, Registers) {
    let domain = PersistenceDomain::new(queue, start.image.media(start.slots), start.registers.clone());
    let (media, registers) = lose(domain, operations, on_its_way, fates);
    (Recording::of(&media), registers)
}

/// Draws one of the states that a loss of power can leave after all these changes.
pub fn left_behind(changes: &Changes, media: Media, registers: Registers, random: &mut Random) -> (Media, Registers) {
    let on_its_way = on_its_way(&changes.operations, WritePendingQueue::Inside);
    let fates: Vec<u64> = on_its_way.iter().map(|_| random.below(CASES)).collect();
    lose(PersistenceDomain::new(WritePendingQueue::Inside, media, registers), &changes.operations, &on_its_way, &fates)
}

/// Carries out operations, with these cases for those in flight, and then cuts the power.
fn lose(
    mut domain: PersistenceDomain,
    operations: &[Operation],
    on_its_way: &[usize],
    fates: &[u64],
) -> (Media, Registers) {
    for (index, operation) in operations.iter().enumerate() {
        let fate = on_its_way.binary_search(&index).map_or(WHOLE, |slot_bytes| fates[slot_bytes]);
        carry_out(&mut domain, operation, |old, sent| arrived(fate, old, sent));
    }
    domain.lose_power()
}

/// Carries out an operation. `arrives` maps the old content and the content sent to the content that arrives, if any.
fn carry_out(
    domain: &mut PersistenceDomain,
    operation: &Operation,
    arrives: impl FnOnce(Untrusted, Untrusted) -> Option<Untrusted>,
) {
    match operation {
        Operation::Persist(_, slot, content) => {
            if let Some(content) = arrives(domain.newest(*slot), *content) {
                domain.persist(*slot, content);
            }
        }
        Operation::Store(_, slot, content) if !content.is_blank() => {
            if let Some(content) = arrives(domain.newest(*slot), *content) {
                domain.store(*slot, content);
            }
        }
        Operation::Complete(completion) => domain.complete(completion),
        _ => {}
    }
}

/// Returns the content of a slot after this case of a line; `None` if the line did not arrive. The spare bits are its last
/// words.
fn arrived(fate: u64, old: Untrusted, new: Untrusted) -> Option<Untrusted> {
    let is_new: fn(usize) -> bool = match fate {
        0 => return None,
        WHOLE => return Some(new),
        2 => |word| word < 4,
        _ => |word| word % 2 == 0,
    };
    let (mut torn, sent) = (old.examine(), new.examine());
    for word in (0..8).filter(|word| is_new(*word)) {
        torn[word * 8..word * 8 + 8].copy_from_slice(&sent[word * 8..word * 8 + 8]);
    }
    let word = |word: usize| u128::from(u64::MAX) << (u64::BITS as usize * (word - 8));
    let spare_words = [8, 9].map(|at| word(at) & if is_new(at) { new.spare_bits() } else { old.spare_bits() });
    Some(Untrusted::with(torn, spare_words[0] | spare_words[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protection::verbs::{Role, Slot};

    const OLD: [u8; 64] = [1; 64];
    const NEW: [u8; 64] = [2; 64];
    const NO_WRITES: WritesInMemory = WritesInMemory { least: 0, most: 0 };

    #[test]
    fn each_of_forty_lines_in_flight_at_a_power_loss_may_arrive_absent_whole_or_torn() {
        let lines = 40;
        let mut media = Media::new(lines);
        (0..lines).for_each(|slot| media.write(Slot(slot), &OLD));
        let start = InitialState {
            image: Recording::of(&media),
            registers: Registers::default(),
            shown: Rc::default(),
            slots: lines,
        };
        let sent = (0..lines).map(|slot| Operation::Store(Role::Node(0), Slot(slot), NEW.into())).collect();
        let states =
            states_of(&Changes::among(sent), &start, WritePendingQueue::Inside, Arrivals::Any(64), 1, &|_| NO_WRITES);
        let fares: [fn(usize) -> bool; 4] = [|_| false, |_| true, |byte| byte < 32, |byte| byte / 8 % 2 == 0];
        let last: Vec<&DeadMemory> = states.iter().filter(|dead| dead.point == lines as usize).collect();
        for slot in 0..lines {
            for is_new in fares {
                let expected: [u8; 64] = std::array::from_fn(|byte| if is_new(byte) { NEW[0] } else { OLD[0] });
                let found = last.iter().any(|dead| dead.image.get(Slot(slot)).unwrap().examine() == expected);
                assert!(found, "slot {slot} is never {expected:?}");
            }
        }
    }

    #[test]
    fn a_loss_leaves_one_image_of_an_open_tuple_and_sixteen_of_two_lines_without_adr() {
        let start = InitialState {
            image: Recording::of(&Media::new(2)),
            registers: Registers::default(),
            shown: Rc::default(),
            slots: 2,
        };
        let content: [u8; 64] = std::array::from_fn(|byte| byte as u8 + 1);
        let memories = |queue, fenced: bool| {
            let mut sent: Vec<_> =
                (0..2).map(|slot| Operation::Persist(Role::Data, Slot(slot), content.into())).collect();
            sent.extend(fenced.then_some(Operation::Fence));
            let states = states_of(&Changes::among(sent), &start, queue, Arrivals::Any(64), 1, &|_| NO_WRITES);
            let at_the_end = states.iter().map(|dead| dead.point).max();
            states.iter().filter(|dead| Some(dead.point) == at_the_end).count()
        };
        assert_eq!([false, true].map(|fenced| memories(WritePendingQueue::Inside, fenced)), [1, 1]);
        assert_eq!([false, true].map(|fenced| memories(WritePendingQueue::Outside, fenced)), [16, 1]);
    }
}
