//! Measures how fast one core of this computer encrypts (seals) and decrypts (opens) with AES-128-GCM. The results are
//! the seconds of a call, and the clock of the core meanwhile. Callers compute all other figures from these two.
//!
//! A call handles one message. For `aes-gcm`, a message is a buffer under one nonce with one tag. For the line kernel,
//! a message of the same size consists of lines of 64 bytes, each with a nonce and a tag, as in memory. Messages,
//! nonces and tags together stay in a first-level cache. Every measurement first checks that the engine's bytes are
//! those of `aes-gcm`, and that the engine refuses a wrong tag; opening verifies all tags.

mod clock;
mod engines;

pub use clock::core_clock_hz;
pub use engines::AeadEngine;

use engines::{Aead, reference};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;
use thiserror::Error;

/// Bytes of all messages of a repetition, unless one message is longer. With nonces and tags of 64-byte lines they fill
/// two thirds of a cache of 32 KB.
const WORK_BYTES: usize = 16 << 10;
/// Bytes of an AES block: every size is a multiple of it.
const SIZE_STEP: usize = 16;
/// Bytes of the longest message.
const SIZE_MAX: usize = 1 << 20;
/// Maximum repetitions of a measurement: they take seconds with the slowest engine.
const REPETITIONS_MAX: usize = 10_000;

/// Reason why a measurement was refused.
#[derive(Error, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No message has the requested size.
    #[error("size is {found}: expected a multiple of {SIZE_STEP} bytes from {SIZE_STEP} to {SIZE_MAX}; the nearest is {}", nearest_size(*.found))]
    Size {
        /// Bytes that the caller requested.
        found: i64,
    },
    /// The line kernel handles only messages of complete lines.
    #[error("{engine} has no messages of {bytes} bytes: expected a multiple of {of}")]
    PartsOfLines {
        /// Engine that was requested.
        engine: AeadEngine,
        /// Bytes that the caller requested.
        bytes: usize,
        /// Number that the bytes must be a multiple of.
        of: usize,
    },
    /// This processor cannot run the engine.
    #[error("{0} needs instructions that this processor does not have")]
    Unavailable(AeadEngine),
    /// The number of repetitions is too low or too high.
    #[error("repetitions is {0}: expected 1 to {REPETITIONS_MAX}")]
    Repetitions(i64),
}

/// Returns the nearest valid size.
fn nearest_size(found: i64) -> i64 {
    let step = SIZE_STEP as i64;
    let clamped = found.clamp(step, SIZE_MAX as i64);
    (clamped + step / 2) / step * step
}

/// Result for one engine at one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EngineTiming {
    /// Seconds of a call that encrypts a message and computes its tags: the median of all repetitions.
    pub seal_seconds: f64,
    /// Seconds of a call that verifies a message and decrypts it: the median of all repetitions.
    pub open_seconds: f64,
    /// Clock of the core between the calls, in hertz: the median of all repetitions.
    pub clock_hz: f64,
}

/// Checks a size in bytes.
///
/// # Errors
/// If no message has this size.
pub fn checked_size(bytes: i64) -> Result<usize, Refused> {
    let size = usize::try_from(bytes).ok().filter(|size| (SIZE_STEP..=SIZE_MAX).contains(size));
    size.filter(|size| size.is_multiple_of(SIZE_STEP)).ok_or(Refused::Size { found: bytes })
}

/// Measures calls on messages of this size, in `repetitions` repetitions of about 16 KB each.
///
/// # Errors
/// If no message has this size, if the engine or this processor cannot handle it, or if the number of repetitions is
/// out of range.
///
/// # Panics
/// If an engine's bytes are not those of `aes-gcm`, or if it accepts a wrong tag.
pub fn measure(engine: AeadEngine, bytes: i64, repetitions: i64) -> Result<EngineTiming, Refused> {
    let bytes = checked_size(bytes)?;
    let count = usize::try_from(repetitions).ok().filter(|count| (1..=REPETITIONS_MAX).contains(count));
    let count = count.ok_or(Refused::Repetitions(repetitions))?;
    let unit = engine.unit().unwrap_or(bytes);
    if !bytes.is_multiple_of(unit) {
        return Err(Refused::PartsOfLines { engine, bytes, of: unit });
    }
    let mut aead = engine.expanded().ok_or(Refused::Unavailable(engine))?;
    let work = MessageBatch::new(bytes, unit);
    work.check(engine, aead.as_mut());
    Ok(work.timed(aead.as_mut(), count))
}

/// Messages, with their expected ciphertexts and tags.
struct MessageBatch {
    /// Bytes of each message.
    bytes: usize,
    /// Nonces of each message.
    units: usize,
    nonces: Vec<[u8; 12]>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    tags: Vec<[u8; 16]>,
}

impl MessageBatch {
    /// Creates messages of `bytes` bytes, with a nonce and a tag for each `unit` bytes of them.
    fn new(bytes: usize, unit: usize) -> MessageBatch {
        let messages = (WORK_BYTES / bytes).max(1);
        let units = bytes / unit;
        let nonce = |number: usize| std::array::from_fn(|byte| (number as u128 + 1).to_le_bytes()[byte]);
        let nonces: Vec<[u8; 12]> = (0..messages * units).map(nonce).collect();
        let plain: Vec<u8> = (0..messages * bytes).map(|byte| (byte * 7 + byte / 64) as u8).collect();
        let (mut sealed, mut tags) = (plain.clone(), vec![[0; 16]; nonces.len()]);
        reference(&nonces, &mut sealed, &mut tags, unit);
        MessageBatch { bytes, units, nonces, plain, sealed, tags }
    }

    /// Compares the engine with the reference in both directions, and checks that it refuses a tag with a flipped bit.
    fn check(&self, engine: AeadEngine, aead: &mut dyn Aead) {
        let (mut text, mut made) = (self.plain.clone(), vec![[0; 16]; self.tags.len()]);
        self.seal(aead, &mut text, &mut made);
        assert!(text == self.sealed && made == self.tags, "{engine} does not seal as aes-gcm does");
        assert!(self.open(aead, &mut text, &self.tags), "{engine} refuses what is genuine");
        assert!(text == self.plain, "{engine} does not open what it has sealed");
        let mut wrong = self.tags.clone();
        wrong[0][15] ^= 1;
        assert!(!self.open(aead, &mut self.sealed.clone(), &wrong), "{engine} takes a wrong tag");
    }

    fn timed(&self, aead: &mut dyn Aead, repetitions: usize) -> EngineTiming {
        let calls = (self.plain.len() / self.bytes) as f64;
        let (mut sealing, mut opening, mut clocks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..repetitions {
            let (mut text, mut made) = (self.plain.clone(), vec![[0; 16]; self.tags.len()]);
            sealing.push(seconds(|| self.seal(aead, black_box(&mut text), black_box(&mut made))) / calls);
            let mut genuine = false;
            opening.push(seconds(|| genuine = self.open(aead, black_box(&mut text), black_box(&self.tags))) / calls);
            assert!(black_box(genuine));
            clocks.push(core_clock_hz());
        }
        EngineTiming { seal_seconds: median(sealing), open_seconds: median(opening), clock_hz: median(clocks) }
    }

    fn seal(&self, aead: &mut dyn Aead, text: &mut [u8], tags: &mut [[u8; 16]]) {
        let calls = self.nonces.chunks(self.units).zip(text.chunks_mut(self.bytes)).zip(tags.chunks_mut(self.units));
        calls.for_each(|((nonces, text), tags)| aead.seal(nonces, text, tags));
    }

    /// Opens all messages; returns true if all tags fit.
    fn open(&self, aead: &mut dyn Aead, text: &mut [u8], tags: &[[u8; 16]]) -> bool {
        let calls = self.nonces.chunks(self.units).zip(text.chunks_mut(self.bytes)).zip(tags.chunks(self.units));
        calls.fold(true, |all, ((nonces, text), tags)| aead.open(nonces, text, tags) & all)
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[cfg(test)]
mod tests;
