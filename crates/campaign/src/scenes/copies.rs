//! Copies of counters in L2s, which nobody verifies again: are they gone when they are no longer true?
//!
//! The attacker cannot reach a copy. It waits until one is old and makes memory fit it.

use super::{Ended, Stage};
use crate::bus::Structure;
use systems::Verdict;

/// Cores whose L2s have a copy.
const CORES: [usize; 2] = [0, 1];

/// Lets L2s have copies of a line's counters, lets the line be written, and brings back its data and tag of before.
pub fn stale_copy(mut stage: Stage<'_>) -> Option<Ended> {
    stage.parts.caches.counters_in_l2?;
    let target = stage.any_line();
    // Who misses gets its copy afterwards.
    for core in CORES {
        stage.victim.read_from(core, target);
    }
    let (slot, _) = stage.victim.map().place(Structure::Data, target)?;
    let before = stage.victim.attacked(|bus| bus.record()).get(slot)?;
    let content = stage.random.line();
    stage.victim.write(target, &content);
    stage.victim.attacked(|bus| bus.put(slot, before));
    let oracle = stage.victim.oracle();
    let judge = |core| oracle.judge(target, &stage.victim.read_from(core, target).0, None);
    let worst = CORES.into_iter().map(judge).max().unwrap_or(Verdict::Harmless);
    Some(Ended::new(worst, target))
}
