//! Tests the walker on hand-written words.

use crate::common::{Listed, block};
use casemate_workload::stream::{Batch, Block, Strand};
use casemate_workload::walker::{Event, PIECE_ACCESSES, Walker};
use std::sync::Arc;
use wire::word::{self, Control};

const NOP: &[u8] = &[0x90];
const LOAD: &[u8] = &[0x48, 0x8b, 0x03];
const RETURN: &[u8] = &[0xc3];
const REP_MOVSB: &[u8] = &[0xf3, 0xa4];

fn batch(thread: u32, new_blocks: Vec<Arc<Block>>, words: Vec<u64>) -> Batch {
    Batch { strand: Strand { process: 0, thread }, new_blocks, words }
}

fn load(index: u16, addr: u64) -> u64 {
    word::access(false, 3, false, index, addr)
}

/// Returns the thread, address, number of accesses and successor of each step.
fn steps(batches: Vec<Batch>) -> Vec<(u32, u64, usize, Option<u64>)> {
    let mut walker = Walker::new(Listed::new(batches));
    let mut steps = Vec::new();
    while let Some(event) = walker.next().unwrap() {
        if let Event::Instruction(step) = event {
            let next = step.next.map(|addr| addr.0);
            steps.push((step.strand.thread, step.instruction.pc.0, step.accesses.len(), next));
        }
    }
    steps
}

#[test]
fn each_trace_step_has_the_accesses_of_its_instruction_and_the_next_address() {
    let blocks = vec![block(0, 0x100, &[NOP, LOAD, RETURN]), block(1, 0x200, &[NOP])];
    let words = vec![word::block(0, 3), load(1, 0x8000), load(2, 0x9000), word::block(1, 1)];
    assert_eq!(
        steps(vec![batch(0, blocks, words)]),
        [(0, 0x100, 0, Some(0x101)), (0, 0x101, 1, Some(0x104)), (0, 0x104, 1, Some(0x200)), (0, 0x200, 0, None)]
    );
}

#[test]
fn a_trace_step_continues_in_the_next_batch_of_its_thread() {
    let blocks = vec![block(0, 0x100, &[LOAD, RETURN])];
    let batches = vec![
        batch(0, blocks, vec![word::block(0, 2)]),
        batch(1, vec![], vec![word::block(0, 2), load(0, 0x8000), word::block(0, 2)]),
        batch(0, vec![], vec![load(0, 0x9000), load(0, 0x9008), word::block(0, 2)]),
    ];
    let steps = steps(batches);
    assert_eq!(steps[..2], [(1, 0x100, 1, Some(0x103)), (1, 0x103, 0, Some(0x100))]);
    assert_eq!(steps[2..4], [(0, 0x100, 2, Some(0x103)), (0, 0x103, 0, Some(0x100))]);
    assert_eq!(steps.len(), 8);
}

/// Without the word, the last instruction of the first thread would follow the words of the second one.
#[test]
fn all_instructions_of_a_turn_run_before_the_next_turn_and_the_last_leads_to_where_the_thread_goes_on() {
    let blocks = vec![block(0, 0x100, &[NOP, LOAD, RETURN])];
    let turn = |at| word::control(Control::Turn, 0, at);
    let batches = vec![
        batch(0, blocks, vec![word::block(0, 3), load(1, 0x8000), load(2, 0x8008), turn(0x100)]),
        batch(1, vec![], vec![word::block(0, 3), load(1, 0x9000), turn(0x100)]),
        batch(0, vec![], vec![word::block(0, 3), turn(0x100), turn(0x100)]),
    ];
    let of = |thread, (first, second)| {
        let at = [(0x100, 0, 0x101), (0x101, first, 0x104), (0x104, second, 0x100)];
        at.map(|(pc, accesses, next)| (thread, pc, accesses, Some(next)))
    };
    assert_eq!(steps(batches), [of(0, (1, 1)), of(1, (1, 0)), of(0, (0, 0))].concat());
}

#[test]
fn a_repeated_string_instruction_counts_as_one_instruction_of_a_trace() {
    let blocks = vec![block(0, 0x100, &[NOP, REP_MOVSB]), block(1, 0x101, &[REP_MOVSB]), block(2, 0x103, &[NOP])];
    let iterations = 20;
    let mut words = vec![word::block(0, 2)];
    for n in 0..iterations {
        let index = u16::from(n == 0);
        words.extend([load(index, 0x8000 + n), word::access(true, 0, true, index, 0x9000 + n), 0, word::block(1, 1)]);
    }
    words.push(word::block(2, 1));
    let steps = steps(vec![batch(0, blocks, words)]);
    let pieces: Vec<_> = steps.iter().filter(|step| step.1 == 0x101).collect();
    assert_eq!(pieces.iter().map(|step| step.2).sum::<usize>(), 2 * iterations as usize);
    assert_eq!(pieces.len(), (2 * iterations as usize).div_ceil(PIECE_ACCESSES));
    assert_eq!(pieces.last().unwrap().3, Some(0x103));
    assert!(pieces[..pieces.len() - 1].iter().all(|step| step.3 == Some(0x101)));
}

#[test]
fn a_recorded_block_cut_by_a_fault_ends_after_its_last_certain_instruction() {
    let blocks = vec![block(0, 0x100, &[LOAD, LOAD, RETURN]), block(1, 0x200, &[NOP])];
    let words = vec![word::block(0, 3), load(0, 0x8000), word::control(Control::Cut, 0, 1), word::block(1, 1)];
    let pcs: Vec<_> = steps(vec![batch(0, blocks, words)]).iter().map(|step| step.1).collect();
    assert_eq!(pcs, [0x100, 0x200]);
}

#[test]
fn a_recorded_block_ends_before_the_instruction_that_the_next_block_repeats() {
    let blocks = vec![block(0, 0x100, &[NOP, LOAD, NOP]), block(1, 0x101, &[LOAD]), block(2, 0x104, &[NOP])];
    let words = vec![word::block(0, 3), word::block(1, 1), load(0, 0x8000), word::block(2, 1)];
    let pcs: Vec<_> = steps(vec![batch(0, blocks, words)]).iter().map(|step| step.1).collect();
    assert_eq!(pcs, [0x100, 0x101, 0x104]);
}

#[test]
fn a_system_call_is_reported_before_its_instruction() {
    let blocks = vec![block(0, 0x100, &[NOP, &[0x0f, 0x05]])];
    let words = vec![word::block(0, 2), word::control(Control::Syscall, 0, 231)];
    let mut walker = Walker::new(Listed::new(vec![batch(0, blocks, words)]));
    assert!(matches!(walker.next().unwrap(), Some(Event::Batch { .. })));
    assert!(matches!(walker.next().unwrap(), Some(Event::Instruction(step)) if step.instruction.pc.0 == 0x100));
    assert!(matches!(walker.next().unwrap(), Some(Event::Syscall { number: 231, .. })));
    assert!(matches!(walker.next().unwrap(), Some(Event::Instruction(step)) if step.instruction.pc.0 == 0x101));
    assert!(walker.next().unwrap().is_none());
}

#[test]
fn a_flush_and_a_fence_are_reported_just_before_their_instructions() {
    let blocks = vec![block(0, 0x100, &[LOAD, NOP, NOP, NOP])];
    let control = |which, index, operand| word::control(which, index, operand);
    let words = [load(0, 0x8000), control(Control::Flush, 2, 0x8000), control(Control::Fence, 3, 0)];
    let words = [word::block(0, 4)].into_iter().chain(words).collect();
    let mut walker = Walker::new(Listed::new(vec![batch(0, blocks, words)]));
    let mut events = Vec::new();
    while let Some(event) = walker.next().unwrap() {
        events.push(match event {
            Event::Instruction(step) => format!("{:#x}", step.instruction.pc.0),
            Event::Flush { addr, .. } => format!("flush {:#x}", addr.0),
            Event::Fence { .. } => "fence".to_owned(),
            Event::Batch { .. } => continue,
            _ => unreachable!("nothing else was said"),
        });
    }
    assert_eq!(events, ["0x100", "0x103", "flush 0x8000", "0x104", "fence", "0x105"]);
}

#[test]
fn a_redefined_block_is_executed_in_its_latest_form_and_only_by_its_process() {
    let entered = || vec![word::block(0, 1)];
    let of_another =
        Batch { strand: Strand { process: 1, thread: 0 }, ..batch(0, vec![block(0, 0x200, &[NOP])], entered()) };
    let batches = vec![
        batch(0, vec![block(0, 0x100, &[NOP])], entered()),
        of_another,
        batch(0, vec![block(0, 0x300, &[LOAD, RETURN])], vec![word::block(0, 2), load(0, 0x8000)]),
        batch(0, vec![], vec![word::block(0, 2), load(0, 0x8000)]),
    ];
    let mut steps: Vec<_> = steps(batches).iter().map(|step| (step.1, step.2)).collect();
    steps.sort_unstable();
    assert_eq!(steps, [(0x100, 0), (0x200, 0), (0x300, 1), (0x300, 1), (0x303, 0), (0x303, 0)]);
}

#[test]
fn invalid_trace_words_are_an_error_and_not_a_panic() {
    let blocks = || vec![block(0, 0x100, &[LOAD])];
    let cut_off = vec![word::control(Control::Page, 0, 0x1000), 0, 0];
    for words in [
        vec![word::block(7, 1)],
        vec![load(0, 0x8000)],
        vec![word::block(0, 1), load(5, 0)],
        vec![3 << 62 | 63 << 56],
        cut_off,
    ] {
        let mut walker = Walker::new(Listed::new(vec![batch(0, blocks(), words)]));
        assert!(matches!(walker.next().unwrap(), Some(Event::Batch { .. })));
        assert!(walker.next().unwrap_err().to_string().contains("damaged"));
    }
}

#[test]
fn a_recorded_line_is_delivered_early_if_it_follows_soon_in_the_same_batch() {
    let line = |addr| [word::control(Control::Line, 0, addr)].into_iter().chain([7; 8]);
    let loop_once = |times| (0..times).flat_map(|_| [word::block(0, 2), load(0, 0x8000)]);
    let first = line(0x8000).chain(loop_once(3)).chain(line(0x9000)).chain(loop_once(30)).chain(line(0xa000));
    let second = line(0xb000).chain(loop_once(1));
    let batches =
        vec![batch(0, vec![block(0, 0x100, &[LOAD, RETURN])], first.collect()), batch(0, Vec::new(), second.collect())];
    let (mut walker, mut heard) = (Walker::new(Listed::new(batches)), Vec::new());
    let note = |event: Event<'_>, heard: &mut Vec<_>| match event {
        Event::Line { addr, .. } => heard.push(("line", addr.0)),
        Event::UpcomingLine { addr, .. } => heard.push(("ahead", addr.0)),
        _ => {}
    };
    while walker.next_step(|event| note(event, &mut heard)).unwrap().is_some() {}
    let expected = [("line", 0x8000), ("ahead", 0x9000), ("line", 0x9000), ("line", 0xa000), ("line", 0xb000)];
    assert_eq!(heard, expected);
}
