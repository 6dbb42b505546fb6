//! Share of the designs of a sweep, for tests with the same result under most designs. `make test-long` tests all
//! designs.

use super::swept::{every_one, swept};
use catalogue::Design;
use protection::design::{CacheDesign, Parts, Persistence};
use protection::scheme::Release;

/// Returns the designs of [`swept`] with lines that do not move, in memory lines of 64 bytes. The same tests for moving lines are in
/// `protection/src/conformance/moving.rs` and `moving_in_time.rs`.
pub fn designs_without_persistence() -> Vec<Design> {
    swept().into_iter().filter(|design| design.parts.permutation.is_none()).collect()
}

/// Returns the designs of [`designs_without_persistence`] with different memories when the machine is off: designs that differ only in caches, release
/// or persistence count once. `CASEMATE_SWEEPS=all` returns all.
pub fn swept_at_rest() -> Vec<Design> {
    let mut seen: Vec<Parts> = Vec::new();
    let is_new = |design: &Design| {
        let (persistence, caches, release) = (Persistence::default(), CacheDesign::default(), Release::default());
        let at_rest = Parts { persistence, caches, release, ..design.parts.clone() };
        let is_new = every_one() || !seen.contains(&at_rest);
        seen.push(at_rest);
        is_new
    };
    designs_without_persistence().into_iter().filter(is_new).collect()
}
