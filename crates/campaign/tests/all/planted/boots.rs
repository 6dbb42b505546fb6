//! Bugs in the steps that put the machine's start-up content into memory.

use casemate_campaign::bus::Structure;
use casemate_campaign::oracle::Wish;
use casemate_campaign::victim::Victim;
use casemate_campaign::{Finding, Options, attack, honest};
use catalogue::{Attack, Verdict};
use protection::planted::{Bug, PlantedBug};
use units::LineAddr;

/// Bugs that are caught here.
pub const BUGS: [Bug; 3] = [Bug::BootTrustsMemory, Bug::TagOverBlankLines, Bug::BootDuringForgery];

/// Reads a line for the first time while its counters are those of a line that was written once; then restores the counters and
/// writes the line. Returns whether the first read left any content in memory, and whether keystream was used twice.
fn first_read_under_forged_counters(planted: PlantedBug) -> (bool, bool) {
    let (target, next_group) = (LineAddr(5), LineAddr(64 + 5));
    let parts = catalogue::design("sc64-bmt").unwrap().parts;
    let mut victim = Victim::booting(&parts, &[target, next_group], 1, planted).unwrap();
    // The neighbour has counters in the same line, so that memory has a counter line to restore.
    [LineAddr(6), next_group].into_iter().for_each(|line| assert_eq!(victim.write(line, &[1; 64]), None));
    victim.machine().flush();
    let (slot, _) = victim.map().slot_bytes(Structure::Counter, target).unwrap();
    let counters = |line| victim.attacked(|bus| bus.read_structure(Structure::Counter, line)).unwrap();
    let (right, forged) = (counters(target), counters(next_group));
    victim.attacked(|bus| bus.write(slot, &forged));
    let (answer, _) = victim.read(target);
    assert!(answer.reported && answer.released.is_none());
    victim.machine().flush();
    victim.attacked(|bus| bus.write(slot, &right));
    let (data, _) = victim.map().slot_bytes(Structure::Data, target).unwrap();
    let left = victim.attacked(|bus| bus.record()).get(data).is_some();
    victim.write(target, &[2; 64]);
    (left, victim.memory().keystream_reuse().is_some())
}

#[test]
fn a_first_read_under_forged_counters_writes_no_line_encrypted_with_them() {
    assert_eq!(first_read_under_forged_counters(PlantedBug::NONE), (false, false));
    assert_eq!(first_read_under_forged_counters(PlantedBug::new(Bug::BootTrustsMemory)), (true, true));
}

#[test]
fn unverified_counters_on_a_first_read_leak_only_under_the_forged_boot_attack() {
    let planted = PlantedBug::new(Bug::BootTrustsMemory);
    let design = catalogue::design("sc64-bmt").unwrap();
    let forged = |planted| attack(&design, Attack::ForgedBoot, &Options { trials: 60, seed: 1, planted }).worst;
    assert_eq!(forged(PlantedBug::NONE), Verdict::Detected);
    assert!(forged(planted).leaks(), "{}", forged(planted));
    assert_eq!(honest(&design.parts, 2_000, 1, planted).unwrap().finding, None);
}

#[test]
fn a_grouped_tag_over_unwritten_lines_reuses_their_masks_on_first_read() {
    for lines in [2, 4] {
        let mut parts = catalogue::design("sc64-bmt-mac4").unwrap().parts;
        parts.mac.lines = lines;
        let found = |planted| honest(&parts, 2_000, 1, planted).unwrap().finding;
        assert_eq!(found(PlantedBug::NONE), None, "{lines}");
        assert_eq!(found(PlantedBug::new(Bug::TagOverBlankLines)), Some(Finding::MaskReuse), "{lines}");
    }
    let alone = catalogue::design("sc64-bmt").unwrap().parts;
    assert_eq!(honest(&alone, 2_000, 1, PlantedBug::new(Bug::TagOverBlankLines)).unwrap().finding, None);
}

/// Flips a line, then reads another line under the same tag for the first time, so that both get a new tag. Returns the verdict
/// on the first line.
fn tampered_during_a_boot(lines: u64, planted: PlantedBug) -> Verdict {
    const BIT: usize = 99;
    let mut parts = catalogue::design("sc64-bmt-mac4").unwrap().parts;
    parts.mac.lines = lines;
    let (target, neighbour) = (LineAddr(4), LineAddr(5));
    let mut victim = Victim::booting(&parts, &[target, neighbour], 1, planted).unwrap();
    assert_eq!((victim.write(target, &[1; 64]), victim.machine().flush()), (None, None));
    victim.attacked(|bus| bus.flip_bit_of(Structure::Data, target, BIT));
    victim.read(neighbour);
    let oracle = victim.oracle();
    let wished = oracle.wished_bytes(target, Wish::Flipped(BIT));
    oracle.judge(target, &victim.read(target).0, wished)
}

#[test]
fn a_first_read_that_skips_checking_a_grouped_neighbour_gives_its_forgery_a_valid_tag() {
    let planted = PlantedBug::new(Bug::BootDuringForgery);
    for lines in [2, 4] {
        assert_eq!(tampered_during_a_boot(lines, PlantedBug::NONE), Verdict::Detected, "{lines}");
        assert_eq!(tampered_during_a_boot(lines, planted), Verdict::Forged, "{lines}");
    }
    let design = catalogue::design("sc64-bmt-mac4").unwrap();
    assert_eq!(honest(&design.parts, 2_000, 1, planted).unwrap().finding, None, "nor does it show without an attacker");
}
