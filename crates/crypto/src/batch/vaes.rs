//! Four lines at once with AVX-512, VAES and VPCLMULQDQ.
//!
//! A register holds the four blocks of one line; a fifth holds the blocks that mask the four tags. After the products of
//! each line are summed over its blocks, lane n of a register belongs to line n, and all four reductions are one.

use super::aesni::{AesNi, ROUND_KEYS, expand};
use super::hash_key::HashKey;
use super::{GcmNonce, GcmTag};
use crate::Key;
use std::arch::x86_64::*;
use std::array::from_fn;
use units::{Line, ZERO_LINE};

/// Lines that are processed together.
const GROUP: usize = 4;

/// An expanded key. It exists only on a processor with the instructions.
pub struct Vaes {
    /// Round keys, each in all four lanes.
    keys: [__m512i; ROUND_KEYS],
    /// Powers of the hash key: the fifth in the lane of a line's first block, and so on.
    powers: __m512i,
    /// Product of the block of lengths and the key, in all four lanes.
    lengths: __m512i,
    /// Engine for lines that do not fill a group: a group with empty places would take longer.
    narrow: AesNi,
}

impl Vaes {
    /// Expands the key, if the processor has the instructions.
    pub fn new(key: &Key) -> Option<Vaes> {
        let found = is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq");
        let narrow = AesNi::new(key)?;
        // SAFETY: the instructions that `expanded` is compiled for were found.
        found.then(|| unsafe { Vaes::expanded(key, narrow) })
    }

    #[target_feature(enable = "aes,avx512f,avx512bw,avx512dq,vaes,vpclmulqdq")]
    fn expanded(key: &Key, narrow: AesNi) -> Vaes {
        let hash = HashKey::new(&key.cipher());
        let mut powers = ZERO_LINE;
        for (lane, power) in powers.as_chunks_mut::<16>().0.iter_mut().zip(hash.powers) {
            *lane = power.to_le_bytes();
        }
        let lengths = super::aesni::load(&hash.lengths.to_le_bytes());
        Vaes {
            keys: expand(key).map(|key| _mm512_broadcast_i32x4(key)),
            powers: load(&powers),
            lengths: _mm512_broadcast_i32x4(lengths),
            narrow,
        }
    }

    pub fn seal(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        let (nonces, nonces_left) = nonces.as_chunks();
        let (lines, lines_left) = lines.as_chunks_mut();
        let (tags, tags_left) = tags.as_chunks_mut();
        // SAFETY: a `Vaes` exists only where the instructions do.
        unsafe { self.seal_groups(nonces, lines, tags) }
        self.narrow.seal(nonces_left, lines_left, tags_left);
    }

    pub fn open(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag], fits: &mut [bool]) {
        let (nonces, nonces_left) = nonces.as_chunks();
        let (lines, lines_left) = lines.as_chunks_mut();
        let (tags, tags_left) = tags.as_chunks();
        let (fits, fits_left) = fits.as_chunks_mut();
        // SAFETY: a `Vaes` exists only where the instructions do.
        unsafe { self.open_groups(nonces, lines, tags, fits) }
        self.narrow.open(nonces_left, lines_left, tags_left, fits_left);
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,vaes,vpclmulqdq")]
    fn seal_groups(&self, nonces: &[[GcmNonce; GROUP]], lines: &mut [[Line; GROUP]], tags: &mut [[GcmTag; GROUP]]) {
        // A group is hashed while the next one is encrypted: directly after its encryption, the hash would wait for the
        // ciphertext.
        let mut behind: Option<(&mut [GcmTag; GROUP], __m512i, [__m512i; GROUP])> = None;
        for ((nonces, lines), tags) in nonces.iter().zip(lines).zip(tags) {
            let [masks, pads @ ..] = self.keystream(nonces);
            let sealed: [__m512i; GROUP] = from_fn(|line| _mm512_xor_si512(load(&lines[line]), pads[line]));
            lines.iter_mut().zip(sealed).for_each(|(line, sealed)| store(line, sealed));
            if let Some((tags, masks, sealed)) = behind.replace((tags, masks, sealed)) {
                store(as_line_mut(tags), _mm512_xor_si512(masks, self.hash(sealed)));
            }
        }
        if let Some((tags, masks, sealed)) = behind {
            store(as_line_mut(tags), _mm512_xor_si512(masks, self.hash(sealed)));
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,vaes,vpclmulqdq")]
    fn open_groups(
        &self,
        nonces: &[[GcmNonce; GROUP]],
        lines: &mut [[Line; GROUP]],
        tags: &[[GcmTag; GROUP]],
        fits: &mut [[bool; GROUP]],
    ) {
        for (((nonces, lines), tags), fits) in nonces.iter().zip(lines).zip(tags).zip(fits) {
            self.open_group(nonces, lines, tags, fits);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,vaes,vpclmulqdq")]
    #[inline]
    fn open_group(
        &self,
        nonces: &[GcmNonce; GROUP],
        lines: &mut [Line; GROUP],
        tags: &[GcmTag; GROUP],
        fits: &mut [bool; GROUP],
    ) {
        let [masks, pads @ ..] = self.keystream(nonces);
        let sealed: [__m512i; GROUP] = from_fn(|line| load(&lines[line]));
        let computed = _mm512_xor_si512(masks, self.hash(sealed));
        let stored = load(tags.as_flattened().try_into().expect("four tags are as long as a line"));
        // Two bits for each line, one for each half of its tag. All bytes are compared, whichever differs.
        let equal = _mm512_cmpeq_epi64_mask(computed, stored);
        // A verdict is not secret, and nearly always good: so the processor need not wait for it.
        for line in 0..GROUP {
            store(&mut lines[line], _mm512_xor_si512(sealed[line], pads[line]));
        }
        *fits = [true; GROUP];
        if equal != 0xff {
            refuse(equal, lines, fits);
        }
    }

    /// Returns the masks of four tags, and the pads of four lines.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,vaes,vpclmulqdq")]
    #[inline]
    fn keystream(&self, nonces: &[GcmNonce; GROUP]) -> [__m512i; 1 + GROUP] {
        let nonces = spread(nonces);
        // The number of a block is in its last byte: 1 for masks, 2 to 5 for a line's blocks.
        let number = |blocks: [i64; 4]| {
            let [a, b, c, d] = blocks.map(|block| block << 56);
            _mm512_set_epi64(d, 0, c, 0, b, 0, a, 0)
        };
        let own = _mm512_xor_si512(number([2, 3, 4, 5]), self.keys[0]);
        let mut blocks = [
            _mm512_xor_si512(nonces, _mm512_xor_si512(number([1; 4]), self.keys[0])),
            _mm512_xor_si512(_mm512_shuffle_i64x2::<0x00>(nonces, nonces), own),
            _mm512_xor_si512(_mm512_shuffle_i64x2::<0x55>(nonces, nonces), own),
            _mm512_xor_si512(_mm512_shuffle_i64x2::<0xaa>(nonces, nonces), own),
            _mm512_xor_si512(_mm512_shuffle_i64x2::<0xff>(nonces, nonces), own),
        ];
        for key in &self.keys[1..ROUND_KEYS - 1] {
            blocks = blocks.map(|block| _mm512_aesenc_epi128(block, *key));
        }
        blocks.map(|block| _mm512_aesenclast_epi128(block, self.keys[ROUND_KEYS - 1]))
    }

    /// Returns GHASH of four lines of ciphertext and their length: lane n of the result is line n's.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,vaes,vpclmulqdq")]
    #[inline]
    fn hash(&self, sealed: [__m512i; GROUP]) -> __m512i {
        let sealed = sealed.map(|line| reverse(line));
        let low = sum_of_lanes(sealed.map(|line| _mm512_clmulepi64_epi128::<0x00>(line, self.powers)));
        let high = sum_of_lanes(sealed.map(|line| _mm512_clmulepi64_epi128::<0x11>(line, self.powers)));
        let middle = sum_of_lanes(sealed.map(|line| {
            _mm512_xor_si512(
                _mm512_clmulepi64_epi128::<0x01>(line, self.powers),
                _mm512_clmulepi64_epi128::<0x10>(line, self.powers),
            )
        }));
        let mut low = _mm512_xor_si512(low, _mm512_bslli_epi128::<8>(middle));
        let high = _mm512_xor_si512(high, _mm512_bsrli_epi128::<8>(middle));
        // Two steps of Montgomery's reduction, as in the narrow kernel.
        let reduction = _mm512_set1_epi64(0xc200_0000_0000_0000_u64 as i64);
        for _ in 0..2 {
            let folded = _mm512_clmulepi64_epi128::<0x00>(low, reduction);
            low = _mm512_xor_si512(_mm512_shuffle_epi32::<0x4e>(low), folded);
        }
        reverse(_mm512_xor_si512(_mm512_xor_si512(low, high), self.lengths))
    }
}

/// Refuses those of four lines that do not have both of their bits set.
#[cold]
fn refuse(equal: u8, lines: &mut [Line; GROUP], fits: &mut [bool; GROUP]) {
    for (position, (line, fits)) in lines.iter_mut().zip(fits).enumerate() {
        if equal >> (2 * position) & 3 != 3 {
            (*line, *fits) = (ZERO_LINE, false);
        }
    }
}

/// Returns four nonces of twelve bytes, each at the beginning of a lane, followed by zeros.
#[target_feature(enable = "avx512f")]
#[inline]
fn spread(nonces: &[GcmNonce; GROUP]) -> __m512i {
    // SAFETY: the nonces have twelve words of four bytes, the mask excludes further words, and the load needs no
    // alignment.
    let packed = unsafe { _mm512_maskz_loadu_epi32(0x0fff, nonces.as_ptr().cast()) };
    let words = _mm512_set_epi32(0, 11, 10, 9, 0, 8, 7, 6, 0, 5, 4, 3, 0, 2, 1, 0);
    _mm512_maskz_permutexvar_epi32(0x7777, words, packed)
}

/// Returns the sum of the four lanes of each of four lines: lane n of the result is line n's.
#[target_feature(enable = "avx512f")]
#[inline]
fn sum_of_lanes([a, b, c, d]: [__m512i; GROUP]) -> __m512i {
    let halve = |a, b| _mm512_xor_si512(_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
    halve(halve(a, b), halve(c, d))
}

/// Reverses the bytes of every lane.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn reverse(lanes: __m512i) -> __m512i {
    let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    _mm512_shuffle_epi8(lanes, _mm512_broadcast_i32x4(order))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(line: &Line) -> __m512i {
    // SAFETY: a line has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(line: &mut Line, lanes: __m512i) {
    // SAFETY: there is room for 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), lanes) }
}

fn as_line_mut(tags: &mut [GcmTag; GROUP]) -> &mut Line {
    tags.as_flattened_mut().try_into().expect("four tags are as long as a line")
}
