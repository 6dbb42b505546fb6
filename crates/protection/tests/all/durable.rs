//! Designs for the tests of durable writes.

use casemate_protection::design::{
    CacheDesign, CipherChoice, CounterChoice, MacChoice, MacDesign, Parts, Persistence, SpeculationDesign, TreeKind,
};
use casemate_protection::ownership::Ownership;
use casemate_protection::scheme::Release;
use units::Bytes;

/// The parts of `sc64-bmt` with this persistence and caches of a few lines.
pub fn durable(persistence: Persistence) -> Parts {
    Parts {
        cipher: CipherChoice::Aes128Counter,
        counters: CounterChoice::Sc64,
        mac: MacDesign { code: MacChoice::Gmac, ..MacDesign::default() },
        tree: TreeKind::Bonsai.into(),
        ownership: Ownership::None,
        release: Release::Verified,
        speculation: SpeculationDesign::default(),
        permutation: None,
        caches: CacheDesign::default().resized(Bytes(256), 2),
        persistence,
    }
}
