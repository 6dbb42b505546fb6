//! The untimed start of a run: the core executes the first instructions of the program without simulated time. The run
//! then begins with the memory, caches, TLBs and predictors of a long life.
//!
//! The chip's [`Warmer`](chip::warm::Warmer) executes them by the scheme's own text: page chunks are permuted, records
//! fetched and released, and metadata written back. The clock stays at zero. Whole blocks of instructions are executed, so
//! the core executes up to a block of the requested instructions in detail; counting begins after them.

use super::bench::AssembledMachine;
use super::{RunControl, RunError, RunOptions};
use crate::sampling::Detail;
use chip::warm::Warmer;
use protection::moving::ProcessPort;
use protection::scheme::Scheme;
use workload::Source;

/// Instructions to execute between two progress reports.
const EXECUTED_AT_ONCE: u64 = 500_000;

/// Checks that a run can begin with its instructions without time.
///
/// # Errors
/// [`RunError::Untimed`] with the rule that the options break.
pub fn check_untimed(options: &RunOptions, programs: usize) -> Result<(), RunError> {
    let RunOptions { machine, start, detail, budget, warm_up, bus, .. } = options;
    if start.untimed == 0 {
        return Ok(());
    }
    let rule = if machine.cores > 1 || programs > 1 {
        format!(
            "machine '{}' has {} cores, and instructions without time need a machine with one core: leave out untimed \
             (--untimed)",
            machine.name, machine.cores
        )
    } else if matches!(detail, Detail::Sampled(_)) {
        "a sampled run executes most instructions without time already: leave out untimed (--untimed) or the sampling"
            .to_owned()
    } else if bus.is_some() {
        "the file of the pins (--bus) would lack the lines of the instructions without time: leave out one of the two"
            .to_owned()
    } else {
        let before = start.untimed.saturating_add(*warm_up);
        if before < *budget {
            return Ok(());
        }
        format!(
            "{} instructions without time and {warm_up} of warm-up are {before} of {budget} instructions: expected fewer, \
             since counting begins after them",
            start.untimed
        )
    };
    Err(RunError::Untimed(rule))
}

/// Checks that a design can execute instructions without time: it does not switch contexts of processes.
///
/// # Errors
/// [`RunError::Untimed`] if it does.
pub(super) fn check_scheme(scheme: &Scheme, options: &RunOptions) -> Result<(), RunError> {
    if options.start.untimed == 0 || ProcessPort::of(scheme).is_none() {
        return Ok(());
    }
    let rule = format!(
        "design {} has contexts of processes, which switch in simulated time: leave out untimed (--untimed), or the key \
         parts.permutation.contexts of the design",
        options.design.name
    );
    Err(RunError::Untimed(rule))
}

impl<S: Source + 'static> AssembledMachine<S> {
    /// Executes the untimed start of the run. Returns the number of executed instructions, which is less than a block
    /// below the requested number, unless the program ends or tampering was reported.
    ///
    /// # Errors
    /// Errors of the feed; [`RunError::Stopped`] if `watch` stops the run.
    pub fn execute_untimed(&self, untimed: u64, mut watch: impl FnMut(u64) -> RunControl) -> Result<u64, RunError> {
        let (Some(program), true) = (self.programs.first(), untimed > 0) else { return Ok(0) };
        let (warmer, mut program) = (Warmer::new(&self.meters), program.borrow_mut());
        let mut executed = 0;
        loop {
            let until = (executed + EXECUTED_AT_ONCE).min(untimed);
            warmer.warm(&mut *program, until)?;
            let reached = program.counts().instructions;
            if watch(reached) == RunControl::Stop {
                return Err(RunError::Stopped);
            }
            let goes_on = reached > executed && until < untimed;
            executed = reached;
            if !goes_on || self.meters.chip.scheme.fault_reported().is_some() {
                return Ok(executed);
            }
        }
    }
}
