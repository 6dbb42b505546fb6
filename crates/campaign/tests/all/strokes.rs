//! The ground that the fuzz targets about memory share, which needs no nightly toolchain: does it hold against random bytes?

#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;

use catalogue::designs;
use fuzz::Victim;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_to_memory_before_and_after_a_loss_of_power_nothing_comes_out_that_must_not(
        which in any::<prop::sample::Index>(), strokes in prop::collection::vec(any::<u8>(), 0..400), loses_power: bool,
    ) {
        let designs = designs();
        let design = which.get(&designs);
        let mut victim = Victim::new(design);
        victim.suffer(&strokes);
        if loses_power && design.parts.persistence.exists() {
            victim.lose_power();
            victim.suffer(&strokes);
        }
        victim.flush();
        victim.read_all();
    }
}
