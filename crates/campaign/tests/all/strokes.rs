//! The common code of the fuzz targets for memory, without a nightly toolchain: does it survive random bytes?

#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;

use catalogue::{Design, designs};
use fuzz::Victim;
use proptest::prelude::*;
use protection::planted::PlantedBug;

/// Runs strokes, a loss of power with flips while a battery works, and the strokes again.
fn struck(design: &Design, planted: PlantedBug, strokes: &[u8], flips: Option<&[u8]>) {
    let mut victim = Victim::new(design, planted);
    victim.suffer(strokes);
    if let Some(flips) = flips.filter(|_| design.parts.persistence.exists()) {
        victim.lose_power(flips);
        victim.read_all();
        victim.suffer(strokes);
        victim.lose_power(&[]);
    }
    victim.flush();
    victim.read_all();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_tampering_around_a_power_loss_releases_no_wrong_plaintext(
        which in any::<prop::sample::Index>(),
        strokes in prop::collection::vec(any::<u8>(), 0..400),
        flips in prop::option::of(prop::collection::vec(any::<u8>(), 0..6)),
    ) {
        struck(which.get(&designs()), PlantedBug::NONE, &strokes, flips.as_deref());
    }

    #[test]
    fn stores_in_battery_backed_buffers_or_caches_survive_a_power_loss_or_are_refused(
        which in any::<prop::sample::Index>(),
        stores in prop::collection::vec((prop::sample::select(&STORES[..]), any::<u8>()), 0..40),
        flips in prop::option::of(prop::collection::vec(any::<u8>(), 0..6)),
    ) {
        let strokes: Vec<u8> = stores.into_iter().flat_map(|(stroke, slot_bytes)| [stroke, slot_bytes]).collect();
        struck(which.get(&with_battery()), PlantedBug::NONE, &strokes, Some(&flips.unwrap_or_default()));
    }
}

/// Strokes that do not change memory directly: writes, reads, stores, drains and flushes, mostly stores.
const STORES: [u8; 8] = [5, 6, 7, 17, 27, 37, 8, 9];

fn with_battery() -> Vec<Design> {
    designs().into_iter().filter(|design| design.parts.persistence.has_battery()).collect()
}

/// Weaknesses that appear only if stores remained in a buffer or in caches when power failed.
#[cfg(feature = "planted-bugs")]
#[test]
fn random_action_sequences_find_batteries_that_silently_lose_stores() {
    use protection::planted::Bug;
    use units::random::Random;

    let is_found = |name: &str, planted: PlantedBug| {
        let design = catalogue::design(name).unwrap();
        (0..200).any(|seed| {
            let mut random = Random::new(seed);
            let strokes: Vec<u8> =
                (0..12).flat_map(|_| [random.pick(&STORES).unwrap(), random.below(256) as u8]).collect();
            let flips: Vec<u8> = (0..2).map(|_| random.below(256) as u8).collect();
            std::panic::catch_unwind(|| struck(&design, planted, &strokes, Some(&flips))).is_err()
        })
    };
    for (name, bug) in [
        ("secpb-cobcm", Bug::LossNotRegistered),
        ("secpb-cobcm", Bug::LossForgotten),
        ("secure-eadr", Bug::DirtyLineForgotten),
        ("secure-eadr", Bug::RootSavedDespiteFaults),
    ] {
        assert!(is_found(name, PlantedBug::new(bug)), "{bug:?} under {name}");
        assert!(!is_found(name, PlantedBug::NONE), "{name}");
    }
}
