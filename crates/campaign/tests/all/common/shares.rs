//! Shares of a sweep, where a test would say the same again of most designs. `make test-long` sweeps over all.

use super::swept::{every_one, swept};
use catalogue::Design;
use protection::design::{CacheDesign, Parts, Persistence};
use protection::scheme::Release;

/// Of what [`swept`] returns, the designs whose lines stay where they are, in memory lines of 64 bytes. Lines that move are held to the same by
/// `protection/src/conformance/moving.rs` and `moving_in_time.rs`.
pub fn swept_in_place() -> Vec<Design> {
    swept().into_iter().filter(|design| design.parts.permutation.is_none()).collect()
}

/// Of what [`swept_in_place`] returns, those whose memory differs when the machine is off: not just in what is cached, released early or
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
    swept_in_place().into_iter().filter(is_new).collect()
}
