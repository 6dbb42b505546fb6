//! The beginning of a run that is simulated like the rest and not counted, so that the figures are of caches in use.
//!
//! What was counted by then is taken off in the end. That is one moment of the simulation, after the event in which the
//! programs together have come so far: a core by itself may be ahead of the clock then, by as much as it always may be.

use super::{RunError, RunOptions};
use crate::sampling::Detail;
use chip::counts::{Counts, Meters};
use chip::predictability::Predictions;
use machine::node::NodeCounters;
use workload::Origin;

/// Whether so many instructions of a program can go before those that count, of `most` in all.
///
/// # Errors
/// [`RunError::WarmUp`].
pub fn check_warm_up(warm_up: u64, most: u64) -> Result<(), RunError> {
    if warm_up > 0 && warm_up >= most {
        let rule = "expected fewer, since those that count come after it";
        return Err(RunError::WarmUp(format!("the warm-up is {warm_up} of {most} instructions: {rule}")));
    }
    Ok(())
}

/// What had been counted when counting began.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Everything on the machine.
    pub counts: Counts,
    /// What tables of frequent values would have predicted.
    pub predicted: Predictions,
    /// Each core, if there was a warm-up.
    cores: Vec<NodeCounters>,
}

impl Before {
    /// What has been counted by now.
    pub fn now(meters: &Meters) -> Before {
        Before { counts: meters.read(), predicted: meters.predicted(), cores: meters.cores() }
    }

    /// What the cores have counted since.
    pub fn until(&self, now: Vec<NodeCounters>) -> Vec<NodeCounters> {
        let before = self.cores.iter().copied().chain(std::iter::repeat(NodeCounters::default()));
        now.into_iter().zip(before).map(|(now, before)| now - before).collect()
    }
}

/// Whether something is left to count of programs, each with what it executed; `is_over` is whether all of that had been
/// executed when counting began. Cores execute ahead of the clock, so that may be so a little before a program's end.
///
/// # Errors
/// [`RunError::WarmUp`].
pub(super) fn check_left(programs: &[(Origin, u64)], warm_up: u64, is_over: bool) -> Result<(), RunError> {
    if let Some((origin, executed)) = programs.iter().find(|(_, executed)| *executed <= warm_up) {
        let program = origin.program.join(" ");
        return Err(RunError::WarmUp(format!(
            "'{program}' ended after {executed} instructions: expected more than the warm-up's {warm_up}"
        )));
    }
    match programs {
        [(origin, executed), ..] if is_over => {
            let program = origin.program.join(" ");
            Err(RunError::WarmUp(format!(
                "nothing of '{program}' was left to count when its warm-up of {warm_up} instructions ended, since cores execute \
                 ahead of the clock: all {executed} were executed by then; expected a shorter warm-up or a higher limit"
            )))
        }
        _ => Ok(()),
    }
}

/// How many instructions of all programs together, of which there are so many, go before those that count; nothing if none do.
///
/// # Errors
/// [`RunError::WarmUp`] if they cannot.
pub(super) fn warm_up_of(options: &RunOptions, programs: usize) -> Result<Option<u64>, RunError> {
    let RunOptions { warm_up, budget, detail, .. } = *options;
    check_warm_up(warm_up, budget)?;
    if warm_up > 0 && detail != Detail::All {
        let rule = "a sampled run has no warm-up: it measures units of the whole program, and warms what goes before";
        return Err(RunError::WarmUp(rule.to_owned()));
    }
    Ok((warm_up > 0).then(|| warm_up.saturating_mul(programs as u64)))
}
