//! Short tags: the rate at which guesses pass.
//!
//! The tags of the designs are far too long to guess, so the same code is cut to lengths at which guesses pass. A code
//! as good as a random function lets one guess in 2^t pass. So does a polynomial hash under a random mask, if the
//! attacker's line and tag do not depend on the key. The number of passed guesses must be within three standard
//! deviations of its expectation, in either direction: fewer would mean that the guesses were not tried. For small
//! expectations, "within three standard deviations" means an equal probability; so chance is out of bound once in 370
//! cases.

use super::{Ended, SceneInput, Scenes};
use crate::victim::{Victim, with_tiny_caches};
use catalogue::{Attack, Verdict};
use protection::design::{MacChoice, MacDesign, Parts, TagLocation};
use protection::scheme::Release;
use std::collections::BTreeMap;
use units::LineAddr;

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::ShortTags, short_tags)];

/// Lengths of the tags, in bits.
pub const TAG_LENGTHS: [u32; 4] = [8, 10, 12, 16];
/// Guesses at each length in one trial: 10^5 trials give 64 * 2^16 and more.
const GUESSES: u64 = 64;
/// Standard deviations within which chance may vary, and the probability beyond them, on one side.
const SIGMAS: f64 = 3.0;
const TAIL: f64 = 0.001_35;
/// Expected guesses from which the normal distribution is a good approximation.
const MANY: f64 = 100.0;

fn tried(bits: u32) -> String {
    format!("guesses at {bits}-bit tags")
}

fn passed(bits: u32) -> String {
    format!("of {bits}-bit tags that passed")
}

fn short_tags(mut stage: SceneInput<'_>) -> Option<Ended> {
    if stage.parts.mac.code == MacChoice::None {
        return None;
    }
    let target = stage.any_line();
    let mut ended = Ended::new(Verdict::Bounded, target);
    for bits in TAG_LENGTHS {
        ended = ended.counting(tried(bits), GUESSES).counting(passed(bits), guess(&mut stage, target, bits));
    }
    Some(ended)
}

/// Counts the random lines that are released under the stored tag: the tag itself stays, since a tree may cover it.
fn guess(stage: &mut SceneInput<'_>, target: LineAddr, tag_bits: u32) -> u64 {
    let mac = stage.parts.mac.clone();
    // The requested chunk is released under its tag, unless the line is verified as a whole.
    let mac = match (mac.code, stage.parts.release) {
        (MacChoice::OcbChunks, Release::Verified) => {
            MacDesign { place: TagLocation::Region, ..mac.with_chunk_bits(tag_bits) }
        }
        _ => mac.with_line_bits(tag_bits),
    };
    let parts = Parts { mac, ..with_tiny_caches(stage.parts) };
    let mut victim = Victim::checked_blank(&parts, stage.seed, stage.planted);
    victim.write(target, &stage.random.line());
    victim.machine().flush();
    let slot = victim.map().data_slot(target);
    let mut passed = 0;
    for _ in 0..GUESSES {
        let data = stage.random.line();
        victim.attacked(|bus| bus.write(slot, &data));
        passed += u64::from(victim.read(target).0.released.is_some());
        victim.machine().flush();
    }
    passed
}

/// Returns true if the number of passed guesses at every length is as chance predicts.
pub fn tags_in_bound(counts: &BTreeMap<String, u64>) -> bool {
    TAG_LENGTHS.into_iter().all(|bits| {
        let count = |what: String| counts.get(&what).copied().unwrap_or(0);
        is_likely(count(passed(bits)), count(tried(bits)) as f64 * f64::from(-(bits as i32)).exp2())
    })
}

/// Returns true if a rare event with this expectation is likely to happen this number of times (Poisson's distribution).
fn is_likely(happened: u64, expected: f64) -> bool {
    if expected >= MANY {
        return (happened as f64 - expected).abs() <= SIGMAS * expected.sqrt();
    }
    let exactly = |number: u64| (1..=number).fold((-expected).exp(), |chance, of| chance * expected / of as f64);
    let below: f64 = (0..happened).map(exactly).sum();
    1.0 - below >= TAIL && below + exactly(happened) >= TAIL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_accepted_random_tags_fail_the_bound_if_too_high_or_too_low() {
        let counts = |passed_at_8: u64| {
            let mut counts: BTreeMap<String, u64> = TAG_LENGTHS.map(|bits| (tried(bits), 0)).into();
            counts.extend([(tried(8), 25_600), (passed(8), passed_at_8)]);
            counts
        };
        // The expectation is a hundred, with a standard deviation of ten.
        assert!(tags_in_bound(&counts(100)) && tags_in_bound(&counts(71)) && tags_in_bound(&counts(129)));
        assert!(!tags_in_bound(&counts(69)) && !tags_in_bound(&counts(131)));
    }

    #[test]
    fn the_chance_test_accepts_two_hits_for_0_1_expected_and_rejects_three() {
        // By hand: two or more of 0.1 happen in 0.47 %, three or more in 0.015 %; zero of 6 in 0.25 %, zero of 7 in 0.09 %.
        assert!(is_likely(2, 0.1) && !is_likely(3, 0.1));
        assert!(is_likely(0, 6.0) && !is_likely(0, 7.0));
    }
}
