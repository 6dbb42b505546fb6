//! AES-128-GCM over independent 64-byte lines: compares our batched kernel with OpenSSL's EVP, `aes-gcm` and `ring`, in
//! one run.
//!
//! All implementations get one key, expanded in advance, and for each line a new 96-bit nonce and a 16-byte tag,
//! without additional data. The lines stay in the first-level cache. The implementations run in turn, so that other
//! load of the machine affects all of them alike. The result is the median of many short repetitions. In each
//! repetition all implementations must compute the same bytes.
//!
//! All are built for any processor and choose their instructions when they run, as Casemate itself does. If they are
//! built for one processor only (`-C target-cpu=native`), `aes-gcm` and our portable code, which uses the same crates,
//! are several times as fast. The speed of the other implementations hardly changes.
//!
//! Prints one JSON object for each implementation and direction: `seal` encrypts and tags, `open` verifies and
//! decrypts.

use aes_gcm::aead::AeadInOut;
use casemate_crypto::Key;
use casemate_crypto::batch::{GcmLines, GcmNonce, GcmTag, Instructions};
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

type Line = [u8; 64];
type Failure = Box<dyn std::error::Error>;
type Named = (&'static str, Box<dyn Engine>);

/// Lines in a repetition. With their tags and nonces they fill half of a first-level cache.
const LINES: usize = 256;
/// Turns of each implementation.
const TURNS: usize = 201;
/// Repetitions in a turn: wide units that slept wake up in the first of them.
const REPETITIONS: usize = 8;
const KEY: [u8; 16] = *b"sixteen byte key";

/// An implementation that seals and opens lines.
trait Engine {
    fn seal(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]);
    /// Returns true if all lines were genuine.
    fn open(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag]) -> bool;
}

/// Casemate's implementation, with `lines_in_a_call` lines in a call.
struct Ours {
    engine: GcmLines,
    lines_in_a_call: usize,
}

impl Engine for Ours {
    fn seal(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        let n = self.lines_in_a_call;
        for ((nonces, lines), tags) in nonces.chunks(n).zip(lines.chunks_mut(n)).zip(tags.chunks_mut(n)) {
            self.engine.seal(nonces, lines, tags);
        }
    }

    fn open(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag]) -> bool {
        let n = self.lines_in_a_call;
        let mut fits = [false; LINES];
        for (((nonces, lines), tags), fits) in
            nonces.chunks(n).zip(lines.chunks_mut(n)).zip(tags.chunks(n)).zip(fits.chunks_mut(n))
        {
            self.engine.open(nonces, lines, tags, fits);
        }
        fits.iter().all(|fits| *fits)
    }
}

struct AesGcm(aes_gcm::Aes128Gcm);

impl Engine for AesGcm {
    fn seal(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        for ((nonce, line), tag) in nonces.iter().zip(lines).zip(tags) {
            let made = self.0.encrypt_inout_detached(nonce.into(), &[], (&mut line[..]).into());
            *tag = made.expect("a line is not too long").into();
        }
    }

    fn open(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag]) -> bool {
        nonces.iter().zip(lines).zip(tags).all(|((nonce, line), tag)| {
            self.0.decrypt_inout_detached(nonce.into(), &[], (&mut line[..]).into(), tag.into()).is_ok()
        })
    }
}

struct Ring(LessSafeKey);

impl Engine for Ring {
    fn seal(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        for ((nonce, line), tag) in nonces.iter().zip(lines).zip(tags) {
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let made = self.0.seal_in_place_separate_tag(nonce, Aad::empty(), line);
            tag.copy_from_slice(made.expect("a line is not too long").as_ref());
        }
    }

    fn open(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag]) -> bool {
        nonces.iter().zip(lines).zip(tags).all(|((nonce, line), tag)| {
            let nonce = Nonce::assume_unique_for_key(*nonce);
            self.0.open_in_place_separate_tag(nonce, Aad::empty(), Tag::from(*tag), line, 0..).is_ok()
        })
    }
}

/// One context for each direction, with its key set once.
struct OpenSsl {
    sealing: CipherCtx,
    opening: CipherCtx,
}

impl OpenSsl {
    fn new() -> Result<OpenSsl, Failure> {
        let (mut sealing, mut opening) = (CipherCtx::new()?, CipherCtx::new()?);
        sealing.encrypt_init(Some(Cipher::aes_128_gcm()), Some(&KEY), None)?;
        opening.decrypt_init(Some(Cipher::aes_128_gcm()), Some(&KEY), None)?;
        Ok(OpenSsl { sealing, opening })
    }

    fn seal_line(&mut self, nonce: &GcmNonce, line: &mut Line, tag: &mut GcmTag) -> Result<(), Failure> {
        self.sealing.encrypt_init(None, None, Some(nonce))?;
        self.sealing.cipher_update_inplace(line, 64)?;
        self.sealing.cipher_final(&mut [0; 16])?;
        Ok(self.sealing.tag(tag)?)
    }

    fn open_line(&mut self, nonce: &GcmNonce, line: &mut Line, tag: &GcmTag) -> Result<(), Failure> {
        self.opening.decrypt_init(None, None, Some(nonce))?;
        self.opening.set_tag(tag)?;
        self.opening.cipher_update_inplace(line, 64)?;
        self.opening.cipher_final(&mut [0; 16])?;
        Ok(())
    }
}

impl Engine for OpenSsl {
    fn seal(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &mut [GcmTag]) {
        for ((nonce, line), tag) in nonces.iter().zip(lines).zip(tags) {
            self.seal_line(nonce, line, tag).expect("OpenSSL seals a line");
        }
    }

    fn open(&mut self, nonces: &[GcmNonce], lines: &mut [Line], tags: &[GcmTag]) -> bool {
        nonces.iter().zip(lines).zip(tags).all(|((nonce, line), tag)| self.open_line(nonce, line, tag).is_ok())
    }
}

/// Returns all implementations with their names.
fn engines() -> Result<Vec<Named>, Failure> {
    let mut engines: Vec<Named> = Vec::new();
    for (name, instructions, lines_in_a_call) in [
        ("casemate, VAES", Instructions::Vaes, LINES),
        ("casemate, AES-NI", Instructions::AesNi, LINES),
        ("casemate, AES-NI, line by line", Instructions::AesNi, 1),
        ("casemate, portable", Instructions::Portable, LINES),
    ] {
        if let Some(engine) = GcmLines::with(instructions, &Key(KEY)) {
            engines.push((name, Box::new(Ours { engine, lines_in_a_call })));
        }
    }
    let key = UnboundKey::new(&AES_128_GCM, &KEY).map_err(|_| "ring takes no 128-bit key")?;
    engines.push(("aes-gcm", Box::new(AesGcm(Key(KEY).cipher()))));
    engines.push(("ring", Box::new(Ring(LessSafeKey::new(key)))));
    engines.push(("openssl", Box::new(OpenSsl::new()?)));
    Ok(engines)
}

/// Returns the nanoseconds for each line.
fn time(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e9 / LINES as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() -> Result<(), Failure> {
    let mut engines = engines()?;
    let nonces: Vec<GcmNonce> =
        (0..LINES as u128).map(|line| std::array::from_fn(|byte| (line + 1).to_le_bytes()[byte])).collect();
    let plain: Vec<Line> = (0..LINES).map(|line| std::array::from_fn(|byte| (line * 7 + byte) as u8)).collect();
    let (mut sealed, mut tags) = (plain.clone(), vec![[0; 16]; LINES]);
    engines[0].1.seal(&nonces, &mut sealed, &mut tags);

    let mut times = vec![(Vec::new(), Vec::new()); engines.len()];
    for _ in 0..TURNS {
        for ((name, engine), (sealing, opening)) in engines.iter_mut().zip(&mut times) {
            for _ in 0..REPETITIONS {
                let (mut lines, mut made) = (plain.clone(), vec![[0; 16]; LINES]);
                sealing.push(time(|| engine.seal(black_box(&nonces), &mut lines, &mut made)));
                let agree = lines == sealed && made == tags;
                let mut genuine = false;
                opening.push(time(|| genuine = engine.open(black_box(&nonces), &mut lines, &tags)));
                if !(agree && genuine && lines == plain) {
                    return Err(format!("{name} disagrees with the others").into());
                }
            }
        }
    }
    for ((name, _), (sealing, opening)) in engines.iter().zip(times) {
        for (operation, figures) in [("seal", sealing), ("open", opening)] {
            println!("{}", json!({ "engine": name, "operation": operation, "ns_per_line": median(figures) }));
        }
    }
    Ok(())
}
