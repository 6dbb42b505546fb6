//! The hashes of the tree over records: their time in the unit for hashes, and their number.

use crate::verbs::Verbs;
use crypto::sha1_steps;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// Time that a hash takes in the unit for hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashCharge {
    /// One passage, for any length, as in the paper.
    #[default]
    Once,
    /// A passage for each block of 64 bytes that SHA-1 takes.
    ByBlocks,
}

/// Hashes, each with its time.
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
