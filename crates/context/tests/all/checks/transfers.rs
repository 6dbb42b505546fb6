//! Contexts that leave the chip and return.

use super::{Broken, ends, must};
use crate::common::{admit, initial, processor, start, unit};
use context::planted::PlantedContextBug;
use context::{ContextConfig, ContextError, ContextUnit, Location, RegisterFile, context_number};
use std::collections::BTreeSet;
use units::random::Random;

/// A context of a process with locked lines cannot leave, and leaves when all lines are unlocked.
pub fn locked_lines_keep_a_context(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut unit = unit(1, 1, planted);
    let buffer = admit(&mut unit, &initial(&mut Random::new(12)))?;
    let process = unit.context(Location::Buffer(buffer))?.process();
    for lines in [1, 2, usize::MAX] {
        let found = unit.export(buffer, lines).map(|bytes| bytes.len());
        ends(found, Err(ContextError::LockedLines { process, lines }))?;
    }
    must(unit.export(buffer, 0).is_ok(), "refused without locked lines")
}

/// A context is in its buffer or outside, never both: otherwise the process would run twice.
pub fn an_exported_context_leaves_its_buffer(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut unit = unit(1, 1, planted);
    let buffer = admit(&mut unit, &initial(&mut Random::new(13)))?;
    unit.export(buffer, 0)?;
    let found = unit.resume(buffer, &RegisterFile::default());
    ends(found, Err(ContextError::BufferEmpty { buffer }))
}

/// The processor never accepts a context again after it was ordered to forget the number.
pub fn a_forgotten_context_stays_outside(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut unit = unit(1, 1, planted);
    let buffer = admit(&mut unit, &initial(&mut Random::new(14)))?;
    let exported = unit.export(buffer, 0)?;
    let number = context_number(&exported).ok_or(Broken("no number".into()))?;
    unit.forget(number)?;
    ends(unit.import(&exported), Err(ContextError::NotOutside { number }))?;
    ends(unit.forget(number), Err(ContextError::NotOutside { number }))
}

/// An old context is refused: at once, after the process has run, and while its next context is outside.
pub fn a_context_comes_back_once(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut unit = unit(2, 2, planted);
    let buffer = admit(&mut unit, &initial(&mut Random::new(15)))?;
    let old = unit.export(buffer, 0)?;
    let replayed = Err(ContextError::NotOutside { number: 0 });
    let buffer = unit.import(&old)?;
    ends(unit.import(&old), replayed)?;
    unit.resume(buffer, &RegisterFile::default())?;
    let buffer = unit.interrupt()?.buffer;
    ends(unit.import(&old), replayed)?;
    let new = unit.export(buffer, 0)?;
    ends(unit.import(&old), replayed)?;
    unit.import(&new)?;
    ends(unit.import(&old), replayed)
}

/// An import frees the entry of its context: the other contexts stay outside and can return.
pub fn an_import_takes_its_own_number(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(16);
    let mut unit = unit(3, 3, planted);
    let mut outside = Vec::new();
    for _ in 0..3 {
        let buffer = admit(&mut unit, &initial(&mut random))?;
        outside.push(unit.export(buffer, 0)?);
    }
    unit.import(&outside[1])?;
    must(unit.outside().eq([0, 2]), "another number than 1 left the table")?;
    ends(unit.import(&outside[1]), Err(ContextError::NotOutside { number: 1 }))?;
    unit.import(&outside[0])?;
    unit.import(&outside[2])?;
    Ok(())
}

/// With a full table no further context leaves, and all contexts outside can return.
pub fn a_full_table_keeps_its_numbers(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(17);
    let mut unit = unit(1, 2, planted);
    let mut outside = Vec::new();
    for _ in 0..2 {
        let buffer = admit(&mut unit, &initial(&mut random))?;
        outside.push(unit.export(buffer, 0)?);
    }
    let buffer = admit(&mut unit, &initial(&mut random))?;
    let refused = unit.export(buffer, 0).map(|bytes| bytes.len());
    ends(refused, Err(ContextError::TableFull { entries: 2 }))?;
    unit.discard(buffer)?;
    for exported in &outside {
        let buffer = unit.import(exported)?;
        unit.discard(buffer)?;
    }
    Ok(())
}

/// A number is never given twice, also after its context returned: it is the nonce of the encryption.
pub fn a_number_is_never_used_again(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(18);
    let mut unit = unit(2, 2, planted);
    let mut buffers = [admit(&mut unit, &initial(&mut random))?, admit(&mut unit, &initial(&mut random))?];
    let mut given = BTreeSet::new();
    for _ in 0..500 {
        let exported = [unit.export(buffers[0], 0)?, unit.export(buffers[1], 0)?];
        for context in &exported {
            let number = context_number(context).ok_or(Broken("no number".into()))?;
            must(given.insert(number), format!("number {number} was given twice"))?;
        }
        buffers = [unit.import(&exported[0])?, unit.import(&exported[1])?];
    }
    Ok(())
}

/// A context of before a reset is refused, though its number is outside again, and no nonce is used with another text.
pub fn a_reset_ends_every_context_outside(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(19);
    let config = ContextConfig { buffers: 1, outside_entries: 1, planted };
    let process = initial(&mut random);
    let mut exported = Vec::new();
    for boot in [1, 2] {
        let mut unit = ContextUnit::boot(config, processor(), boot)?;
        let buffer = admit(&mut unit, &process)?;
        exported.push(unit.export(buffer, 0)?);
        if boot == 2 {
            ends(unit.import(&exported[0]), Err(ContextError::NotAuthentic))?;
        }
    }
    must(exported[0][16..] != exported[1][16..], "two boots have one keystream")
}

/// No import and no admission takes the buffer that the next interrupt needs.
pub fn an_interrupt_always_finds_a_buffer(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(20);
    let mut unit = unit(2, 1, planted);
    let buffer = admit(&mut unit, &initial(&mut random))?;
    let exported = unit.export(buffer, 0)?;
    admit(&mut unit, &initial(&mut random))?;
    let buffer = admit(&mut unit, &initial(&mut random))?;
    let refused = Err(ContextError::NoFreeBuffer { buffers: 2 });
    ends(unit.import(&exported), refused)?;
    unit.resume(buffer, &RegisterFile::default())?;
    ends(unit.import(&exported), refused)?;
    ends(admit(&mut unit, &initial(&mut random)), refused)?;
    unit.interrupt()?;
    Ok(())
}

/// Each admission is another process, also of the same sealed context, and after other processes ended.
pub fn process_numbers_differ(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut unit = unit(1, 1, planted);
    let process = initial(&mut Random::new(21));
    start(&mut unit, &process)?;
    let first = unit.end()?.process();
    start(&mut unit, &process)?;
    must(unit.running()?.process() != first, "two processes have one number")
}
