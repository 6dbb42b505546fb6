//! Compares skimming with stepping: any alternation of the two must yield the same execution.

use crate::common::{Listed, block};
use casemate_workload::stream::{Access, Batch, Block, Strand};
use casemate_workload::walker::{Event, Skimmer, Walker};
use isa::{Flow, Instruction};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use wire::word::{self, Control};

const NOP: &[u8] = &[0x90];
const LOAD: &[u8] = &[0x48, 0x8b, 0x03];
const RETURN: &[u8] = &[0xc3];
const REP_MOVSB: &[u8] = &[0xf3, 0xa4];

/// Events that both must pass equally: accesses in order, and branches with their targets.
#[derive(PartialEq, Eq, Debug, Default)]
struct HandedOver {
    accesses: Vec<Access>,
    branches: Vec<(u64, u64)>,
    blocks: usize,
}

impl Skimmer for HandedOver {
    fn block(&mut self, _: Strand, _: &[Instruction]) {
        self.blocks += 1;
    }

    fn access(&mut self, _: Strand, _: &Block, _: usize, _: usize, access: &Access) {
        self.accesses.push(*access);
    }

    fn branch(&mut self, _: Strand, branch: &Instruction, next: units::VirtAddr) {
        self.branches.push((branch.pc.0, next.0));
    }

    fn event(&mut self, _: Event<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn blocks() -> Vec<Arc<Block>> {
    vec![
        block(0, 0x100, &[NOP, LOAD, RETURN]),
        block(1, 0x200, &[NOP, REP_MOVSB]),
        block(2, 0x201, &[REP_MOVSB]),
        block(3, 0x300, &[LOAD, LOAD, NOP, RETURN]),
        block(4, 0x203, &[NOP]),
    ]
}

/// Builds an execution of some blocks in batches of `batch_records` records; each string copy moves `copied` bytes. Half of
/// the steps end a turn.
fn execution(script: &[(u8, u8)], batch_records: usize) -> Vec<Batch> {
    let mut records: Vec<Vec<u64>> = Vec::new();
    let load = |index, addr| vec![word::access(false, 3, false, index, addr)];
    for (step, &(which, copied)) in script.iter().enumerate() {
        let addr = 0x8000 + 64 * step as u64;
        match which % 3 {
            0 => records.extend([vec![word::block(0, 3)], load(1, addr), load(2, addr + 8)]),
            1 => records.extend([vec![word::block(3, 4)], load(0, addr), load(1, addr + 8), load(3, addr + 16)]),
            _ => {
                records.push(vec![word::block(1, 2)]);
                // In half of the cases QEMU enters the block of the string instruction before the first byte is copied.
                if which % 2 == 0 {
                    records.push(vec![word::block(2, 1)]);
                }
                for n in 0..copied {
                    let index = u16::from(n == 0 && which % 2 == 1);
                    records.push(load(index, addr));
                    records.push(vec![word::access(true, 0, true, index, addr + 32), 7]);
                    records.push(vec![word::block(2, 1)]);
                }
                records.push(vec![word::block(4, 1)]);
            }
        }
        if which >= 128 {
            let entry = script.get(step + 1).map_or(0x100, |(next, _)| [0x100, 0x300, 0x200][usize::from(next % 3)]);
            records.push(vec![word::control(Control::Turn, 0, entry)]);
        }
    }
    let mut new_blocks = blocks();
    let batches = records.chunks(batch_records);
    batches
        .map(|records| Batch {
            strand: Strand::default(),
            new_blocks: std::mem::take(&mut new_blocks),
            words: records.concat(),
        })
        .collect()
}

/// Alternately steps and skims the given numbers of instructions, to the end. Returns the events and the number of
/// instructions.
fn go_through(batches: Vec<Batch>, turns: &[(u64, u64)]) -> (HandedOver, u64) {
    let mut walker = Walker::new(Listed::new(batches));
    let (mut handed_over, mut count) = (HandedOver::default(), 0);
    for (step, skim) in turns.iter().cycle() {
        for _ in 0..*step {
            let Some(step) = walker.next_step(|_| ()).unwrap() else { return (handed_over, count) };
            count += 1;
            handed_over.accesses.extend(step.accesses);
            if let (false, Some(next)) = (step.instruction.flow == Flow::Next, step.next) {
                handed_over.branches.push((step.instruction.pc.0, next.0));
            }
        }
        let skimmed = walker.skim(*skim, &mut handed_over).unwrap();
        assert!(skimmed <= *skim);
        count += skimmed;
    }
    unreachable!("stepping ends")
}

proptest! {
    #[test]
    fn alternating_detailed_steps_and_skimming_of_a_trace_gives_equal_events(
        script in proptest::collection::vec((any::<u8>(), 0..40u8), 1..1500),
        batch_records in 1..300usize,
        turns in proptest::collection::vec((1..90u64, BLOCK..2 * BLOCK), 1..6),
    ) {
        let (stepped, steps) = go_through(execution(&script, batch_records), &[(u64::MAX, 0)]);
        let (mixed, count) = go_through(execution(&script, batch_records), &turns);
        prop_assert_eq!(&mixed.accesses, &stepped.accesses);
        prop_assert_eq!(&mixed.branches, &stepped.branches);
        prop_assert_eq!(count, steps);
    }
}

/// Maximum instructions of a block: a walker that may skim fewer does not skim.
const BLOCK: u64 = word::BLOCK_INSTRUCTIONS as u64;

#[test]
fn skimming_a_trace_stops_before_the_block_that_exceeds_its_limit() {
    let batches = execution(&[(0, 0); 1000], 100);
    let mut walker = Walker::new(Listed::new(batches));
    let mut handed_over = HandedOver::default();
    assert_eq!(walker.skim(BLOCK, &mut handed_over).unwrap(), BLOCK / 3 * 3, "blocks of three instructions");
    assert_eq!(handed_over.blocks as u64, BLOCK / 3);
    assert_eq!(walker.next_step(|_| ()).unwrap().unwrap().instruction.pc.0, 0x100);
}
