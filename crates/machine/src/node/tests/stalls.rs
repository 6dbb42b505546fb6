//! Stall times of lines: additional latency of memory is counted once, for the line that retirement waits for.

use super::*;
use ::units::random::Random;

/// Runs a program on a memory with a separate latency for each line. Returns the cycles of the program. For each
/// arriving line it also returns the cycle and the time for which it had blocked retirement.
fn run(ops: &[Op], memory: impl Fn(LineAddr) -> u64) -> (u64, Vec<(LineAddr, u64, u64)>) {
    run_in(Bench::warm(&small(), &[]), ops, memory)
}

/// Same, in a bench that has been used.
pub(super) fn run_in(
    mut bench: Bench,
    ops: &[Op],
    memory: impl Fn(LineAddr) -> u64,
) -> (u64, Vec<(LineAddr, u64, u64)>) {
    let (start, clock) = (bench.clock(), bench.node.clock);
    let mut feed = Script { ops: ops.iter() };
    let (mut out, mut under_way, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let Ok(pause) = bench.node.run(&mut feed, Time::NEVER, &mut out);
        let requested = out.drain(..).filter(|request| request.kind.is_answered());
        under_way.extend(requested.map(|Request { at, line, .. }| (at + clock.span(Cycles(memory(line))), line)));
        if under_way.is_empty() {
            assert_eq!(pause, Pause::Finished);
            return (bench.clock() - start, lost);
        }
        under_way.sort();
        let (at, line) = under_way.remove(0);
        let held_up = bench.node.filled(line, at, &mut out);
        lost.push((line, clock.cycle_at_or_after(at).0 - start, held_up.as_fs() / clock.period().as_fs()));
    }
}

fn all(lost: &[(LineAddr, u64, u64)]) -> u64 {
    lost.iter().map(|(_, _, lost)| lost).sum()
}

/// Returns the cycles of work and the lost cycles of a program, for a memory with this latency.
fn at_work(ops: &[Op], memory: u64) -> (u64, u64) {
    let (cycles, lost) = run(ops, |_| memory);
    (cycles - all(&lost), all(&lost))
}

#[test]
fn stall_cycles_of_a_slower_memory_are_charged_to_the_exposed_load() {
    let chain = [load(1, &[], 64, 0), load(2, &[1], 128, 0), alu(&[3], &[2])];
    let (work, lost) = at_work(&chain, MEMORY);
    assert!(lost > 2 * MEMORY, "from the retirement before, which is when the load was looked up");
    assert_eq!(at_work(&chain, MEMORY + 50), (work, lost + 100));
}

#[test]
fn a_fill_that_arrives_before_an_older_one_is_charged_no_stall_cycles() {
    let ops = [load(1, &[], 64, 0), load(2, &[], 128, 0), load(3, &[], 192, 0)];
    let (_, lost) = run(&ops, |line| if line == LineAddr(64) { 300 } else { 100 });
    let of: Vec<_> = lost.iter().map(|(line, _, lost)| (line.0, *lost > 0)).collect();
    assert_eq!(of, [(128, false), (192, false), (64, true)]);
    assert!(all(&lost) >= 300);
    let (_, lost) = run(&ops, |line| if line == LineAddr(192) { 300 } else { 100 });
    let of: Vec<_> = lost.iter().map(|(line, cycle, lost)| (line.0, *cycle, *lost)).collect();
    assert_eq!(of[2].2, of[2].1 - of[1].1, "from the retirement of the second, in the cycle in which it came: {of:?}");
}

#[test]
fn older_instructions_that_run_as_long_as_a_memory_access_hide_it() {
    let divide = |number: u8| op(Class::IntDiv, &[number], &[number]);
    let ops: Vec<Op> = [load(1, &[], 64, 0)].into_iter().chain((0..14).map(|_| divide(9))).collect();
    let behind: Vec<Op> = ops.iter().rev().cloned().collect();
    let (in_front, after) = (at_work(&behind, MEMORY).1, at_work(&ops, MEMORY).1);
    assert_eq!(in_front, 0, "what is older retires meanwhile");
    assert!(after > MEMORY);
}

#[test]
fn a_full_store_queue_stalls_the_next_store_and_is_charged_to_memory() {
    let stores: Vec<Op> = (1..=5).map(|line| store(1, 64 * line, 0)).collect();
    let (cycles, lost) = at_work(&stores, MEMORY);
    let (longer, more) = at_work(&stores, MEMORY + 50);
    // The fifth instruction enters when the first has left; the program ends when it has retired.
    assert_eq!((longer, more), (cycles, lost + 50));
}

#[test]
fn an_instruction_fetch_miss_is_charged_stall_cycles_with_an_empty_reorder_buffer() {
    let code = [Op { code: CODE_LINE + 1, ..op(Class::Nop, &[], &[]) }];
    let (work, lost) = at_work(&code, MEMORY);
    assert_eq!(at_work(&code, MEMORY + 50), (work, lost + 50));
}

#[test]
fn a_fill_for_a_retired_store_during_an_instruction_miss_is_charged_no_stall_cycles() {
    let code = Op { code: CODE_LINE + 1, ..op(Class::Nop, &[], &[]) };
    let (_, lost) = run(&[store(1, 64, 0), code], |line| if line == LineAddr(64) { 100 } else { 300 });
    let of: Vec<_> = lost.iter().map(|(line, _, lost)| (line.0, *lost)).collect();
    let [(64, 0), (_, 300..)] = of[..] else { panic!("{of:?}") };
}

#[test]
fn repeated_resumption_of_an_idle_core_counts_each_idle_cycle_once() {
    let mut bench = Bench::warm(&small(), &[]);
    let period = bench.node.clock.period().as_fs();
    let retired = bench.clock();
    for later in [70, 90] {
        bench.node.resume(bench.node.clock.start_of(Cycles(retired + later)));
    }
    assert_eq!(bench.node.idle().as_fs(), 0, "what follows the end of a program is not idle");
    bench.run(&[alu(&[1], &[])]);
    assert_eq!(bench.node.idle().as_fs() / period, 90, "no cycle is counted twice");
}

#[test]
fn a_core_that_awaits_a_line_after_its_last_instruction_is_not_idle() {
    let mut bench = Bench::warm(&small(), &[]);
    let (start, clock) = (bench.clock(), bench.node.clock);
    let (ops, mut out) = ([load(1, &[], 64, 0)], Vec::new());
    let Ok(Pause::Finished) = bench.node.run(&mut Script { ops: ops.iter() }, Time::NEVER, &mut out) else { panic!() };
    bench.node.resume(clock.start_of(Cycles(start + 70)));
    let lost = bench.node.filled(LineAddr(64), clock.start_of(Cycles(start + 200)), &mut out);
    assert_eq!(lost, clock.span(Cycles(200)), "from the retirement before");
    bench.run(&[alu(&[2], &[1])]);
    assert_eq!(bench.node.idle().as_fs(), 0);
}

#[test]
fn random_programs_count_no_stall_cycle_twice() {
    let mut random = Random::new(31);
    for _ in 0..200 {
        let ops: Vec<Op> = (0..60)
            .map(|_| {
                let (register, other, line) = (random.below(6) as u8, random.below(6) as u8, 64 * random.below(12));
                match random.below(5) {
                    0 => store(register, line, 0),
                    1 => alu(&[register], &[other]),
                    2 => Op { code: CODE_LINE + random.below(3), ..alu(&[register], &[other]) },
                    _ => load(register, &[other], line, 0),
                }
            })
            .collect();
        let slow = random.below(12) * 64;
        let (cycles, lost) = run(&ops, |line| if line.0 == slow { 400 } else { 90 });
        let mut reached = 0;
        for (line, cycle, lost) in lost.iter().filter(|(_, _, lost)| *lost > 0) {
            assert!(cycle - lost >= reached, "{line} at {cycle}: {lost} lost, counted to {reached}");
            reached = *cycle;
        }
        assert!(all(&lost) <= cycles);
    }
}
