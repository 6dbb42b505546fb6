//! AES-GCM on single lines of memory: the reference for tests of hardware that encrypts memory (`dv/`). The
//! implementation is that of the simulator.

use crate::refused;
use crypto::{Aes128, Aes256, BLOCK_BYTES, Gcm, Key, LineCipher, Nonce};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The cipher under a key of 128 or 256 bits.
enum ByKey {
    Short(Box<Gcm<Aes128>>),
    Long(Box<Gcm<Aes256>>),
}

/// AES-GCM over lines under one key: no additional data, lines of 64 bytes, a nonce of 12 bytes, a tag of 16 bytes.
#[pyclass(frozen)]
pub struct GcmLines(ByKey);

/// Calls a method of the cipher for either length of its key.
macro_rules! by_key {
    ($lines:expr, $gcm:ident => $call:expr) => {
        match &$lines.0 {
            ByKey::Short($gcm) => $call,
            ByKey::Long($gcm) => $call,
        }
    };
}

fn sized<const BYTES: usize>(what: &str, bytes: &[u8]) -> PyResult<[u8; BYTES]> {
    bytes.try_into().map_err(|_| refused(format!("{what} has {} bytes: expected {BYTES}", bytes.len())))
}

/// Parses the twelve bytes of a nonce, lowest byte first: five bytes for the line's number, then seven for its counter.
fn nonce(bytes: &[u8]) -> PyResult<Nonce> {
    let mut number = [0; 16];
    number[..12].copy_from_slice(&sized::<12>("a nonce", bytes)?);
    let number = u128::from_le_bytes(number);
    Ok(Nonce::new((number & 0xff_ffff_ffff) as u64, number >> 40))
}

#[pymethods]
impl GcmLines {
    #[new]
    fn keyed(key: &[u8]) -> PyResult<GcmLines> {
        Ok(GcmLines(match key.len() {
            16 => ByKey::Short(Box::new(Gcm::new(&Key(sized::<16>("a key", key)?)))),
            32 => ByKey::Long(Box::new(Gcm::new(&Key(sized::<32>("a key", key)?)))),
            bytes => return Err(refused(format!("a key has {bytes} bytes: expected 16 or 32"))),
        }))
    }

    /// Encrypts a line; returns ciphertext and tag.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        nonce_bytes: &[u8],
        plaintext: &[u8],
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (at, plaintext) = (nonce(nonce_bytes)?, sized("a line", plaintext)?);
        let sealed = by_key!(self, gcm => gcm.seal(&at, &plaintext));
        let tag = by_key!(self, gcm => gcm.full_tag(&at, &sealed));
        Ok((PyBytes::new(py, &sealed), PyBytes::new(py, &tag)))
    }

    /// Decrypts a line; returns the plaintext if the tag is correct.
    fn open<'py>(
        &self,
        py: Python<'py>,
        nonce_bytes: &[u8],
        ciphertext: &[u8],
        tag: &[u8],
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (at, ciphertext) = (nonce(nonce_bytes)?, sized("a line", ciphertext)?);
        let expected = by_key!(self, gcm => gcm.full_tag(&at, &ciphertext));
        let authentic = expected == sized::<BLOCK_BYTES>("a tag", tag)?;
        Ok(authentic.then(|| PyBytes::new(py, &by_key!(self, gcm => gcm.open(&at, &ciphertext)))))
    }

    /// Encrypts a block with the block cipher only.
    fn encrypt_block<'py>(&self, py: Python<'py>, block: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let block = sized("a block", block)?;
        Ok(PyBytes::new(py, &by_key!(self, gcm => gcm.encrypted(block))))
    }
}

/// The product of two blocks in the field of GHASH, GF(2^128).
#[pyfunction]
pub fn ghash_product<'py>(py: Python<'py>, left: &[u8], right: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &crypto::ghash_product(sized("a block", left)?, sized("a block", right)?)))
}
