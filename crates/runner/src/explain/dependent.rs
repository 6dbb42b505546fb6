//! Timing of two dependent reads at the pins of memory: the content of the first line gives the address of the second
//! line. The time between the two crossings is the time that the chip needs to release the first line. An attacker on
//! the bus learns only this time.
//!
//! The first line's metadata is on the chip, and no other access is under way, so only the line's content can change the time.

use super::condition::{OnChipMetadata, at_rest, memory_lines, prepare};
use super::value;
use super::witness::Witness;
use catalogue::Machine;
use chip::memory;
use machine::memory::MemorySystem;
use protection::design::Parts;
use protection::execution::Timed;
use protection::planted::PlantedBug;
use protection::probe::Probe;
use sim::{Executor, join};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Word};

/// Two dependent reads of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DependentReads {
    /// The line that is read first.
    pub first: LineAddr,
    /// Content of the first line.
    pub content: Line,
    /// The line that is read as soon as the first word of the first line is released.
    pub second: LineAddr,
}

/// The values in a table of frequent values of this size when reads are timed, the most frequent value first.
pub fn frequent_values(values: usize) -> Vec<u64> {
    value::table(values)
}

/// Measures the time between the crossings of both lines at the pins.
///
/// # Errors
/// An error in words if the design breaks a rule of composition, the machine lacks units for it, a line is outside the
/// memory, or both lines are the same.
pub fn between_fetches(
    machine: &Machine,
    parts: &Parts,
    reads: DependentReads,
    planted: PlantedBug,
) -> Result<Duration, String> {
    machine.has_engine_for(parts)?;
    let DependentReads { first, second, content } = reads;
    if first == second || [first, second].iter().any(|line| line.0 >= memory_lines(machine)) {
        return Err(format!(
            "lines {first} and {second} are not two different lines of the memory's {}",
            memory_lines(machine)
        ));
    }
    let mut executor = Executor::new();
    let clock = executor.clock().clone();
    let scheme = Rc::new(parts.build_with(machine.data_lines(), 1, planted)?);
    let config = machine.memory_config();
    let channels = MemorySystem::start(&clock, config.clone());
    let witness = Rc::new(Witness::new(&clock, machine, content));
    let memory = memory::build(&clock, channels.clone(), machine, parts, &scheme, true, witness.clone());
    let shape = scheme.layout().shape();
    let at_pins = [first, second].map(|line| shape.lines(scheme.layout().data_slot(line).slot()).0);
    let crossed = Rc::new(RefCell::new(Vec::new()));
    let seen = crossed.clone();
    let is_done = Rc::new(Cell::new(false));
    let done = is_done.clone();
    let table = value::table_of(&parts.speculation);
    clock.clone().spawn(async move {
        prepare(&scheme, &memory, first, OnChipMetadata::All).await;
        if let Some(speculation) = scheme.speculation() {
            speculation.begin_with(&table);
        }
        clock.sleep_until(at_rest(&config.device, clock.now())).await;
        channels.close_rows();
        witness.forget();
        memory.attach(Probe::new(false, move |at, crossing| seen.borrow_mut().push((crossing.line, at))));
        let verbs = Timed::new(&memory);
        let follow = async {
            witness.until_released().await;
            scheme.read_at_controller(&verbs, second, Word::FIRST).await;
        };
        join!(scheme.read_at_controller(&verbs, first, Word::FIRST), follow);
        memory.probe().into_iter().for_each(Probe::finish);
        done.set(true);
    });
    executor.run_until(|| is_done.get());
    let crossed = crossed.borrow();
    let at = |line| crossed.iter().find(|(crossing, _)| *crossing == line).map(|(_, at)| *at);
    match at_pins.map(at) {
        [Some(first), Some(second)] => Ok(second.since(first)),
        _ => unreachable!("both lines are read"),
    }
}
