//! Other keys: a second memory on the same bus, and the same machine after its power was off.
//!
//! A volatile design draws its keys when it is switched on and loses them with the state of the chip. So an old image is
//! as foreign to it as a neighbour's memory, even if the design has no other protection: it releases garbage instead of
//! old bytes.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::oracle::Wish;
use crate::victim::Victim;
use catalogue::Attack;
use units::LineAddr;

/// Scenes of this file.
pub(super) const SCENES: Scenes =
    &[(Attack::CrossKeySplice, cross_key_splice), (Attack::PowerOffRollback, power_off_rollback)];

/// Separates the keys of the neighbour and of the next boot from the victim's.
const OTHER_KEYS: u64 = 0x0b00_7ed0;

fn cross_key_splice(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let mut neighbour = stage.blank(stage.seed ^ OTHER_KEYS);
    for line in stage.victim.oracle().lines() {
        neighbour.write(line, &stage.random.line());
    }
    neighbour.machine().flush();
    let wish = neighbour.oracle().current(target).map_or(Wish::None, |content| Wish::Bytes(*content));
    let parts = [Structure::Data, Structure::Tag, Structure::Counter];
    let moved = &parts[..=stage.random.below(parts.len() as u64) as usize];
    for part in moved {
        copy_structure(&neighbour, &stage.victim, *part, target);
    }
    Some(Ended::new(stage.worst_read(target, wish), target))
}

/// Copies the structures of a line from the neighbour's memory into the victim's.
fn copy_structure(from: &Victim, to: &Victim, structure: Structure, line: LineAddr) {
    for (slot, bytes) in to.map().moved(structure, line) {
        let foreign = from.attacked(|bus| bus.read_cell(slot));
        to.attacked(|bus| bus.write_bytes(slot, bytes.clone(), &foreign[bytes]));
    }
}

/// The attacker picks one of three images. The first is an older one without changes. The second has no metadata, since
/// a chip that was just switched on accepts a blank tree as new. The third is the present one with only the target's
/// structures from the older one.
fn power_off_rollback(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    stage.victim.loses_power();
    let image = stage.victim.attacked(|bus| {
        let recordings = bus.recordings();
        recordings.get(stage.random.below(recordings.len() as u64) as usize).cloned()
    })?;
    let (way, map) = (stage.random.below(3), stage.victim.map());
    let is_data = |slot| matches!(map.structure(slot), Structure::Data | Structure::Tag);
    let present = stage.victim.attacked(|bus| bus.record());
    let chosen = present.slots().filter_map(|(slot, now)| match way {
        1 if !is_data(slot) => None,
        2 if !map.is_served(slot, target) => Some((slot, now)),
        _ => image.get(slot).map(|older| (slot, older)),
    });
    stage.victim = stage.victim.restarted(stage.parts, stage.seed ^ OTHER_KEYS, stage.planted, chosen);
    Some(Ended::new(stage.worst_read(target, Wish::None), target))
}
