//! Counts the operations of a drain: the code of the scheme runs on a memory with real bytes.
//!
//! ```text
//! stores at the worst ─ accepted, early steps done ─ metadata caches cold ─┬─ each entry alone, cold again before each
//!                                                                          └─ all together, by address
//! ```
//! In both cases the battery also completes the store that enters the buffer. In the worst case all steps of this store
//! remain, and the metadata caches are cold.

use crate::closed_form;
use crate::differences::{Difference, DifferenceBuilder};
use crate::geometry::{ENTRIES_MAX, MemoryGeometry, design};
use crate::operations::Operations;
use crate::profile::Profile;
use crate::scheme::SecPbScheme;
use crate::tally::OperationTally;
use catalogue::Design;
use protection::execution::{Explained, Functional, Untimed, UntimedVerbs, run_now};
use protection::scheme::PersistBufferHandle;
use std::rc::Rc;
use units::{LineAddr, ZERO_LINE};

/// Seed of the machine's keys; no count depends on it.
const SEED: u64 = 1;

/// Operations of the drains of a full buffer.
#[derive(Clone, PartialEq, Debug)]
pub struct Drains {
    /// Separate drains of each entry and of the store in flight, from cold caches.
    pub alone: Operations,
    /// Differences of `alone` from the closed form.
    pub alone_differs: Vec<Difference>,
    /// All entries and the store in flight, one after the other, from caches that are cold at the start.
    pub together: Operations,
    /// Differences of `together` from `alone`.
    pub together_differs: Vec<Difference>,
}

/// Carries out the drains of a full buffer and of the store in flight. `progress` is called for each drain, so twice for each entry and for the
/// store in flight.
///
/// # Errors
/// A tree or a number of entries that no built-in design supports.
pub fn drains(
    scheme: SecPbScheme,
    profile: &Profile,
    (entries, levels): (u32, u32),
    progress: &mut dyn FnMut(),
) -> Result<Drains, String> {
    let (geometry, lines) = worst(scheme, profile, (entries, levels))?;
    drains_of(scheme, profile, &geometry, &lines, progress)
}

/// A memory, and the lines of the worst buffer. The last line is that of the store in flight.
///
/// # Errors
/// The errors of [`drains`].
pub fn worst(
    scheme: SecPbScheme,
    profile: &Profile,
    (entries, levels): (u32, u32),
) -> Result<(MemoryGeometry, Vec<LineAddr>), String> {
    if entries > ENTRIES_MAX {
        return Err(format!("a design's buffer has {ENTRIES_MAX} entries at most"));
    }
    let geometry = MemoryGeometry::of(scheme, profile, levels)?;
    let lines = geometry.far_apart(entries as usize + 1);
    if lines.len() <= entries as usize {
        return Err(format!(
            "{entries} entries and a store in flight are more than the memory's {} lines",
            geometry.lines
        ));
    }
    Ok((geometry, lines))
}

/// Like [`drains`], for these lines. The last line is that of the store in flight.
///
/// # Errors
/// A sentence if the scheme's design does not support the memory.
pub fn drains_of(
    scheme: SecPbScheme,
    profile: &Profile,
    geometry: &MemoryGeometry,
    lines: &[LineAddr],
    progress: &mut dyn FnMut(),
) -> Result<Drains, String> {
    let Some((&in_flight, resident)) = lines.split_last() else { return Err("no store is in flight".to_owned()) };
    let machine = CountingMachine::with(scheme, profile, geometry, resident)?;
    let other = machine.twin(scheme, profile);
    let mut alone = Operations::default();
    for line in resident {
        machine.cool();
        machine.drain(*line);
        alone += machine.counted();
        progress();
    }
    machine.cool();
    machine.accept(in_flight);
    machine.drain(in_flight);
    alone += machine.counted();
    progress();
    other.cool();
    other.accept(in_flight);
    run_now(PersistBufferHandle::of(&other.scheme).drain_on_battery(&other.verbs()));
    let together = other.counted();
    lines.iter().for_each(|_| progress());
    let names = DifferenceBuilder { profile };
    Ok(Drains {
        alone,
        alone_differs: names.of_alone(scheme, resident.len() as u32, geometry.levels),
        together,
        together_differs: names.of_together(scheme, geometry.shared(lines), (alone, together)),
    })
}

/// A machine with stores in its buffer that counts its operations.
pub(crate) struct CountingMachine {
    pub scheme: protection::scheme::Scheme,
    memory: Functional,
    pub tally: Rc<OperationTally>,
}

impl CountingMachine {
    /// A machine with an empty buffer.
    pub fn new(scheme: SecPbScheme, profile: &Profile, geometry: &MemoryGeometry) -> Result<CountingMachine, String> {
        CountingMachine::of(&design(scheme), tally(scheme, profile), geometry)
    }

    /// A machine of this design with new memory.
    pub fn of(design: &Design, tally: OperationTally, geometry: &MemoryGeometry) -> Result<CountingMachine, String> {
        let scheme = design.parts.build(geometry.lines, SEED)?;
        let memory = Functional::new(scheme.layout().total_lines());
        Ok(CountingMachine { scheme, memory, tally: Rc::new(tally) })
    }

    /// A machine with a buffer that contains these lines.
    fn with(
        scheme: SecPbScheme,
        profile: &Profile,
        geometry: &MemoryGeometry,
        resident: &[LineAddr],
    ) -> Result<CountingMachine, String> {
        let machine = CountingMachine::new(scheme, profile, geometry)?;
        resident.iter().for_each(|line| machine.accept(*line));
        Ok(machine)
    }

    /// A copy of the machine in the same state.
    fn twin(&self, scheme: SecPbScheme, profile: &Profile) -> CountingMachine {
        let (memory, tally) = (self.memory.clone(), Rc::new(tally(scheme, profile)));
        CountingMachine { scheme: self.scheme.twin(), memory, tally }
    }

    /// Verbs that count their operations.
    pub fn verbs(&self) -> Explained<UntimedVerbs<'_>> {
        Explained::new(self.memory.verbs(), self.tally.clone())
    }

    /// Makes the buffer accept a store to a line.
    pub fn accept(&self, line: LineAddr) {
        run_now(PersistBufferHandle::of(&self.scheme).accept(&self.verbs(), line, &ZERO_LINE));
    }

    fn drain(&self, line: LineAddr) {
        run_now(PersistBufferHandle::of(&self.scheme).drain(&self.verbs(), line));
    }

    /// Flushes the metadata caches, and starts to count.
    pub fn cool(&self) {
        run_now(self.scheme.flush(&self.verbs()));
        self.tally.take();
    }

    /// The operations since counting started.
    pub fn counted(&self) -> Operations {
        assert_eq!(self.memory.take_fault(), None, "nobody has tampered");
        self.tally.take()
    }
}

fn tally(scheme: SecPbScheme, profile: &Profile) -> OperationTally {
    OperationTally::new(closed_form::moved(scheme, &profile.entry))
}
