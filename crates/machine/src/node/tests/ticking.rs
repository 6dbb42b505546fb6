//! The event-driven core against a reference that ticks: a core without memory, cycle by cycle, oldest first.

use super::*;
use proptest::prelude::*;

/// Progress of one instruction.
#[derive(Clone, Copy)]
pub(super) struct Progress {
    pub started: bool,
    pub done: u64,
}

/// Returns the cycles of `ops`, from a search of everything in every cycle.
fn ticking_cycles(config: &NodeConfig, ops: &[Op]) -> u64 {
    let sources = sources_of(ops);
    let mut progress = vec![Progress { started: false, done: u64::MAX }; ops.len()];
    let (mut retired, mut entered) = (0, 0);
    for cycle in 0.. {
        let mut width = config.retire_width;
        while width > 0 && retired < entered && progress[retired].done <= cycle {
            retired += 1;
            width -= 1;
        }
        if retired == ops.len() {
            return cycle;
        }
        let room = (config.rob as usize).saturating_sub(entered - retired);
        entered = ops.len().min(entered + room.min(config.dispatch_width.into()));
        start(config, ops, &sources, &mut progress, (retired..entered, cycle), |_| true);
    }
    unreachable!("cycles do not end")
}

/// Starts the instructions in the window that have their sources and a unit in this cycle and may start.
pub(super) fn start(
    config: &NodeConfig,
    ops: &[Op],
    sources: &[Vec<usize>],
    progress: &mut [Progress],
    (window, cycle): (std::ops::Range<usize>, u64),
    may_start: impl Fn(usize) -> bool,
) {
    let mut free = [Class::IntAlu, Class::IntMul, Class::FpAdd].map(|class| unit(config, class).0);
    for number in window {
        let ready = sources[number].iter().all(|&source| progress[source].done <= cycle);
        if progress[number].started || !ready || !may_start(number) {
            continue;
        }
        let (_, latency, index) = unit(config, ops[number].instruction.class);
        if let Some(free) = index.map(|index| &mut free[index]) {
            if *free == 0 {
                continue;
            }
            *free -= 1;
        }
        progress[number] = Progress { started: true, done: cycle + latency };
    }
}

/// Returns the number of units of a class, their latency, and their index.
fn unit(config: &NodeConfig, class: Class) -> (u8, u64, Option<usize>) {
    let (unit, index) = match class {
        Class::IntAlu => (config.units.int_alu, 0),
        Class::IntMul => (config.units.int_mul, 1),
        Class::FpAdd => (config.units.fp_add, 2),
        _ => return (u8::MAX, 1, None),
    };
    (unit.count, unit.latency_cycles, Some(index))
}

/// Returns the latest producer of each source of each instruction.
pub(super) fn sources_of(ops: &[Op]) -> Vec<Vec<usize>> {
    let maker = |number: usize, register: &Reg| {
        ops[..number].iter().rposition(|earlier| earlier.instruction.destinations.contains(register))
    };
    let sources = |(number, op): (usize, &Op)| op.instruction.sources.iter().filter_map(|r| maker(number, r)).collect();
    ops.iter().enumerate().map(sources).collect()
}

pub(super) fn some_work() -> impl Strategy<Value = Op> {
    let class = prop_oneof![Just(Class::IntAlu), Just(Class::IntMul), Just(Class::FpAdd), Just(Class::Nop)];
    let list = || proptest::collection::vec(16..22u8, 0..3);
    (class, list(), list()).prop_map(|(class, destinations, sources)| op(class, &destinations, &sources))
}

proptest! {
    #[test]
    fn a_random_program_takes_the_cycles_of_a_cycle_by_cycle_model(
        (dispatch, retire, rob, alus) in (1..7u8, 1..7u8, 1..50u32, 1..4u8),
        ops in proptest::collection::vec(some_work(), 1..200),
    ) {
        let mut config = small();
        (config.dispatch_width, config.retire_width, config.rob) = (dispatch, retire, rob);
        config.units.int_alu.count = alus;
        prop_assert_eq!(Bench::new(&config).cycles(&ops), ticking_cycles(&config, &ops));
    }
}
