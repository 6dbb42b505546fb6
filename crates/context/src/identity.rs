//! Public identity of a processor, which sealed contexts carry so that another processor can name the reason of its refusal.

use crate::error::ContextError;

/// Bytes of an identity.
pub(crate) const IDENTITY_BYTES: usize = 8;

/// First bytes of a processor's public key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity(pub [u8; IDENTITY_BYTES]);

impl Identity {
    /// Removes the identity from sealed bytes of a known length. Refuses another length and another processor.
    ///
    /// The identity is not secret, and a modified one only changes the reason of a refusal.
    pub fn strip(self, bytes: &[u8], expected: usize) -> Result<&[u8], ContextError> {
        if bytes.len() != expected {
            return Err(ContextError::WrongLength { expected, given: bytes.len() });
        }
        bytes.strip_prefix(&self.0).ok_or(ContextError::OtherProcessor)
    }
}
