//! Attacks on L2s that decrypt lines. These L2s rely on their copies of counters, which are not verified again, and on
//! their requests.
//!
//! The attacker cannot reach a copy. It waits until a copy is old, and changes memory to match the copy. It cannot
//! reach a request on the chip either, but it can exchange the replies of memory to two requests.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::oracle::Wish;
use crate::tap::Alias;
use catalogue::{Attack, Verdict};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::StaleCopy, stale_copy), (Attack::CrossedReplies, crossed_replies)];

/// Cores with a copy in their L2.
const CORES: [usize; 2] = [0, 1];

/// Lets L2s get copies of a line's counters, lets the victim write the line, and replays its earlier data and tag.
fn stale_copy(mut stage: SceneInput<'_>) -> Option<Ended> {
    stage.parts.caches.counters_in_l2?;
    let target = stage.any_line();
    // An L2 that misses gets its copy afterwards.
    for core in CORES {
        stage.victim.read_from(core, target);
    }
    let (slot, _) = stage.victim.map().slot_bytes(Structure::Data, target)?;
    let before = stage.victim.attacked(|bus| bus.record()).get(slot)?;
    let content = stage.random.line();
    stage.victim.write(target, &content);
    stage.victim.attacked(|bus| bus.put(slot, before));
    let oracle = stage.victim.oracle();
    let judge = |core| oracle.judge(target, &stage.victim.read_from(core, target).0, None);
    let worst = CORES.into_iter().map(judge).max().unwrap_or(Verdict::Harmless);
    Some(Ended::new(worst, target))
}

/// Lets two cores read a line each, with copies of the counters in their L2s if those keep any. Each read gets the other
/// line's reply: the data, with its spare bits.
fn crossed_replies(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let others: Vec<_> = stage.victim.oracle().lines().into_iter().filter(|line| *line != target).collect();
    let other = stage.random.pick(&others)?;
    let reads = [(CORES[0], target, other), (CORES[1], other, target)];
    for (core, line, _) in reads {
        stage.victim.read_from(core, line);
    }
    stage.victim.machine().give_lines_up();
    let slot = |line| stage.victim.map().slot_bytes(Structure::Data, line).map(|(slot, _)| slot);
    stage.victim.memory().tap().connect(Alias::Crossed(slot(target)?, slot(other)?));
    let oracle = stage.victim.oracle();
    let judge = |(core, line, answered)| {
        oracle.judge(line, &stage.victim.read_from(core, line).0, oracle.wished_bytes(line, Wish::ContentOf(answered)))
    };
    let worst = reads.into_iter().map(judge).max().unwrap_or(Verdict::Harmless);
    Some(Ended::new(worst, target))
}
