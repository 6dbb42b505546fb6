//! Checks of programs before a run: the resources and properties of the machine and of the design that they need.

use super::{RunError, RunOptions};
use crate::sampling::Detail;
use catalogue::{Design, Machine};
use chip::feed::FeedCounts;
use chip::shadow::Shadow;
use chip::store_log::{Certain, StoreLog};
use machine::paging::{Divided, PageTable};
use protection::design::Parts;
use protection::planted::PlantedBug;
use units::{Bytes, LineLength};
use workload::{Origin, Persistent, RequestPace, Source};

/// Checks that there is a core for each program, and that all programs together fit the machine's memory, if their sizes are known before
/// the run. A program of unknown size fails when memory is full.
///
/// # Errors
/// [`RunError::TooManyPrograms`] for too few cores, and [`RunError::TooLarge`] for too little memory.
pub fn check_fits<S: Source>(programs: &[S], machine: &Machine) -> Result<(), RunError> {
    let (found, cores) = (programs.len(), machine.cores);
    if found > cores {
        return Err(RunError::TooManyPrograms { programs: found, machine: machine.name.clone(), cores });
    }
    let size = machine.memory.size;
    let needed = Bytes(programs.iter().filter_map(Source::footprint).map(|needed| needed.0).sum());
    if needed > size { Err(RunError::TooLarge { needed, size }) } else { Ok(()) }
}

/// The part of memory that must survive a loss of power: all memory, unless a program requests less.
pub(super) fn persistent<S: Source>(programs: &[S]) -> Persistent {
    let said = programs.iter().map(|program| program.origin().persistent);
    said.reduce(|one, other| if one.is_all() { other } else { one }).unwrap_or_default()
}

/// Checks that the design supports the persistence of a part of memory, if a program requests it.
///
/// # Errors
/// [`RunError::Design`] if the design does not persist single stores.
pub fn check_persistent<S: Source>(programs: &[S], options: &RunOptions) -> Result<(), RunError> {
    let Design { name, parts, .. } = &options.design;
    if persistent(programs).is_all() || parts.persistence.hands_stores_on() || !parts.persistence.exists() {
        return Ok(());
    }
    let rule = "it makes all of memory durable, not only a part: leave --persistent at all, or take a design that \
                handles single stores, as secpb-cobcm or plp-sp";
    Err(RunError::Design { design: name.clone(), rule: rule.into() })
}

/// The content of memory for these programs on a machine with `lines` lines.
pub(super) fn shadow<S: Source>(lines: u64, machine: &Machine, options: &RunOptions, programs: &[S]) -> Shadow {
    let compares_loads = programs.iter().any(|program| program.origin().load_values);
    let shadow = Shadow::new(lines).observing(&options.tables, compares_loads);
    match machine.node.persist_buffer {
        Some(_) => shadow.persisted(machine.cores, persistent(programs)),
        None => shadow,
    }
}

/// Adds the state that a simulated loss of power needs: an account of the programs' stores, and the stores that caches
/// have accepted. `machine` is the machine with the persistence of the design.
pub(super) fn logged(shadow: Shadow, machine: &Machine, parts: &Parts, planted: PlantedBug) -> Shadow {
    let certain = match parts.persistence.has_battery() {
        true => Certain::Accepted,
        false if machine.node.flushes => Certain::Fenced,
        false => Certain::Arrived,
    };
    let shadow = shadow.logged(StoreLog::new(machine.cores, certain).with_planted(planted));
    if machine.node.reports_stores { shadow.accepted_by_caches(machine.cores) } else { shadow }
}

/// The page table of a machine, for programs or for traces of requests. Requests have physical addresses, or virtual
/// ones without page-table walks.
pub(super) fn pages(machine: &Machine, seed: u64, requests: Option<RequestPace>) -> PageTable {
    let divided = Divided { page: machine.memory.page, line: machine.line_length() };
    let pages = PageTable::new(machine.memory.size, divided, machine.memory.placement, seed);
    match requests {
        None => pages.walked_by(machine.node.walker.as_ref()),
        Some(RequestPace::AfterInstructions) => pages,
        Some(RequestPace::AtOnce | RequestPace::AtClocks) => pages.physical(),
    }
}

/// Checks that a trace of requests below the caches can run: as the only program, as a whole, and without persistence
/// of stores.
///
/// # Errors
/// [`RunError::Requests`] with the rule that the options break.
pub fn check_requests<S: Source>(programs: &[S], options: &RunOptions) -> Result<(), RunError> {
    let Some(trace) = programs.iter().find(|program| program.origin().requests.is_some()) else { return Ok(()) };
    let RunOptions { design, start, warm_up, detail, interval, .. } = options;
    let rule = if programs.len() > 1 {
        "runs without other programs, since it has no core".to_owned()
    } else if start.untimed + warm_up > 0 || interval.is_some() || !matches!(detail, Detail::All) {
        "has no instructions to warm up, to sample or to count by interval: leave these options out".to_owned()
    } else if options.machine.line_length() != LineLength::WHOLE {
        "requests lines of 64 bytes, and the machine's memory has shorter lines: take a machine without memory.line"
            .to_owned()
    } else if options.machine.clock_interrupt.is_some() {
        "has no core that a clock interrupts: leave machine.clock_interrupt out".to_owned()
    } else if design.parts.persistence.exists() {
        let design = &design.name;
        format!(
            "has no program order of stores, in which design {design} makes them durable: take a design without \
             persistence"
        )
    } else {
        return Ok(());
    };
    Err(RunError::Requests { trace: trace.origin().program.join(" "), rule })
}

/// Checks that each program with only partly persistent memory has stored to the persistent part. If the design does
/// not handle single stores, the program must have touched a shared file mapping. Many programs touch shared file
/// mappings only through libraries, which map tables to read them.
///
/// # Errors
/// [`RunError::NothingPersistent`] for the first program without such an access.
pub(super) fn check_mapped<'a>(
    programs: impl Iterator<Item = (&'a Origin, FeedCounts)>,
    design: &Design,
) -> Result<(), RunError> {
    for (origin, fed) in programs {
        let found = if design.parts.persistence.hands_stores_on() { fed.persistent_stores } else { fed.mapped_lines };
        if !origin.persistent.is_all() && found == 0 {
            let (program, instructions) = (origin.program.join(" "), fed.instructions);
            let part = if origin.persistent == Persistent::Heap { "its heap" } else { "a file that it maps shared" };
            return Err(RunError::NothingPersistent { part, program, instructions });
        }
    }
    Ok(())
}
