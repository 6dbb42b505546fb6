//! An operating system that loads records and keeps contexts. Each of its attacks ends in the security exception or without service, and
//! an honest system serves every process.

use casemate_campaign::processor::Processor;
use casemate_campaign::system::{Handler, Service};
use casemate_campaign::victim::Victim;
use casemate_campaign::{Options, attack};
use catalogue::{Attack, design};
use context::planted::PlantedContextBug;
use context::{ContextError, Location, RegisterFile, RegisterSet};
use protection::design::ContextsDesign;
use protection::moving::LINES_PER_PAGE_CHUNK;
use protection::planted::PlantedBug;
use protection::scheme::Permutations;
use units::LineAddr;
use units::random::Random;

const CONTEXTS: ContextsDesign = ContextsDesign { buffers: 3, outside: 4 };

const DESIGN: &str = "cryptopage-os";

/// Rows of operating systems and contexts.
fn rows() -> Vec<Attack> {
    let is_one = |row: &&Attack| row.name().starts_with("os-") || row.name().starts_with("context-");
    Attack::ALL.iter().filter(is_one).copied().collect()
}

#[test]
fn every_attack_by_an_operating_system_ends_as_the_design_claims() {
    let design = design(DESIGN).unwrap();
    assert_eq!(rows().len(), 14);
    for row in rows() {
        let outcome = attack(&design, row, &Options { trials: 60, ..Options::default() });
        assert!(outcome.agrees, "{row}: {outcome:?}");
    }
}

/// Writes lines in four page chunks of a victim and returns them.
fn used(victim: &mut Victim, random: &mut Random) -> Vec<LineAddr> {
    let lines: Vec<LineAddr> = (0..4 * LINES_PER_PAGE_CHUNK).step_by(7).map(LineAddr).collect();
    for line in &lines {
        assert_eq!(victim.write(*line, &random.line()), None);
    }
    lines
}

fn reads_right(victim: &Victim, lines: &[LineAddr]) {
    for line in lines {
        let handler = Handler::of(victim.machine(), *line).unwrap();
        let Service::Done((answer, fault)) = handler.access(|handler| handler.serve(), || victim.read(*line)) else {
            panic!("{line} is not served")
        };
        assert_eq!(fault, None, "{line}");
        assert_eq!(answer.released, victim.oracle().current(*line).copied(), "{line}");
    }
}

#[test]
fn a_suspended_process_reads_its_lines_after_a_thousand_forced_permutations() {
    let parts = design(DESIGN).unwrap().parts;
    let mut random = Random::new(51);
    let mut victim = Victim::blank(&parts, 3, PlantedBug::NONE).unwrap();
    let lines = used(&mut victim, &mut random);
    let mut processor = Processor::boot(CONTEXTS, 1, PlantedContextBug::NONE).unwrap();
    let handler = Handler::of(victim.machine(), lines[0]).unwrap();
    processor.start(&handler, &mut random).unwrap();
    let buffer = processor.interrupt(&handler, RegisterSet::NONE).unwrap().buffer;
    for _ in 0..1_000 {
        let line = random.pick(&lines).unwrap();
        assert_eq!(victim.machine().permute_chunk_of(line), None);
        let root = handler.root();
        processor.unit().set_root(Location::Buffer(buffer), root).unwrap();
    }
    handler.switch_process();
    processor.unit().resume(buffer, &RegisterFile::default()).unwrap();
    handler.set_root(*processor.unit().root_of(Location::Running).unwrap());
    reads_right(&victim, &lines);
    assert_eq!(victim.memory().keystream_reuse(), None);
}

#[test]
fn a_context_is_not_exported_while_cache_lines_of_its_process_are_locked() {
    let parts = design(DESIGN).unwrap().parts;
    let mut random = Random::new(5);
    let mut victim = Victim::blank(&parts, 3, PlantedBug::NONE).unwrap();
    let lines = used(&mut victim, &mut random);
    let handler = Handler::of(victim.machine(), lines[0]).unwrap();
    let mut processor = Processor::boot(CONTEXTS, 1, PlantedContextBug::NONE).unwrap();
    processor.start(&handler, &mut random).unwrap();
    let buffer = processor.interrupt(&handler, RegisterSet::NONE).unwrap().buffer;
    let locked = Permutations::of(victim.machine().scheme()).unwrap().chunks_with_locks();
    assert!(locked > 0);
    let refused = processor.unit().export(buffer, locked);
    assert!(matches!(refused, Err(ContextError::LockedLines { .. })), "{refused:?}");
    let exported = processor.let_out(victim.machine(), lines[0], buffer).unwrap();
    processor.bring_back(&handler, &exported).unwrap();
    reads_right(&victim, &lines);
}
