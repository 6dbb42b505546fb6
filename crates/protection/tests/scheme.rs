//! Does the one text do what a plain memory does, in every way to run?

use casemate_protection::design::{
    CacheDesign, CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Parts, TreeChoice,
};
use casemate_protection::scheme::Scheme;
use casemate_protection::ways::{Functional, run_now};
use proptest::prelude::*;
use std::collections::HashMap;
use units::{Bytes, LineAddr};

/// Caches so small that everything leaves them all the time.
const TINY: CacheDesign = CacheDesign { counters: Bytes(256), tags: Bytes(256), nodes: Bytes(256), ways: 2 };
const LINES: u64 = 4096;

fn parts(cipher: CipherChoice, counters: CounterChoice, code: MacChoice, tree: TreeChoice) -> Parts {
    let covers = if code == MacChoice::Cmac { vec![Covered::Address] } else { vec![] };
    Parts { cipher, counters, mac: MacDesign { code, tag_bits: 56, covers }, tree, caches: TINY }
}

fn compositions() -> Vec<Parts> {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeChoice as T};
    vec![
        parts(C::None, N::None, M::None, T::None),
        parts(C::Aes128Xts, N::None, M::None, T::None),
        parts(C::Aes128Xts, N::None, M::Cmac, T::None),
        parts(C::Aes128Counter, N::Sc64, M::None, T::None),
        parts(C::Aes128Counter, N::Sc64, M::Cmac, T::None),
        parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai),
        parts(C::Aes128Counter, N::Mono56, M::Gmac, T::Bonsai),
        parts(C::Aes128Counter, N::Sc64Mac, M::Gmac, T::Bonsai),
        parts(C::Aes128Counter, N::Sc128, M::Gmac, T::Bonsai),
        parts(C::Aes128Counter, N::Vault32, M::Gmac, T::Bonsai),
        parts(C::Aes128Counter, N::Vault16, M::Gmac, T::Bonsai),
        parts(C::Aes128Counter, N::Morphable, M::Gmac, T::Bonsai),
    ]
}

fn read(scheme: &Scheme, memory: &Functional, line: LineAddr) -> units::Line {
    run_now(scheme.read(memory, line));
    assert_eq!(memory.take_fault(), None, "a false alarm");
    let (released, plaintext) = memory.take_released().expect("a read releases its line");
    assert_eq!(released, line);
    plaintext.bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_protected_memory_returns_what_was_written(
        which in 0usize..12, seed in any::<u64>(),
        steps in proptest::collection::vec((0u64..24, 0u64..6, any::<u8>(), 0u8..10), 1..600),
    ) {
        let parts = &compositions()[which];
        let scheme = parts.build(LINES, seed).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        let mut oracle: HashMap<u64, units::Line> = HashMap::new();
        for (near, far, fill, action) in steps {
            // A few pages far apart, so that tree nodes leave and come back, and a few lines in each, so that minors overflow.
            let line = far * 700 + near % 3;
            if action < 6 {
                run_now(scheme.write(&memory, LineAddr(line), &[fill; 64]));
                oracle.insert(line, [fill; 64]);
            } else if action == 9 {
                run_now(scheme.flush(&memory));
            }
            if let Some(expected) = oracle.get(&line) {
                prop_assert_eq!(read(&scheme, &memory, LineAddr(line)), *expected);
            }
        }
        run_now(scheme.flush(&memory));
        for (line, expected) in oracle {
            prop_assert_eq!(read(&scheme, &memory, LineAddr(line)), expected);
        }
        prop_assert_eq!(memory.ledger().reuse(), None);
    }
}

#[test]
fn a_page_is_re_encrypted_at_the_128th_write_of_one_line_and_stays_readable() {
    let scheme = compositions()[5].build(LINES, 1).unwrap();
    let memory = Functional::new(scheme.layout().total_lines());
    for line in 0..64 {
        run_now(scheme.write(&memory, LineAddr(line), &[line as u8; 64]));
    }
    let before = memory.media.borrow().read(scheme.layout().data_slot(LineAddr(9))).examine();
    for write in 0..126 {
        run_now(scheme.write(&memory, LineAddr(5), &[write; 64]));
    }
    assert_eq!(memory.media.borrow().read(scheme.layout().data_slot(LineAddr(9))).examine(), before);
    run_now(scheme.write(&memory, LineAddr(5), &[200; 64]));
    assert_ne!(memory.media.borrow().read(scheme.layout().data_slot(LineAddr(9))).examine(), before);
    for line in (0..64).filter(|line| *line != 5) {
        assert_eq!(read(&scheme, &memory, LineAddr(line)), [line as u8; 64]);
    }
    assert_eq!(read(&scheme, &memory, LineAddr(5)), [200; 64]);
    assert_eq!(memory.ledger().reuse(), None);
}

#[test]
fn compositions_that_make_no_sense_are_refused_with_a_way_out() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeChoice as T};
    for (parts, remedy) in [
        (parts(C::Aes128Counter, N::None, M::None, T::None), "counters = \"sc64\""),
        (parts(C::Aes128Xts, N::None, M::Cmac, T::Bonsai), "tree = \"none\""),
        (parts(C::Aes128Counter, N::Sc64, M::None, T::Bonsai), "mac.code = \"gmac\""),
        (parts(C::Aes128Xts, N::None, M::Gmac, T::None), "mac.code = \"cmac\""),
    ] {
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy), "{refusal}");
    }
    let mut odd = parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai);
    odd.caches.tags = Bytes(100);
    assert!(odd.check().unwrap_err().contains("caches.tags"));
}
