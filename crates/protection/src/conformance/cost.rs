//! Checks that a design is charged time for exactly the cryptographic operations that it executes. After each access,
//! the check compares the scheme's requests to the engines with the operations that the parts really computed.

use super::design::{DATA_LINES, TINY};
use super::{Checked, hold, pairs};
use crate::codec::has_offset;
use crate::design::{CacheDesign, Parts};
use crate::execution::{Functional, Operation, RecordedMemory, run_now};
use crate::mac::Mac;
use crate::planted::PlantedBug;
use crate::speculation::Target;
use crate::tree::Update;
use crate::verbs::Cache;
use crate::work_done::{self, WorkDone};
use units::LineAddr;
use units::random::Random;

/// Operations that the scheme was charged for, plus the `kept` blocks of each cached offset and the `spared` blocks of
/// each match.
fn charged(operations: &[Operation], (kept, spared): (u32, u32)) -> WorkDone {
    let mut charged = WorkDone::default();
    for operation in operations {
        match operation {
            // The simulator computes a cached offset again.
            Operation::Pad(_, blocks) if blocks.count() == 0 => charged.blocks += kept,
            Operation::Pad(_, blocks) | Operation::Offer(blocks) => charged.blocks += blocks.count(),
            // A match spares the block of the chunk's tag, but the simulator computes it anyway.
            Operation::LookUp(Cache::Candidates) => charged.blocks += spared,
            Operation::Mac => charged.macs += 1,
            Operation::Hash => charged.hashes += 1,
            _ => {}
        }
    }
    charged
}

/// Compares the charged operations of a composition with the computed ones, for reads and writes, hits and misses, and
/// renewals.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let scheme = parts.build_with(DATA_LINES, 1, planted)?;
    let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
    let mut random = Random::new(1);
    work_done::take();
    // With eager update, the controller hashes a child while it fetches the parent. In the smallest caches, the fetch
    // can evict the child, which notifies its parent on eviction. This hash then has no use.
    let may_pay_in_vain = parts.tree.update == Update::Eager && parts.caches.counters == Some(TINY.0);
    let codec = &scheme.fixed().unwrap().codec;
    let uses = [codec.cipher.uses(), codec.mac.as_ref().and_then(Mac::uses)];
    let of_offsets = uses.into_iter().flatten().filter(|uses| has_offset(*uses)).map(|uses| uses.of_nonce);
    let spares = (of_offsets.sum(), parts.speculation.of.contains(&Target::Tag).into());
    let settle = |what: &str| {
        let (mut paid, done) = (charged(&recorded.take_operations(), spares), work_done::take());
        if may_pay_in_vain && paid.hashes > done.hashes {
            paid.hashes = done.hashes;
        }
        hold(paid == done, || format!("{what} pays for {paid:?} and does {done:?}"))
    };
    // Writes a whole group, so that a renewal finds content in every line, and distant lines that evict metadata.
    for line in (0..128).chain((1..20).map(|far| far * 1_111)) {
        run_now(scheme.write(&recorded.verbs(), LineAddr(line), &random.line()));
        settle("a first write")?;
    }
    for access in 0..400 {
        run_now(scheme.write(&recorded.verbs(), LineAddr([3, 7, 64][access % 3]), &random.line()));
        settle("a write")?;
        run_now(scheme.read(&recorded.verbs(), LineAddr(1_111 * (1 + random.below(19)))));
        settle("a read")?;
        if access % 50 == 0 {
            run_now(scheme.flush(&recorded.verbs()));
            settle("a flush")?;
        }
    }
    hold(recorded.memory().take_fault().is_none(), || "a false alarm".into())
}

fn check_all<'a>(compositions: impl Iterator<Item = &'a Parts>) {
    for parts in compositions {
        let usual = Parts { caches: CacheDesign::default(), ..parts.clone() };
        for parts in [usual.with_caches_of(TINY.0, TINY.1), usual] {
            assert_eq!(check(&parts, PlantedBug::NONE), Ok(()), "{parts:?}");
        }
    }
}

#[test]
fn a_sample_of_design_parts_is_charged_exactly_for_its_cryptography() {
    check_all(pairs().iter().step_by(60));
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn every_compatible_pair_of_parts_is_charged_for_its_cryptography() {
    check_all(pairs().iter());
}
