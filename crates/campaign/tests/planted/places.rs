//! Bugs that only some places of tags and caches can have.

use casemate_campaign::bus::Structure;
use casemate_campaign::victim::Victim;
use casemate_campaign::{Finding, Options, attack, honest};
use protection::planted::{Bug, Planted};
use systems::{Attack, Verdict};
use units::LineAddr;

/// The bugs that are caught here.
pub const BUGS: [Bug; 2] = [Bug::OthersUnchecked, Bug::DisplacedCountersDropped];

/// A line is flipped, then another under the same tag is written, which gives both a new one. What does the first read as?
fn tampered_beside_a_write(planted: Planted) -> Verdict {
    const BIT: usize = 99;
    let design = systems::design("sc64-bmt-mac4").unwrap();
    let mut victim = Victim::blank(&design.parts, 1, planted).unwrap();
    let (target, neighbour) = (LineAddr(4), LineAddr(6));
    victim.write(target, &[1; 64]);
    victim.flush();
    victim.attacked(|bus| bus.flip_place(Structure::Data, target, BIT));
    victim.write(neighbour, &[2; 64]);
    let oracle = victim.oracle();
    let wished = oracle.wished_bytes(target, casemate_campaign::oracle::Wish::Flipped(BIT));
    oracle.judge(target, &victim.read(target).0, wished)
}

#[test]
fn a_forgery_gets_a_valid_tag_if_a_write_beside_it_takes_it_as_it_is() {
    let planted = Planted::new(Bug::OthersUnchecked);
    assert_eq!(tampered_beside_a_write(Planted::NONE), Verdict::Detected);
    assert_eq!(tampered_beside_a_write(planted), Verdict::Forged);
    let design = systems::design("sc64-bmt-mac4").unwrap();
    let flips = attack(&design, Attack::FlipData, &Options { trials: 60, seed: 1, planted });
    assert_eq!(flips.worst, Verdict::Detected, "but without a write it is found out");
    assert_eq!(honest(&design.parts, 2_000, 1, planted).unwrap().finding, None);
}

#[test]
fn counters_that_the_last_level_cache_forgets_come_back_old_and_use_their_pads_again() {
    let planted = Planted::new(Bug::DisplacedCountersDropped);
    let parts = systems::design("sc64-bmt-llc").unwrap().parts;
    assert_eq!(honest(&parts, 2_000, 1, Planted::NONE).unwrap().finding, None);
    assert_eq!(honest(&parts, 2_000, 1, planted).unwrap().finding, Some(Finding::PadReuse));
    let elsewhere = systems::design("sc64-bmt").unwrap().parts;
    assert_eq!(honest(&elsewhere, 2_000, 1, planted).unwrap().finding, None, "others have nothing to forget");
}
