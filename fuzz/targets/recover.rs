//! Any bytes in a memory that is switched off, under any design that recovers: recovery never panics, neither the first time
//! nor when power fails again, and nothing comes out afterwards that is not the last that was written. While a battery works, a
//! bit of memory is flipped.
#![no_main]

use casemate_fuzz::Victim;
use catalogue::{Design, designs};
use libfuzzer_sys::fuzz_target;
use protection::planted::Planted;
use std::sync::LazyLock;

static DESIGNS: LazyLock<Vec<Design>> = LazyLock::new(|| {
    let recovers = |design: &Design| design.parts.persistence.exists();
    designs().into_iter().filter(recovers).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let Some((which, strokes)) = bytes.split_first() else { return };
    let mut victim = Victim::new(&DESIGNS[usize::from(*which / 2) % DESIGNS.len()], Planted::NONE);
    let (before, after) = strokes.split_at(strokes.len() / 2);
    victim.suffer(before);
    victim.lose_power(&before[..before.len().min(2)]);
    victim.suffer(after);
    if which % 2 == 1 {
        victim.lose_power(&[]);
    }
    victim.read_all();
});
