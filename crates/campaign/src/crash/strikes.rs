//! Tampering with a memory while it is off: every strike of [`crate::attacker`], and old images.
//!
//! The attacker remembers all content that it has seen on the bus. Replays run at every line, with every memory that the
//! attacker remembers; other strikes run at every line once. Strikes with the same resulting memory count as one.

use super::history::History;
use super::workload::{BYSTANDER, LINES};
use crate::attacker::{self, Strike};
use crate::bus::{Bus, Map, Recording, Structure};
use crate::scenes::scene;
use catalogue::Attack;
use protection::media::Media;
use std::collections::BTreeMap;
use units::LineAddr;
use units::random::Random;

/// Selection of the strikes to carry out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strikes {
    /// All of the strikes.
    All,
    /// Each kind once, at a line and with a memory drawn at random; and each old image.
    EachKind,
    /// This many of [`Strikes::All`], drawn at random.
    Few(usize),
}

/// Returns every other memory that an attacker can make of this one, with a description of each.
pub fn tampered(
    history: &History,
    image: &Recording,
    seen: &[&Recording],
    strikes: Strikes,
    random: &mut Random,
) -> Vec<(Recording, String)> {
    let mut made = BTreeMap::new();
    let mut keep = |media: &Media, how: &dyn Fn() -> String| {
        let tampered = Recording::of(media);
        if tampered != *image {
            made.entry(tampered).or_insert_with(how);
        }
    };
    let slots = history.layout.total_lines();
    strike_everywhere(history, image, seen, strikes, random, &mut keep);
    for old in seen {
        keep(&old.media(slots), &|| "an old image was put back".to_owned());
        keep(&old_data(history, image, old), &|| "all old data and tags were put back".to_owned());
    }
    keep(&Media::new(slots), &|| "the memory was wiped".to_owned());
    blank_slots(history, image, strikes, random, &mut keep);
    let mut made: Vec<(Recording, String)> = made.into_iter().collect();
    if let Strikes::Few(few) = strikes {
        random.shuffle(&mut made);
        made.truncate(few);
    }
    made
}

/// Replaces a line of each kind by a blank one, as in a module that was exchanged.
fn blank_slots(
    history: &History,
    image: &Recording,
    strikes: Strikes,
    random: &mut Random,
    keep: &mut impl FnMut(&Media, &dyn Fn() -> String),
) {
    let map = Map::new(&history.layout);
    for structure in map.path() {
        let lines: Vec<LineAddr> = LINES.into_iter().chain([BYSTANDER]).collect();
        let lines = if strikes == Strikes::EachKind { drawn(&lines, random) } else { lines };
        for line in lines {
            let Some((slot, _)) = map.slot_bytes(structure, line) else { continue };
            let mut media = Media::new(history.layout.total_lines());
            image.slots().filter(|(other, _)| *other != slot).for_each(|(other, content)| media.store(other, content));
            keep(&media, &|| format!("{structure} of line {line} was blanked"));
        }
    }
}

fn strike_everywhere(
    history: &History,
    image: &Recording,
    seen: &[&Recording],
    strikes: Strikes,
    random: &mut Random,
    keep: &mut impl FnMut(&Media, &dyn Fn() -> String),
) {
    let lines: Vec<LineAddr> = LINES.into_iter().chain([BYSTANDER]).collect();
    for attack in Attack::ALL.iter().copied().filter(|attack| scene(*attack).is_none()) {
        for level in attacker::levels(attack, history.layout.levels().len()) {
            let (targets, with) = match strikes {
                Strikes::EachKind => (drawn(&lines, random), drawn(seen, random)),
                _ if brings_back(attack) => (lines.clone(), seen.to_vec()),
                _ => (lines.clone(), seen[..1].to_vec()),
            };
            for (target, old) in targets.iter().flat_map(|target| with.iter().map(move |old| (*target, *old))) {
                let mut media = image.media(history.layout.total_lines());
                let map = Map::new(&history.layout);
                let mut bus = Bus::new(&mut media, map, &lines, std::slice::from_ref(old));
                let struck = attacker::strike_at(target, attack, level, &mut bus, random);
                if let Some(Strike { target, .. }) = struck {
                    keep(&media, &|| format!("{attack} on line {target}"));
                }
            }
        }
    }
}

fn drawn<T: Copy>(from: &[T], random: &mut Random) -> Vec<T> {
    random.pick(from).into_iter().collect()
}

/// Returns true if a strike depends on the attacker's recordings.
fn brings_back(attack: Attack) -> bool {
    use Attack::{ReplayBelowLevel, ReplayData, ReplayDataTag, ReplayDataTagCounter};
    matches!(attack, ReplayData | ReplayDataTag | ReplayDataTagCounter | ReplayBelowLevel)
}

/// Returns this memory with the data and the tags of an old one, under its current counters.
fn old_data(history: &History, image: &Recording, old: &Recording) -> Media {
    let (mut media, map) = (image.media(history.layout.total_lines()), Map::new(&history.layout));
    let concerned = old.slots().filter(|(slot, _)| matches!(map.structure(*slot), Structure::Data | Structure::Tag));
    concerned.for_each(|(slot, content)| media.store(slot, content));
    media
}
