//! Stores that are durable in the caches: the battery writes all lines and metadata in flight to memory.

use crate::common::lost::tried;
use casemate_campaign::crash::dying;
use casemate_campaign::crash::history::History;
use casemate_campaign::crash::revival::Revival;
use casemate_campaign::crash::workload::{LINES, Workload};
use catalogue::{Loss, Verdict, design};
use protection::planted::PlantedBug;
use units::random::Random;

const DESIGNS: [&str; 2] = ["eadr", "secure-eadr"];

#[test]
fn a_loss_at_any_event_of_a_store_leaves_memory_with_it_or_without() {
    for name in DESIGNS {
        for index in [0, 1] {
            let report = tried(name, &[Loss::PowerLoss], Some(index));
            assert_eq!(report.complaints(), Vec::<String>::new());
            assert_eq!(report.memories, 2, "{name}: with the store and without");
        }
    }
}

#[test]
fn stores_survive_losses_during_recovery_and_tampering_ends_as_claimed() {
    for name in DESIGNS {
        for workload in [3, 37, 60, 100] {
            let report = tried(name, Loss::ALL, Some(workload));
            assert_eq!(report.complaints(), Vec::<String>::new());
        }
    }
}

/// Stores to three lines; sometimes one of them leaves the caches, while counters overflow and metadata leaves the chip.
#[test]
fn a_power_loss_leaves_exactly_the_stores_that_durable_caches_have_accepted() {
    const STORES: usize = 25;
    for (seed, name) in (1..).zip(DESIGNS) {
        let mut random = Random::new(seed);
        let writes = (0..STORES).map(|_| random.pick(&LINES).unwrap()).collect();
        let workload = Workload::of_one_core(writes, true, true);
        let history = History::of(&design(name).unwrap(), &workload, seed, PlantedBug::NONE);
        let left = dying::left(&history, 60);
        let stored: Vec<usize> = left.iter().map(|dead| dead.progress.least).collect();
        assert!(stored.contains(&STORES) && stored[0] < 2 && stored.is_sorted(), "{name}: {stored:?}");
        assert!(left.iter().any(|dead| dead.resident.len() == LINES.len() - 1), "{name}: most lines are dirty");
        for dead in &left {
            let verdict = Revival::of(&history, dead).judge(&history, &history.allowed(dead), false);
            assert_eq!(verdict, Verdict::Harmless, "{name} at {}", dead.point);
        }
    }
}
