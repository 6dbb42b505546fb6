//! Checks that a protected memory returns the same texts as a plain memory, for many compositions of parts.

use crate::tag_lengths::long_tags;
use casemate_protection::design::MovingChip;
use casemate_protection::design::{
    CacheDesign, CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Over, Parts, Persistence,
    SpeculationDesign, TagLocation, TreeDesign, TreeKind,
};
use casemate_protection::execution::{Functional, Operation, RecordedMemory, Untimed, run_now};
use casemate_protection::ownership::Ownership;
use casemate_protection::scheme::{Release, Scheme};
use casemate_protection::tree::Update;
use casemate_protection::verbs::Role;
use proptest::prelude::*;
use units::{Bytes, LineAddr};

/// Caches so small that every access evicts metadata.
fn tiny() -> CacheDesign {
    CacheDesign::default().resized(Bytes(256), 2)
}
/// Lines of data, enough for every tree to store a level or more.
pub const LINES: u64 = 1 << 16;

pub fn parts(cipher: CipherChoice, counters: CounterChoice, code: MacChoice, tree: impl Into<TreeDesign>) -> Parts {
    use MacChoice as M;
    let covers = match code {
        M::None | M::Gmac | M::SgxCw | M::Ocb | M::OcbChunks => vec![],
        _ => vec![Covered::Address],
    };
    let over = if matches!(code, M::Ocb | M::OcbChunks) { Over::Plaintext } else { Over::Ciphertext };
    Parts {
        cipher,
        counters,
        mac: MacDesign { code, over, covers, ..MacDesign::default() },
        tree: tree.into(),
        ownership: Ownership::None,
        caches: tiny(),
        persistence: Persistence::default(),
        release: Release::Verified,
        speculation: SpeculationDesign::default(),
        permutation: None,
    }
}

#[test]
fn the_layout_report_lists_only_metadata_caches_that_the_design_uses() {
    let caches_of = |parts: Parts| {
        let report = parts.layout_report(LINES, MovingChip::default()).unwrap();
        let caches = report.on_chip.into_iter().filter(|part| part.ways.is_some());
        caches.map(|cache| (cache.what, cache.bytes)).collect::<Vec<_>>()
    };
    let with = |counters, code, tree: TreeKind| parts(CipherChoice::Aes128Counter, counters, code, tree);
    let each = |of: &[&str]| of.iter().map(|of| (format!("cache of {of}"), 256)).collect::<Vec<_>>();
    use CounterChoice as C;
    assert_eq!(caches_of(with(C::Sc64, MacChoice::Gmac, TreeKind::Bonsai)), each(&["counters", "tags", "tree nodes"]));
    assert_eq!(caches_of(with(C::Sc64, MacChoice::Gmac, TreeKind::None)), each(&["counters", "tags"]));
    assert_eq!(caches_of(with(C::Sc64, MacChoice::None, TreeKind::None)), each(&["counters"]));
}

pub fn over_plaintext(mut parts: Parts) -> Parts {
    parts.mac.over = Over::Plaintext;
    parts
}

/// Puts tags into this place, each over this number of lines.
pub fn tags(mut parts: Parts, place: TagLocation, lines: u64) -> Parts {
    (parts.mac.place, parts.mac.lines) = (place, lines);
    parts
}

/// Replaces the caches by one cache of all metadata.
fn unified(mut parts: Parts, bytes: u64) -> Parts {
    parts.caches = CacheDesign { unified: Some(Bytes(bytes)), ways: 2, ..CacheDesign::default() };
    parts
}

/// Releases lines before their verdicts.
fn speculative(parts: Parts) -> Parts {
    Parts { release: Release::Speculative, ..parts }
}

/// Moves evicted counter lines to the last-level cache.
fn in_llc(mut parts: Parts) -> Parts {
    parts.caches.counters_in_llc = true;
    parts
}

/// Moves evicted counter lines and evicted nodes of the tree to the last-level cache.
fn nodes_in_llc(mut parts: Parts) -> Parts {
    (parts.caches.counters_in_llc, parts.caches.nodes_in_llc) = (true, true);
    parts
}

/// Returns a tree of counters with this update, below a root of `root_lines` lines.
fn counters(levels: &[CounterChoice], root_lines: u64, update: Update) -> TreeDesign {
    TreeDesign { levels: levels.to_vec(), root_lines, update, ..TreeKind::Counters.into() }
}

fn compositions() -> Vec<Parts> {
    use Update::{Eager, Lazy};
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeKind as T};
    let hashes = |kind: T, arity, update| TreeDesign { arity, update, ..kind.into() };
    let mut all = vec![
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
        parts(C::Aes128Counter, N::PageRecord, M::CbcMac, hashes(T::Bonsai, 2, Eager)),
        parts(C::Aes128Xts, N::None, M::Cmac, hashes(T::Merkle, 2, Lazy)),
        parts(C::Aes128Xts, N::None, M::Cmac, hashes(T::Merkle, 8, Eager)),
        parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 2, Eager)),
        parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 1, Lazy)),
        parts(C::Aes128Counter, N::Sc64Mac, M::Gmac, counters(&[N::Vault32, N::Vault16], 1, Lazy)),
        parts(C::Aes128Counter, N::Sc128, M::Gmac, counters(&[N::Sc128], 1, Lazy)),
        parts(C::Aes128Counter, N::Sc128, M::Gmac, counters(&[N::Sc128], 1, Eager)),
        parts(C::Aes128Counter, N::Morphable, M::Gmac, counters(&[N::Morphable], 1, Lazy)),
        // Nodes with counters that overflow all the time, on several levels.
        parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56, N::Sc128], 1, Lazy)),
        parts(C::Aes192Counter, N::Sc64, M::CbcMac, T::Bonsai),
        parts(C::Aes256Counter, N::Sc64, M::SgxCw, T::Bonsai),
        parts(C::TdesCounter, N::Sc64, M::HmacSha1, T::Bonsai),
        parts(C::Aes128Gcm, N::Sc64, M::Gmac, T::Bonsai),
        parts(C::Aes256Gcm, N::Sc64, M::Gmac, T::None),
        parts(C::Aes128Ocb, N::Sc64, M::Ocb, T::Bonsai),
        parts(C::Aes128OcbChunks, N::Sc64, M::OcbChunks, T::Bonsai),
        parts(C::TdesOcbChunks, N::Sc64, M::OcbChunks, T::None),
        over_plaintext(parts(C::Aes256Xts, N::None, M::Sha3, T::None)),
        over_plaintext(parts(C::Aes128Cbc, N::Sc64, M::HmacSha256, T::Bonsai)),
        over_plaintext(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai)),
        parts(C::TdesCbc, N::None, M::HmacSha512, T::None),
        parts(C::Aes128Ecb, N::None, M::Cmac, T::None),
        parts(C::TdesEcb, N::None, M::None, T::None),
        tags(parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 1, Lazy)), TagLocation::Ecc, 1),
        tags(parts(C::Aes128Xts, N::None, M::Sha3, T::None), TagLocation::Ecc, 1),
        tags(parts(C::Aes128Ocb, N::Sc64, M::Ocb, T::Bonsai), TagLocation::Inline, 1),
        tags(parts(C::Aes128Counter, N::Sc64, M::CbcMac, T::Bonsai), TagLocation::Inline, 1),
        tags(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai), TagLocation::Region, 4),
        tags(parts(C::Aes128Gcm, N::Sc128, M::Gmac, T::Bonsai), TagLocation::Region, 2),
        tags(parts(C::Aes128Counter, N::Morphable, M::Cmac, T::Bonsai), TagLocation::Region, 4),
        tags(parts(C::Aes128Cbc, N::None, M::HmacSha256, T::None), TagLocation::Region, 2),
        tags(parts(C::Aes128Xts, N::None, M::Cmac, hashes(T::Merkle, 8, Lazy)), TagLocation::Region, 4),
        unified(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai), 256),
        unified(parts(C::Aes128Counter, N::Mono56, M::Gmac, counters(&[N::Mono56], 1, Eager)), 128),
        speculative(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai)),
        speculative(over_plaintext(parts(C::Aes128Cbc, N::Mono56, M::Cmac, counters(&[N::Mono56], 1, Lazy)))),
        speculative(tags(parts(C::Aes128Xts, N::None, M::Sha3, T::None), TagLocation::Region, 4)),
        in_llc(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai)),
        in_llc(parts(C::Aes128Counter, N::Morphable, M::Gmac, counters(&[N::Morphable], 1, Eager))),
        nodes_in_llc(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai)),
        nodes_in_llc(parts(C::Aes128Counter, N::Sc64, M::Gmac, hashes(T::Bonsai, 2, Eager))),
        nodes_in_llc(unified(parts(C::Aes128Counter, N::Sc128, M::Gmac, counters(&[N::Sc128], 1, Lazy)), 256)),
    ];
    all.extend(long_tags());
    all
}

fn read(scheme: &Scheme, memory: &Functional, line: LineAddr) -> units::Line {
    run_now(scheme.read(&memory.verbs(), line));
    assert_eq!(memory.take_fault(), None, "a false alarm");
    let (released, plaintext) = memory.take_released().expect("a read releases its line");
    assert_eq!(released, line);
    plaintext.bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn random_accesses_read_the_written_content_in_every_composition(
        which in 0..compositions().len(), seed in any::<u64>(),
        steps in proptest::collection::vec((0u64..24, 0u64..6, any::<u8>(), 0u8..10), 1..600),
    ) {
        let parts = &compositions()[which];
        let scheme = parts.build(LINES, seed).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        let mut oracle = std::collections::HashMap::<u64, units::Line>::new();
        for (near, far, fill, action) in steps {
            // A few distant pages, so that nodes of the tree leave the chip and return. A few lines in each page, so
            // that minors overflow.
            let line = far * 9_001 + near % 3;
            if action < 6 {
                run_now(scheme.write(&memory.verbs(), LineAddr(line), &[fill; 64]));
                oracle.insert(line, [fill; 64]);
            } else if action == 9 {
                run_now(scheme.flush(&memory.verbs()));
            }
            if let Some(expected) = oracle.get(&line) {
                prop_assert_eq!(read(&scheme, &memory, LineAddr(line)), *expected);
            }
        }
        run_now(scheme.flush(&memory.verbs()));
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
        run_now(scheme.write(&memory.verbs(), LineAddr(line), &[line as u8; 64]));
    }
    let before = memory.media.borrow().read(scheme.layout().data_slot(LineAddr(9)).slot()).examine();
    for write in 0..126 {
        run_now(scheme.write(&memory.verbs(), LineAddr(5), &[write; 64]));
    }
    assert_eq!(memory.media.borrow().read(scheme.layout().data_slot(LineAddr(9)).slot()).examine(), before);
    run_now(scheme.write(&memory.verbs(), LineAddr(5), &[200; 64]));
    assert_ne!(memory.media.borrow().read(scheme.layout().data_slot(LineAddr(9)).slot()).examine(), before);
    for line in (0..64).filter(|line| *line != 5) {
        assert_eq!(read(&scheme, &memory, LineAddr(line)), [line as u8; 64]);
    }
    assert_eq!(read(&scheme, &memory, LineAddr(5)), [200; 64]);
    assert_eq!(memory.ledger().reuse(), None);
}

#[test]
fn tree_children_in_memory_get_new_macs_when_the_version_of_their_parent_overflows() {
    let levels = [CounterChoice::Sc128];
    let tree = counters(&levels, 1, Update::Lazy);
    let parts = parts(CipherChoice::Aes128Counter, CounterChoice::Mono56, MacChoice::Gmac, tree);
    let scheme = parts.build(LINES, 1).unwrap();
    let memory = Functional::new(scheme.layout().total_lines());
    let line_of = |child: u64| LineAddr(child * 8);
    let counters_of =
        |child| memory.media.borrow().read(scheme.fixed().unwrap().counter_slot(line_of(child)).unwrap()).examine();
    for child in 0..3 {
        run_now(scheme.write(&memory.verbs(), line_of(child), &[child as u8; 64]));
    }
    run_now(scheme.flush(&memory.verbs()));
    let mut renewals = Vec::new();
    for journey in 2..=20 {
        let before = counters_of(2);
        run_now(scheme.write(&memory.verbs(), line_of(1), &[journey; 64]));
        run_now(scheme.flush(&memory.verbs()));
        if counters_of(2) != before {
            renewals.push(journey);
        }
        assert_eq!(read(&scheme, &memory, line_of(2)), [2; 64]);
        run_now(scheme.flush(&memory.verbs()));
    }
    // A 3-bit version lasts seven journeys. The eighth renews it, and the line itself is then written under the next
    // version.
    assert_eq!(renewals, [8, 15]);
}

#[test]
fn incompatible_compositions_of_parts_are_refused_with_a_remedy() {
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
        (parts(C::Aes128Ocb, N::None, M::None, T::None), "counters = \"sc64\""),
        (parts(C::Aes128Gcm, N::Sc64, M::Cmac, T::None), "mac.code = \"gmac\""),
        (over_plaintext(parts(C::Aes128Gcm, N::Sc64, M::Gmac, T::None)), "mac.over = \"ciphertext\""),
        (parts(C::Aes128Counter, N::Sc64, M::Ocb, T::None), "cipher = \"aes128-ocb\""),
        (parts(C::Aes128Ocb, N::Sc64, M::OcbChunks, T::None), "cipher = \"aes128-ocb-chunks\""),
        (parts(C::TdesCbc, N::None, M::SgxCw, T::None), "counters = \"sc64\""),
        (over_plaintext(parts(C::None, N::None, M::Cmac, T::None)), "leave mac.over out"),
        (over_plaintext(parts(C::Aes128Xts, N::None, M::None, T::None)), "leave mac.over out"),
    ] {
        let refusal = parts.check().unwrap_err();
        assert!(refusal.contains(remedy), "{refusal}");
    }
    let mut odd = parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai);
    // No set, three sets, and one set plus one byte.
    for size in [100, 3 * 128, 128 + 1] {
        odd.caches.tags = Some(Bytes(size));
        assert!(odd.check().unwrap_err().contains("caches.tags"), "{size}");
    }
    odd.caches = CacheDesign { unified: Some(Bytes(1024)), ways: 2, ..CacheDesign::default() };
    assert_eq!(odd.check(), Ok(()));
    odd.caches.nodes = Some(Bytes(1024));
    assert!(odd.check().unwrap_err().contains("caches.unified"));
    let unchecked = speculative(parts(C::Aes128Counter, N::Sc64, M::None, T::None));
    assert!(unchecked.check().unwrap_err().contains("leave release out"));
    let without = in_llc(parts(C::Aes128Xts, N::None, M::None, T::None));
    assert!(without.check().unwrap_err().contains("counters = \"sc64\""));
    let mut treeless = nodes_in_llc(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::None));
    assert!(treeless.check().unwrap_err().contains("tree.kind = \"bonsai\""));
    (treeless.tree, treeless.caches.counters_in_llc) = (T::Bonsai.into(), false);
    assert!(treeless.check().unwrap_err().contains("caches.counters_in_llc = true"));
}

#[test]
fn a_tag_incompatible_with_an_authenticated_cipher_is_refused_with_a_remedy() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeKind as T};
    let mut shared = parts(C::TdesOcbChunks, N::Sc64, M::OcbChunks, T::None);
    shared.mac.tag_bits = Some(4);
    assert!(shared.check().unwrap_err().contains("set mac.tag_bits = 8"));
    shared.mac.tag_bits = Some(64);
    let mut whole = parts(C::Aes128Ocb, N::Sc64, M::Ocb, T::None);
    whole.mac.over = Over::Ciphertext;
    assert!(whole.check().unwrap_err().contains("mac.over = \"plaintext\""));
    shared.mac.covers = vec![Covered::Address];
    assert!(shared.check().unwrap_err().contains("always covers address and counter"));
}

#[test]
fn the_tag_placement_determines_the_lines_that_an_access_transfers() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TagLocation as P, TreeKind as T};
    let moved = |place, lines| {
        let scheme = tags(parts(C::Aes128Xts, N::None, M::HmacSha256, T::None), place, lines).build(LINES, 1).unwrap();
        let memory = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
        let count = |access: &dyn Fn()| {
            run_now(scheme.flush(&memory.verbs()));
            memory.take_operations();
            access();
            let operations = memory.take_operations();
            let of = |wanted: fn(&Operation) -> bool| operations.iter().filter(|operation| wanted(operation)).count();
            (
                of(|operation| matches!(operation, Operation::Fetch(Role::Data, _))),
                of(|operation| matches!(operation, Operation::Fetch(Role::Tag, _))),
                of(|operation| matches!(operation, Operation::Mac)),
            )
        };
        count(&|| (8..12).for_each(|line| run_now(scheme.write(&memory.verbs(), LineAddr(line), &[2; 64]))));
        let write = count(&|| run_now(scheme.write(&memory.verbs(), LineAddr(9), &[1; 64])));
        (write, count(&|| run_now(scheme.read(&memory.verbs(), LineAddr(9)))))
    };
    assert_eq!(moved(P::Region, 1), ((0, 1, 1), (1, 1, 1)));
    assert_eq!([P::Ecc, P::Inline].map(|place| moved(place, 1)), [((0, 0, 1), (1, 0, 1)); 2]);
    // A write checks all stored lines under the tag, then computes a new tag over all.
    assert_eq!(moved(P::Region, 2), ((2, 1, 4), (2, 1, 2)));
    assert_eq!(moved(P::Region, 4), ((4, 1, 8), (4, 1, 4)));
}

#[test]
fn the_weaknesses_of_a_design_are_listed() {
    use {CipherChoice as C, CounterChoice as N, MacChoice as M, TreeKind as T};
    let weak = |parts: Parts| parts.weaknesses();
    assert_eq!(weak(parts(C::Aes256Counter, N::Sc64, M::Gmac, T::Bonsai)), [""; 0]);
    assert_eq!(
        weak(parts(C::TdesEcb, N::None, M::None, T::None)),
        ["deterministic encryption", "equal blocks look equal", "64-bit blocks", "no authentication", "no freshness"]
    );
    assert_eq!(weak(parts(C::Aes128Cbc, N::None, M::Cmac, T::None)), ["deterministic encryption", "no freshness"]);
    assert_eq!(
        weak(parts(C::Aes128Cbc, N::Sc64, M::HmacSha1, T::Bonsai)),
        ["SHA-1", "fresh counters, but tags that ignore them"]
    );
    // A tag of 56 bits has 14 bits for each of four chunks.
    assert_eq!(weak(parts(C::Aes128OcbChunks, N::Sc64, M::OcbChunks, T::Bonsai)), ["short tag"]);
    let mut in_ecc = tags(parts(C::Aes128Counter, N::Sc64, M::Gmac, T::Bonsai), TagLocation::Ecc, 1);
    assert_eq!(weak(in_ecc.clone()), [""; 0]);
    in_ecc.mac.tag_bits = Some(64);
    assert_eq!(weak(in_ecc), ["no ECC bits left to correct errors"]);
    assert_eq!(
        weak(over_plaintext(parts(C::Aes128Counter, N::Sc64, M::Sha3, T::Bonsai))),
        ["equal plaintexts have equal tags"]
    );
}

#[test]
fn every_mac_over_plaintext_or_ciphertext_detects_a_flipped_ciphertext_bit() {
    for parts in compositions().iter().filter(|parts| parts.mac.code != MacChoice::None) {
        let scheme = parts.build(LINES, 3).unwrap();
        let memory = Functional::new(scheme.layout().total_lines());
        run_now(scheme.write(&memory.verbs(), LineAddr(77), &[9; 64]));
        let slot = scheme.layout().data_slot(LineAddr(77)).slot();
        let mut stored = memory.media.borrow().read(slot).examine();
        stored[20] ^= 4;
        memory.media.borrow_mut().write(slot, &stored);
        run_now(scheme.read(&memory.verbs(), LineAddr(77)));
        assert!(memory.take_fault().is_some(), "{parts:?} took a flipped bit");
        assert_eq!(memory.take_released(), None, "{parts:?} let the line out");
    }
}
