//! Counts the operations of a drain of durable caches on battery. Every line of the profile's caches is dirty, and the
//! code of the design `secure-eadr` writes all lines to memory.
//!
//! Like the lines of a buffer ([`crate::counted`]), the lines share as little metadata as possible. For `alone`, each
//! line is the only dirty line of a drain; for `together`, one drain writes all lines, in the order of their addresses.

use crate::counted::CountingMachine;
use crate::differences::{Difference, DifferenceBuilder};
use crate::geometry::MemoryGeometry;
use crate::operations::{DrainTraffic, Operations};
use crate::profile::{CacheSizes, Profile};
use crate::scheme::Accounting;
use crate::tally::OperationTally;
use catalogue::Design;
use protection::execution::run_now;
use protection::scheme::DurableCaches;
use units::{Bytes, LINE_BYTES, LineAddr, ZERO_LINE};

/// The most lines of caches that a drain may have: 64 MB.
const LINES_MAX: u64 = 1 << 20;

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// Counted operations of full caches.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheDrains {
    /// Geometry of the memory behind the caches.
    geometry: MemoryGeometry,
    /// All lines, which are dirty.
    lines: Vec<LineAddr>,
    /// Operations of a separate drain of each line, from cold metadata caches.
    pub alone: Operations,
    /// Operations of one drain of all lines.
    pub together: Operations,
}

impl CacheDrains {
    /// Differences of `alone` from the closed form.
    pub fn alone_differs(&self, profile: &Profile, accounting: Accounting) -> Vec<Difference> {
        DifferenceBuilder { profile }.of_caches_alone(accounting, self.lines.len() as u64, self.geometry.levels)
    }

    /// Differences of `together` from `alone`.
    pub fn together_differs(&self, profile: &Profile) -> Vec<Difference> {
        DifferenceBuilder { profile }.of_caches_together(self.geometry.shared(&self.lines), (self.alone, self.together))
    }
}

/// Number of lines of the caches of a profile.
///
/// # Errors
/// A sentence if a cache is not a whole number of lines, or all caches together are too large for a drain.
pub fn lines(profile: &Profile) -> Result<u64, String> {
    let CacheSizes { l1, l2, l3 } = profile.caches;
    if let Some(size) = [l1, l2, l3].into_iter().find(|size| size.0 % LINE_BYTES as u64 != 0) {
        return Err(format!("a cache of {size} is not a whole number of lines of {LINE_BYTES} bytes"));
    }
    let lines = [l1, l2, l3].into_iter().map(lines_of).sum();
    match lines <= LINES_MAX {
        true => Ok(lines),
        false => Err(format!(
            "the caches have {lines} lines: expected at most {LINES_MAX}, the largest drain that is carried out"
        )),
    }
}

fn lines_of(size: Bytes) -> u64 {
    size.0 / LINE_BYTES as u64
}

/// Carries out the drains of full caches. `progress` is called twice for each line.
///
/// # Errors
/// The errors of [`lines`]; a tree that the design does not support; more lines than the memory has.
pub fn drain(profile: &Profile, levels: u32, progress: &mut dyn FnMut()) -> Result<CacheDrains, String> {
    let wanted = lines(profile)?;
    let design = catalogue::design("secure-eadr").map_err(|error| error.to_string())?;
    let geometry = MemoryGeometry::of_design(&design, profile, levels)?;
    let mut lines = geometry.far_apart(wanted as usize);
    if (lines.len() as u64) < wanted {
        return Err(format!("the caches have {wanted} lines: expected at most the memory's {}", geometry.lines));
    }
    lines.sort_unstable();
    let machine = machine(&design, profile, &geometry, &lines)?;
    for line in &lines {
        drain_lines(&machine, std::slice::from_ref(line));
        progress();
    }
    let alone = machine.counted();
    let machine = self::machine(&design, profile, &geometry, &lines)?;
    drain_lines(&machine, &lines);
    lines.iter().for_each(|_| progress());
    Ok(CacheDrains { geometry, alone, together: machine.counted(), lines })
}

/// Writes dirty lines and all their metadata to memory.
fn drain_lines(machine: &CountingMachine, lines: &[LineAddr]) {
    let dirty = lines.iter().map(|line| (*line, ZERO_LINE)).collect();
    run_now(DurableCaches::of(&machine.scheme).drain_on_battery(&machine.verbs(), dirty));
}

/// A new machine that knows the cache of each line: the first lines are in the first level, and so on.
fn machine(
    design: &Design,
    profile: &Profile,
    geometry: &MemoryGeometry,
    lines: &[LineAddr],
) -> Result<CountingMachine, String> {
    let CacheSizes { l1, l2, .. } = profile.caches;
    let moved = |position: usize| match position as u64 {
        position if position < lines_of(l1) => DrainTraffic { from_l1_bits: LINE_BITS, ..DrainTraffic::default() },
        position if position < lines_of(l1) + lines_of(l2) => {
            DrainTraffic { from_l2_bits: LINE_BITS, ..DrainTraffic::default() }
        }
        _ => DrainTraffic { from_l3_bits: LINE_BITS, ..DrainTraffic::default() },
    };
    let machine = CountingMachine::of(design, OperationTally::new(Operations::default()), geometry)?;
    let slot = |line: &LineAddr| machine.scheme.layout().data_slot(*line).slot();
    let origin = |(position, line)| (slot(line), Operations { moved: moved(position), ..Operations::default() });
    machine.tally.keeps(lines.iter().enumerate().map(origin));
    Ok(machine)
}
