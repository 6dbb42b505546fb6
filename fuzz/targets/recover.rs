//! Puts any bytes into a memory without power, under any design that recovers. Recovery must not panic, neither the
//! first time nor after a second loss of power. Later reads must return the last written text or report tampering. A
//! bit of memory is flipped while a battery works.
#![no_main]

use casemate_fuzz::Victim;
use catalogue::{Design, designs};
use libfuzzer_sys::fuzz_target;
use protection::planted::PlantedBug;
use std::sync::LazyLock;

static DESIGNS: LazyLock<Vec<Design>> = LazyLock::new(|| {
    let recovers = |design: &Design| design.parts.persistence.exists();
    designs().into_iter().filter(recovers).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let Some((which, strokes)) = bytes.split_first() else { return };
    let mut victim = Victim::new(&DESIGNS[usize::from(*which / 2) % DESIGNS.len()], PlantedBug::NONE);
    let (before, after) = strokes.split_at(strokes.len() / 2);
    victim.suffer(before);
    victim.lose_power(&before[..before.len().min(2)]);
    victim.suffer(after);
    if which % 2 == 1 {
        victim.lose_power(&[]);
    }
    victim.read_all();
});
