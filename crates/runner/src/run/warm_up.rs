//! The warm-up: the first part of a run, simulated in detail but not counted, so that the results are those of warm
//! caches.
//!
//! At the end of the run, the statistics of the warm-up are subtracted. The warm-up ends after the event in which the
//! programs together reach its last instruction. At that moment, as at any other, a core may be ahead of the simulated
//! clock.

use super::{RunError, RunOptions};
use crate::sampling::Detail;
use chip::content::CacheContent;
use chip::counts::{Counts, Meters};
use chip::predictability::Predictions;
use machine::node::NodeCounts;
use workload::Origin;

/// Checks that a warm-up of `warm_up` instructions is shorter than the `most` instructions of a program.
///
/// # Errors
/// [`RunError::WarmUp`] if the warm-up is not shorter.
pub fn check_warm_up(warm_up: u64, most: u64) -> Result<(), RunError> {
    if warm_up > 0 && warm_up >= most {
        let rule = "expected fewer, since counting begins after it";
        return Err(RunError::WarmUp(format!("the warm-up is {warm_up} of {most} instructions: {rule}")));
    }
    Ok(())
}

/// Statistics at the moment when counting began.
#[derive(Clone, Debug, Default)]
pub(super) struct BaselineCounts {
    /// Statistics of the whole machine.
    pub counts: Counts,
    /// Statistics of the tables of frequent values.
    pub predicted: Predictions,
    /// Statistics of each core, if there was a warm-up.
    cores: Vec<NodeCounts>,
    /// Entries of the caches, unless counting began with the run.
    pub content: Option<CacheContent>,
}

impl BaselineCounts {
    /// Reads the statistics now.
    pub fn now(meters: &Meters) -> BaselineCounts {
        BaselineCounts {
            counts: meters.read(),
            predicted: meters.predicted(),
            cores: meters.cores(),
            content: Some(CacheContent::now(meters)),
        }
    }

    /// The statistics of the cores since this moment.
    pub fn until(&self, now: Vec<NodeCounts>) -> Vec<NodeCounts> {
        let before = self.cores.iter().copied().chain(std::iter::repeat(NodeCounts::default()));
        now.into_iter().zip(before).map(|(now, before)| now - before).collect()
    }
}

/// Checks that each program has instructions left to count. The list contains each program with the instructions that it executed;
/// `is_over` is true if all of them were executed before counting began. This may happen slightly before a program's end, because cores
/// execute ahead of the clock.
///
/// # Errors
/// [`RunError::NothingCounted`] for a program without instructions to count.
pub(super) fn check_left(programs: &[(Origin, u64)], options: &RunOptions, is_over: bool) -> Result<(), RunError> {
    let (untimed, warm_up) = (options.start.untimed, options.warm_up);
    let before = untimed.saturating_add(warm_up);
    let nothing_counted = |executed, problem| RunError::NothingCounted { executed, untimed, warm_up, problem };
    if let Some((origin, executed)) = programs.iter().find(|(_, executed)| *executed <= before) {
        let program = origin.program.join(" ");
        let rest = if untimed > 0 { format!("{untimed} without time and the ") } else { String::new() };
        let problem = format!(
            "'{program}' ended after {executed} instructions: expected more than the {rest}warm-up's {warm_up}"
        );
        return Err(nothing_counted(*executed, problem));
    }
    match programs {
        [(origin, executed), ..] if is_over => {
            let program = origin.program.join(" ");
            let problem = format!(
                "'{program}' had no instructions left to count when its warm-up of {warm_up} instructions ended, since \
                 cores execute ahead of the clock: it had executed all {executed}; expected a shorter warm-up or a \
                 higher limit"
            );
            Err(nothing_counted(*executed, problem))
        }
        _ => Ok(()),
    }
}

/// Instructions of the warm-up of `programs` programs together; `None` without a warm-up.
///
/// # Errors
/// [`RunError::WarmUp`] if the warm-up is too long or the run is sampled.
pub(super) fn warm_up_of(options: &RunOptions, programs: usize) -> Result<Option<u64>, RunError> {
    let RunOptions { warm_up, budget, detail, .. } = *options;
    check_warm_up(warm_up, budget)?;
    if warm_up > 0 && detail != Detail::All {
        let rule = "a sampled run has no warm-up: it measures units of the whole program, and warms the machine before \
                    each";
        return Err(RunError::WarmUp(rule.to_owned()));
    }
    Ok((warm_up > 0).then(|| warm_up.saturating_mul(programs as u64)))
}
