//! Roots of processes that do not run.

use super::{Broken, ends, must};
use crate::common::{admit, bytes, initial, start, unit};
use context::planted::PlantedContextBug;
use context::{ContextError, Location, ProcessNumber, RegisterFile};
use units::random::Random;

/// A root that a permutation changed while the process ran is still that after an export and an import.
pub fn a_root_leaves_and_returns(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(9);
    let mut unit = unit(1, 1, planted);
    start(&mut unit, &initial(&mut random))?;
    let root = bytes(&mut random);
    unit.set_root(Location::Running, root)?;
    let buffer = unit.interrupt()?.buffer;
    must(unit.root_of(Location::Buffer(buffer))? == &root, "the root was not saved")?;
    let exported = unit.export(buffer, 0)?;
    let buffer = unit.import(&exported)?;
    must(unit.root_of(Location::Buffer(buffer))? == &root, "the root came back otherwise")
}

/// While another process runs, a permutation finds keys and root of a context in a buffer, and changes the root.
pub fn a_forced_permutation_changes_a_root_in_a_buffer(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(10);
    let mut unit = unit(2, 1, planted);
    let processes = [initial(&mut random), initial(&mut random)];
    start(&mut unit, &processes[0])?;
    let waiting = unit.running()?.process();
    unit.interrupt()?;
    start_other(&mut unit, &processes[1])?;
    let location = unit.find(waiting)?;
    must(unit.keys_of(location)? == &processes[0].keys, "another process's keys")?;
    let root = bytes(&mut random);
    unit.set_root(location, root)?;
    must(unit.running()?.root() == &processes[1].root, "the root of the running process changed")?;
    unit.interrupt()?;
    let Location::Buffer(buffer) = unit.find(waiting)? else {
        return Err(Broken("the process does not wait in a buffer".into()));
    };
    unit.resume(buffer, &RegisterFile::default())?;
    must(unit.running()?.root() == &root, "the process runs on with the old root")
}

fn start_other(unit: &mut context::ContextUnit, process: &context::InitialContext) -> Result<(), ContextError> {
    let buffer = admit(unit, process)?;
    unit.resume(buffer, &RegisterFile::default())
}

#[test]
fn a_process_whose_context_is_exported_has_no_keys_on_the_chip() {
    let mut unit = unit(1, 1, PlantedContextBug::NONE);
    let process = ProcessNumber(0);
    assert_eq!(unit.find(process), Err(ContextError::NotOnChip { process }));
    let buffer = admit(&mut unit, &initial(&mut Random::new(11))).unwrap();
    assert_eq!(unit.find(process), Ok(Location::Buffer(buffer)));
    unit.resume(buffer, &RegisterFile::default()).unwrap();
    assert_eq!(unit.find(process), Ok(Location::Running));
    let buffer = unit.interrupt().unwrap().buffer;
    let exported = unit.export(buffer, 0).unwrap();
    assert_eq!(unit.find(process), Err(ContextError::NotOnChip { process }));
    let empty = Err(ContextError::BufferEmpty { buffer });
    assert_eq!(unit.keys_of(Location::Buffer(buffer)), empty);
    assert_eq!(unit.set_root(Location::Buffer(buffer), [0; 20]), Err(ContextError::BufferEmpty { buffer }));
    let buffer = unit.import(&exported).unwrap();
    assert_eq!(ends(unit.find(process), Ok(Location::Buffer(buffer))).map_err(|broken| broken.0), Ok(()));
}
