//! Contract of every authentication code: a tag matches the line that it was computed for, and no other line.

use super::{Checked, LINE_BITS, codes, composition, flipped, hold, neighbours, placed};
use crate::counter::Counter;
use crate::design::{CipherChoice, CounterChoice, Covered, Keys, MacChoice, MacDesign, TreeKind};
use crate::mac::Mac;
use crate::placement::DataSlot;
use crate::planted::PlantedBug;
use crate::speculation::Bitmap;
use crypto::Tag;
use std::collections::HashSet;
use strum::VariantArray;
use units::random::Random;
use units::{Line, LineLength};

/// A line in its place and version, with its tag.
struct Tagged {
    line: DataSlot,
    counter: Counter,
    text: Line,
    tag: Tag,
}

/// Checks an authentication with a cipher against the contract.
pub fn check(design: &MacDesign, cipher: CipherChoice, planted: PlantedBug) -> Checked {
    let part = |boot| {
        design.build(cipher, (LineLength::WHOLE, false), Keys::new(boot, planted), planted).ok_or("there is no code")
    };
    let (mac, other_boot) = (part(1)?, part(2)?);
    let bits = design.line_bits(cipher);
    let mut random = Random::new(1);
    for _ in 0..3 {
        let (line, counter) = (placed(random.below(1 << 40)), Counter(u128::from(random.word()) << 8 | 0x5a));
        let text = random.line();
        let right = Tagged { line, counter, text, tag: mac.tag(line, counter, Bitmap::NONE, &text) };
        hold(mac.fits(right.tag, mac.tag(line, counter, Bitmap::NONE, &text)), || {
            "a tag does not fit its own line".into()
        })?;
        hold(right.tag >> bits == Tag::default(), || "a tag is longer than it should be".into())?;
        hold(other_boot.tag(line, counter, Bitmap::NONE, &text) != right.tag, || "the key survives a boot".into())?;
        stored_bits(&mac, &right)?;
        places_and_versions(design, &mac, &right)?;
        texts(design, cipher, &mac, &right)?;
        chunks(design, cipher, &mac, &right)?;
    }
    let tag = |line| mac.tag(placed(line), Counter(1), Bitmap::NONE, &random.line());
    let all = (0..64).map(tag).fold(Tag::default(), |all, tag| all | tag);
    hold(all == Tag::ones(bits), || "some bits of a tag are always zero".into())
}

/// Every stored bit is compared, also bits that a short tag leaves unused, and no stored value fits all lines.
fn stored_bits(mac: &Mac, right: &Tagged) -> Checked {
    let room = 8 * mac.tag_layout().bytes as u32;
    for bit in 0..room {
        let flipped = right.tag ^ Tag::from(1_u64) << bit;
        hold(!mac.fits(flipped, right.tag), || format!("bit {bit} of a stored tag is not compared"))?;
    }
    let masters = [Tag::default(), Tag::ones(room), Tag::ones(room) ^ right.tag];
    hold(masters.iter().all(|stored| !mac.fits(*stored, right.tag)), || "a stored tag fits every line".into())
}

/// A tag fits no other place or version if the design covers them, and every one if it does not.
fn places_and_versions(design: &MacDesign, mac: &Mac, right: &Tagged) -> Checked {
    let (lines, counters) = neighbours(right.line, right.counter);
    let covered = |what| design.has_nonce() || design.covers.contains(&what);
    for other in lines {
        let fits = mac.fits(right.tag, mac.tag(other, right.counter, Bitmap::NONE, &right.text));
        hold(fits != covered(Covered::Address), || {
            format!("the tag of {:?} at {other:?}: fits is {fits}", right.line)
        })?;
    }
    for other in counters {
        let fits = mac.fits(right.tag, mac.tag(right.line, other, Bitmap::NONE, &right.text));
        hold(fits != covered(Covered::Counter), || format!("the tag of {:?} under {other:?}: {fits}", right.counter))?;
    }
    Ok(())
}

/// A tag fits a text with a flipped bit only as often as the length of the tag, or of a chunk's share of it, makes
/// likely.
fn texts(design: &MacDesign, cipher: CipherChoice, mac: &Mac, right: &Tagged) -> Checked {
    let share = design.line_bits(cipher) / design.chunks(cipher);
    let likely = LINE_BITS as u64 >> share.min(63);
    let missed: Vec<usize> = (0..LINE_BITS)
        .filter(|bit| {
            mac.fits(right.tag, mac.tag(right.line, right.counter, Bitmap::NONE, &flipped(&right.text, *bit)))
        })
        .collect();
    // For shares below 16 bits the limit is far above the expected number `likely`. Longer shares must detect every
    // flip.
    hold(missed.len() as u64 <= if share < 16 { 5 * likely + 10 } else { 0 }, || {
        format!("flipped bits of the text still fit: {missed:?}")
    })?;
    linear(mac, right)
}

/// If chunks have separate tags, the tags of two chunks do not fit after they are swapped, with the chunks or without.
fn chunks(design: &MacDesign, cipher: CipherChoice, mac: &Mac, right: &Tagged) -> Checked {
    let (number, bits) = (design.chunks(cipher), design.line_bits(cipher));
    // Skips shorter tags, because two of them can be equal by chance.
    if number == 1 || !bits.is_multiple_of(number) || bits / number < 32 {
        return Ok(());
    }
    let (share, bytes) = (bits / number, units::LINE_BYTES / number as usize);
    for (one, other) in (0..number).flat_map(|other| (0..other).map(move |one| (one, other))) {
        // Chunk 0 has the most significant bits of the tag.
        let below = |chunk| (number - 1 - chunk) * share;
        let of = |chunk| right.tag >> below(chunk) << (Tag::BITS - share) >> (Tag::BITS - share);
        let differing = of(one) ^ of(other);
        let swapped = right.tag ^ differing << below(one) ^ differing << below(other);
        hold(!mac.fits(swapped, right.tag), || format!("the tags of chunks {one} and {other} fit when swapped"))?;
        let mut text = right.text;
        let (low, high) = text.split_at_mut(other as usize * bytes);
        low[one as usize * bytes..][..bytes].swap_with_slice(&mut high[..bytes]);
        let fits = mac.fits(swapped, mac.tag(right.line, right.counter, Bitmap::NONE, &text));
        hold(!fits, || format!("chunks {one} and {other} fit when swapped with their tags"))?;
    }
    Ok(())
}

/// The sum of three tags under three nonces must not be the tag of the summed text: it is if the masks repeat.
fn linear(mac: &Mac, right: &Tagged) -> Checked {
    let mut random = Random::new(right.tag.low_word());
    let texts = [random.line(), random.line(), random.line()];
    let at = |index: u128| Counter(right.counter.0 ^ index);
    let sum: Line = std::array::from_fn(|byte| texts.iter().fold(0, |sum, text| sum ^ text[byte]));
    let tags = texts.iter().zip(1..).map(|(text, index)| mac.tag(right.line, at(index), Bitmap::NONE, text));
    let tag = tags.fold(Tag::default(), |sum, tag| sum ^ tag);
    hold(tag != mac.tag(right.line, at(0), Bitmap::NONE, &sum), || {
        "three tags add up to the tag of a sum: their mask repeats".into()
    })
}

/// Pairs each authentication with the last cipher that the rules allow it with.
fn choices() -> Vec<(MacDesign, CipherChoice)> {
    let cipher_with = |mac: &MacDesign| {
        let fits = |cipher: &&CipherChoice| {
            composition(**cipher, CounterChoice::Sc64, mac, &TreeKind::None.into()).check().is_ok()
        };
        CipherChoice::VARIANTS.iter().rfind(fits).copied()
    };
    let authenticated = codes().into_iter().filter(|mac| mac.code != MacChoice::None);
    authenticated.filter_map(|mac| cipher_with(&mac).map(|cipher| (mac, cipher))).collect()
}

#[test]
fn every_mac_passes_the_conformance_check_of_macs() {
    let choices = choices();
    for (mac, cipher) in &choices {
        assert_eq!(check(mac, *cipher, PlantedBug::NONE), Ok(()), "{mac:?} beside {cipher:?}");
    }
    let codes: HashSet<_> = choices.iter().map(|(mac, _)| mac.code as u8).collect();
    assert_eq!(codes.len(), MacChoice::VARIANTS.len() - 1, "every code was checked");
}
