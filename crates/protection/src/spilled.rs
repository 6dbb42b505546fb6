//! Two planted bugs: a design that keeps its encryption key in memory, like software that runs out of registers.
//!
//! The last data slots hold the key, either the key itself or its expanded form (FIPS 197, 5.2). After the power is
//! off, memory keeps the key for a while, and a cold-boot attack searches for it.

use crate::planted::{Bug, PlantedBug};
use crate::verbs::Slot;
use units::{LINE_BYTES, Line, ZERO_LINE};

/// Returns the lines of the key in memory, with their slots, for a memory with `data_lines` lines of data: empty
/// without these bugs.
pub(crate) fn spilled(planted: PlantedBug, key: &[u8], is_aes: bool, data_lines: u64) -> Box<[(Slot, Line)]> {
    let bytes = match planted {
        _ if planted.has(Bug::ScheduleSpilled) && is_aes => expanded(key),
        _ if planted.has(Bug::KeySpilled) => key.to_vec(),
        _ => return Box::default(),
    };
    let first = data_lines - bytes.len().div_ceil(LINE_BYTES) as u64;
    let lines = bytes.chunks(LINE_BYTES).map(|part| {
        let mut line = ZERO_LINE;
        line[..part.len()].copy_from_slice(part);
        line
    });
    (first..).map(Slot).zip(lines).collect()
}

/// Returns all round keys of an AES key of 16, 24 or 32 bytes.
fn expanded(key: &[u8]) -> Vec<u8> {
    let words_of_key = key.len() / 4;
    let mut words: Vec<[u8; 4]> = key.chunks(4).map(|word| std::array::from_fn(|byte| word[byte])).collect();
    let mut round = 1;
    for index in words_of_key..4 * (words_of_key + 7) {
        let mut word = words[index - 1];
        if index % words_of_key == 0 {
            word.rotate_left(1);
            word = word.map(substituted);
            word[0] ^= round;
            round = doubled(round);
        } else if words_of_key > 6 && index % words_of_key == 4 {
            word = word.map(substituted);
        }
        let before = words[index - words_of_key];
        words.push(std::array::from_fn(|byte| word[byte] ^ before[byte]));
    }
    words.concat()
}

/// Returns twice an element of the field of AES.
fn doubled(byte: u8) -> u8 {
    byte << 1 ^ if byte & 0x80 != 0 { 0x1b } else { 0 }
}

/// The S-box: the inverse in the field of AES, which is the 254th power, and an affine map.
fn substituted(byte: u8) -> u8 {
    let times =
        |a: u8, b: u8| (0..8).fold((0, a), |(sum, a), bit| (sum ^ if b >> bit & 1 == 1 { a } else { 0 }, doubled(a))).0;
    let inverse = (0..254).fold(1, |power, _| times(power, byte));
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix A: the keys, and the last word of each expansion.
    #[test]
    fn aes_keys_of_all_sizes_expand_as_in_fips_197() {
        let long = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
        let keys = [
            ("2b7e151628aed2a6abf7158809cf4f3c", 44, 0xb663_0ca6_u32),
            ("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", 52, 0x01002202),
            (long, 60, 0x706c_631e),
        ];
        for (key, words, last) in keys {
            let bytes: Vec<u8> =
                (0..key.len()).step_by(2).map(|at| u8::from_str_radix(&key[at..at + 2], 16).unwrap()).collect();
            let expanded = expanded(&bytes);
            assert_eq!(expanded.len(), 4 * words);
            assert_eq!(expanded[4 * words - 4..], last.to_be_bytes());
        }
    }
}
