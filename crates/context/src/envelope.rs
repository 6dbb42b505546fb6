//! Envelope of a context outside the chip: AES-128-GCM under a key that the processor draws when it boots.
//!
//! The bytes are the processor's identity, the context's number, the ciphertext and its tag. The number is the nonce, so it must
//! never be used twice under one key; identity and number are authenticated with the ciphertext.

use crate::context::{CONTEXT_BYTES, Context};
use crate::error::ContextError;
use crate::identity::{IDENTITY_BYTES, Identity};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{Aead, Payload};
use crypto::Key;

/// Bytes of a context outside the chip.
pub const EXPORTED_BYTES: usize = HEADER_BYTES + CONTEXT_BYTES + TAG_BYTES;

const NUMBER_BYTES: usize = 8;
const HEADER_BYTES: usize = IDENTITY_BYTES + NUMBER_BYTES;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;

/// Number of a context outside the chip, as its header says. The header is not checked.
pub fn context_number(exported: &[u8]) -> Option<u64> {
    let (number, _) = exported.get(IDENTITY_BYTES..)?.split_first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

/// Seals contexts of one processor and one boot.
#[derive(Clone)]
pub(crate) struct Envelope {
    cipher: Aes128Gcm,
    identity: Identity,
}

impl Envelope {
    pub fn new(key: &Key, identity: Identity) -> Envelope {
        Envelope { cipher: key.cipher(), identity }
    }

    /// Seals a context under its number.
    pub fn seal(&self, number: u64, context: &Context) -> Vec<u8> {
        let mut bytes = [self.identity.0, number.to_le_bytes()].concat();
        let payload = Payload { msg: &context.encode(), aad: &bytes };
        let mut sealed =
            self.cipher.encrypt(&nonce(number).into(), payload).expect("a context is short enough for GCM");
        bytes.append(&mut sealed);
        bytes
    }

    /// Opens a context. Returns it with its number, which is authentic.
    pub fn open(&self, exported: &[u8]) -> Result<(u64, Context), ContextError> {
        let after_identity = self.identity.strip(exported, EXPORTED_BYTES)?;
        let (number, sealed) = after_identity.split_first_chunk().expect("the length was checked");
        let number = u64::from_le_bytes(*number);
        let payload = Payload { msg: sealed, aad: &exported[..HEADER_BYTES] };
        let opened = self.cipher.decrypt(&nonce(number).into(), payload).map_err(|_| ContextError::NotAuthentic)?;
        Ok((number, Context::decode(&opened).expect("the length was checked")))
    }
}

fn nonce(number: u64) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
    nonce
}
