//! Parts and keys that no other part of a design uses.

use crate::scheme::parts;
use casemate_protection::design::{CipherChoice, CounterChoice, Covered, MacChoice, Parts, TreeKind};
use casemate_protection::tree::Update;

#[test]
fn unused_parts_and_configuration_keys_are_refused_with_a_remedy() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeKind as T};
    let plain = parts(C::Aes128Xts, N::None, M::None, T::None);
    let with = |change: fn(&mut Parts)| {
        let mut changed = plain.clone();
        change(&mut changed);
        changed.check().unwrap_err()
    };
    assert_eq!(plain.check(), Ok(()));
    assert!(with(|parts| parts.counters = N::Sc64).contains("counters = \"none\""));
    assert!(with(|parts| parts.mac.tag_bits = Some(64)).contains("leave mac.tag_bits out"));
    assert!(with(|parts| parts.mac.covers = vec![Covered::Address]).contains("leave mac.covers out"));
    assert!(with(|parts| parts.tree.arity = 4).contains("leave tree.arity out"));
    assert!(with(|parts| parts.tree.root_lines = 2).contains("leave them out"));
    assert!(with(|parts| parts.tree.update = Update::Eager).contains("leave them out"));
    // Each of these makes use of counters: a mode, a code, the inputs that a code covers, a tree.
    for right in [
        parts(C::Aes128Counter, N::Sc64, M::None, T::None),
        parts(C::Aes128Cbc, N::Sc64, M::None, T::None),
        parts(C::None, N::Sc64, M::Gmac, T::None),
        parts(C::None, N::Sc64, M::Cmac, T::Bonsai),
    ] {
        assert_eq!(right.check(), Ok(()));
    }
    let mut covered = parts(C::None, N::Sc64, M::Cmac, T::None);
    covered.mac.covers = Vec::new();
    assert!(covered.check().unwrap_err().contains("counters = \"none\""));
    covered.mac.covers = vec![Covered::Counter];
    assert_eq!(covered.check(), Ok(()));
}
