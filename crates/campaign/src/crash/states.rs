//! What a loss of power can leave behind: for every point of a history, every legal subset of what was on its way.
//!
//! Whatever was sent and not fenced may have arrived, or not, or in part: eight bytes are written as one, so a line can
//! be torn between any two words. Of each line four cases are tried (not, whole, its first half, every other word), in all
//! combinations as long as there are no more than [`SUBSETS_MAX`] at a point, and in so many drawn at random beyond. Subsets that
//! leave the same memory and registers are one state.

use super::history::History;
use crate::bus::Recording;
use protection::domain::{Domain, Queue, Registers};
use protection::media::Media;
use protection::verbs::Untrusted;
use protection::ways::Operation;
use std::collections::BTreeSet;
use units::random::Random;

/// Subsets tried at one point.
pub const SUBSETS_MAX: u64 = 1 << 10;
/// Subsets tried at one point of a design of which nothing survives anyway.
const SUBSETS_MAX_VOLATILE: u64 = 1 << 3;
/// What can become of a line on its way.
const CASES: u64 = 4;

/// A memory that a loss of power left behind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeadMemory {
    /// How many things had been asked of memory.
    pub point: usize,
    /// What it holds.
    pub image: Recording,
    /// The registers.
    pub registers: Registers,
}

/// All different memories of a history.
pub struct Left {
    /// The memories, by the point.
    pub states: Vec<DeadMemory>,
    /// Subsets that were tried.
    pub subsets: u64,
}

/// Every state of a history.
pub fn all(history: &History, durable: bool) -> Left {
    let slots = history.layout.total_lines();
    let start = || (history.memory.media(slots), history.registers.clone());
    let most = if durable { SUBSETS_MAX } else { SUBSETS_MAX_VOLATILE };
    states_of(&history.operations, start, most, history.seed)
}

/// Every state that these operations can leave of a memory.
pub fn states_of(
    operations: &[Operation],
    start: impl Fn() -> (Media, Registers),
    subsets_max: u64,
    seed: u64,
) -> Left {
    let mut left = Left { states: Vec::new(), subsets: 0 };
    let mut random = Random::new(seed);
    for point in 0..=operations.len() {
        let on_its_way = on_its_way(&operations[..point]);
        let combinations = CASES.checked_pow(on_its_way.len() as u32).filter(|all| *all <= subsets_max);
        let mut seen = BTreeSet::new();
        for subset in 0..combinations.unwrap_or(subsets_max) {
            let mut drawn = if combinations.is_some() { subset } else { random.word() };
            let fates = on_its_way.iter().map(|_| {
                let fate = drawn % CASES;
                drawn /= CASES;
                fate
            });
            left.subsets += 1;
            let (media, registers) = replay(&operations[..point], &on_its_way, &fates.collect::<Vec<_>>(), start());
            seen.insert((Recording::of(&media), registers));
        }
        left.states.extend(seen.into_iter().map(|(image, registers)| DeadMemory { point, image, registers }));
    }
    left
}

/// Which operations sent a line that need not have arrived: what is in a tuple since the last fence, and what never
/// belonged to one.
fn on_its_way(operations: &[Operation]) -> Vec<usize> {
    let fence = operations.iter().rposition(|operation| matches!(operation, Operation::Fence)).unwrap_or(0);
    let open = |(index, operation): &(usize, &Operation)| match operation {
        Operation::Persist(..) => *index >= fence,
        Operation::Store(_, _, content) => !content.is_blank(),
        _ => false,
    };
    operations.iter().enumerate().filter(open).map(|(index, _)| index).collect()
}

/// The domain after these operations, of which those on their way fared so.
fn replay(
    operations: &[Operation],
    on_its_way: &[usize],
    fates: &[u64],
    (media, registers): (Media, Registers),
) -> (Media, Registers) {
    let mut domain = Domain::new(Queue::Inside, media, registers);
    for (index, operation) in operations.iter().enumerate() {
        let fate = on_its_way.binary_search(&index).map_or(1, |place| fates[place]);
        match operation {
            Operation::Persist(_, slot, content) => {
                if let Some(content) = arrived(fate, domain.newest(*slot), (*content).into()) {
                    domain.persist(*slot, &content.examine());
                }
            }
            Operation::Store(_, slot, content) if !content.is_blank() => {
                if let Some(content) = arrived(fate, domain.newest(*slot), *content) {
                    domain.store(*slot, content);
                }
            }
            Operation::Complete(registers) => domain.complete(registers),
            _ => {}
        }
    }
    domain.lose_power()
}

/// What a slot holds after a line was sent to it that fared so; nothing if it did not arrive. What lies beside the line is
/// its last word.
fn arrived(fate: u64, old: Untrusted, new: Untrusted) -> Option<Untrusted> {
    let is_new: fn(usize) -> bool = match fate {
        0 => return None,
        1 => return Some(new),
        2 => |word| word < 4,
        _ => |word| word % 2 == 0,
    };
    let (mut torn, sent) = (old.examine(), new.examine());
    for word in (0..8).filter(|word| is_new(*word)) {
        torn[word * 8..word * 8 + 8].copy_from_slice(&sent[word * 8..word * 8 + 8]);
    }
    Some(Untrusted::with(torn, if is_new(8) { new.beside() } else { old.beside() }))
}

/// Whether an operation changes what a loss of power leaves behind.
pub fn changes_memory(operation: &Operation) -> bool {
    match operation {
        Operation::Store(_, _, content) => !content.is_blank(),
        Operation::Persist(..) | Operation::Fence | Operation::Complete(_) => true,
        _ => false,
    }
}
