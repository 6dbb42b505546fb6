//! Does a victim stay unchanged when its copy is attacked?

use casemate_campaign::bus::Recording;
use casemate_campaign::oracle::ReadResult;
use casemate_campaign::victim::Victim;
use catalogue::designs;
use proptest::prelude::*;
use protection::planted::PlantedBug;
use protection::verbs::Fault;
use units::random::Random;
use units::{LINE_BYTES, Line, LineAddr};

fn memory(victim: &Victim) -> Recording {
    victim.attacked(|bus| bus.record())
}

/// Applies an action of a trial to a victim; returns its output.
fn does(victim: &mut Victim, action: u64, line: LineAddr, content: &Line) -> (Option<ReadResult>, Option<Fault>) {
    match action {
        0 => (None, victim.write(line, content)),
        1 => (None, victim.machine().flush()),
        2 => {
            let bit = usize::from(content[0]) * 2 % (LINE_BYTES * 8);
            victim.attacked(|bus| bus.flip(victim.map().data_slot(line), bit));
            (None, None)
        }
        _ => {
            let (answer, fault) = victim.read_from(usize::from(content[0]) % 2, line);
            (Some(answer), fault)
        }
    }
}

proptest! {
    #[test]
    fn accesses_to_a_cloned_victim_do_not_change_the_original(
        design in prop::sample::select(designs()), seed in 0..1_000u64, actions in prop::collection::vec(0..6u64, 1..60),
    ) {
        let mut victim = Victim::with_past(&design.parts, seed, PlantedBug::NONE).unwrap();
        let before = memory(&victim);
        let lines = victim.oracle().lines();
        let script = |victim: &mut Victim| {
            let mut random = Random::new(seed);
            let step = |action: &u64| {
                let line = random.pick(&lines).unwrap();
                does(victim, *action, line, &random.line())
            };
            actions.iter().map(step).collect::<Vec<_>>()
        };
        let mut twin = victim.twin();
        let answers = script(&mut twin);
        prop_assert!(memory(&victim) == before);
        // Afterwards the victim behaves as the copy did before, down to the bytes in memory.
        prop_assert_eq!(script(&mut victim), answers);
        prop_assert!(memory(&victim) == memory(&twin));
    }
}
