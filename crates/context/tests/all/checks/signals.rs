//! Signals, which enter a process at its handler.

use super::{Broken, ends, must};
use crate::common::{initial, registers, start, unit};
use context::planted::PlantedContextBug;
use context::{ContextError, Register, RegisterFile, RegisterSet};
use units::VirtAddr;
use units::random::Random;

/// A signal changes only the instruction pointer, and the process gets it back.
pub fn a_process_returns_from_a_signal(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(5);
    let mut unit = unit(1, 1, planted);
    let mut process = initial(&mut random);
    process.handler = Some(VirtAddr(0x4000));
    start(&mut unit, &process)?;
    let before = unit.running()?.registers().clone();
    let buffer = unit.interrupt()?.buffer;
    unit.signal(buffer, &registers(&mut random))?;
    must(unit.running()?.registers().word(Register::RIP) == 0x4000, "the handler was not entered")?;
    // The handler is interrupted itself, and its context leaves the chip.
    let buffer = unit.interrupt()?.buffer;
    let exported = unit.export(buffer, 0)?;
    let buffer = unit.import(&exported)?;
    unit.resume(buffer, &RegisterFile::default())?;
    unit.running_mut()?.return_from_signal()?;
    must(*unit.running()?.registers() == before, "the process did not continue where the signal interrupted it")?;
    let process = unit.running()?.process();
    ends(unit.running_mut()?.return_from_signal(), Err(ContextError::NoSignalPending { process }))
}

/// A signal before the process has returned from the last one is refused, and accepted after.
pub fn a_second_signal_waits(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(6);
    let mut unit = unit(1, 0, planted);
    start(&mut unit, &initial(&mut random))?;
    let process = unit.running()?.process();
    let buffer = unit.interrupt()?.buffer;
    unit.signal(buffer, &RegisterFile::default())?;
    let buffer = unit.interrupt()?.buffer;
    ends(unit.signal(buffer, &RegisterFile::default()), Err(ContextError::SignalPending { process }))?;
    unit.resume(buffer, &RegisterFile::default())?;
    unit.running_mut()?.return_from_signal()?;
    let buffer = unit.interrupt()?.buffer;
    ends(unit.signal(buffer, &RegisterFile::default()), Ok(()))
}

#[test]
fn a_signal_without_a_handler_is_refused() {
    let mut unit = unit(1, 0, PlantedContextBug::NONE);
    let process = context::InitialContext { handler: None, ..initial(&mut Random::new(7)) };
    start(&mut unit, &process).unwrap();
    let number = unit.running().unwrap().process();
    let buffer = unit.interrupt().unwrap().buffer;
    let refused = Err(ContextError::NoHandler { process: number });
    assert_eq!(unit.signal(buffer, &RegisterFile::default()), refused);
    unit.resume(buffer, &RegisterFile::default()).unwrap();
    assert_eq!(unit.running().unwrap().registers(), &process.registers);
    unit.running_mut().unwrap().register_handler(Some(VirtAddr(0)));
    let buffer = unit.interrupt().unwrap().buffer;
    unit.signal(buffer, &RegisterFile::default()).unwrap();
    assert_eq!(unit.running().unwrap().registers().word(Register::RIP), 0);
}

#[test]
fn a_signal_at_the_end_of_a_system_call_preserves_the_result_of_the_call() {
    let mut random = Random::new(8);
    let mut unit = unit(1, 0, PlantedContextBug::NONE);
    start(&mut unit, &initial(&mut random)).unwrap();
    let rip = unit.running().unwrap().registers().word(Register::RIP);
    unit.running_mut().unwrap().leave_visible(RegisterSet::NONE.with(Register::RAX));
    let frame = unit.interrupt().unwrap();
    let from_system = registers(&mut random);
    unit.signal(frame.buffer, &from_system).unwrap();
    let process = unit.running().unwrap();
    assert_eq!(process.registers().word(Register::RAX), from_system.word(Register::RAX));
    assert_eq!(process.interrupted(), Some(VirtAddr(rip)));
}
