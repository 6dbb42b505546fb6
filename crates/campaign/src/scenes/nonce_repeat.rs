//! The forbidden attack: the damage of a repeated nonce to a Carter-Wegman code.
//!
//! Two lines under one nonce have the same mask, so the difference of their tags is the difference of their hashes.
//! This difference is a polynomial in the hash key H, the only secret in it (Joux, "Authentication failures in NIST
//! version of GCM", 2006). Tags here are cut to `t` bits, so one pair gives `t` equations, not 128. The attack makes
//! them linear: if lines differ only in their last block, by D, the hashes differ by D * H^2. Enough pairs give 128
//! independent equations for H^2; its square root is H. With H the attacker can correct the tag for any change of a
//! line.
//!
//! The scene assumes a fault that no design here has: a machine that keeps its key when it is switched off and on but loses
//! its counters. A code without a nonce or a polynomial gives meaningless equations, and the forgery fails.

use super::{Ended, SceneInput, Scenes};
use crate::bus::Structure;
use crate::victim::Victim;
use catalogue::Attack;
use protection::design::{CounterChoice, MacChoice};
use units::{LINE_BYTES, Line, LineAddr};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::ForbiddenAttack, forbidden_attack)];

const BLOCK: usize = 16;
const BLOCKS: usize = LINE_BYTES / BLOCK;

fn forbidden_attack(mut stage: SceneInput<'_>) -> Option<Ended> {
    if stage.parts.mac.code == MacChoice::None || stage.parts.counters == CounterChoice::None {
        return None;
    }
    let target = stage.any_line();
    // GHASH has 128 bits; a longer tag contributes only this number.
    let bits = stage.parts.mac.line_bits(stage.parts.cipher).min(u128::BITS);
    let known = stage.random.line();
    // A machine with the same keys and with lost counters.
    let boot = stage.blank(stage.seed);
    let first = sealed_after_boot(&boot, target, &known)?;
    let pairs = 128_usize.div_ceil(bits as usize) + 1;
    let mut equations = Equations::default();
    for _ in 0..pairs {
        let mut varied = known;
        varied[LINE_BYTES - BLOCK..].copy_from_slice(&stage.random.line()[..BLOCK]);
        let seen = sealed_after_boot(&boot, target, &varied)?;
        equations.add_pair(block(&seen.0, BLOCKS - 1) ^ block(&first.0, BLOCKS - 1), seen.1 ^ first.1, bits);
    }
    let solved = equations.solve();
    let key = solved.map_or(0, square_root);
    let victim = after_boot(&boot, target, &known);
    let wanted = stage.random.line();
    forge(&victim, target, &known, &wanted, key, bits)?;
    let verdict = victim.oracle().judge(target, &victim.read(target).0, Some(wanted));
    let ended = Ended::new(verdict, target).counting("nonces made to repeat", pairs as u64);
    Some(ended.counting("hash keys solved for", u64::from(solved.is_some())))
}

/// Returns a machine that was just switched on, after its first write.
fn after_boot(boot: &Victim, target: LineAddr, content: &Line) -> Victim {
    let mut victim = boot.twin();
    victim.write(target, content);
    victim.machine().flush();
    victim
}

/// Returns the ciphertext and the tag after the first write.
fn sealed_after_boot(boot: &Victim, target: LineAddr, content: &Line) -> Option<(Line, u128)> {
    let victim = after_boot(boot, target, content);
    let data = victim.attacked(|bus| bus.read_structure(Structure::Data, target))?;
    Some((data, stored_tag(&victim, target)?))
}

fn stored_tag(victim: &Victim, target: LineAddr) -> Option<u128> {
    let (slot, bytes) = victim.map().slot_bytes(Structure::Tag, target)?;
    let cell = victim.attacked(|bus| bus.read_cell(slot));
    Some(cell[bytes].iter().rev().fold(0, |tag, byte| tag << 8 | u128::from(*byte)))
}

/// Changes the ciphertext by the wanted change of the plaintext, and the tag by the resulting change of the hash.
fn forge(victim: &Victim, target: LineAddr, known: &Line, wanted: &Line, key: u128, bits: u32) -> Option<()> {
    let mut change: Line = *known;
    change.iter_mut().zip(wanted).for_each(|(byte, wanted)| *byte ^= wanted);
    let tag = stored_tag(victim, target)? ^ change_of_tag(&change, key, bits);
    let (slot, bytes) = victim.map().slot_bytes(Structure::Tag, target)?;
    victim.attacked(|bus| {
        let mut data = bus.read_structure(Structure::Data, target)?;
        data.iter_mut().zip(&change).for_each(|(byte, change)| *byte ^= change);
        bus.write(victim.map().slot_bytes(Structure::Data, target)?.0, &data);
        let (tag, bytes) = (tag.to_le_bytes(), bytes.start..bytes.end.min(bytes.start + size_of::<u128>()));
        bus.write_bytes(slot, bytes.clone(), &tag[..bytes.len()]);
        Some(())
    })
}

/// Returns the change of a GMAC tag of `bits` bits for a change of its line, under this hash key.
pub fn change_of_tag(change: &Line, key: u128, bits: u32) -> u128 {
    // The hash sums the line's blocks and the block of lengths, each times one more power of the key than the next.
    let hash = (0..BLOCKS).fold(0, |sum, index| times(sum ^ block(change, index), key));
    first_bits(times(hash, key), bits)
}

fn block(line: &Line, index: usize) -> u128 {
    line[index * BLOCK..(index + 1) * BLOCK].iter().fold(0, |block, byte| block << 8 | u128::from(*byte))
}

/// Returns the first bits of a hash, as tags contain them.
fn first_bits(hash: u128, bits: u32) -> u128 {
    hash >> (u128::BITS - bits)
}

/// Multiplies in the field of GHASH: the first bit is the coefficient of 1 (NIST SP 800-38D, 6.3).
fn times(a: u128, b: u128) -> u128 {
    let mut product = 0;
    let mut shifted = b;
    for bit in (0..128).rev() {
        if a >> bit & 1 == 1 {
            product ^= shifted;
        }
        shifted = next_power(shifted);
    }
    product
}

/// Multiplies by the element x of the field; all elements are polynomials in x.
fn next_power(a: u128) -> u128 {
    a >> 1 ^ if a & 1 == 1 { 0xe1 << 120 } else { 0 }
}

/// Returns the square root of an element: squaring 127 times is the inverse of squaring.
fn square_root(element: u128) -> u128 {
    (0..127).fold(element, |root, _| times(root, root))
}

/// Linear equations over single bits for an unknown element of the field, in echelon form: `rows[i]` begins at bit `i`.
struct Equations {
    rows: [Option<(u128, bool)>; 128],
    contradictory: bool,
}

impl Default for Equations {
    fn default() -> Equations {
        Equations { rows: [None; 128], contradictory: false }
    }
}

impl Equations {
    /// Adds the equations that the first bits of `factor` times the unknown equal `tags`.
    fn add_pair(&mut self, factor: u128, tags: u128, bits: u32) {
        // One column for each bit of the unknown, from the first, which is the coefficient of 1.
        let columns: Vec<u128> =
            std::iter::successors(Some(factor), |column| Some(next_power(*column))).take(128).collect();
        for bit in 0..bits {
            let of_result = 127 - bit;
            let row = columns.iter().fold(0, |row, column| row << 1 | column >> of_result & 1);
            self.add(row, tags >> (bits - 1 - bit) & 1 == 1);
        }
    }

    fn add(&mut self, mut row: u128, mut value: bool) {
        while row != 0 {
            let first = row.ilog2() as usize;
            match self.rows[first] {
                Some((known, with)) => (row, value) = (row ^ known, value ^ with),
                None => {
                    self.rows[first] = Some((row, value));
                    return;
                }
            }
        }
        self.contradictory |= value;
    }

    /// Returns the unknown, if the equations determine it and do not contradict each other.
    fn solve(&self) -> Option<u128> {
        let mut solution = 0_u128;
        for (bit, row) in self.rows.iter().enumerate() {
            let (row, value) = (*row)?;
            let rest = (row & solution).count_ones() % 2 == 1;
            solution |= u128::from(value ^ rest) << bit;
        }
        (!self.contradictory).then_some(solution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_ghash() {
        // The first step of test case 2 of the GCM specification.
        let key = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e;
        let text = 0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78;
        assert_eq!(times(text, key), 0x5e2e_c746_9170_6288_2c85_b068_5353_deb7);
    }

    #[test]
    fn the_square_root_in_the_ghash_field_inverts_squaring() {
        let element = 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978;
        assert_eq!(square_root(times(element, element)), element);
    }

    #[test]
    fn three_56_bit_tag_pairs_of_reused_nonces_determine_the_128_bit_hash_key() {
        let unknown = 0xfedc_ba98_7654_3210_0011_2233_4455_6677;
        let mut equations = Equations::default();
        for factor in [3_u128 << 100, 0x1234_5678_9abc << 40, 0xdead_beef] {
            assert_eq!(equations.solve(), None);
            equations.add_pair(factor, first_bits(times(factor, unknown), 56), 56);
        }
        assert_eq!(equations.solve(), Some(unknown));
    }
}
