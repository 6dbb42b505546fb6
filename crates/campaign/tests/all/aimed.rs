//! Does a strike reach its target?

use casemate_campaign::attacker::strike;
use casemate_campaign::victim::Victim;
use catalogue::{Attack, Design, Verdict, design, designs};
use protection::design::{CounterChoice, TreeKind};
use protection::planted::PlantedBug;
use units::random::Random;

/// Trials of each design: enough to show how often a strike misses.
const TRIALS: u64 = 40;

/// Counts the trials in which the target of a flipped counter no longer reads as harmless.
fn hits(design: &Design) -> u64 {
    let hit = |seed: &u64| {
        let victim = Victim::with_past(&design.parts, *seed, PlantedBug::NONE).unwrap();
        let struck = victim.attacked(|bus| strike(Attack::FlipCounter, 0, bus, &mut Random::new(!seed))).unwrap();
        let (answer, _) = victim.read(struck.target);
        victim.oracle().judge(struck.target, &answer, None) != Verdict::Harmless
    };
    (0..TRIALS).filter(hit).count() as u64
}

/// Designs with counters that no tree verifies: the built-in ones, and counter mode without tags with every
/// organisation.
fn without_a_tree() -> Vec<Design> {
    use CounterChoice::{Mono56, Morphable, PageRecord, Rv64, Sc64, Sc64Mac, Sc128, Vault16, Vault32};
    let built_in =
        |design: &Design| design.parts.counters != CounterChoice::None && design.parts.tree.kind == TreeKind::None;
    let of = |counters| {
        let mut design = design("ctr-only").unwrap();
        (design.parts.counters, design.name) = (counters, format!("ctr-only with {counters:?}"));
        design
    };
    let composed = [Mono56, Morphable, PageRecord, Rv64, Sc64, Sc64Mac, Sc128, Vault16, Vault32].map(of);
    designs().into_iter().filter(built_in).chain(composed).collect()
}

#[test]
fn without_an_integrity_tree_each_aimed_counter_flip_changes_the_read_of_its_target_line() {
    let designs = without_a_tree();
    assert!(designs.len() > 11, "{} designs", designs.len());
    for design in designs {
        assert_eq!(hits(&design), TRIALS, "{}", design.name);
    }
}

/// In these designs, the chip must refuse any changed bit of the counter line.
#[test]
fn an_integrity_tree_over_counters_detects_every_aimed_counter_flip() {
    for name in ["sc64-bmt", "sgx-mee", "morphable"] {
        assert_eq!(hits(&design(name).unwrap()), TRIALS, "{name}");
    }
}
