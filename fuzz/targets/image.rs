//! Puts any bytes into memory under any design. No read or write may panic, and under a design with a tree a read must
//! return the last written text or report tampering. A write that reports tampering may have taken effect or not.
#![no_main]

use casemate_fuzz::Victim;
use catalogue::{Design, designs};
use libfuzzer_sys::fuzz_target;
use protection::planted::PlantedBug;
use std::sync::LazyLock;

static DESIGNS: LazyLock<Vec<Design>> = LazyLock::new(designs);

fuzz_target!(|bytes: &[u8]| {
    let Some((which, strokes)) = bytes.split_first() else { return };
    let mut victim = Victim::new(&DESIGNS[usize::from(*which) % DESIGNS.len()], PlantedBug::NONE);
    victim.suffer(strokes);
    victim.flush();
    victim.read_all();
});
