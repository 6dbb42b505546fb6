//! Many accesses in flight at once: does every line still hold its last written content, and does every task finish?
//! `common/crowd.rs` describes the crowd and its checks.

use crate::common::crowd::{Core, Scene, TASKS, comes_back, crowd, start_tasks};
use crate::common::shares::designs_without_persistence;
use crate::common::swept::an_eighth;
use crate::common::{Machine, cases, with_caches};
use casemate_campaign::bus::flip;
use proptest::prelude::*;
use protection::counter::Age;
use protection::design::{CounterChoice, Parts};
use protection::execution::{OverflowLimits, Receiver};
use protection::mac::TagLocation;
use protection::scheme::Release;
use protection::tree::ForestDesign;
use protection::verbs::Slot;
use std::cell::Cell;
use std::rc::Rc;
use units::random::Random;
use units::{Bytes, Duration, ZERO_LINE};

/// Runs a crowd that must meet no error.
fn calm_crowd(parts: &Parts, scene: Scene) -> Result<(), TestCaseError> {
    crowd(parts, scene).map(|_| ()).map_err(TestCaseError::fail)
}

/// Starts an attacker that flips a bit in memory from time to time, and flips it back a little later. The returned cell is true
/// while a bit is flipped.
fn start_attacker(machine: &Machine<Core>, seed: u64) -> Rc<Cell<bool>> {
    let (memory, clock, mut random) = (machine.memory.clone(), machine.executor.clock().clone(), Random::new(!seed));
    let flipped = Rc::new(Cell::new(false));
    let is_flipped = flipped.clone();
    machine.executor.clock().spawn(async move {
        let pause = async |random: &mut Random| clock.sleep(Duration::from_ns(random.below(500))).await;
        loop {
            pause(&mut random).await;
            let slots: Vec<Slot> = memory.media().borrow().written_slots().map(|(slot, _)| slot).collect();
            let Some(slot) = random.pick(&slots) else { continue };
            let content = memory.media().borrow().read(slot).examine();
            let mut changed = content;
            flip(&mut changed, random.below(512) as usize);
            memory.media().borrow_mut().write(slot, &changed);
            is_flipped.set(true);
            pause(&mut random).await;
            is_flipped.set(false);
            // A line that was written in the meantime stays as it is.
            if memory.media().borrow().read(slot).examine() == changed {
                memory.media().borrow_mut().write(slot, &content);
            }
        }
    });
    flipped
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn concurrent_accesses_all_finish_and_read_the_latest_write(seed in any::<u64>()) {
        for design in an_eighth(designs_without_persistence(), seed) {
            // Counters of 56 bits are never renewed.
            let age = (![CounterChoice::Mono56, CounterChoice::Rv64].contains(&design.parts.counters)).then_some(Age::BeforeRenewal);
            let scene = Scene { seed, age, ..Scene::default() };
            crowd(&with_caches(&design.parts, seed), scene)
                .map_err(|wrong| TestCaseError::fail(format!("{}: {wrong}", design.name)))?;
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn two_concurrent_counter_renewals_keep_every_line_under_any_counter_organisation(seed in any::<u64>()) {
        use CounterChoice::{Morphable, Sc64, Sc64Mac, Sc128, Vault16, Vault32};
        for counters in [Sc64, Sc64Mac, Sc128, Vault32, Vault16, Morphable] {
            let parts = Parts { counters, ..catalogue::design("sc64-bmt").unwrap().parts };
            calm_crowd(&with_caches(&parts, seed), Scene { seed, age: Some(Age::BeforeRenewal), ..Scene::default() })?;
        }
    }
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn concurrent_accesses_finish_with_a_limit_of_one_outstanding_counter_overflow(seed in any::<u64>()) {
        use CounterChoice::{Morphable, Sc64};
        let limits = Some(OverflowLimits { outstanding: 1, slots: 4 });
        for (design, counters) in [("sc64-bmt", Sc64), ("emcc", Morphable), ("sc64-bmt-mac4", Sc64)] {
            let parts = Parts { counters, ..catalogue::design(design).unwrap().parts };
            let scene = Scene { seed, age: Some(Age::BeforeRenewal), limits, ..Scene::default() };
            calm_crowd(&with_caches(&parts, seed), scene)?;
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn a_dynamic_forest_keeps_every_line_under_concurrent_accesses(seed in any::<u64>(), entries in 1u64..5) {
        let mut parts = catalogue::design("dbmf").unwrap().parts;
        parts.tree.forest = Some(ForestDesign::Dynamic { entries, period: 3, threshold: 0 });
        calm_crowd(&with_caches(&parts, seed), Scene { seed, ..Scene::default() })?;
    }
}

proptest! {
    #![proptest_config(cases(6))]
    /// The first access decides which line leaves one cache of all metadata, so functional runs need not agree with timed ones on
    /// each operation. Their results must still be right.
    #[test]
    fn concurrent_accesses_read_right_with_a_unified_metadata_cache_and_metadata_in_the_llc(seed in any::<u64>()) {
        for design in ["sc64-bmt", "sc64-bmt-eager", "sgx-mee", "morphable", "merkle-full"] {
            let mut parts = catalogue::design(design).unwrap().parts;
            parts.caches.unified = Some(Bytes(64 << 10));
            parts.caches.counters_in_llc = parts.counters != CounterChoice::None && seed % 2 == 0;
            parts.caches.nodes_in_llc = parts.caches.counters_in_llc && seed % 4 == 0;
            calm_crowd(&with_caches(&parts, seed), Scene { seed, ..Scene::default() })?;
        }
    }
}

/// Options that run along with tuples: reads that L2s begin, releases before the verdict, and metadata lines that move to the
/// last-level cache.
const ALONG: [fn(&mut Parts); 4] = [
    |parts| {
        parts.mac.place = TagLocation::Ecc;
        (parts.caches.counters_in_llc, parts.caches.counters_in_l2) = (true, Some(Bytes(32 << 10)));
    },
    |parts| (parts.mac.place, parts.release) = (TagLocation::Inline, Release::Speculative),
    |parts| (parts.caches.counters_in_llc, parts.caches.nodes_in_llc) = (true, true),
    |parts| parts.release = Release::Speculative,
];

/// Designs with writes that become durable in tuples.
const DURABLE: [&str; 5] = ["plp-sp", "plp-pipelined", "plp-coalesced", "plp-sp-sbmf", "plp-sp-dbmf"];

proptest! {
    #![proptest_config(cases(4))]
    #[test]
    fn persist_tuples_serve_concurrent_accesses_with_l2_decryption_or_speculative_release(seed in any::<u64>()) {
        for design in DURABLE {
            for along in ALONG {
                let mut parts = catalogue::design(design).unwrap().parts;
                along(&mut parts);
                calm_crowd(&with_caches(&parts, seed), Scene { seed, ..Scene::default() })?;
            }
        }
    }
}

/// Runs a crowd with an attacker; returns the number of reported faults.
fn crowd_under_attack(design: &str, seed: u64) -> u64 {
    // Small caches, so that the chip reads memory often enough to detect the tampering.
    let parts = with_caches(&catalogue::design(design).unwrap().parts, 1 + seed % 2);
    let mut machine = Machine::new(&parts, seed, Core { under_attack: true, ..Core::default() });
    let finished = Rc::new(Cell::new(0));
    start_tasks(&machine, seed, &finished);
    let flipped = start_attacker(&machine, seed);
    let all = machine.run(Duration::from_ns(20_000_000), || finished.get() == TASKS);
    assert_eq!(&*machine.core.wrong.borrow(), &Vec::<String>::new());
    assert!(all, "seed {seed}: only {} of {TASKS} tasks finished: a deadlock", finished.get());
    if parts.persistence.exists() {
        assert!(machine.run(Duration::from_ns(1_000), || !flipped.get()), "the attacker does not let go");
        let comes_back = comes_back(&machine, Scene { seed, ..Scene::default() }, &parts, |line, text| {
            let core = &machine.core;
            text == core.start_up_content(line) || text == ZERO_LINE || core.was_ever(line, &text)
        });
        assert_eq!(comes_back, Ok(()), "seed {seed}");
    }
    machine.core.faults.borrow().len() as u64
}

#[test]
fn concurrent_accesses_under_attack_release_no_garbage_and_finish() {
    let reported: u64 = (0..48).map(|seed| crowd_under_attack("sc64-bmt", seed)).sum();
    assert!(reported > 48, "the attacker was not mean enough: {reported} faults");
}

#[test]
fn memory_recovers_written_content_after_an_attack_aborts_concurrent_persist_tuples() {
    for design in DURABLE {
        let reported: u64 = (0..40).map(|seed| crowd_under_attack(design, seed)).sum();
        assert!(reported > 40, "the attacker was not mean enough to {design}: {reported} faults");
    }
}

#[test]
fn concurrent_accesses_have_equal_event_hashes_only_for_equal_seeds() {
    let parts = with_caches(&catalogue::design("sc64-bmt").unwrap().parts, 1);
    let events = |seed| crowd(&parts, Scene { seed, ..Scene::default() }).unwrap();
    assert_eq!(events(5), events(5));
    assert_ne!(events(5), events(6));
}
