//! A stolen module: all that memory holds at one moment, some of it decayed.
//!
//! Cells lose their charge after the power is off, so bits go to zero. The attacker looks for three things that survive it:
//! lines that it knows the plaintext of, lines that share a pad, and key schedules, whose words obey linear rules that no
//! other content does (Halderman et al., USENIX Security 2008).

use super::{Ended, Stage};
use crate::bus::Recording;
use systems::Verdict;
use units::random::Random;
use units::{LINE_BYTES, Line};

/// At most so many of a hundred bits decay.
const DECAY_PERCENT_MAX: u64 = 10;
/// Bytes of an expanded AES-128 key: eleven round keys.
const SCHEDULE_BYTES: usize = 176;
/// A line that differs from what is looked for in fewer bits than this is taken for it: 10 % of decay of each of two lines
/// changes about 50 of 512, chance leaves 256 and is never below 190.
const BITS_APART_MAX: u32 = 120;

pub fn cold_boot(mut stage: Stage<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let percent = stage.random.below(DECAY_PERCENT_MAX + 1);
    let image = decayed(&stage.victim.attacked(|bus| bus.record()), percent, &mut stage.random);
    let texts: Vec<(usize, Line)> = stage
        .victim
        .oracle()
        .lines()
        .into_iter()
        .filter_map(|line| {
            let stored = image.iter().position(|(slot, _)| *slot == line.0)?;
            stage.victim.oracle().current(line).map(|text| (stored, *text))
        })
        .collect();
    let plain = texts.iter().filter(|(_, text)| image.iter().any(|(_, stored)| apart(stored, text) <= BITS_APART_MAX));
    let shares_pad = |a: &(usize, Line), b: &(usize, Line)| {
        apart(&xor(&image[a.0].1, &image[b.0].1), &xor(&a.1, &b.1)) <= BITS_APART_MAX
    };
    let pairs = texts.iter().enumerate().flat_map(|(index, a)| texts[..index].iter().map(move |b| (a, b)));
    let shared = pairs.filter(|(a, b)| shares_pad(a, b)).count() as u64;
    let plain = plain.count() as u64;
    let keys = key_schedules(&image) as u64;
    let verdict = if plain + shared + keys > 0 { Verdict::Leaked } else { Verdict::Hidden };
    let ended = Ended::new(verdict, target).counting("lines of plaintext found", plain);
    Some(ended.counting("pairs under one pad found", shared).counting("key schedules found", keys))
}

/// What is left of an image, slot by slot.
fn decayed(image: &Recording, percent: u64, random: &mut Random) -> Vec<(u64, Line)> {
    let mut decay = |byte: &u8| {
        let lost = (0..8).filter(|_| random.below(100) < percent).fold(0, |lost, bit| lost | 1 << bit);
        byte & !lost
    };
    image
        .slots()
        .map(|(slot, line)| {
            let mut left = line.examine();
            left.iter_mut().for_each(|byte| *byte = decay(byte));
            (slot.0, left)
        })
        .collect()
}

fn xor(a: &Line, b: &Line) -> Line {
    let mut sum = *a;
    sum.iter_mut().zip(b).for_each(|(byte, other)| *byte ^= other);
    sum
}

fn apart(a: &Line, b: &Line) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// How many expanded AES-128 keys an image seems to hold. Next to one, a part of it still looks like one.
fn key_schedules(image: &[(u64, Line)]) -> usize {
    let runs = image.chunk_by(|(slot, _), (next, _)| *next == slot + 1);
    runs.map(|run| {
        let bytes: Vec<u8> = run.iter().flat_map(|(_, line)| *line).collect();
        let windows = bytes.windows(SCHEDULE_BYTES).enumerate().step_by(4);
        let found: Vec<usize> = windows.filter(|(_, window)| is_key_schedule(window)).map(|(start, _)| start).collect();
        found.chunk_by(|start, next| next - start <= SCHEDULE_BYTES).count()
    })
    .sum()
}

/// Whether words obey the linear part of the key expansion (FIPS 197, 5.2): but for the first of a round key, each is the
/// sum of the one before and the one four before. 960 bits in all: 10 % of decay breaks about 135, chance half of them.
fn is_key_schedule(bytes: &[u8]) -> bool {
    const BROKEN_MAX: u32 = 300;
    let word = |index: usize| {
        let bytes = &bytes[4 * index..4 * index + 4];
        bytes.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
    };
    // Blank and nearly blank memory obeys too, and so do nodes with few children; neither is a key.
    const BLANK_WORDS_MAX: usize = 4;
    let blank_words = (0..SCHEDULE_BYTES / 4).filter(|index| word(*index) == 0).count();
    let distinct = bytes[..LINE_BYTES].iter().fold(0_u128, |seen, byte| seen | 1 << (byte % 128)).count_ones();
    let broken = || {
        let checked = (4..SCHEDULE_BYTES / 4).filter(|index| index % 4 != 0);
        checked.map(|index| (word(index) ^ word(index - 1) ^ word(index - 4)).count_ones()).sum::<u32>()
    };
    distinct > 20 && blank_words <= BLANK_WORDS_MAX && broken() <= BROKEN_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use protection::media::Media;
    use protection::verbs::Slot;

    /// The key expansion of FIPS 197, appendix A.1.
    const SCHEDULE: [u32; 44] = [
        0x2b7e1516, 0x28aed2a6, 0xabf71588, 0x09cf4f3c, 0xa0fafe17, 0x88542cb1, 0x23a33939, 0x2a6c7605, 0xf2c295f2,
        0x7a96b943, 0x5935807a, 0x7359f67f, 0x3d80477d, 0x4716fe3e, 0x1e237e44, 0x6d7a883b, 0xef44a541, 0xa8525b7f,
        0xb671253b, 0xdb0bad00, 0xd4d1c6f8, 0x7c839d87, 0xcaf2b8bc, 0x11f915bc, 0x6d88a37a, 0x110b3efd, 0xdbf98641,
        0xca0093fd, 0x4e54f70e, 0x5f5fc9f3, 0x84a64fb2, 0x4ea6dc4f, 0xead27321, 0xb58dbad2, 0x312bf560, 0x7f8d292f,
        0xac7766f3, 0x19fadc21, 0x28d12941, 0x575c006e, 0xd014f9a8, 0xc9ee2589, 0xe13f0cc8, 0xb6630ca6,
    ];

    #[test]
    fn a_key_schedule_is_found_though_a_tenth_of_its_bits_decayed_and_nothing_else_is() {
        let mut random = Random::new(1);
        let mut media = Media::new(64);
        for slot in 0..64 {
            media.write(Slot(slot), &random.line());
        }
        let without = decayed(&Recording::of(&media), 10, &mut random);
        assert_eq!(key_schedules(&without), 0);
        let bytes: Vec<u8> = SCHEDULE.iter().flat_map(|word| word.to_be_bytes()).collect();
        for (slot, part) in bytes.chunks(LINE_BYTES).enumerate() {
            let mut line = random.line();
            line[..part.len()].copy_from_slice(part);
            media.write(Slot(20 + slot as u64), &line);
        }
        for percent in [0, 5, 10] {
            let left = decayed(&Recording::of(&media), percent, &mut random);
            assert_eq!(key_schedules(&left), 1, "{percent} % of decay");
        }
    }
}
