//! Leakage by one image of memory: the ciphertext of many lines may not look random.
//!
//! The scenes in `leaks.rs` watch one line over time for equal ciphertext. The attacker here has one image of the module and
//! knows its whole content: zeros, or eight values again and again. It searches for a pattern across addresses. Two statistics
//! detect a pattern, each with a bound that random bytes exceed less than once in 10^12 images:
//!
//! * Pearson's X² of the frequency of each byte, with 255 degrees of freedom. Its bound 255 + 2 √(255 · 30) + 60 is exceeded
//!   with a probability below e^-30 (Laurent and Massart, Annals of Statistics 28(5), 2000, lemma 1).
//! * The number of repeated words of eight bytes. Among 1,024 random ones a word occurs twice with a probability of
//!   3 · 10^-14. This detects equal blocks of 16 bytes or of eight.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::frequent;
use crate::victim::Victim;
use catalogue::{Attack, Verdict};
use std::collections::BTreeMap;
use units::{LINES_PER_PAGE, Line, LineAddr, WORD_BYTES, ZERO_LINE};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::CiphertextHistogram, ciphertext_histogram)];

/// Number of pages in the image.
const PAGES: u64 = 2;
/// Negative logarithm of the probability that random bytes exceed the bound of X².
const RARE: f64 = 30.0;
/// Degrees of freedom: values of a byte, less one.
const FREEDOM: f64 = 255.0;

fn ciphertext_histogram(mut stage: SceneInput<'_>) -> Option<Ended> {
    let page = stage.any_line().0 / LINES_PER_PAGE as u64 / PAGES * PAGES;
    let lines: Vec<LineAddr> =
        (0..PAGES * LINES_PER_PAGE as u64).map(|line| LineAddr(page * LINES_PER_PAGE as u64 + line)).collect();
    let zeros = stage.random.below(2) == 0;
    for line in &lines {
        let content = if zeros { ZERO_LINE } else { frequent::line_of(&frequent::VALUES, &mut stage.random) };
        stage.victim.write(*line, &content);
    }
    stage.victim.machine().flush();
    let image = image_of(&stage.victim, &lines);
    let (uneven, repeated) = (is_uneven(&image), repeated_words(&image));
    let verdict = if passes_for_random(&image) { Verdict::Hidden } else { Verdict::Leaked };
    let ended = Ended::new(verdict, lines[0]).counting("images with uneven bytes", u64::from(uneven));
    Some(ended.counting("words seen before in their image", repeated))
}

/// Returns the content of lines in memory, 64 bytes by 64 bytes.
fn image_of(victim: &Victim, lines: &[LineAddr]) -> Vec<Line> {
    let bytes: Vec<u8> = victim.attacked(|bus| {
        let shown = lines.iter().filter_map(|line| bus.read_structure(Structure::Data, *line));
        shown.flat_map(|content| content.into_iter().take(bus.map().line_bytes())).collect()
    });
    bytes.as_chunks().0.to_vec()
}

/// Returns true if lines look random: their bytes occur evenly, and no word occurs twice.
pub fn passes_for_random(image: &[Line]) -> bool {
    !is_uneven(image) && repeated_words(image) == 0
}

/// Returns true if bytes occur more unevenly than random ones do.
fn is_uneven(image: &[Line]) -> bool {
    let mut occurred = [0_u32; 256];
    image.iter().flatten().for_each(|byte| occurred[usize::from(*byte)] += 1);
    let expected = image.iter().map(|line| line.len()).sum::<usize>() as f64 / 256.0;
    let x_squared: f64 = occurred.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    x_squared > FREEDOM + 2.0 * (FREEDOM * RARE).sqrt() + 2.0 * RARE
}

/// Counts the words that occurred before.
fn repeated_words(image: &[Line]) -> u64 {
    let mut occurred: BTreeMap<&[u8], u64> = BTreeMap::new();
    image
        .iter()
        .flat_map(|line| line.chunks_exact(WORD_BYTES))
        .for_each(|word| *occurred.entry(word).or_default() += 1);
    occurred.values().map(|times| times - 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    fn image(make: impl FnMut() -> Line) -> Vec<Line> {
        std::iter::repeat_with(make).take(PAGES as usize * LINES_PER_PAGE).collect()
    }

    #[test]
    fn the_byte_histogram_accepts_random_memory_and_rejects_bytes_with_a_constant_bit() {
        for seed in 0..1_000 {
            let mut random = Random::new(seed);
            let image = image(|| random.line());
            assert_eq!((is_uneven(&image), repeated_words(&image)), (false, 0), "seed {seed}");
        }
        let mut random = Random::new(1);
        let image = image(|| random.line().map(|byte| byte & 0xf7));
        assert_eq!((is_uneven(&image), repeated_words(&image)), (true, 0));
    }

    #[test]
    fn the_histogram_counts_repeated_words_of_an_image_at_any_aligned_position() {
        let mut random = Random::new(1);
        let mut image = image(|| random.line());
        let word: Vec<u8> = image[3][8..16].to_vec();
        image[5][16..24].copy_from_slice(&word);
        image[90][0..8].copy_from_slice(&word);
        assert_eq!((repeated_words(&image), is_uneven(&image)), (2, false));
    }
}
