//! Tests refusals, and that every engine that this processor can run is compared with the reference. No test checks
//! speed.

use super::*;
use strum::VariantArray;

fn available() -> impl Iterator<Item = AeadEngine> {
    AeadEngine::VARIANTS.iter().copied().filter(|engine| engine.is_available())
}

#[test]
fn every_available_engine_is_measured_with_positive_figures() {
    for engine in available() {
        for bytes in [64, 192, 16_384, 32_768] {
            let found = measure(engine, bytes, 1).unwrap();
            assert!(found.seal_seconds > 0.0 && found.open_seconds > 0.0 && found.clock_hz > 0.0, "{engine}");
        }
    }
}

#[test]
fn line_engines_refuse_messages_that_are_no_multiple_of_64_bytes() {
    assert!(measure(AeadEngine::Buffer, 32, 1).is_ok());
    assert!(measure(AeadEngine::BufferSoft, 48, 1).is_ok());
    let refused = measure(AeadEngine::LinesPortable, 96, 1).unwrap_err();
    assert_eq!(refused.to_string(), "lines-portable has no messages of 96 bytes: expected a multiple of 64");
}

#[test]
fn sizes_that_no_message_has_are_refused_with_the_nearest() {
    for (found, nearest) in [(0, 16), (-5, 16), (33, 32), (40, 48), (1_048_592, 1_048_576), (i64::MAX, 1_048_576)] {
        let said = measure(AeadEngine::Buffer, found, 1).unwrap_err().to_string();
        let expected =
            format!("size is {found}: expected a multiple of 16 bytes from 16 to 1048576; the nearest is {nearest}");
        assert_eq!(said, expected);
        assert!(checked_size(nearest).is_ok());
    }
}

#[test]
fn repetitions_out_of_range_are_refused() {
    for wrong in [0, -1, 10_001] {
        assert_eq!(measure(AeadEngine::Buffer, 64, wrong).unwrap_err(), Refused::Repetitions(wrong));
    }
}

#[test]
fn line_engines_split_a_message_into_lines_with_a_tag_each() {
    let work = MessageBatch::new(256, LINE);
    assert_eq!((work.units, work.nonces.len(), work.tags.len()), (4, 256, 256));
    let whole = MessageBatch::new(256, 256);
    assert_eq!((whole.units, whole.nonces.len(), whole.tags.len()), (1, 64, 64));
    assert!(work.sealed[..64] == whole.sealed[..64], "the first line has the nonce of the first buffer");
    assert!(work.tags[0] != whole.tags[0]);
}

const LINE: usize = units::LINE_BYTES;

/// An engine that does not verify.
struct Blind(Box<dyn Aead>);

impl Aead for Blind {
    fn seal(&mut self, nonces: &[[u8; 12]], text: &mut [u8], tags: &mut [[u8; 16]]) {
        self.0.seal(nonces, text, tags);
    }

    fn open(&mut self, nonces: &[[u8; 12]], text: &mut [u8], tags: &[[u8; 16]]) -> bool {
        self.0.open(nonces, text, tags);
        true
    }
}

#[test]
#[should_panic(expected = "takes a wrong tag")]
fn an_engine_that_accepts_a_wrong_tag_is_not_measured() {
    let engine = AeadEngine::Buffer;
    MessageBatch::new(64, 64).check(engine, &mut Blind(engine.expanded().unwrap()));
}

/// An engine that forgets its tags.
struct Mute(Box<dyn Aead>);

impl Aead for Mute {
    fn seal(&mut self, nonces: &[[u8; 12]], text: &mut [u8], tags: &mut [[u8; 16]]) {
        self.0.seal(nonces, text, &mut tags.to_vec());
    }

    fn open(&mut self, nonces: &[[u8; 12]], text: &mut [u8], tags: &[[u8; 16]]) -> bool {
        self.0.open(nonces, text, tags)
    }
}

#[test]
#[should_panic(expected = "does not seal as aes-gcm does")]
fn an_engine_with_wrong_ciphertext_is_not_measured() {
    let engine = AeadEngine::BufferSoft;
    MessageBatch::new(64, 64).check(engine, &mut Mute(engine.expanded().unwrap()));
}

#[test]
fn the_median_is_the_middle_of_the_figures_in_order() {
    assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(vec![5.0]), 5.0);
    assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0, 3.0]), 3.0);
}
