//! Memory of a victim that begins ordered.

use super::*;
use protection::scheme::Release;
use protection::slot::Kind;
use protection::speculation::Target;

#[test]
fn a_victim_that_boots_begins_ordered_under_a_design_that_re_orders_lines() {
    let verified = catalogue::design("fvs-aes").unwrap().parts;
    let mut speculative = Parts { release: Release::Speculative, ..verified.clone() };
    speculative.speculation.of = vec![Target::Ciphertext];
    for parts in [verified, speculative] {
        let lines: Vec<LineAddr> = (0..8).map(LineAddr).collect();
        let victim = Victim::booting(&parts, &lines, 1, PlantedBug::NONE).unwrap();
        for line in lines {
            assert_eq!(victim.read(line).0.released.as_ref(), victim.oracle().current(line));
        }
        // No write has changed a bitmap: the reads have put the bitmaps of re-ordered lines into memory.
        let bitmaps = victim.machine().layout().region(Kind::Bitmaps).unwrap();
        assert!(!victim.memory().get(bitmaps.slot(0)).is_blank(), "{:?}", parts.release);
    }
}
