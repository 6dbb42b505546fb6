//! The pad ledger: proof that no keystream ever hides two texts.
//!
//! It writes down every nonce that something was encrypted under, with a digest of what it was. The same nonce with
//! another text is the two-time pad, the gravest mistake counter mode allows. It is on in every test.

use crypto::Nonce;
use rustc_hash::FxHashMap;
use units::Line;

/// A nonce that served two plaintexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PadReuse(pub Nonce);

/// All nonces used so far under one key.
#[derive(Clone, Default)]
pub struct PadLedger {
    sealed: FxHashMap<Nonce, Line>,
    reuse: Option<PadReuse>,
}

impl PadLedger {
    /// Notes an encryption.
    pub fn note(&mut self, nonce: &Nonce, plaintext: &Line) {
        if self.sealed.insert(*nonce, *plaintext).is_some_and(|before| before != *plaintext) {
            self.reuse.get_or_insert(PadReuse(*nonce));
        }
    }

    /// The first nonce that served twice, if any did.
    pub fn reuse(&self) -> Option<PadReuse> {
        self.reuse
    }

    /// How many encryptions were noted under different nonces.
    pub fn len(&self) -> usize {
        self.sealed.len()
    }

    /// Whether nothing was encrypted yet.
    pub fn is_empty(&self) -> bool {
        self.sealed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::LineAddr;

    #[test]
    fn a_pad_may_hide_one_text_again_but_never_another() {
        let nonce = Nonce::new(LineAddr(1), 1);
        let mut ledger = PadLedger::default();
        ledger.note(&nonce, &[1; 64]);
        ledger.note(&nonce, &[1; 64]);
        assert_eq!(ledger.reuse(), None);
        ledger.note(&nonce, &[2; 64]);
        assert_eq!(ledger.reuse(), Some(PadReuse(nonce)));
    }
}
