//! Shares of a sweep, where a test would say the same again of most designs. `make test-long` sweeps over all.

use super::swept::{ALL, SWEEPS, swept};
use catalogue::Design;
use protection::design::{CacheDesign, Parts, Persistence};
use protection::scheme::Release;

/// Whether no sweep leaves a design out, whatever it takes.
fn every_one() -> bool {
    std::env::var(SWEEPS).is_ok_and(|value| value == ALL)
}

/// Of what [`swept`] returns, every third design, from another one for each seed: what a test draws cases for meets all in three of
/// them. All with `CASEMATE_SWEEPS=all`.
pub fn a_third_of_swept(seed: u64) -> Vec<Design> {
    let few = if every_one() { 1 } else { 3 };
    swept().into_iter().skip((seed % few) as usize).step_by(few as usize).collect()
}

/// Of what [`swept`] returns, those whose memory differs when the machine is off: not just in what is cached, released early or
/// durable. All with `CASEMATE_SWEEPS=all`.
pub fn swept_at_rest() -> Vec<Design> {
    let mut seen: Vec<Parts> = Vec::new();
    let is_new = |design: &Design| {
        let (persistence, caches, release) = (Persistence::default(), CacheDesign::default(), Release::default());
        let at_rest = Parts { persistence, caches, release, ..design.parts.clone() };
        let is_new = every_one() || !seen.contains(&at_rest);
        seen.push(at_rest);
        is_new
    };
    swept().into_iter().filter(is_new).collect()
}
