//! What one core of this computer seals and opens with AES-128-GCM: the seconds of a call, measured, and the clock that the
//! core had meanwhile. Everything else follows from these by formulas and is not computed here.
//!
//! A call is one message: a buffer under one nonce with one tag, or for the line kernel as many lines of 64 bytes as fill
//! that size, each with its own nonce and tag, as memory has them. Messages, nonces and tags together stay in a first-level
//! cache. Every measurement first makes sure that the engine's bytes are those of `aes-gcm`, and that it refuses a tag that
//! does not fit; opening verifies all tags.

mod clock;
mod engines;

pub use clock::core_clock_hz;
pub use engines::Engine;

use engines::{Aead, reference};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;
use thiserror::Error;

/// The bytes of all messages of a repetition, or one message if that is longer: with nonces and tags of 64-byte lines they
/// fill two thirds of a cache of 32 KB.
const WORK_BYTES: usize = 16 << 10;
/// A block of AES: sizes are whole ones.
const SIZE_STEP: usize = 16;
/// Largest size of a message, in bytes.
const SIZE_MAX: usize = 1 << 20;
/// The most repetitions of a measurement: seconds, for the slowest engine.
const REPETITIONS_MAX: usize = 10_000;

/// With which of Cargo's profiles this was built: without optimisation across crates, and across the units that a crate is
/// compiled in, all engines are slower, some by many times.
pub const BUILT_AS: &str = env!("BUILT_AS");

/// Why there is no measurement.
#[derive(Error, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No message has such a size.
    #[error("size is {found}: expected a multiple of {SIZE_STEP} bytes from {SIZE_STEP} to {SIZE_MAX}; the nearest is {}", nearest_size(*.found))]
    Size {
        /// Bytes that were asked for.
        found: i64,
    },
    /// The line kernel has no messages of parts of lines.
    #[error("{engine} has no messages of {bytes} bytes: expected a multiple of {of}")]
    PartsOfLines {
        /// Engine that was to be measured.
        engine: Engine,
        /// Bytes that were asked for.
        bytes: usize,
        /// What they have to be a multiple of.
        of: usize,
    },
    /// This processor cannot run it.
    #[error("{0} needs instructions that this processor does not have")]
    Unavailable(Engine),
    /// Too few or too many.
    #[error("repetitions is {0}: expected 1 to {REPETITIONS_MAX}")]
    Repetitions(i64),
}

/// The nearest size that there is.
fn nearest_size(found: i64) -> i64 {
    let step = SIZE_STEP as i64;
    let clamped = found.clamp(step, SIZE_MAX as i64);
    (clamped + step / 2) / step * step
}

/// What was measured of one engine at one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Timing {
    /// Seconds of a call that encrypts a message and makes its tags: the median of all repetitions.
    pub seal_seconds: f64,
    /// Seconds of a call that verifies a message and decrypts it.
    pub open_seconds: f64,
    /// The core's clock in between, in hertz.
    pub clock_hz: f64,
}

/// The size as a number of bytes.
///
/// # Errors
/// If no message has that size.
pub fn checked_size(bytes: i64) -> Result<usize, Refused> {
    let size = usize::try_from(bytes).ok().filter(|size| (SIZE_STEP..=SIZE_MAX).contains(size));
    size.filter(|size| size.is_multiple_of(SIZE_STEP)).ok_or(Refused::Size { found: bytes })
}

/// Measures calls on messages of this size, so many repetitions of about 16 KB each.
///
/// # Errors
/// If there is no such size, or the engine cannot do it.
///
/// # Panics
/// If an engine's bytes are not those of `aes-gcm`, or if it takes a wrong tag for a right one.
pub fn measure(engine: Engine, bytes: i64, repetitions: i64) -> Result<Timing, Refused> {
    let bytes = checked_size(bytes)?;
    let count = usize::try_from(repetitions).ok().filter(|count| (1..=REPETITIONS_MAX).contains(count));
    let count = count.ok_or(Refused::Repetitions(repetitions))?;
    let unit = engine.unit().unwrap_or(bytes);
    if !bytes.is_multiple_of(unit) {
        return Err(Refused::PartsOfLines { engine, bytes, of: unit });
    }
    let mut aead = engine.expanded().ok_or(Refused::Unavailable(engine))?;
    let work = Work::new(bytes, unit);
    work.check(engine, aead.as_mut());
    Ok(work.timed(aead.as_mut(), count))
}

/// Messages, and what sealing makes of them.
struct Work {
    /// Bytes of a message.
    bytes: usize,
    /// Nonces of a message.
    units: usize,
    nonces: Vec<[u8; 12]>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    tags: Vec<[u8; 16]>,
}

impl Work {
    /// Messages of so many bytes, with a nonce and a tag for each `unit` bytes of them.
    fn new(bytes: usize, unit: usize) -> Work {
        let messages = (WORK_BYTES / bytes).max(1);
        let units = bytes / unit;
        let nonce = |number: usize| std::array::from_fn(|byte| (number as u128 + 1).to_le_bytes()[byte]);
        let nonces: Vec<[u8; 12]> = (0..messages * units).map(nonce).collect();
        let plain: Vec<u8> = (0..messages * bytes).map(|byte| (byte * 7 + byte / 64) as u8).collect();
        let (mut sealed, mut tags) = (plain.clone(), vec![[0; 16]; nonces.len()]);
        reference(&nonces, &mut sealed, &mut tags, unit);
        Work { bytes, units, nonces, plain, sealed, tags }
    }

    /// Holds the engine to the reference, in both directions, and to a refusal of each tag that is wrong by a bit.
    fn check(&self, engine: Engine, aead: &mut dyn Aead) {
        let (mut text, mut made) = (self.plain.clone(), vec![[0; 16]; self.tags.len()]);
        self.seal(aead, &mut text, &mut made);
        assert!(text == self.sealed && made == self.tags, "{engine} does not seal as aes-gcm does");
        assert!(self.open(aead, &mut text, &self.tags), "{engine} refuses what is genuine");
        assert!(text == self.plain, "{engine} does not open what it has sealed");
        let mut wrong = self.tags.clone();
        wrong[0][15] ^= 1;
        assert!(!self.open(aead, &mut self.sealed.clone(), &wrong), "{engine} takes a wrong tag");
    }

    fn timed(&self, aead: &mut dyn Aead, repetitions: usize) -> Timing {
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
        Timing { seal_seconds: median(sealing), open_seconds: median(opening), clock_hz: median(clocks) }
    }

    fn seal(&self, aead: &mut dyn Aead, text: &mut [u8], tags: &mut [[u8; 16]]) {
        let calls = self.nonces.chunks(self.units).zip(text.chunks_mut(self.bytes)).zip(tags.chunks_mut(self.units));
        calls.for_each(|((nonces, text), tags)| aead.seal(nonces, text, tags));
    }

    /// Whether all tags fit.
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
