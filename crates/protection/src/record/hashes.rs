//! The hashes of the tree over page chunk records: their time in the hash unit, and their number.

use crate::verbs::Verbs;
use crypto::sha1_steps;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Time of a hash in the hash unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashCharge {
    /// One pass through the unit for any length, as in the paper.
    #[default]
    Once,
    /// One pass for each 64-byte block of SHA-1.
    ByBlocks,
}

/// Computes the time of hashes and counts them.
#[derive(Clone)]
pub(super) struct RecordHashes {
    charge: HashCharge,
    computed: Cell<u64>,
}

impl RecordHashes {
    /// Returns a count of zero hashes.
    pub fn new(charge: HashCharge) -> RecordHashes {
        RecordHashes { charge, computed: Cell::new(0) }
    }

    /// Number of hashes computed so far.
    pub fn computed(&self) -> u64 {
        self.computed.get()
    }

    /// Waits for the hash of `bytes` bytes.
    pub async fn compute<V: Verbs>(&self, verbs: &V, bytes: usize) {
        self.computed.set(self.computed.get() + 1);
        let passages = match self.charge {
            HashCharge::Once => 1,
            HashCharge::ByBlocks => sha1_steps(bytes),
        };
        for _ in 0..passages {
            verbs.hash().await;
        }
    }
}
