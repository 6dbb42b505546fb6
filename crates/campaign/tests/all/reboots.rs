//! Does a machine with persistence recover after a loss of power when its memory is untouched? Otherwise the attacks
//! that switch the machine off would count a refusal caused by the restart as a detection by the design.

use casemate_campaign::victim::Victim;
use catalogue::{Verdict, designs};
use protection::planted::PlantedBug;

#[test]
fn two_reboots_without_tampering_keep_every_line_of_a_durable_design() {
    let mut reboots = 0;
    for design in designs().into_iter().filter(|design| design.parts.persistence.exists()) {
        for seed in 0..40 {
            let mut victim = Victim::with_past(&design.parts, seed, PlantedBug::NONE).unwrap();
            for line in victim.oracle().lines() {
                victim.read(line);
            }
            victim.machine().flush();
            for _ in 0..2 {
                victim.loses_power();
                let image = victim.attacked(|bus| bus.record());
                victim = victim.restarted(&design.parts, seed, PlantedBug::NONE, image.slots());
                for line in victim.oracle().lines() {
                    let verdict = victim.oracle().judge(line, &victim.read(line).0, None);
                    assert_eq!(verdict, Verdict::Harmless, "{}, seed {seed}, line {line}", design.name);
                }
                let line = victim.oracle().lines()[0];
                assert_eq!(victim.write(line, &[reboots as u8; 64]), None);
                victim.machine().flush();
                reboots += 1;
            }
        }
    }
    assert!(reboots > 0, "no design outlives power");
}
