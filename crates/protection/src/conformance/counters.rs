//! Contract of every organisation of counters: it never repeats a version, and changes the counters of other lines only
//! in a renewal.

use super::{Checked, LINE_BITS, flipped, hold};
use crate::counter::{Age, Counter, Counters, Overflow};
use crate::design::CounterChoice;
use crate::planted::PlantedBug;
use crypto::COUNTER_BITS;
use std::collections::HashSet;
use strum::VariantArray;
use units::random::Random;
use units::{Line, LineAddr, ZERO_LINE};

const WRITES: u64 = 4_000;

/// Checks an organisation against the contract.
pub fn check(choice: CounterChoice, planted: PlantedBug) -> Checked {
    let counters = Counters::new(choice.organisation(), planted);
    positions(&counters)?;
    hold((0..counters.lines_per_group() as usize).all(|position| counters.read(&ZERO_LINE, position).0 == 0), || {
        "a blank line counts something".into()
    })?;
    let ages = [ZERO_LINE, counters.aged(Age::BeforeRenewal), counters.aged(Age::BeforeExhaustion)];
    for start in ages {
        bits_count(&counters, &start)?;
        for which in 0..PATTERNS {
            life(&counters, start, which)?;
        }
    }
    Ok(())
}

/// Every line has a separate position in the counters, and a group knows its lines.
fn positions(counters: &Counters) -> Checked {
    let each = counters.lines_per_group();
    for line in (0..4 * each).map(LineAddr) {
        let (group, position) = (counters.group(line), counters.position(line));
        hold(counters.lines(group, &(position..position + 1)).eq([line]), || {
            format!("line {line} is not at its own position {position} of group {group}")
        })?;
    }
    Ok(())
}

/// Every bit that honest writes have set affects some counter, except for the MAC. If a bit has no effect, counters
/// repeat sooner or later.
fn bits_count(counters: &Counters, line: &Line) -> Checked {
    let all =
        |line: &Line| (0..counters.lines_per_group() as usize).map(|at| counters.read(line, at)).collect::<Vec<_>>();
    let mut bare = *line;
    counters.set_embedded_mac(&mut bare, 0);
    let set = (0..LINE_BITS).filter(|bit| bare[bit / 8] >> (bit % 8) & 1 == 1);
    let before = all(&bare);
    set.map(|bit| (bit, all(&flipped(&bare, bit)))).try_for_each(|(bit, after)| {
        hold(after != before, || format!("bit {bit} of a counter line is in use and counts for nothing"))
    })
}

/// If an advanced counter has separate bits, replacing only these bits of the old line gives the new line.
fn part(counters: &Counters, (before, after): (&Line, &Line), position: usize, counter: Counter) -> Checked {
    let part = counters.part(position, counter);
    hold(part.is_none_or(|part| part.over((*before).into()).examine() == *after), || {
        format!("the bits of position {position} alone do not make the counter line what a write made it")
    })
}

/// Writes positions in some order and checks all counters after each write.
fn life(counters: &Counters, start: Line, which: u64) -> Checked {
    let mut line = start;
    let mac = u64::MAX >> 3;
    counters.set_embedded_mac(&mut line, mac);
    let mac = counters.embedded_mac(&line);
    let all = 0..counters.lines_per_group() as usize;
    let mut had: HashSet<(usize, Counter)> = all.clone().map(|at| (at, counters.read(&line, at))).collect();
    let mut random = Random::new(which);
    for write in 0..WRITES {
        let before = line;
        let position = pattern(which, write, all.len() as u64, &mut random);
        let renewed = match counters.advance(&mut line, position) {
            Ok(counter) => {
                part(counters, (&before, &line), position, counter)?;
                position..position + 1
            }
            Err(overflow) => {
                hold(line == before, || "an overflow changed the line by itself".into())?;
                line = counters.renew(&line, position, &overflow, random.word());
                match overflow {
                    Overflow::Exhausted => all.len()..all.len(),
                    Overflow::Renew { positions } => positions,
                }
            }
        };
        compare(counters, (&before, &line), position, &renewed, &mut had)?;
        hold(counters.embedded_mac(&line) == mac, || "a write of a counter touched the MAC".into())?;
    }
    Ok(())
}

/// Orders of writing: in turn, one position for three of four writes, at random, and in turn with long or short
/// stretches of one position. Formats that depend on use change in the stretches.
const PATTERNS: u64 = 5;

fn pattern(which: u64, write: u64, positions: u64, random: &mut Random) -> usize {
    let one_only = match which {
        1 => write % 4 < 3,
        3 => write % 1_024 >= 512,
        4 => write % 256 < 12,
        _ => false,
    };
    let position = match which {
        _ if one_only => positions / 2,
        0 | 3 | 4 => write % positions,
        _ => random.below(positions),
    };
    position as usize
}

/// Checks the effect of a write of `written`: positions in `renewed` may change, the other positions may not.
fn compare(
    counters: &Counters,
    (before, after): (&Line, &Line),
    written: usize,
    renewed: &std::ops::Range<usize>,
    had: &mut HashSet<(usize, Counter)>,
) -> Checked {
    for at in 0..counters.lines_per_group() as usize {
        let (old, new) = (counters.read(before, at), counters.read(after, at));
        hold(new.0 >> COUNTER_BITS == 0, || format!("the counter at {at} does not fit a nonce"))?;
        if !renewed.contains(&at) {
            hold(new == old, || format!("a write of {written} changed {at}, which nobody renews"))?;
            continue;
        }
        hold(new >= old || counters.are_drawn(), || format!("the counter at {at} went back from {old:?} to {new:?}"))?;
        hold(new != old || at != written, || format!("a write did not advance the counter at {at}"))?;
        hold(new == old || had.insert((at, new)), || format!("the counter at {at} came back to {new:?}"))?;
    }
    Ok(())
}

#[test]
fn every_counter_organisation_passes_the_conformance_check_of_counters() {
    for choice in CounterChoice::VARIANTS.iter().filter(|choice| **choice != CounterChoice::None) {
        assert_eq!(check(*choice, PlantedBug::NONE), Ok(()), "{choice:?}");
    }
}
