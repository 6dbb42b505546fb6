//! Registers that the operating system sees and sets.

use super::{Broken, must};
use crate::common::{initial, register_set, registers, start, unit};
use context::planted::PlantedContextBug;
use context::{Register, RegisterFile, RegisterSet};
use units::random::Random;

const FILES: usize = 200;

/// Returns sets of visible registers: sets of one register, sets of all but one, the empty set, the full set, and
/// random sets.
fn visible_sets(random: &mut Random) -> Vec<RegisterSet> {
    let alone = Register::all().map(|register| RegisterSet::NONE.with(register));
    let all_but = Register::all().map(|hidden| Register::all().filter(|register| *register != hidden).collect());
    let random = (0..FILES).map(|_| register_set(random));
    alone.chain(all_but).chain([RegisterSet::NONE, RegisterSet::ALL]).chain(random).collect()
}

/// Returns a hidden register with 8 bytes that these bytes contain, if there is one.
fn taints(bytes: &[u8], registers: &RegisterFile, visible: RegisterSet) -> Option<Register> {
    let windows: std::collections::HashSet<&[u8]> = bytes.windows(8).collect();
    let mut hidden = Register::all().filter(|register| !visible.contains(*register));
    hidden.find(|register| registers.get(*register).windows(8).any(|word| windows.contains(word)))
}

/// The operating system gets no register but the visible ones, in the frame or in an exported context.
pub fn hidden_registers_are_blanked(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(1);
    for visible in visible_sets(&mut random) {
        let mut unit = unit(1, 1, planted);
        start(&mut unit, &initial(&mut random))?;
        let process = unit.running_mut()?;
        process.leave_visible(visible);
        let registers = process.registers().clone();
        let frame = unit.interrupt()?;
        for register in Register::all() {
            let (seen, held) = (frame.registers.get(register), registers.get(register));
            let expected = if visible.contains(register) { held.to_vec() } else { vec![0; register.bytes()] };
            must(seen == expected, format!("{register} with {visible:?} visible"))?;
        }
        let tainted = taints(frame.registers.as_bytes(), &registers, visible);
        must(tainted.is_none(), format!("a word of {tainted:?} is in the frame"))?;
        let exported = unit.export(frame.buffer, 0)?;
        let tainted = taints(&exported, &registers, RegisterSet::NONE);
        must(tainted.is_none(), format!("a word of {tainted:?} is in memory"))?;
    }
    Ok(())
}

/// A visible set holds for one interrupt.
pub fn visibility_ends_with_its_interrupt(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(2);
    let mut unit = unit(1, 0, planted);
    start(&mut unit, &initial(&mut random))?;
    unit.running_mut()?.leave_visible(RegisterSet::NONE.with(Register::RAX));
    let frame = unit.interrupt()?;
    unit.resume(frame.buffer, &frame.registers)?;
    let seen = unit.interrupt()?.registers;
    must(seen.word(Register::RAX) == 0, "rax was visible at the interrupt after")
}

/// A resume takes the visible registers from the operating system, as the result of a system call.
pub fn visible_registers_take_the_systems_values(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(3);
    for visible in visible_sets(&mut random).into_iter().filter(|visible| !visible.contains(Register::RIP)) {
        let mut unit = unit(1, 0, planted);
        start(&mut unit, &initial(&mut random))?;
        unit.running_mut()?.leave_visible(visible);
        let buffer = unit.interrupt()?.buffer;
        let from_system = registers(&mut random);
        unit.resume(buffer, &from_system)?;
        let now = unit.running()?.registers();
        let differs = visible.iter().find(|register| now.get(*register) != from_system.get(*register));
        must(differs.is_none(), format!("{differs:?} did not take the system's value"))?;
    }
    Ok(())
}

/// A resume restores every other register, the instruction pointer included.
pub fn hidden_registers_ignore_the_systems_values(planted: PlantedContextBug) -> Result<(), Broken> {
    let mut random = Random::new(4);
    for visible in visible_sets(&mut random) {
        let mut unit = unit(1, 0, planted);
        let process = initial(&mut random);
        start(&mut unit, &process)?;
        let expected = unit.running()?.registers().clone();
        unit.running_mut()?.leave_visible(visible);
        let buffer = unit.interrupt()?.buffer;
        unit.resume(buffer, &registers(&mut random))?;
        let now = unit.running()?.registers();
        let hidden = Register::all().filter(|register| !visible.contains(*register));
        let differs = hidden.into_iter().find(|register| now.get(*register) != expected.get(*register));
        must(differs.is_none(), format!("{differs:?} took the system's value"))?;
    }
    Ok(())
}
