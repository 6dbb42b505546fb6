//! Branch prediction: compares the predicted path of the front end with the executed path.
//!
//! The path of the program is known, so the front end does not fetch from the wrong path. A misprediction costs the
//! time until the branch resolves and the front end has refilled. Predictors train as the branch enters the window,
//! which is equivalent to speculative update with repair.

use crate::cache::TagArray;
use crate::node::config::{DirectionPredictor, NodeConfig};
use crate::node::pipeline::bimodal::Bimodal;
use crate::node::pipeline::tage::Tage;
use isa::{Flow, Instruction};
use units::VirtAddr;

/// Result of a prediction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::node) enum Prediction {
    /// The predicted path is the executed path.
    Right,
    /// The predicted direction was right, but the target of a direct branch was unknown until decoding.
    Misfetched,
    /// The front end followed a wrong path until the branch was resolved.
    Wrong,
}

#[derive(Clone, Debug)]
enum Direction {
    Bimodal(Bimodal),
    Tage(Box<Tage>),
}

/// All predictors of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct Predictor {
    direction: Direction,
    targets: TargetTable,
    /// Targets of indirect branches by address and path; only with TAGE.
    targets_by_path: Option<TargetTable>,
    path: u64,
    returns: ReturnStack,
}

impl Predictor {
    pub(in crate::node) fn new(config: &NodeConfig) -> Predictor {
        let config = &config.predictor;
        let targets = TargetTable::new(config.target_entries / config.target_ways, config.target_ways);
        let (direction, targets_by_path) = match config.direction {
            DirectionPredictor::Bimodal => (Direction::Bimodal(Bimodal::new(config.direction_entries)), None),
            DirectionPredictor::Tage => {
                (Direction::Tage(Box::new(Tage::new(config.direction_entries))), Some(targets.clone()))
            }
        };
        let returns = ReturnStack::new(config.return_stack_entries);
        Predictor { direction, targets, targets_by_path, path: 0, returns }
    }

    /// Predicts the successor of `branch`, then trains with the actual one, `next`.
    pub(in crate::node) fn predict(&mut self, branch: &Instruction, next: VirtAddr) -> Prediction {
        let pc = branch.pc.0;
        if matches!(branch.flow, Flow::Call | Flow::IndirectCall) {
            self.returns.push(branch.fall_through());
        }
        match branch.flow {
            Flow::Next => Prediction::Right,
            Flow::Conditional => self.conditional(pc, branch.fall_through(), next),
            Flow::Jump | Flow::Call => self.direct(pc, next),
            Flow::IndirectJump | Flow::IndirectCall => right_or_wrong(self.indirect(pc, next)),
            Flow::Return => right_or_wrong(self.returns.pop() == next),
        }
    }

    fn conditional(&mut self, pc: u64, fall_through: VirtAddr, next: VirtAddr) -> Prediction {
        let taken = next != fall_through;
        let predicted = match &mut self.direction {
            Direction::Bimodal(bimodal) => bimodal.predict(pc, taken),
            Direction::Tage(tage) => tage.predict(pc, taken),
        };
        let target = if taken { self.direct(pc, next) } else { Prediction::Right };
        if predicted == taken { target } else { Prediction::Wrong }
    }

    fn direct(&mut self, pc: u64, next: VirtAddr) -> Prediction {
        if self.targets.predict(pc, next.0) == Some(next.0) { Prediction::Right } else { Prediction::Misfetched }
    }

    fn indirect(&mut self, pc: u64, next: VirtAddr) -> bool {
        let by_address = self.targets.predict(pc, next.0);
        let path = self.path;
        let by_path = self.targets_by_path.as_mut().and_then(|table| table.predict(pc ^ path, next.0));
        self.path = (path << 5 | path >> 27) & 0xffff_ffff ^ (next.0 & 0xffff_ffff);
        by_path.or(by_address) == Some(next.0)
    }
}

fn right_or_wrong(right: bool) -> Prediction {
    if right { Prediction::Right } else { Prediction::Wrong }
}

/// The branch target buffer: the most recent target by key.
#[derive(Clone, Debug)]
struct TargetTable {
    tags: TagArray,
    targets: Box<[u64]>,
}

impl TargetTable {
    fn new(sets: usize, ways: usize) -> TargetTable {
        let tags = TagArray::new(sets, ways);
        let targets = vec![0; tags.slots()].into();
        TargetTable { tags, targets }
    }

    /// Returns the target stored for `key`, and replaces it with `target`.
    fn predict(&mut self, key: u64, target: u64) -> Option<u64> {
        let found = self.tags.lookup(key);
        let slot = found.unwrap_or_else(|| self.tags.insert(key, false).0);
        let remembered = std::mem::replace(&mut self.targets[slot.index()], target);
        found.map(|_| remembered)
    }
}

/// A circular stack of return addresses: an overflow overwrites the oldest.
#[derive(Clone, Debug)]
struct ReturnStack {
    addresses: Box<[VirtAddr]>,
    top: usize,
}

impl ReturnStack {
    fn new(entries: usize) -> ReturnStack {
        ReturnStack { addresses: vec![VirtAddr(0); entries].into(), top: 0 }
    }

    fn push(&mut self, address: VirtAddr) {
        self.top = (self.top + 1) % self.addresses.len();
        self.addresses[self.top] = address;
    }

    fn pop(&mut self) -> VirtAddr {
        let address = self.addresses[self.top];
        self.top = self.top.checked_sub(1).unwrap_or(self.addresses.len() - 1);
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayvec::ArrayVec;
    use isa::Class;

    fn predictor(direction: DirectionPredictor) -> Predictor {
        let mut config = NodeConfig::modern();
        config.predictor.direction = direction;
        Predictor::new(&config)
    }

    fn branch(pc: u64, flow: Flow) -> Instruction {
        let none = ArrayVec::new();
        Instruction {
            pc: VirtAddr(pc),
            bytes: 2,
            class: Class::Branch,
            flow,
            persist: Default::default(),
            address_sources: none.clone(),
            sources: none.clone(),
            destinations: none,
        }
    }

    /// Number of mispredictions in the second half of `outcomes` (taken or not).
    fn wrong(direction: DirectionPredictor, outcomes: &[bool]) -> usize {
        let mut predictor = predictor(direction);
        let branch = branch(0x400, Flow::Conditional);
        let miss = |taken: &bool| {
            let next = if *taken { VirtAddr(0x300) } else { branch.fall_through() };
            predictor.predict(&branch, next) == Prediction::Wrong
        };
        let missed: Vec<bool> = outcomes.iter().map(miss).collect();
        missed[missed.len() / 2..].iter().filter(|missed| **missed).count()
    }

    #[test]
    fn tage_learns_a_loop_of_seven_that_bimodal_mispredicts_once_per_round() {
        let outcomes: Vec<bool> = (0..7_000).map(|n| n % 7 != 6).collect();
        assert_eq!(wrong(DirectionPredictor::Bimodal, &outcomes), 500);
        assert_eq!(wrong(DirectionPredictor::Tage, &outcomes), 0);
    }

    #[test]
    fn tage_learns_a_long_branch_pattern() {
        let mut state = 1u64;
        let mut bit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 63 == 1
        };
        let pattern: Vec<bool> = (0..60).map(|_| bit()).collect();
        let outcomes: Vec<bool> = pattern.iter().copied().cycle().take(60_000).collect();
        let missed = wrong(DirectionPredictor::Tage, &outcomes);
        assert!(missed < 300, "{missed} of 30000");
    }

    #[test]
    fn a_direct_branch_is_a_misfetch_at_first_and_predicted_right_afterwards() {
        let mut predictor = predictor(DirectionPredictor::Bimodal);
        let jump = branch(0x400, Flow::Jump);
        assert_eq!(predictor.predict(&jump, VirtAddr(0x900)), Prediction::Misfetched);
        assert_eq!(predictor.predict(&jump, VirtAddr(0x900)), Prediction::Right);
    }

    #[test]
    fn the_return_stack_predicts_nested_returns_in_order() {
        let mut predictor = predictor(DirectionPredictor::Bimodal);
        for pc in [0x100, 0x200, 0x300] {
            predictor.predict(&branch(pc, Flow::Call), VirtAddr(0x900));
        }
        for pc in [0x302, 0x202, 0x102] {
            assert_eq!(predictor.predict(&branch(0x990, Flow::Return), VirtAddr(pc)), Prediction::Right);
        }
        assert_eq!(predictor.predict(&branch(0x990, Flow::Return), VirtAddr(0x102)), Prediction::Wrong);
    }

    #[test]
    fn only_a_path_history_predictor_learns_alternating_indirect_targets() {
        for (direction, expected) in [(DirectionPredictor::Bimodal, 500), (DirectionPredictor::Tage, 0)] {
            let mut predictor = predictor(direction);
            let jump = branch(0x400, Flow::IndirectJump);
            let missed = (0..1_000u64)
                .filter(|n| predictor.predict(&jump, VirtAddr(0x1000 + n % 2 * 64)) == Prediction::Wrong && *n >= 500)
                .count();
            assert_eq!(missed, expected, "{direction:?}");
        }
    }
}
