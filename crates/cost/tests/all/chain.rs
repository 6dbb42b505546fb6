//! Schemes as prefixes of the chain of steps, and energies as sums over operations.

use crate::papers;
use cost::{Accounting, DrainTraffic, Energy, Operations, Profile, SecPbScheme, Step, System, closed_form};

const LINE_BITS: u64 = 512;
const LEVELS: u32 = 8;

fn per_entry(early: usize) -> Operations {
    closed_form::per_entry(SecPbScheme::all().nth(early).unwrap(), &papers().entry, LEVELS)
}

fn from_secpb(bits: u64) -> Operations {
    Operations { moved: DrainTraffic { from_secpb_bits: bits, ..DrainTraffic::default() }, ..Operations::default() }
}

#[test]
fn persist_buffer_schemes_are_named_by_the_letters_of_their_late_steps() {
    let names: Vec<String> = SecPbScheme::all().map(|scheme| scheme.to_string()).collect();
    assert_eq!(names, ["cobcm", "obcm", "bcm", "cm", "m", "nogap"]);
    for (early, scheme) in SecPbScheme::all().enumerate() {
        assert_eq!((scheme.early(), scheme.late()), Step::CHAIN.split_at(early));
    }
}

#[test]
fn adjacent_persist_buffer_schemes_differ_by_the_operations_of_one_step() {
    let none = Operations::default();
    let steps = [
        (Step::Counter, Operations { fetched_lines: 1, ..none }, 0, 8),
        (Step::Pad, Operations { pads: 1, ..none }, 0, LINE_BITS),
        (Step::Root, Operations { fetched_lines: 6, hashed_lines: 8, ..none }, 0, 0),
        // With an early ciphertext, the drain does not move plaintext and pad.
        (Step::Ciphertext, none, 2 * LINE_BITS, LINE_BITS),
        (Step::Tag, Operations { hashed_lines: 1, ..none }, 0, LINE_BITS),
    ];
    for (early, (step, work, bits_less, bits_more)) in steps.into_iter().enumerate() {
        assert_eq!(
            per_entry(early) + from_secpb(bits_more),
            per_entry(early + 1) + work + from_secpb(bits_less),
            "{step:?}"
        );
    }
}

#[test]
fn the_battery_energy_covers_all_entries_and_the_store_in_flight() {
    let profile = papers();
    for scheme in SecPbScheme::all() {
        let operations = |entries| closed_form::operations(System::Buffer(scheme), &profile, entries, LEVELS);
        let in_flight = operations(0);
        assert_eq!(in_flight.moved, DrainTraffic::default());
        assert_eq!((in_flight.fetched_lines, in_flight.pads, in_flight.hashed_lines), (7, 1, 9));
        for entries in [1, 2, 31, 512] {
            let each = closed_form::per_entry(scheme, &profile.entry, LEVELS);
            assert_eq!(operations(entries), in_flight + each * u64::from(entries));
        }
    }
}

#[test]
fn each_additional_buffer_entry_adds_the_same_battery_energy() {
    let profile = papers();
    for system in System::all().into_iter().filter(|system| system.has_entries()) {
        let energy =
            |entries| profile.energy(&closed_form::operations(system, &profile, entries, LEVELS)).femtojoules();
        let each = energy(2) - energy(1);
        assert!(each > 0);
        assert!((2..600).all(|entries| energy(entries + 1) - energy(entries) == each), "{system}");
    }
}

#[test]
fn a_battery_is_smaller_the_more_steps_are_early() {
    let profile = papers();
    let energy = |system| profile.energy(&closed_form::operations(system, &profile, 32, LEVELS));
    let energies: Vec<Energy> = SecPbScheme::all().map(|scheme| energy(System::Buffer(scheme))).collect();
    assert!(energies.is_sorted_by(|a, b| a > b), "{energies:?}");
    assert!(energy(System::Bbb) < energies[5]);
    assert!(energies[0] < energy(System::Eadr));
    assert!(energy(System::SecureEadr(Accounting::AsPublished)) < energy(System::SecureEadr(Accounting::Consistent)));
}

#[test]
fn each_additional_tree_level_adds_a_hash_and_a_fetch_for_each_late_root_update() {
    let profile = papers();
    let operations = |name: &str, levels| {
        let system = System::all().into_iter().find(|system| system.to_string() == name).unwrap();
        closed_form::operations(system, &profile, 32, levels)
    };
    // A late root for each entry, and that of the store in flight.
    for (name, roots) in
        [("cobcm", 33), ("bcm", 33), ("cm", 1), ("nogap", 1), ("bbb", 0), ("nogap-whole", 0), ("eadr", 0)]
    {
        for levels in 2..10 {
            let (low, high) = (operations(name, levels), operations(name, levels + 1));
            assert_eq!(high.hashed_lines - low.hashed_lines, roots, "{name}");
            assert_eq!(high.fetched_lines - low.fetched_lines, roots, "{name}");
        }
    }
    assert_eq!(operations("cm", 2).fetched_lines, 1);
}

/// A profile with different prices, fields and caches; the paper's has equal ones.
fn all_different() -> Profile {
    let mut profile = papers();
    let energy = &mut profile.energy;
    (energy.from_secpb_pj_per_byte, energy.from_l1_pj_per_byte, energy.from_l2_pj_per_byte) = (1, 10, 100);
    (energy.from_l3_pj_per_byte, energy.from_controller_pj_per_byte) = (1_000, 10_000);
    (energy.hash_pj_per_byte, energy.pad_pj_per_byte, energy.pad_bytes) = (100_000, 1_000_000, 3);
    let entry = &mut profile.entry;
    (entry.data_bits, entry.counter_bits, entry.pad_bits) = (1, 10, 100);
    (entry.ciphertext_bits, entry.tag_bits) = (10_000, 100_000);
    profile
}

#[test]
fn each_kind_of_drain_operation_has_a_separate_energy_and_each_field_a_separate_length() {
    let profile = all_different();
    // In femtojoules: a picojoule per byte is 125 femtojoules per bit.
    let energy = |operations: Operations| profile.energy(&operations).femtojoules() / 125;
    let (none, still) = (Operations::default(), DrainTraffic::default());
    let moved = |moved: DrainTraffic| energy(Operations { moved, ..none });
    assert_eq!(moved(DrainTraffic { from_secpb_bits: 1, ..still }), 1);
    assert_eq!(moved(DrainTraffic { from_l1_bits: 1, ..still }), 10);
    assert_eq!(moved(DrainTraffic { from_l2_bits: 1, ..still }), 100);
    assert_eq!(moved(DrainTraffic { from_l3_bits: 1, ..still }), 1_000);
    assert_eq!(moved(DrainTraffic { from_controller_bits: 1, ..still }), 10_000);
    assert_eq!(energy(Operations { fetched_lines: 1, ..none }), 512 * 10_000);
    assert_eq!(energy(Operations { hashed_lines: 1, ..none }), 512 * 100_000);
    assert_eq!(energy(Operations { pads: 1, ..none }), 8 * 3 * 1_000_000);
    let bits = |early| closed_form::per_entry(SecPbScheme::all().nth(early).unwrap(), &profile.entry, LEVELS).moved;
    let from_secpb: Vec<u64> = (0..6).map(|early| bits(early).from_secpb_bits).collect();
    assert_eq!(from_secpb, [1, 11, 111, 111, 10_010, 110_010]);
    let caches = closed_form::operations(System::Eadr, &profile, 32, LEVELS).moved;
    let kilobytes = [caches.from_l1_bits, caches.from_l2_bits, caches.from_l3_bits].map(|bits| bits / 8192);
    assert_eq!(kilobytes, [64, 512, 4096]);
}

#[test]
fn drain_operations_have_the_energies_of_the_papers_table_and_the_energies_add_up() {
    let profile = papers();
    let energy = |operations: Operations| profile.energy(&operations).femtojoules();
    let moved = |moved: DrainTraffic| energy(Operations { moved, ..Operations::default() });
    let (bits, none) = (LINE_BITS, DrainTraffic::default());
    assert_eq!(moved(DrainTraffic { from_secpb_bits: bits, ..none }), 757_696_000);
    assert_eq!(moved(DrainTraffic { from_l1_bits: bits, ..none }), 757_696_000);
    assert_eq!(moved(DrainTraffic { from_l2_bits: bits, ..none }), 718_592_000);
    assert_eq!(moved(DrainTraffic { from_l3_bits: bits, ..none }), 718_592_000);
    assert_eq!(moved(DrainTraffic { from_controller_bits: bits, ..none }), 718_592_000);
    assert_eq!(moved(DrainTraffic { from_secpb_bits: 1, ..none }), 1_479_875);
    assert_eq!(energy(Operations { fetched_lines: 1, ..Operations::default() }), 718_592_000);
    assert_eq!(energy(Operations { hashed_lines: 1, ..Operations::default() }), 5_074_560_000);
    assert_eq!(energy(Operations { pads: 1, ..Operations::default() }), 1_920_000_000);
    let (one, other) = (per_entry(0), per_entry(5));
    let mut both = one;
    both += other;
    assert_eq!(energy(both), energy(one) + energy(other));
    assert_eq!(energy(one * 7), 7 * energy(one));
    assert_eq!(energy(Operations::default()), 0);
}

#[test]
fn battery_volume_is_proportional_to_energy_and_inverse_to_storage_density() {
    let Profile { storage, .. } = papers();
    let energy = Energy::of_bits(8_000_000, 360);
    assert!((storage[0].volume(energy).mm3 - 1.0).abs() < 1e-12);
    let twice = storage[0].volume(energy + energy).mm3 / storage[0].volume(energy).mm3;
    assert!((twice - 2.0).abs() < 1e-12);
    assert!((storage[0].volume(energy).mm3 / storage[1].volume(energy).mm3 - 100.0).abs() < 1e-9);
    assert!((cost::Volume { mm3: 27.0 }.footprint_mm2() - 9.0).abs() < 1e-12);
}
