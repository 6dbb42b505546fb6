//! Contract of every cipher: decryption reverses encryption, and changed bits, places or versions do not decrypt to the
//! text.

use super::{Checked, LINE_BITS, flipped, hold, neighbours, placed};
use crate::cipher::{Cipher, NonceInputs};
use crate::counter::Counter;
use crate::design::CipherChoice;
use crate::design::Keys;
use crate::placement::DataSlot;
use crate::planted::PlantedBug;
use std::collections::HashSet;
use strum::VariantArray;
use units::Line;
use units::random::Random;

/// Checks a choice of cipher against the contract.
pub fn check(choice: CipherChoice, planted: PlantedBug) -> Checked {
    let mut random = Random::new(1);
    let cipher = choice.build(Keys::new(1, planted), planted);
    let other_boot = choice.build(Keys::new(2, planted), planted);
    let encrypts = choice != CipherChoice::None;
    hold(encrypts == (cipher.uses().is_some()), || "only encryption uses the block cipher".into())?;
    for _ in 0..3 {
        let (line, counter) = (placed(random.below(1 << 40)), Counter(u128::from(random.word()) << 8 | 0x5a));
        let text = random.line();
        let sealed = cipher.seal(line, counter, &text);
        hold(cipher.open(line, counter, &sealed) == text, || "what is sealed cannot be opened".into())?;
        hold((sealed != text) == encrypts, || "the ciphertext is the plaintext".into())?;
        hold((other_boot.seal(line, counter, &text) != sealed) == encrypts, || "the key survives a boot".into())?;
        places_and_versions(choice, &cipher, (line, counter), &text)?;
        flips(&cipher, (line, counter), &text)?;
    }
    blocks(choice, &cipher)
}

/// The ciphertext must differ at any other place and, if the mode uses versions, under any other version.
fn places_and_versions(choice: CipherChoice, cipher: &Cipher, at: (DataSlot, Counter), text: &Line) -> Checked {
    let (line, counter) = at;
    let sealed = cipher.seal(line, counter, text);
    let (lines, counters) = neighbours(line, counter);
    let (placed, versioned) = (places_matter(choice), choice.nonce_inputs() != NonceInputs::Address);
    for other in lines {
        let differs = cipher.seal(other, counter, text) != sealed && cipher.open(other, counter, &sealed) != *text;
        hold(differs == placed, || format!("the place is not in the ciphertext: {line:?} is as good as {other:?}"))?;
    }
    for other in counters {
        let differs = cipher.seal(line, other, text) != sealed && cipher.open(line, other, &sealed) != *text;
        hold(differs == versioned, || format!("the version is not in the ciphertext: {counter:?}, {other:?}"))?;
    }
    let fresh = choice.nonce_inputs() == NonceInputs::FreshNonce;
    let (lines, counters) = neighbours(line, counter);
    let nonces = lines.iter().map(|line| cipher.nonce(*line, counter));
    let nonces: HashSet<_> = nonces.chain(counters.iter().map(|counter| cipher.nonce(line, *counter))).collect();
    let expected = if fresh { lines.len() + counters.len() } else { 1 };
    hold(nonces.len() == expected && nonces.contains(&None) != fresh, || "two lines or versions share a nonce".into())
}

/// A flipped bit of ciphertext must change the plaintext: only that bit if the mode is a keystream, otherwise more.
fn flips(cipher: &Cipher, (line, counter): (DataSlot, Counter), text: &Line) -> Checked {
    let sealed = cipher.seal(line, counter, text);
    (0..LINE_BITS).try_for_each(|bit| {
        let opened = cipher.open(line, counter, &flipped(&sealed, bit));
        hold((opened == flipped(text, bit)) == cipher.works_by_word(), || {
            format!("bit {bit} flips by itself, or does not, unlike what the mode says of itself")
        })?;
        hold(opened != *text, || format!("bit {bit} of the ciphertext does not matter"))
    })
}

/// Equal blocks of a line must not look equal, except under a codebook.
fn blocks(choice: CipherChoice, cipher: &Cipher) -> Checked {
    let sealed = cipher.seal(placed(3), Counter(4), &[7; 64]);
    let different: HashSet<&[u8]> = sealed.chunks(8).collect();
    hold((different.len() == 8) == places_matter(choice), || "equal blocks of a line look equal".into())
}

/// Returns true if the mode takes the place of a line and of its blocks as input: all modes except a codebook.
fn places_matter(choice: CipherChoice) -> bool {
    choice != CipherChoice::None && !choice.weaknesses(true).any(|word| word == "equal blocks look equal")
}

#[test]
fn every_cipher_passes_the_conformance_check_of_ciphers() {
    for choice in CipherChoice::VARIANTS {
        assert_eq!(check(*choice, PlantedBug::NONE), Ok(()), "{choice:?}");
    }
}
