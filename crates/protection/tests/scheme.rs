//! Does the one text do what a plain memory does, in every way to run?

use casemate_protection::design::{CacheDesign, CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Parts};
use casemate_protection::scheme::Scheme;
use casemate_protection::tree::{TreeDesign, TreeKind, Update};
use casemate_protection::ways::{Functional, run_now};
use proptest::prelude::*;
use std::collections::HashMap;
use units::{Bytes, LineAddr};

/// Caches so small that everything leaves them all the time.
const TINY: CacheDesign = CacheDesign { counters: Bytes(256), tags: Bytes(256), nodes: Bytes(256), ways: 2 };
/// So many that every tree stores a level or more.
const LINES: u64 = 1 << 16;

fn parts(cipher: CipherChoice, counters: CounterChoice, code: MacChoice, tree: impl Into<TreeDesign>) -> Parts {
    let covers = if code == MacChoice::Cmac { vec![Covered::Address] } else { vec![] };
    Parts { cipher, counters, mac: MacDesign { code, tag_bits: 56, covers }, tree: tree.into(), caches: TINY }
}

/// A tree of counters, eager or not, below a root of some lines.
fn counters(levels: &[CounterChoice], root_lines: u64, update: Update) -> TreeDesign {
    TreeDesign { levels: levels.to_vec(), root_lines, update, ..TreeKind::Counters.into() }
}

fn compositions() -> Vec<Parts> {
    use Update::{Eager, Lazy};
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeKind as T};
    let hashes = |kind: T, arity, update| TreeDesign { arity, update, ..kind.into() };
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
        parts(C::Aes128Counter, N::Sc64, M::Gmac, hashes(T::Bonsai, 4, Eager)),
        parts(C::Aes128Xts, N::None, M::Cmac, hashes(T::Merkle, 2, Lazy)),
        parts(C::Aes128Xts, N::None, M::Cmac, hashes(T::Merkle, 8, Eager)),
        parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 2, Eager)),
        parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 1, Lazy)),
        parts(C::Aes128Counter, N::Sc64Mac, M::Gmac, counters(&[N::Vault32, N::Vault16], 1, Lazy)),
        parts(C::Aes128Counter, N::Sc128, M::Gmac, counters(&[N::Sc128], 1, Lazy)),
        parts(C::Aes128Counter, N::Sc128, M::Gmac, counters(&[N::Sc128], 1, Eager)),
        parts(C::Aes128Counter, N::Morphable, M::Gmac, counters(&[N::Morphable], 1, Lazy)),
        // Nodes whose own counters overflow all the time, on several levels.
        parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56, N::Sc128], 1, Lazy)),
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
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn a_protected_memory_returns_what_was_written(
        which in 0..compositions().len(), seed in any::<u64>(),
        steps in proptest::collection::vec((0u64..24, 0u64..6, any::<u8>(), 0u8..10), 1..600),
    ) {
        let parts = &compositions()[which];
        let scheme = parts.build(LINES, seed).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        let mut oracle: HashMap<u64, units::Line> = HashMap::new();
        for (near, far, fill, action) in steps {
            // A few pages far apart, so that tree nodes leave and come back, and a few lines in each, so that minors overflow.
            let line = far * 9_001 + near % 3;
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
fn children_in_memory_get_new_macs_when_their_parent_overflows() {
    let levels = [CounterChoice::Sc128];
    let tree = counters(&levels, 1, Update::Lazy);
    let parts = parts(CipherChoice::Aes128Counter, CounterChoice::Mono56, MacChoice::Gmac, tree);
    let scheme = parts.build(LINES, 1).unwrap();
    let memory = Functional::new(scheme.layout().total_lines());
    let line_of = |child: u64| LineAddr(child * 8);
    let counters_of = |child| memory.media.borrow().read(scheme.counter_slot(line_of(child)).unwrap()).examine();
    for child in 0..3 {
        run_now(scheme.write(&memory, line_of(child), &[child as u8; 64]));
    }
    run_now(scheme.flush(&memory));
    let mut renewals = Vec::new();
    for journey in 2..=20 {
        let before = counters_of(2);
        run_now(scheme.write(&memory, line_of(1), &[journey; 64]));
        run_now(scheme.flush(&memory));
        if counters_of(2) != before {
            renewals.push(journey);
        }
        assert_eq!(read(&scheme, &memory, line_of(2)), [2; 64]);
        run_now(scheme.flush(&memory));
    }
    // A 3-bit version lasts seven journeys; the eighth renews, and the line itself then leaves under the next.
    assert_eq!(renewals, [8, 15]);
}

#[test]
fn compositions_that_make_no_sense_are_refused_with_a_way_out() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeKind as T};
    for (parts, remedy) in [
        (parts(C::Aes128Counter, N::None, M::None, T::None), "counters = \"sc64\""),
        (parts(C::Aes128Xts, N::None, M::Cmac, T::Bonsai), "tree.kind = \"merkle\""),
        (parts(C::Aes128Counter, N::Sc64, M::None, T::Bonsai), "mac.code = \"gmac\""),
        (parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Merkle), "tree.kind = \"bonsai\""),
        (parts(C::Aes128Counter, N::Sc64, M::Gmac, counters(&[N::Mono56], 1, Update::Lazy)), "\"sc64-mac\""),
        (parts(C::Aes128Counter, N::Mono56, M::Gmac, T::Counters), "tree.levels"),
        (parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 0, Update::Lazy)), "root_lines"),
        (parts(C::Aes128Xts, N::None, M::Gmac, T::None), "mac.code = \"cmac\""),
    ] {
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy), "{refusal}");
    }
    let mut odd = parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai);
    odd.caches.tags = Bytes(100);
    assert!(odd.check().unwrap_err().contains("caches.tags"));
}
