//! Tests that all modes and codes share, and the files of Wycheproof.

mod common;
mod counting;
mod wycheproof;

use crate::Nonce;
use hex_literal::hex;
use units::Line;

/// The four blocks that most examples of NIST encrypt.
pub(crate) const SP800_38A_PLAINTEXT: Line = hex!(
    "6bc1bee22e409f96e93d7e117393172a" "ae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52ef" "f69f2445df4f9b17ad2b417be66c3710"
);

/// Returns the nonce of a line under a counter.
pub(crate) fn nonce(line: u64, counter: u128) -> Nonce {
    Nonce::new(line, counter)
}
