//! What the battery of durable caches does, counted: every line of the profile's caches is dirty, and the text of `secure-eadr`
//! takes all of them to memory.
//!
//! The lines share as little metadata as they can, as those of a buffer do ([`crate::counted`]). Each line *alone* is a drain of
//! caches in which nothing else is dirty; all *together* are one drain, by address.

use crate::counted::Machine;
use crate::differences::{Difference, Names};
use crate::geometry::Geometry;
use crate::operations::{Moved, Operations};
use crate::profile::{Caches, Profile};
use crate::scheme::Accounting;
use crate::tally::Tally;
use catalogue::Design;
use protection::execution::run_now;
use protection::scheme::DurableCaches;
use units::{Bytes, LINE_BYTES, LineAddr, ZERO_LINE};

/// The most lines of caches whose drain is carried out: 64 MB.
const LINES_MAX: u64 = 1 << 20;

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// What drains of full caches did.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheDrains {
    /// The memory under the caches.
    geometry: Geometry,
    /// The lines that were dirty.
    lines: Vec<LineAddr>,
    /// Each line alone, from cold caches of metadata.
    pub alone: Operations,
    /// All lines in one drain.
    pub together: Operations,
}

impl CacheDrains {
    /// By what each alone differs from the closed form.
    pub fn alone_differs(&self, profile: &Profile, accounting: Accounting) -> Vec<Difference> {
        Names { profile }.of_caches_alone(accounting, self.lines.len() as u64, self.geometry.levels)
    }

    /// By what all together differ from each alone.
    pub fn together_differs(&self, profile: &Profile) -> Vec<Difference> {
        Names { profile }.of_caches_together(self.geometry.shared(&self.lines), (self.alone, self.together))
    }
}

/// How many lines the caches of a profile have.
///
/// # Errors
/// If a cache is no whole number of lines, or all are too large to be drained here.
pub fn lines(profile: &Profile) -> Result<u64, String> {
    let Caches { l1, l2, l3 } = profile.caches;
    if let Some(size) = [l1, l2, l3].into_iter().find(|size| size.0 % LINE_BYTES as u64 != 0) {
        return Err(format!("a cache of {size} is no whole number of lines of {LINE_BYTES} bytes"));
    }
    let lines = [l1, l2, l3].into_iter().map(lines_of).sum();
    match lines <= LINES_MAX {
        true => Ok(lines),
        false => Err(format!("caches of {lines} lines are more than the {LINES_MAX} whose drain is carried out")),
    }
}

fn lines_of(size: Bytes) -> u64 {
    size.0 / LINE_BYTES as u64
}

/// Carries out the drains of full caches. `told` hears of each line, twice.
///
/// # Errors
/// Why there are none: as of [`lines`], a tree that the design cannot have, or more lines than the memory has.
pub fn drain(profile: &Profile, levels: u32, told: &mut dyn FnMut()) -> Result<CacheDrains, String> {
    let wanted = lines(profile)?;
    let design = catalogue::design("secure-eadr").map_err(|error| error.to_string())?;
    let geometry = Geometry::of_design(&design, profile, levels)?;
    let mut lines = geometry.far_apart(wanted as usize);
    if (lines.len() as u64) < wanted {
        return Err(format!("{wanted} lines of caches are more than the memory's {} lines", geometry.lines));
    }
    lines.sort_unstable();
    let machine = machine(&design, profile, &geometry, &lines)?;
    for line in &lines {
        drain_lines(&machine, std::slice::from_ref(line));
        told();
    }
    let alone = machine.counted();
    let machine = self::machine(&design, profile, &geometry, &lines)?;
    drain_lines(&machine, &lines);
    lines.iter().for_each(|_| told());
    Ok(CacheDrains { geometry, alone, together: machine.counted(), lines })
}

/// Takes dirty lines to memory, and all metadata behind them.
fn drain_lines(machine: &Machine, lines: &[LineAddr]) {
    let dirty = lines.iter().map(|line| (*line, ZERO_LINE)).collect();
    run_now(DurableCaches::of(&machine.scheme).drain_on_battery(&machine.verbs, dirty));
}

/// A new machine that knows from which cache each line comes: the first lines from the first level, and so on.
fn machine(design: &Design, profile: &Profile, geometry: &Geometry, lines: &[LineAddr]) -> Result<Machine, String> {
    let Caches { l1, l2, .. } = profile.caches;
    let moved = |place: usize| match place as u64 {
        place if place < lines_of(l1) => Moved { from_l1_bits: LINE_BITS, ..Moved::default() },
        place if place < lines_of(l1) + lines_of(l2) => Moved { from_l2_bits: LINE_BITS, ..Moved::default() },
        _ => Moved { from_l3_bits: LINE_BITS, ..Moved::default() },
    };
    let machine = Machine::of(design, Tally::new(Operations::default()), geometry)?;
    let slot = |line: &LineAddr| machine.scheme.layout().data_slot(*line).slot();
    let origin = |(place, line)| (slot(line), Operations { moved: moved(place), ..Operations::default() });
    machine.verbs.kept().keeps(lines.iter().enumerate().map(origin));
    Ok(machine)
}
