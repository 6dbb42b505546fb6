//! Counts the operations of a drain in which encryption counters overflow on battery: the drain re-encrypts the group
//! of each line.
//!
//! The lines are those of the worst buffer. All lines of their groups have been written, and the next write of each line overflows its
//! counter. With early counters, the counter overflows when the store enters the buffer, before power fails. Then only the store in flight
//! overflows on battery.

use crate::counted::CountingMachine;
use crate::differences::{Difference, DifferenceBuilder};
use crate::geometry::MemoryGeometry;
use crate::operations::Operations;
use crate::profile::Profile;
use crate::scheme::{SecPbScheme, Step};
use protection::counter::{Age, WRITES_LEFT};
use protection::execution::run_now;
use protection::scheme::PersistBufferHandle;
use units::{LineAddr, ZERO_LINE};

/// Operations of a battery, and the number of groups that it renewed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overflowing {
    /// Operations of the drain.
    pub operations: Operations,
    /// Number of groups that were re-encrypted.
    pub groups: u64,
}

impl Overflowing {
    /// Differences from one drain of the same lines in which no counter overflows.
    pub fn differs(
        &self,
        scheme: SecPbScheme,
        profile: &Profile,
        geometry: &MemoryGeometry,
        together: Operations,
    ) -> Vec<Difference> {
        DifferenceBuilder { profile }.of_overflowing(scheme, geometry.renewed(self.groups), (together, self.operations))
    }
}

/// Carries out the drain of a buffer in which each counter that the battery increments overflows. The buffer contains all lines but the
/// last; the last is that of the store in flight.
///
/// # Errors
/// A sentence if the scheme's design does not support the memory.
pub fn drain(
    scheme: SecPbScheme,
    profile: &Profile,
    geometry: &MemoryGeometry,
    lines: &[LineAddr],
) -> Result<Overflowing, String> {
    let Some((&in_flight, resident)) = lines.split_last() else { return Err("no store is in flight".to_owned()) };
    let machine = CountingMachine::new(scheme, profile, geometry)?;
    let counted_on_battery = if scheme.early().contains(&Step::Counter) { &lines[resident.len()..] } else { lines };
    for line in counted_on_battery {
        make_old(&machine, geometry, *line);
    }
    resident.iter().for_each(|line| machine.accept(*line));
    machine.tally.buffers(lines.iter().map(|line| machine.scheme.layout().data_slot(*line).slot()));
    machine.cool();
    let groups = || machine.scheme.counted().renewals.groups;
    let before = groups();
    machine.accept(in_flight);
    run_now(PersistBufferHandle::of(&machine.scheme).drain_on_battery(&machine.verbs()));
    Ok(Overflowing { operations: machine.counted(), groups: groups() - before })
}

/// Writes all lines of a line's group, and the line until its next write overflows its counter.
fn make_old(machine: &CountingMachine, geometry: &MemoryGeometry, line: LineAddr) {
    let write = |line| run_now(machine.scheme.write(&machine.verbs(), line, &ZERO_LINE));
    run_now(machine.scheme.age(&machine.verbs(), line, Age::BeforeRenewal));
    geometry.group(line).filter(|other| *other != line).for_each(write);
    (0..WRITES_LEFT).for_each(|_| write(line));
}
