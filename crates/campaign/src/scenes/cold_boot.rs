//! A stolen module: the whole content of memory at one moment, partly decayed.
//!
//! Cells lose their charge after the power is off, so bits become zero. The attacker searches for data that survives this: lines
//! with known plaintext, lines that share a pad, and key schedules of AES. The words of a schedule obey linear rules that no other
//! content obeys (Halderman et al., USENIX Security 2008). A key that is not expanded, or a key of another cipher, obeys no rule,
//! but an attacker that tries every address in memory as a key finds it. So the judge, which knows the keys, checks whether memory
//! contains them.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Recording;
use catalogue::{Attack, Verdict};
use protection::design::Parts;
use units::random::Random;
use units::{LINE_BYTES, Line};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::ColdBoot, cold_boot)];

/// Upper bound of the bits that decay, in percent.
const DECAY_PERCENT_MAX: u64 = 10;
/// The sizes of AES: words of a key, and words of its expansion (FIPS 197, 5.2).
const SIZES: [(usize, usize); 3] = [(4, 44), (6, 52), (8, 60)];
/// A line matches if it differs in fewer of a thousand bits than this. A decay of 10 % in each of two lines changes about 100, and
/// chance leaves 500 and is never below 350.
const THOUSANDTHS_APART_MAX: u32 = 235;

fn cold_boot(mut stage: SceneInput<'_>) -> Option<Ended> {
    let target = stage.any_line();
    let percent = stage.random.below(DECAY_PERCENT_MAX + 1);
    let image = decayed(&stage.victim.attacked(|bus| bus.record()), percent, &mut stage.random);
    let map = stage.victim.map();
    let most_apart = 8 * map.line_bytes() as u32 * THOUSANDTHS_APART_MAX / 1_000;
    let texts: Vec<(usize, Line)> = stage
        .victim
        .oracle()
        .lines()
        .into_iter()
        .filter_map(|line| {
            let stored = image.iter().position(|(slot, _)| *slot == map.data_slot(line).0)?;
            stage.victim.oracle().current(line).map(|text| (stored, *text))
        })
        .collect();
    let plain = texts.iter().filter(|(_, text)| image.iter().any(|(_, stored)| apart(stored, text) <= most_apart));
    let shares_pad = |a: &(usize, Line), b: &(usize, Line)| {
        apart(&xor(&image[a.0].1, &image[b.0].1), &xor(&a.1, &b.1)) <= most_apart
    };
    let pairs = texts.iter().enumerate().flat_map(|(index, a)| texts[..index].iter().map(move |b| (a, b)));
    let shared = pairs.filter(|(a, b)| shares_pad(a, b)).count() as u64;
    let plain = plain.count() as u64;
    let schedules = key_schedules(&image) as u64;
    let keys = keys_as_they_are(&image, &Parts::key_beginnings(stage.seed, stage.planted)) as u64;
    let verdict = if plain + shared + schedules + keys > 0 { Verdict::Leaked } else { Verdict::Hidden };
    let ended = Ended::new(verdict, target).counting("lines of plaintext found", plain);
    let ended = ended.counting("pairs under one pad found", shared);
    Some(ended.counting("key schedules found", schedules).counting("keys found", keys))
}

/// Decays an image, slot by slot.
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

/// Returns the bytes of adjacent slots, run by run.
fn runs(image: &[(u64, Line)]) -> impl Iterator<Item = Vec<u8>> {
    let runs = image.chunk_by(|(slot, _), (next, _)| *next == slot + 1);
    runs.map(|run| run.iter().flat_map(|(_, line)| *line).collect())
}

/// Counts the keys with these first bytes in an image, at any byte. Decay only clears bits, so a decayed key has no bit that the
/// key lacks, and still at least half of its bits. Any other content certainly has bits that the key lacks.
fn keys_as_they_are(image: &[(u64, Line)], beginnings: &[[u8; 16]]) -> usize {
    let left_of = |window: &[u8], key: &[u8; 16]| {
        let key = u128::from_le_bytes(*key);
        let left = window.iter().rev().fold(0_u128, |left, byte| left << 8 | u128::from(*byte));
        left & !key == 0 && 2 * left.count_ones() >= key.count_ones()
    };
    let runs: Vec<Vec<u8>> = runs(image).collect();
    let is_in_image =
        |key: &&[u8; 16]| runs.iter().any(|bytes| bytes.windows(key.len()).any(|window| left_of(window, key)));
    beginnings.iter().filter(is_in_image).count()
}

/// Counts the places in an image that look like expanded AES keys. Next to a schedule, a part of it still looks like one and is
/// not counted again.
fn key_schedules(image: &[(u64, Line)]) -> usize {
    let of_size = |bytes: &[u8], (words_of_key, words): (usize, usize)| {
        let windows = bytes.windows(4 * words).enumerate().step_by(4);
        let found = windows.filter(|(_, window)| is_key_schedule(window, words_of_key));
        let found: Vec<usize> = found.map(|(start, _)| start).collect();
        found.chunk_by(|start, next| next - start <= 4 * words).count()
    };
    runs(image).map(|bytes| SIZES.iter().map(|size| of_size(&bytes, *size)).sum::<usize>()).sum()
}

/// Returns true if words obey the linear part of the key expansion (FIPS 197, 5.2). Each word, except those through the S-box, is
/// the sum of its predecessor and of the word a key's length before. This checks 960 bits or more. A decay of 10 % breaks about a
/// seventh of them, chance half.
fn is_key_schedule(bytes: &[u8], words_of_key: usize) -> bool {
    let word = |index: usize| {
        let bytes = &bytes[4 * index..4 * index + 4];
        bytes.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
    };
    // Blank and nearly blank memory also obeys the rules, and so do nodes with few children; neither is a key.
    const BLANK_WORDS_MAX: usize = 4;
    let words = bytes.len() / 4;
    let blank_words = (0..words).filter(|index| word(*index) == 0).count();
    let distinct = bytes[..LINE_BYTES].iter().fold(0_u128, |seen, byte| seen | 1 << (byte % 128)).count_ones();
    let substituted =
        |index: usize| index.is_multiple_of(words_of_key) || (words_of_key > 6 && index % words_of_key == 4);
    let obeys = || {
        let (mut checked, mut broken) = (0, 0);
        for index in (words_of_key..words).filter(|index| !substituted(*index)) {
            checked += u32::BITS;
            broken += (word(index) ^ word(index - 1) ^ word(index - words_of_key)).count_ones();
        }
        broken * 10 <= checked * 3
    };
    distinct > 20 && blank_words <= BLANK_WORDS_MAX && obeys()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protection::media::Media;
    use protection::verbs::Slot;

    /// The key expansions of FIPS 197, appendix A.1.
    const AES128: [u32; 44] = [
        0x2b7e1516, 0x28aed2a6, 0xabf71588, 0x09cf4f3c, 0xa0fafe17, 0x88542cb1, 0x23a33939, 0x2a6c7605, 0xf2c295f2,
        0x7a96b943, 0x5935807a, 0x7359f67f, 0x3d80477d, 0x4716fe3e, 0x1e237e44, 0x6d7a883b, 0xef44a541, 0xa8525b7f,
        0xb671253b, 0xdb0bad00, 0xd4d1c6f8, 0x7c839d87, 0xcaf2b8bc, 0x11f915bc, 0x6d88a37a, 0x110b3efd, 0xdbf98641,
        0xca0093fd, 0x4e54f70e, 0x5f5fc9f3, 0x84a64fb2, 0x4ea6dc4f, 0xead27321, 0xb58dbad2, 0x312bf560, 0x7f8d292f,
        0xac7766f3, 0x19fadc21, 0x28d12941, 0x575c006e, 0xd014f9a8, 0xc9ee2589, 0xe13f0cc8, 0xb6630ca6,
    ];

    /// The expansion of FIPS 197, appendix A.2.
    const AES192: [u32; 52] = [
        0x8e73b0f7, 0xda0e6452, 0xc810f32b, 0x809079e5, 0x62f8ead2, 0x522c6b7b, 0xfe0c91f7, 0x2402f5a5, 0xec12068e,
        0x6c827f6b, 0x0e7a95b9, 0x5c56fec2, 0x4db7b4bd, 0x69b54118, 0x85a74796, 0xe92538fd, 0xe75fad44, 0xbb095386,
        0x485af057, 0x21efb14f, 0xa448f6d9, 0x4d6dce24, 0xaa326360, 0x113b30e6, 0xa25e7ed5, 0x83b1cf9a, 0x27f93943,
        0x6a94f767, 0xc0a69407, 0xd19da4e1, 0xec1786eb, 0x6fa64971, 0x485f7032, 0x22cb8755, 0xe26d1352, 0x33f0b7b3,
        0x40beeb28, 0x2f18a259, 0x6747d26b, 0x458c553e, 0xa7e1466c, 0x9411f1df, 0x821f750a, 0xad07d753, 0xca400538,
        0x8fcc5006, 0x282d166a, 0xbc3ce7b5, 0xe98ba06f, 0x448c773c, 0x8ecc7204, 0x01002202,
    ];

    /// The expansion of FIPS 197, appendix A.3.
    const AES256: [u32; 60] = [
        0x603deb10, 0x15ca71be, 0x2b73aef0, 0x857d7781, 0x1f352c07, 0x3b6108d7, 0x2d9810a3, 0x0914dff4, 0x9ba35411,
        0x8e6925af, 0xa51a8b5f, 0x2067fcde, 0xa8b09c1a, 0x93d194cd, 0xbe49846e, 0xb75d5b9a, 0xd59aecb8, 0x5bf3c917,
        0xfee94248, 0xde8ebe96, 0xb5a9328a, 0x2678a647, 0x98312229, 0x2f6c79b3, 0x812c81ad, 0xdadf48ba, 0x24360af2,
        0xfab8b464, 0x98c5bfc9, 0xbebd198e, 0x268c3ba7, 0x09e04214, 0x68007bac, 0xb2df3316, 0x96e939e4, 0x6c518d80,
        0xc814e204, 0x76a9fb8a, 0x5025c02d, 0x59c58239, 0xde136967, 0x6ccc5a71, 0xfa256395, 0x9674ee15, 0x5886ca5d,
        0x2e2f31d7, 0x7e0af1fa, 0x27cf73c3, 0x749c47ab, 0x18501dda, 0xe2757e4f, 0x7401905a, 0xcafaaae3, 0xe4d59b34,
        0x9adf6ace, 0xbd10190d, 0xfe4890d1, 0xe6188d0b, 0x046df344, 0x706c631e,
    ];

    #[test]
    fn the_search_finds_a_key_schedule_with_a_tenth_of_its_bits_decayed_and_no_other() {
        let mut random = Random::new(1);
        let mut media = Media::new(64);
        for slot in 0..64 {
            media.write(Slot(slot), &random.line());
        }
        let without = decayed(&Recording::of(&media), 10, &mut random);
        assert_eq!(key_schedules(&without), 0);
        for schedule in [&AES128[..], &AES192, &AES256] {
            let bytes: Vec<u8> = schedule.iter().flat_map(|word| word.to_be_bytes()).collect();
            for (slot, part) in bytes.chunks(LINE_BYTES).enumerate() {
                let mut line = random.line();
                line[..part.len()].copy_from_slice(part);
                media.write(Slot(20 + slot as u64), &line);
            }
            for percent in [0, 5, 10] {
                let left = decayed(&Recording::of(&media), percent, &mut random);
                assert_eq!(key_schedules(&left), 1, "{} words, {percent} % of decay", schedule.len());
            }
        }
    }

    #[test]
    fn a_key_across_two_lines_is_found_and_random_lines_contain_no_key() {
        let mut random = Random::new(2);
        let mut media = Media::new(64);
        (0..64).for_each(|slot| media.write(Slot(slot), &random.line()));
        media.write(Slot(9), &[0; LINE_BYTES]);
        let mut key = [0; 16];
        key.copy_from_slice(&random.line()[..16]);
        assert_eq!(keys_as_they_are(&decayed(&Recording::of(&media), 10, &mut random), &[key]), 0);
        // The key crosses the end of a line.
        let (mut first, mut second) = (random.line(), random.line());
        first[LINE_BYTES - 7..].copy_from_slice(&key[..7]);
        second[..9].copy_from_slice(&key[7..]);
        media.write(Slot(30), &first);
        media.write(Slot(31), &second);
        for percent in [0, 10] {
            let left = decayed(&Recording::of(&media), percent, &mut random);
            assert_eq!(keys_as_they_are(&left, &[key, [0x5a; 16]]), 1, "{percent} % of decay");
        }
    }
}
