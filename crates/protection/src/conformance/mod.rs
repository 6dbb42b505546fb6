//! The conformance kit: one function for each kind of part, which checks the contract of the kind.
//!
//! The kit finds parts without registration: it checks all choices that a design file has, and every composition of
//! them that the rules allow. The kit checks a new mode, code, counter organisation or tree against the contract of its
//! kind as soon as a design file can name it.
//!
//! Each function returns a sentence about the broken rule and does not panic, so that tests can check that the same
//! function finds the bugs that are planted for it.

mod aged;
mod boot;
mod buffer;
mod cipher;
mod code;
mod copies;
mod cost;
mod counters;
mod design;
mod forests;
mod halts;
mod keys;
mod masks;
mod moving;
mod moving_boots;
mod moving_in_background;
mod moving_in_time;
mod moving_memory;
mod moving_rules;
mod paused;
#[cfg(feature = "planted-bugs")]
mod planted;
mod processes;
mod record_walks;
mod records;
mod recovery;
mod system_walks;
mod tlb_walks;
mod tree;
mod unordered;

use crate::counter::Counter;
use crate::design::{
    BitmapTrust, CacheDesign, CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Order, Over, Parts,
    Persistence, SpeculationDesign, Step, TreeDesign, TreeKind,
};
use crate::mac::TagLocation;
use crate::ownership::Ownership;
use crate::placement::{DataSlot, Placement};
use crate::scheme::Release;
use crate::speculation::Target;
use crate::tree::{ForestDesign, Update};
use crypto::{COUNTER_BITS, LINE_NUMBER_BITS};
use rustc_hash::FxHashSet;
use std::sync::LazyLock;
use strum::VariantArray;
use units::random::Random;
use units::{Bytes, LINE_BYTES, Line, LineAddr};

/// Result of a check: the error is a sentence about the broken rule.
type Checked = Result<(), String>;

/// Returns the sentence `broken` as an error unless `holds`.
fn hold(holds: bool, broken: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(broken()) }
}

const LINE_BITS: usize = LINE_BYTES * 8;

/// A line with one bit flipped.
fn flipped(line: &Line, bit: usize) -> Line {
    let mut flipped = *line;
    flipped[bit / 8] ^= 1 << (bit % 8);
    flipped
}

/// A line of data, by its number.
fn placed(line: u64) -> DataSlot {
    Placement::Fixed.of(LineAddr(line))
}

/// Lines with a number that differs from this line's in one bit, and counters that differ from this counter in one bit.
fn neighbours(line: DataSlot, counter: Counter) -> (Vec<DataSlot>, Vec<Counter>) {
    let lines = (0..LINE_NUMBER_BITS).map(|bit| placed(line.line().0 ^ 1 << bit));
    let counters = (0..COUNTER_BITS).map(|bit| Counter(counter.0 ^ 1 << bit));
    (lines.collect(), counters.collect())
}

/// All ways to authenticate that differ in code, text and covered inputs. With the usual inputs, also those that differ
/// in the place of tags and in the number of lines under a tag.
fn codes() -> Vec<MacDesign> {
    let covers = [vec![], vec![Covered::Address], vec![Covered::Counter], vec![Covered::Address, Covered::Counter]];
    let mut codes = Vec::new();
    for code in MacChoice::VARIANTS {
        for over in Over::VARIANTS {
            for covers in &covers {
                codes.push(MacDesign { code: *code, over: *over, covers: covers.clone(), ..MacDesign::default() });
            }
            for (place, lines) in
                [(TagLocation::Ecc, 1), (TagLocation::Inline, 1), (TagLocation::Region, 2), (TagLocation::Region, 4)]
            {
                let plain = MacDesign { code: *code, over: *over, place, lines, ..MacDesign::default() };
                let covers = if plain.has_nonce() { vec![] } else { vec![Covered::Address] };
                codes.push(MacDesign { covers, ..plain });
            }
            codes.extend(long_tags(&MacDesign { code: *code, over: *over, ..MacDesign::default() }));
        }
    }
    codes
}

/// Variants with tags of more than one word, in the places that have room for them, and with a tag for each chunk, as
/// long as the chunk or shorter.
fn long_tags(plain: &MacDesign) -> impl Iterator<Item = MacDesign> {
    let covers = if plain.has_nonce() { vec![] } else { vec![Covered::Address] };
    let plain = MacDesign { covers, ..plain.clone() };
    let placed = |place, lines| MacDesign { place, lines, ..plain.clone() };
    let of_lines = [
        placed(TagLocation::Region, 1).with_line_bits(128),
        placed(TagLocation::Region, 2).with_line_bits(100),
        placed(TagLocation::Region, 1).with_line_bits(256),
        placed(TagLocation::Region, 4).with_line_bits(256),
        placed(TagLocation::Inline, 1).with_line_bits(128),
    ];
    let of_chunks = [
        placed(TagLocation::Region, 1).with_chunk_bits(128),
        placed(TagLocation::Region, 1).with_chunk_bits(64),
        placed(TagLocation::Region, 1).with_chunk_bits(32),
        placed(TagLocation::Inline, 1).with_chunk_bits(32),
        placed(TagLocation::Inline, 1).with_chunk_bits(16),
        placed(TagLocation::Ecc, 1).with_chunk_bits(8),
    ];
    of_lines.into_iter().chain(of_chunks)
}

/// All trees that differ in kind, in the number of children, in the content of their nodes and in the time of their
/// updates.
fn trees() -> Vec<TreeDesign> {
    let plain = TreeKind::VARIANTS.iter().map(|kind| TreeDesign::from(*kind));
    let hashes = TreeKind::VARIANTS.iter().flat_map(|kind| [2, 4].map(|arity| TreeDesign { arity, ..(*kind).into() }));
    let levels = CounterChoice::VARIANTS.iter().map(|choice| vec![*choice]);
    let counters = levels.flat_map(|levels| {
        [1, 4].map(|root_lines| TreeDesign { levels: levels.clone(), root_lines, ..TreeKind::Counters.into() })
    });
    let lazy: Vec<TreeDesign> = plain.chain(hashes).chain(counters).collect();
    Update::VARIANTS
        .iter()
        .flat_map(|update| lazy.iter().map(|tree| TreeDesign { update: *update, ..tree.clone() }))
        .collect()
}

/// Every composition that the rules allow.
fn compositions() -> Vec<Parts> {
    let (codes, trees) = (codes(), trees());
    let mut compositions = Vec::new();
    for cipher in CipherChoice::VARIANTS {
        for counters in CounterChoice::VARIANTS {
            for mac in &codes {
                let composed = trees.iter().map(|tree| composition(*cipher, *counters, mac, tree));
                compositions.extend(composed.filter(|parts| parts.check().is_ok()));
            }
        }
    }
    compositions
}

/// Variants of the other settings of a composition. Metadata is as in the design, in one cache, or partly in the
/// last-level cache: counters only, or counters and nodes. Further variants are speculative release, speculation on
/// values, re-ordered lines, and the last three together.
const HANDLINGS: [fn(&mut Parts); 8] = [
    |_| (),
    |parts| parts.caches = CacheDesign { unified: Some(Bytes(256)), ways: 2, ..CacheDesign::default() },
    |parts| parts.caches.counters_in_llc = true,
    |parts| (parts.caches.counters_in_llc, parts.caches.nodes_in_llc) = (true, true),
    |parts| parts.release = Release::Speculative,
    speculate,
    reorder,
    |parts| {
        parts.release = Release::Speculative;
        reorder(parts);
    },
];

/// Adds speculation on every target that cipher and code allow, and a cache of offsets if the cipher has offsets.
fn speculate(parts: &mut Parts) {
    let targets = [vec![Target::Ciphertext, Target::Tag], vec![Target::Tag], vec![Target::Ciphertext]];
    let designs = targets.map(|of| SpeculationDesign { values: 4, of, ..SpeculationDesign::default() });
    let speculating = |design: &SpeculationDesign| Parts { speculation: design.clone(), ..parts.clone() };
    if let Some(mut found) = designs.iter().map(speculating).find(|parts| parts.check().is_ok()) {
        found.caches.offsets = true;
        found.caches.offsets = found.check().is_ok();
        *parts = found;
    }
}

/// Adds speculation and re-ordered lines. Tags cover the bitmaps if the authentication code supports this.
fn reorder(parts: &mut Parts) {
    speculate(parts);
    parts.speculation.reorder = parts.speculation.exists();
    *parts = parts.with_caches_of(design::TINY.0, design::TINY.1);
    if parts.mac.code != MacChoice::OcbChunks {
        parts.speculation.bitmap = BitmapTrust::Loose;
    }
}

/// Variants of the other settings of designs with tuples: tags in ECC bits, tags behind lines, metadata in the
/// last-level cache, speculative release, long tags, and tags of chunks.
const DURABLE_HANDLINGS: [fn(&mut Parts); 6] = [
    |parts| parts.mac.place = TagLocation::Ecc,
    |parts| parts.mac.place = TagLocation::Inline,
    |parts| (parts.caches.counters_in_llc, parts.caches.nodes_in_llc) = (true, true),
    |parts| parts.release = Release::Speculative,
    |parts| parts.mac = MacDesign { place: TagLocation::Inline, ..gmac() }.with_line_bits(128),
    |parts| {
        let chunks = MacDesign { code: MacChoice::OcbChunks, ..MacDesign::default() }.with_chunk_bits(32);
        (parts.cipher, parts.mac) = (CipherChoice::Aes128OcbChunks, chunks);
    },
];

fn handled_by(parts: &Parts, handling: fn(&mut Parts)) -> Parts {
    let mut handled = parts.clone();
    handling(&mut handled);
    handled
}

/// Returns the composition with the next variant of settings if the rules allow this, otherwise the unchanged
/// composition.
fn handled((index, parts): (usize, Parts)) -> Parts {
    let handled = handled_by(&parts, HANDLINGS[index % HANDLINGS.len()]);
    if handled.check().is_ok() { handled } else { parts }
}

/// Compositions in which every two parts that the rules allow together occur together at least once. Computed once per
/// process.
pub(crate) fn pairs() -> &'static [Parts] {
    static PAIRS: LazyLock<Vec<Parts>> = LazyLock::new(find_pairs);
    &PAIRS
}

/// Returns the index of `part` in the short list `seen`, and appends the part if it is new.
fn number_among<T: PartialEq + Clone>(seen: &mut Vec<T>, part: &T) -> usize {
    seen.iter().position(|other| other == part).unwrap_or_else(|| {
        seen.push(part.clone());
        seen.len() - 1
    })
}

fn find_pairs() -> Vec<Parts> {
    // Compares parts by their numbers, because there are 100,000 compositions with ten pairs each.
    let (mut ciphers, mut counters, mut codes, mut trees, mut handlings) = (vec![], vec![], vec![], vec![], vec![]);
    let mut met = FxHashSet::default();
    let mut brings_a_pair = |parts: &Parts| {
        let numbers = [
            number_among(&mut ciphers, &parts.cipher),
            number_among(&mut counters, &parts.counters),
            number_among(&mut codes, &parts.mac),
            number_among(&mut trees, &parts.tree),
            number_among(&mut handlings, &(parts.caches, parts.release, parts.speculation.clone())),
        ];
        let pairs = (0..numbers.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
        let numbered = pairs.map(|(one, other)| (one, numbers[one], other, numbers[other]));
        numbered.fold(false, |any, pair| met.insert(pair) | any)
    };
    let mut compositions = compositions();
    Random::new(1).shuffle(&mut compositions);
    compositions.into_iter().enumerate().map(handled).filter(|parts| brings_a_pair(parts)).collect()
}

fn composition(cipher: CipherChoice, counters: CounterChoice, mac: &MacDesign, tree: &TreeDesign) -> Parts {
    Parts {
        cipher,
        counters,
        mac: mac.clone(),
        tree: tree.clone(),
        caches: CacheDesign::default().resized(design::TINY.0, design::TINY.1),
        persistence: Persistence::default(),
        ownership: Ownership::None,
        release: Release::Verified,
        speculation: SpeculationDesign::default(),
        permutation: None,
    }
}

fn gmac() -> MacDesign {
    MacDesign { code: MacChoice::Gmac, ..MacDesign::default() }
}

/// A design in which L2s begin reads.
fn eager() -> Parts {
    let mac = MacDesign { place: TagLocation::Ecc, ..gmac() };
    let tree = TreeDesign { levels: vec![CounterChoice::Morphable], ..TreeKind::Counters.into() };
    let mut parts = composition(CipherChoice::Aes128Counter, CounterChoice::Morphable, &mac, &tree);
    parts.caches.counters_in_llc = true;
    parts.caches.counters_in_l2 = Some(Bytes(128));
    parts
}

/// A design that notifies every node of each write, as a forest requires.
fn forest() -> Parts {
    let tree = TreeDesign { update: Update::Eager, ..TreeKind::Bonsai.into() };
    composition(CipherChoice::Aes128Counter, CounterChoice::Sc64, &gmac(), &tree)
}

/// Persistent designs: with each order of tuples, with nodes of each arity, and with each counter organisation that
/// overflows.
fn durable() -> Vec<Parts> {
    let orders = [Order::Strict, Order::Pipelined, Order::Coalesced];
    let counters = [CounterChoice::Sc128, CounterChoice::Vault32, CounterChoice::Vault16, CounterChoice::Morphable];
    let with_sc64 = [8, 4, 2].map(|arity| (CounterChoice::Sc64, arity));
    let kinds: Vec<_> = with_sc64.into_iter().chain(counters.map(|counters| (counters, 8))).collect();
    let mut designs = Vec::new();
    for order in orders {
        for &(counters, arity) in &kinds {
            let tree = TreeDesign { arity, update: Update::Eager, ..TreeKind::Bonsai.into() };
            let parts = composition(CipherChoice::Aes128Counter, counters, &gmac(), &tree);
            let durable = Parts { persistence: Persistence::at_controller(order, 4), ..parts };
            let handling = DURABLE_HANDLINGS[designs.len() / 2 % DURABLE_HANDLINGS.len()];
            designs.push(durable.clone());
            designs.push(handled_by(&durable, handling));
        }
    }
    designs.extend(orders.into_iter().flat_map(|order| forests(Persistence::at_controller(order, 4))));
    designs.extend(buffered());
    designs
}

/// Forests with persistent roots: static forests with roots of one level and of two levels, and a dynamic forest that
/// changes its roots at every opportunity.
fn forests(persistence: Persistence) -> impl Iterator<Item = Parts> {
    let forests = [
        ForestDesign::Static { level: 0, entries: 64 },
        ForestDesign::Static { level: 0, entries: 40 },
        ForestDesign::Dynamic { entries: 2, period: 2, threshold: 0 },
    ];
    forests.into_iter().map(move |roots| {
        let tree = TreeDesign { forest: Some(roots), ..forest().tree };
        Parts { persistence, tree, ..forest() }
    })
}

/// Designs with a persist buffer: each number of early steps, with each order of tuples that a buffer allows.
fn buffered() -> Vec<Parts> {
    let tree = TreeDesign { update: Update::Eager, ..TreeKind::Bonsai.into() };
    let of = |persistence, counters| Parts {
        persistence,
        ..composition(CipherChoice::Aes128Counter, counters, &gmac(), &tree)
    };
    let kinds = [(Order::Strict, CounterChoice::Sc64), (Order::Pipelined, CounterChoice::Morphable)];
    let plain = (0..=Step::CHAIN.len())
        .flat_map(|early| kinds.map(|(order, counters)| of(Persistence::in_buffer(order, early), counters)));
    let orders = kinds.map(|(order, _)| order);
    let early = (0..=Step::CHAIN.len()).flat_map(|early| orders.map(|order| Persistence::in_buffer(order, early)));
    plain.chain(early.flat_map(forests)).collect()
}
