//! What a drain does, counted: the scheme's own text is carried out on a memory of real bytes.
//!
//! ```text
//! stores at the worst ─ accepted, early steps done ─ caches of metadata cold ─┬─ each entry alone, cold again before each
//!                                                                             └─ all together, by address
//! ```
//! Either way the battery also completes the store that is entering, of which nothing is done yet: at the worst, from cold
//! caches.

use crate::closed_form;
use crate::differences::{Difference, Names};
use crate::geometry::{ENTRIES_MAX, Geometry, design};
use crate::operations::Operations;
use crate::profile::Profile;
use crate::scheme::Scheme;
use crate::tally::Tally;
use catalogue::Design;
use protection::execution::{Explained, Functional, run_now};
use protection::scheme::PersistBuffer;
use units::{LineAddr, ZERO_LINE};

/// The machine's keys are drawn from it, on which no count depends.
const SEED: u64 = 1;

/// What drains did.
#[derive(Clone, PartialEq, Debug)]
pub struct Drains {
    /// Each entry alone, from cold caches, and the store in flight likewise.
    pub alone: Operations,
    /// By what that differs from the closed form.
    pub alone_differs: Vec<Difference>,
    /// All of them one after the other, from caches that were cold once.
    pub together: Operations,
    /// By what that differs from each alone.
    pub together_differs: Vec<Difference>,
}

/// Carries out the drains of a full buffer, and of the store in flight. `told` hears of each drain: so of each entry and of
/// the store in flight twice.
///
/// # Errors
/// Why there are none: a tree or a number of entries that no built-in design can have.
pub fn drains(
    scheme: Scheme,
    profile: &Profile,
    (entries, levels): (u32, u32),
    told: &mut dyn FnMut(),
) -> Result<Drains, String> {
    let (geometry, lines) = worst(scheme, profile, (entries, levels))?;
    drains_of(scheme, profile, &geometry, &lines, told)
}

/// A memory, and the lines of the worst buffer, the last of which is the store in flight.
///
/// # Errors
/// As of [`drains`].
pub fn worst(
    scheme: Scheme,
    profile: &Profile,
    (entries, levels): (u32, u32),
) -> Result<(Geometry, Vec<LineAddr>), String> {
    if entries > ENTRIES_MAX {
        return Err(format!("a design's buffer has {ENTRIES_MAX} entries at most"));
    }
    let geometry = Geometry::of(scheme, profile, levels)?;
    let lines = geometry.far_apart(entries as usize + 1);
    if lines.len() <= entries as usize {
        return Err(format!(
            "{entries} entries and a store in flight are more than the memory's {} lines",
            geometry.lines
        ));
    }
    Ok((geometry, lines))
}

/// As [`drains`], of these lines, the last of which is the store in flight.
///
/// # Errors
/// If the memory is none that the scheme's design can have.
pub fn drains_of(
    scheme: Scheme,
    profile: &Profile,
    geometry: &Geometry,
    lines: &[LineAddr],
    told: &mut dyn FnMut(),
) -> Result<Drains, String> {
    let Some((&in_flight, resident)) = lines.split_last() else { return Err("no store is in flight".to_owned()) };
    let machine = Machine::with(scheme, profile, geometry, resident)?;
    let other = machine.twin(scheme, profile);
    let mut alone = Operations::default();
    for line in resident {
        machine.cool();
        machine.drain(*line);
        alone += machine.counted();
        told();
    }
    machine.cool();
    machine.accept(in_flight);
    machine.drain(in_flight);
    alone += machine.counted();
    told();
    other.cool();
    other.accept(in_flight);
    run_now(PersistBuffer::of(&other.scheme).drain_on_battery(&other.verbs));
    let together = other.counted();
    lines.iter().for_each(|_| told());
    let names = Names { profile };
    Ok(Drains {
        alone,
        alone_differs: names.of_alone(scheme, resident.len() as u32, geometry.levels),
        together,
        together_differs: names.of_together(scheme, geometry.shared(lines), (alone, together)),
    })
}

/// A machine whose stores are in its buffer, and that counts what it does.
pub(crate) struct Machine {
    pub scheme: protection::scheme::Scheme,
    pub verbs: Explained<Functional, Tally>,
}

impl Machine {
    /// One whose buffer is empty.
    pub fn new(scheme: Scheme, profile: &Profile, geometry: &Geometry) -> Result<Machine, String> {
        Machine::of(&design(scheme), tally(scheme, profile), geometry)
    }

    /// One of this design, whose memory is new.
    pub fn of(design: &Design, tally: Tally, geometry: &Geometry) -> Result<Machine, String> {
        let scheme = design.parts.build(geometry.lines, SEED)?;
        let memory = Functional::new(scheme.layout().total_lines());
        Ok(Machine { scheme, verbs: Explained::keeping(memory, tally) })
    }

    /// One whose buffer has these lines.
    fn with(scheme: Scheme, profile: &Profile, geometry: &Geometry, resident: &[LineAddr]) -> Result<Machine, String> {
        let machine = Machine::new(scheme, profile, geometry)?;
        resident.iter().for_each(|line| machine.accept(*line));
        Ok(machine)
    }

    /// The same once more.
    fn twin(&self, scheme: Scheme, profile: &Profile) -> Machine {
        let memory = self.verbs.inside().clone();
        Machine { scheme: self.scheme.twin(), verbs: Explained::keeping(memory, tally(scheme, profile)) }
    }

    /// The buffer accepts a store to a line.
    pub fn accept(&self, line: LineAddr) {
        run_now(PersistBuffer::of(&self.scheme).accept(&self.verbs, line, &ZERO_LINE));
    }

    fn drain(&self, line: LineAddr) {
        run_now(PersistBuffer::of(&self.scheme).drain(&self.verbs, line));
    }

    /// Makes the caches of metadata cold, and counts from there.
    pub fn cool(&self) {
        run_now(self.scheme.flush(&self.verbs));
        self.verbs.kept().take();
    }

    /// What was done since.
    pub fn counted(&self) -> Operations {
        assert_eq!(self.verbs.inside().take_fault(), None, "nobody has tampered");
        self.verbs.kept().take()
    }
}

fn tally(scheme: Scheme, profile: &Profile) -> Tally {
    Tally::new(closed_form::moved(scheme, &profile.entry))
}
