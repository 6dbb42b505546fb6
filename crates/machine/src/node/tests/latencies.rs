//! Every latency of a core and of its private caches: set to n, it costs exactly n. Every number of entries: an access
//! that finds the last entry taken waits, and with one entry more it does not wait.

use super::*;

type Change = fn(&mut NodeConfig, u64);

/// A program with a time that depends on one latency, and its cost without that latency.
struct Case {
    name: &'static str,
    set: Change,
    /// Lines that were loaded before the program, in this order.
    warm: &'static [u64],
    ops: Vec<Op>,
    with_it: u64,
}

fn unit_of(config: &mut NodeConfig, class: Class) -> &mut FunctionalUnit {
    let units = &mut config.units;
    match class {
        Class::IntAlu => &mut units.int_alu,
        Class::IntMul => &mut units.int_mul,
        Class::IntDiv => &mut units.int_div,
        Class::FpAdd => &mut units.fp_add,
        Class::FpMul => &mut units.fp_mul,
        Class::FpDiv => &mut units.fp_div,
        Class::Branch => &mut units.branch,
        Class::Nop | Class::Serial => unreachable!("without a unit"),
    }
}

/// A cycle of work on register 2.
fn after(source: u8) -> Op {
    op(Class::Nop, &[2], &[source])
}

fn other_page(line: u64) -> Op {
    let mut op = load(1, &[], line, 0);
    op.touches[0].page = PageKey(77);
    op
}

fn half_of(line: u64) -> Op {
    let mut op = load(2, &[], line, 4);
    op.touches[0].bytes = 8;
    op
}

fn of_units() -> Vec<Case> {
    let case = |name, set: Change, class| {
        let ops = vec![op(class, &[1], &[]), after(1)];
        Case { name, set, warm: &[], ops, with_it: 1 }
    };
    vec![
        case("int_alu", |c, n| unit_of(c, Class::IntAlu).latency_cycles = n, Class::IntAlu),
        case("int_mul", |c, n| unit_of(c, Class::IntMul).latency_cycles = n, Class::IntMul),
        case("int_div", |c, n| unit_of(c, Class::IntDiv).latency_cycles = n, Class::IntDiv),
        case("fp_add", |c, n| unit_of(c, Class::FpAdd).latency_cycles = n, Class::FpAdd),
        case("fp_mul", |c, n| unit_of(c, Class::FpMul).latency_cycles = n, Class::FpMul),
        case("fp_div", |c, n| unit_of(c, Class::FpDiv).latency_cycles = n, Class::FpDiv),
        case("branch", |c, n| unit_of(c, Class::Branch).latency_cycles = n, Class::Branch),
    ]
}

fn of_the_core() -> Vec<Case> {
    let case = |name, set, ops, with_it| Case { name, set, warm: &[64], ops, with_it };
    let wrong = branch(Flow::Conditional, &[], 0x1100);
    let unknown_target = vec![branch(Flow::Jump, &[], 0x1100), alu(&[1], &[])];
    vec![
        case("refill", |c, n| c.predictor.refill_penalty_cycles = n, vec![wrong, alu(&[2], &[])], 1 + 1),
        case("misfetch", |c, n| c.predictor.misfetch_penalty_cycles = n, unknown_target, 1),
        case("serial", |c, n| c.serial_latency_cycles = n, vec![op(Class::Serial, &[], &[]), alu(&[2], &[])], 1),
        case("load start", |c, n| c.load_start_cycles = n, vec![load(1, &[], 64, 0), after(1)], 5 + 1),
        case("load return", |c, n| c.load_return_cycles = n, vec![load(1, &[], 64, 0), after(1)], 5 + 1),
        case("forwarding", |c, n| c.forward_latency_cycles = n, vec![store(1, 64, 8), load(2, &[], 64, 8)], 1),
        case(
            "partial forwarding",
            |c, n| c.partial_forward_penalty_cycles = n,
            vec![store(1, 64, 0), half_of(64)],
            1 + 2,
        ),
        case("retirement", |c, n| (c.rob, c.retire_latency_cycles) = (1, n), vec![op(Class::Nop, &[], &[])], 1),
        case(
            "L1D look-ups",
            |c, n| c.l1d_lookups = Some(FunctionalUnit { count: 1, latency_cycles: n, pipelined: false }),
            vec![load(1, &[], 64, 0), load(2, &[], 64, 8)],
            5,
        ),
    ]
}

fn of_caches_and_tlbs() -> Vec<Case> {
    let case = |name, set, warm, ops, with_it| Case { name, set, warm, ops, with_it };
    let load = || vec![load(1, &[], 64, 0), after(1)];
    let code_at = |line| vec![Op { code: line, ..op(Class::Nop, &[], &[]) }];
    vec![
        case("L1D", |c, n| c.l1d.latency_cycles = n, &[64], load(), 1),
        case("L1D, missed", |c, n| c.l1d.latency_cycles = n, &[], load(), 10 + MEMORY + 1),
        case("L2", |c, n| c.l2.latency_cycles = n, &[64, 68, 72], load(), 5 + 1),
        case("L2, missed", |c, n| c.l2.latency_cycles = n, &[], load(), 5 + MEMORY + 1),
        case("L1I, missed", |c, n| c.l1i.latency_cycles = n, &[], code_at(CODE_LINE + 1), 10 + MEMORY + 1),
        case("DTLB", |c, n| c.dtlb.latency_cycles = n, &[64], load(), 5 + 1),
        case("STLB", |c, n| c.stlb.latency_cycles = n, &[64], vec![other_page(64), after(1)], 5 + 1),
        case("walk", |c, n| c.walk_latency_cycles = n, &[64], vec![other_page(64), after(1)], 5 + 1),
        case("ITLB", |c, n| c.itlb.latency_cycles = n, &[], code_at(CODE_LINE + 1), 4 + 10 + MEMORY + 1),
        case("walk for code", |c, n| c.walk_latency_cycles = n, &[], code_at(CODE_LINE + 64), 4 + 10 + MEMORY + 1),
    ]
}

#[test]
fn each_latency_of_units_core_caches_and_tlbs_takes_the_configured_cycles() {
    for case in [of_units(), of_the_core(), of_caches_and_tlbs()].into_iter().flatten() {
        for latency in 4..8 {
            let mut config = small();
            (case.set)(&mut config, latency);
            let cycles = Bench::warm(&config, case.warm).cycles(&case.ops);
            assert_eq!(cycles, latency + case.with_it, "{} of {latency}", case.name);
        }
    }
}

/// A number of entries, and a program that needs just three of them (for registers, all that exist). Also its cost with
/// enough entries and with one too few.
struct Places {
    name: &'static str,
    set: Change,
    ops: Vec<Op>,
    enough: u64,
    one_too_few: u64,
}

/// Physical registers that the program for them needs.
const REGISTERS: u64 = Reg::COUNT as u64 + 2;
const MISS: u64 = 5 + 10 + MEMORY;

fn places_of_queues() -> Vec<Places> {
    let nop = || op(Class::Nop, &[], &[]);
    let places = |name, set, ops, enough, one_too_few| Places { name, set, ops, enough, one_too_few };
    let hit = || load(2, &[], 64, 0);
    let misses = || (0..3).map(|n| load(n, &[], 128 + u64::from(n), 0)).collect();
    let stores = (0..3).map(|n| store(1, 128 + n, 0)).collect();
    // The program has named registers 0, 1 and 2; each of them keeps one, and each result takes one more.
    let mut results = vec![load(1, &[], 128, 0)];
    results.resize(REGISTERS as usize - 3, op(Class::Nop, &[2], &[]));
    vec![
        places("window", |c, n| c.rob = n as u32, vec![load(1, &[], 128, 0), nop(), nop()], MISS, MISS + 1),
        places("load queue", |c, n| c.load_queue = n as u32, vec![load(1, &[], 128, 0), hit(), hit()], MISS, MISS + 5),
        places("store queue", |c, n| c.store_queue = n as u32, stores, 2, 1 + MISS + 1),
        places("L1D's registers", |c, n| c.l1d.mshrs = n as usize, misses(), 1 + MISS, MISS + MISS),
        places("L2's registers", |c, n| c.l2.mshrs = n as usize, misses(), 1 + MISS, MISS + MISS),
        places(
            "physical registers",
            |c, n| {
                (c.rob, c.retire_width) = (512, 64);
                c.physical_registers = Some((n + REGISTERS - 3) as u32);
            },
            results,
            MISS,
            MISS + 1,
        ),
    ]
}

fn places_a_cycle() -> Vec<Places> {
    let thrice = |op: Op| vec![op; 3];
    let places = |name, set, op, enough, one_too_few| Places { name, set, ops: thrice(op), enough, one_too_few };
    let units = |name, set: Change, class| {
        let mut config = small();
        let unit = *unit_of(&mut config, class);
        let next = unit.latency_cycles + if unit.pipelined { 1 } else { unit.latency_cycles };
        places(name, set, op(class, &[1], &[]), unit.latency_cycles, next)
    };
    let hit = || load(1, &[], 64, 0);
    vec![
        places("dispatch", |c, n| c.dispatch_width = n as u8, op(Class::Nop, &[], &[]), 1, 2),
        places("retirement", |c, n| c.retire_width = n as u8, op(Class::Nop, &[], &[]), 1, 2),
        places("issue", |c, n| c.issue_width = Some(n as u8), alu(&[1], &[]), 1, 2),
        places("completion", |c, n| c.complete_width = Some(n as u8), alu(&[1], &[]), 1, 2),
        places("load ports", |c, n| c.load_ports = n as u8, hit(), 5, 6),
        places("store ports", |c, n| c.store_ports = n as u8, store(1, 64, 0), 1, 2),
        places(
            "L1D look-ups",
            |c, n| {
                c.load_ports = 4;
                c.l1d_lookups = Some(FunctionalUnit { count: n as u8, latency_cycles: 1, pipelined: true });
            },
            hit(),
            5,
            6,
        ),
        units("int_alu", |c, n| unit_of(c, Class::IntAlu).count = n as u8, Class::IntAlu),
        units("int_mul", |c, n| unit_of(c, Class::IntMul).count = n as u8, Class::IntMul),
        units("int_div", |c, n| unit_of(c, Class::IntDiv).count = n as u8, Class::IntDiv),
        units("fp_add", |c, n| unit_of(c, Class::FpAdd).count = n as u8, Class::FpAdd),
        units("fp_mul", |c, n| unit_of(c, Class::FpMul).count = n as u8, Class::FpMul),
        units("fp_div", |c, n| unit_of(c, Class::FpDiv).count = n as u8, Class::FpDiv),
        units("branch", |c, n| unit_of(c, Class::Branch).count = n as u8, Class::Branch),
    ]
}

#[test]
fn each_pipeline_queue_stalls_at_its_size_and_not_with_one_more_entry() {
    for places in places_of_queues().into_iter().chain(places_a_cycle()) {
        let cycles = |count| {
            let mut config = small();
            (places.set)(&mut config, count);
            Bench::warm(&config, &[64]).cycles(&places.ops)
        };
        assert_eq!((cycles(3), cycles(2)), (places.enough, places.one_too_few), "{}", places.name);
    }
}

/// Returns the cycles of a translation that requires a walk.
fn walked(set: impl Fn(&mut WalkerConfig)) -> u64 {
    let mut config = small();
    let mut walker = WalkerConfig {
        levels: 2,
        layout: TableLayout::Radix,
        structure_caches: vec![4],
        waiting_accesses: None,
        outstanding: 2,
        latency_cycles: 0,
        step_cycles: 0,
        first_touch_cycles: 0,
    };
    set(&mut walker);
    config.walker = Some(walker);
    let mut bench = Bench::new(&config);
    let walker = bench.node.core.translation.walker_mut().unwrap();
    for (page, lines) in [(CODE_LINE / 64, [9000, 9100]), (4, [9200, 9301]), (5, [9202, 9502])] {
        walker.learn(&PageTables { page: PageKey(page), lines: lines.map(LineAddr).into_iter().collect() });
    }
    bench.cycles(&[load(1, &[], 4 * 64, 0), load(2, &[], 5 * 64 + 1, 0)])
}

#[test]
fn each_latency_of_a_walk_costs_the_configured_cycles() {
    let plain = walked(|_| {});
    assert_eq!(plain, 3 * MISS);
    for n in 1..5 {
        assert_eq!(walked(|walker| walker.latency_cycles = n), plain + n);
        assert_eq!(walked(|walker| walker.step_cycles = n), plain + 2 * n, "two levels");
        assert_eq!(walked(|walker| walker.first_touch_cycles = n), plain + 2 * n, "the page and a table");
    }
    let in_turn = walked(|walker| walker.outstanding = 1);
    assert_eq!(in_turn, plain + MISS, "the second walk begins when the first ends, and is spared the root");
}

#[test]
fn the_time_from_a_miss_of_l2_for_data_to_the_line_is_summed_up_and_that_of_code_is_not() {
    let mut bench = Bench::new(&small());
    bench.cycles(&[load(1, &[], 64, 0), load(2, &[], 64, 8), store(1, 65, 0)]);
    let waited = |bench: &Bench| bench.node.counts().l2_data_misses;
    assert_eq!(waited(&bench), MissCounts { lines: 2, cycles: 2 * MEMORY });
    assert_eq!(bench.node.counts().l2.misses, 3, "one is the code's");
    bench.memory = 2 * MEMORY;
    bench.cycles(&[load(1, &[], 64, 0), load(2, &[], 66, 0)]);
    assert_eq!(waited(&bench), MissCounts { lines: 3, cycles: 4 * MEMORY });
}
