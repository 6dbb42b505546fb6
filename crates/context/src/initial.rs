//! Initial contexts, sealed by a software vendor to the public key of one processor.
//!
//! Sealed by HPKE in base mode (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM, through the crate `hpke`.
//! Base mode does not authenticate the vendor: any vendor may write programs for a processor, as in the paper. The bytes are the
//! processor's identity, the encapsulated key, the ciphertext and its tag.

use crate::context::InitialContext;
use crate::error::ContextError;
use crate::identity::{IDENTITY_BYTES, Identity};
use crypto::Key;
use hpke::aead::AesGcm128;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::rand_core::{TryCryptoRng, TryRng};
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable, single_shot_open, single_shot_seal_with_rng};
use std::convert::Infallible;
use units::random::Random;

/// Bytes of a sealed initial context.
pub const SEALED_INITIAL_BYTES: usize = IDENTITY_BYTES + PUBLIC_KEY_BYTES + InitialContext::BYTES + TAG_BYTES;

const PUBLIC_KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
/// Separates this use of a key pair from other uses (`info` of RFC 9180).
const INFO: &[u8] = b"casemate: initial context, version 1";
const KEY_PAIR_PURPOSE: u64 = 0;

type KeyPair = (<X25519HkdfSha256 as Kem>::PrivateKey, PublicKey);

/// Public key of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicKey(pub [u8; PUBLIC_KEY_BYTES]);

impl PublicKey {
    pub(crate) fn identity(&self) -> Identity {
        let (identity, _) = self.0.split_first_chunk().expect("a public key is longer than an identity");
        Identity(*identity)
    }
}

/// Key pair of a processor. The maker of the processor draws it, and it outlives resets.
#[derive(Clone)]
pub struct ProcessorKey(KeyPair);

impl ProcessorKey {
    /// Returns the key pair of the processor for which its maker drew this seed.
    pub fn from_seed(seed: u64) -> ProcessorKey {
        let (private, public) = X25519HkdfSha256::derive_keypair(&Key::<32>::for_purpose(seed, KEY_PAIR_PURPOSE).0);
        ProcessorKey((private, PublicKey(public.to_bytes().into())))
    }

    /// Public key, for vendors.
    pub fn public(&self) -> PublicKey {
        self.0.1
    }

    /// Opens a sealed initial context.
    pub(crate) fn open(&self, sealed: &[u8]) -> Result<InitialContext, ContextError> {
        let sealed = self.public().identity().strip(sealed, SEALED_INITIAL_BYTES)?;
        let (encapsulated, ciphertext) = sealed.split_at(PUBLIC_KEY_BYTES);
        let refused = |_| ContextError::NotAuthentic;
        let encapsulated = Deserializable::from_bytes(encapsulated).map_err(refused)?;
        let opened = single_shot_open::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &self.0.0,
            &encapsulated,
            INFO,
            ciphertext,
            &[],
        );
        let opened = opened.map_err(refused)?;
        Ok(InitialContext::decode(&mut &opened[..]).expect("the length was checked"))
    }
}

/// Seals an initial context to a processor. The same seed gives the same bytes, so each sealing needs a new seed.
pub fn seal_initial(public: &PublicKey, context: &InitialContext, seed: u64) -> Result<Vec<u8>, ContextError> {
    let refused = |_| ContextError::InvalidPublicKey;
    let recipient = Deserializable::from_bytes(&public.0).map_err(refused)?;
    let (encapsulated, ciphertext) = single_shot_seal_with_rng::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
        &OpModeS::Base,
        &recipient,
        INFO,
        &context.encode(),
        &[],
        &mut Seeded(Random::new(seed)),
    )
    .map_err(refused)?;
    Ok([&public.identity().0[..], &encapsulated.to_bytes(), &ciphertext].concat())
}

/// Adapts the project's generator to the trait that `hpke` takes. A seed of 64 bits is enough for a simulation only.
struct Seeded(Random);

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.word() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.0.word().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Seeded {}

#[cfg(test)]
mod tests {
    use super::*;
    use hex_literal::hex;

    const RECIPIENT_PRIVATE: [u8; 32] = hex!("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8");
    const RECIPIENT_PUBLIC: [u8; 32] = hex!("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d");
    const RECIPIENT_MATERIAL: [u8; 32] = hex!("6db9df30aa07dd42ee5e8181afdb977e538f5e1fec8a06223f33f7013e525037");
    const EPHEMERAL_MATERIAL: [u8; 32] = hex!("7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234");
    const ENCAPSULATED: [u8; 32] = hex!("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431");
    const VECTOR_INFO: [u8; 20] = hex!("4f6465206f6e2061204772656369616e2055726e");
    const VECTOR_AAD: [u8; 7] = hex!("436f756e742d30");
    const PLAINTEXT: [u8; 29] = hex!("4265617574792069732074727574682c20747275746820626561757479");
    const CIPHERTEXT: [u8; 45] =
        hex!("f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a");

    /// Returns the published key material where the library draws an ephemeral key.
    struct Published;

    impl TryRng for Published {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            unreachable!("the library draws key material as bytes")
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            unreachable!("the library draws key material as bytes")
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.copy_from_slice(&EPHEMERAL_MATERIAL);
            Ok(())
        }
    }

    impl TryCryptoRng for Published {}

    #[test]
    fn the_hpke_suite_meets_the_vector_of_rfc_9180_appendix_a_1_1() {
        let (_, public) = X25519HkdfSha256::derive_keypair(&RECIPIENT_MATERIAL);
        let private = Deserializable::from_bytes(&RECIPIENT_PRIVATE).unwrap();
        assert_eq!(<[u8; 32]>::from(public.to_bytes()), RECIPIENT_PUBLIC);
        let (encapsulated, ciphertext) = single_shot_seal_with_rng::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &public,
            &VECTOR_INFO,
            &PLAINTEXT,
            &VECTOR_AAD,
            &mut Published,
        )
        .unwrap();
        assert_eq!(<[u8; 32]>::from(encapsulated.to_bytes()), ENCAPSULATED);
        assert_eq!(ciphertext, CIPHERTEXT);
        let opened = single_shot_open::<AesGcm128, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &private,
            &encapsulated,
            &VECTOR_INFO,
            &CIPHERTEXT,
            &VECTOR_AAD,
        );
        assert_eq!(opened.unwrap(), PLAINTEXT);
    }
}
