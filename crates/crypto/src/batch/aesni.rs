//! Line after line with AES-NI and PCLMULQDQ: the five blocks of a line go through AES side by side, its four products
//! share one reduction.

use super::hash_key::HashKey;
use super::portable::counter_block;
use super::{GcmNonce, GcmTag};
use crate::Key;
use std::arch::x86_64::*;
use std::array::from_fn;
use units::{Line, ZERO_LINE};

/// Number of round keys of AES-128: one more than its rounds.
pub const ROUND_KEYS: usize = 11;

/// An expanded key. It exists only on a processor with the instructions.
pub struct AesNi {
    keys: [__m128i; ROUND_KEYS],
    powers: [__m128i; 4],
    lengths: __m128i,
}

impl AesNi {
    /// Expands the key, if the processor has the instructions.
    pub fn new(key: &Key) -> Option<AesNi> {
        let found = is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("ssse3");
        // SAFETY: the instructions that these functions are compiled for were found.
        found.then(|| unsafe {
            let hash = HashKey::new(&key.cipher());
            let powers = hash.powers.map(|power| load(&power.to_le_bytes()));
            AesNi { keys: expand(key), powers, lengths: load(&hash.lengths.to_le_bytes()) }
        })
    }

    pub fn seal(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        // SAFETY: an `AesNi` exists only where the instructions do.
        unsafe { self.seal_all(nonces, lines, tags) }
    }

    pub fn open(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag], fits: &mut [bool]) {
        // SAFETY: an `AesNi` exists only where the instructions do.
        unsafe { self.open_all(nonces, lines, tags, fits) }
    }

    #[target_feature(enable = "aes,pclmulqdq,ssse3")]
    fn seal_all(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        for ((nonce, line), tag) in nonces.iter().zip(lines).zip(tags) {
            let [mask, pads @ ..] = self.keystream(nonce);
            let text = blocks(line);
            let sealed = from_fn(|block| _mm_xor_si128(text[block], pads[block]));
            store_line(line, &sealed);
            store(tag, _mm_xor_si128(mask, self.hash(&sealed)));
        }
    }

    #[target_feature(enable = "aes,pclmulqdq,ssse3")]
    fn open_all(&self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag], fits: &mut [bool]) {
        for (((nonce, line), tag), fits) in nonces.iter().zip(lines).zip(tags).zip(fits) {
            let [mask, pads @ ..] = self.keystream(nonce);
            let sealed = blocks(line);
            let computed = _mm_xor_si128(mask, self.hash(&sealed));
            // All bytes are compared, whichever differs.
            *fits = _mm_movemask_epi8(_mm_cmpeq_epi8(computed, load(tag))) == 0xffff;
            if *fits {
                store_line(line, &from_fn(|block| _mm_xor_si128(sealed[block], pads[block])));
            } else {
                *line = ZERO_LINE;
            }
        }
    }

    /// Returns the five encrypted counter blocks of a line: the tag's mask and the pads.
    #[target_feature(enable = "aes,pclmulqdq,ssse3")]
    #[inline]
    fn keystream(&self, nonce: &GcmNonce) -> [__m128i; 5] {
        let first = load(&counter_block(nonce, 0));
        let mut blocks: [__m128i; 5] = from_fn(|block| {
            let number = _mm_slli_si128::<15>(_mm_cvtsi32_si128(block as i32 + 1));
            _mm_xor_si128(_mm_xor_si128(first, number), self.keys[0])
        });
        for key in &self.keys[1..ROUND_KEYS - 1] {
            blocks = blocks.map(|block| _mm_aesenc_si128(block, *key));
        }
        blocks.map(|block| _mm_aesenclast_si128(block, self.keys[ROUND_KEYS - 1]))
    }

    /// Returns GHASH of a line of ciphertext and its length.
    #[target_feature(enable = "aes,pclmulqdq,ssse3")]
    #[inline]
    fn hash(&self, sealed: &[__m128i; 4]) -> __m128i {
        let zero = _mm_setzero_si128();
        let (mut low, mut middle, mut high) = (zero, zero, zero);
        for (block, power) in sealed.iter().zip(self.powers) {
            let block = reverse(*block);
            low = _mm_xor_si128(low, _mm_clmulepi64_si128::<0x00>(block, power));
            high = _mm_xor_si128(high, _mm_clmulepi64_si128::<0x11>(block, power));
            let cross =
                _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(block, power), _mm_clmulepi64_si128::<0x10>(block, power));
            middle = _mm_xor_si128(middle, cross);
        }
        low = _mm_xor_si128(low, _mm_slli_si128::<8>(middle));
        high = _mm_xor_si128(high, _mm_srli_si128::<8>(middle));
        // Two steps of Montgomery's reduction, 64 bits each (Gueron and Kounavis, 2010, in this form).
        let reduction = _mm_set_epi64x(0, 0xc200_0000_0000_0000_u64 as i64);
        for _ in 0..2 {
            let folded = _mm_clmulepi64_si128::<0x00>(low, reduction);
            low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), folded);
        }
        reverse(_mm_xor_si128(_mm_xor_si128(low, high), self.lengths))
    }
}

/// Computes the key schedule of FIPS 197 for 128-bit keys.
#[target_feature(enable = "aes")]
pub fn expand(key: &Key) -> [__m128i; ROUND_KEYS] {
    let mut keys = [load(&key.0); ROUND_KEYS];
    macro_rules! rounds {
        ($($round:literal: $constant:literal),*) => {$(
            let mut last = keys[$round - 1];
            let word = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<$constant>(last));
            last = _mm_xor_si128(last, _mm_slli_si128::<4>(last));
            last = _mm_xor_si128(last, _mm_slli_si128::<8>(last));
            keys[$round] = _mm_xor_si128(last, word);
        )*};
    }
    rounds!(1: 0x01, 2: 0x02, 3: 0x04, 4: 0x08, 5: 0x10, 6: 0x20, 7: 0x40, 8: 0x80, 9: 0x1b, 10: 0x36);
    keys
}

/// Returns a block with its bytes in reverse.
#[target_feature(enable = "ssse3")]
#[inline]
fn reverse(block: __m128i) -> __m128i {
    _mm_shuffle_epi8(block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
}

#[inline]
pub fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: `bytes` has sixteen bytes, and the load needs no alignment. Every x86-64 has SSE2.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

#[inline]
fn store(bytes: &mut [u8; 16], block: __m128i) {
    // SAFETY: there is room for sixteen bytes, and the store needs no alignment. Every x86-64 has SSE2.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) }
}

#[inline]
fn blocks(line: &Line) -> [__m128i; 4] {
    let (blocks, _) = line.as_chunks::<16>();
    from_fn(|block| load(&blocks[block]))
}

#[inline]
fn store_line(line: &mut Line, blocks: &[__m128i; 4]) {
    let (into, _) = line.as_chunks_mut::<16>();
    into.iter_mut().zip(blocks).for_each(|(into, block)| store(into, *block));
}
