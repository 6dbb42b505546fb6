//! The clock that a core has just now, measured without any counter of the processor.
//!
//! An addition and an exclusive or take a cycle each on every processor of the last twenty years, and each here waits for
//! the one before it, so a chain of them takes as many cycles as it has links. The counter of time stamps ticks at a clock
//! of its own, which is not the core's where that is raised or lowered, as on most computers of today.

use std::hint::black_box;
use std::time::Instant;

/// Pairs of links: some 10 microseconds, so that reading the time is less than a percent.
const PAIRS: u64 = 20_000;
const LINKS_OF_A_PAIR: u64 = 2;

/// The clock in hertz; too low if the core did something else meanwhile, so the median of several is meant.
pub fn core_clock_hz() -> f64 {
    // What the compiler does not know, it cannot shorten; and it has no law that joins the two operations.
    let (mut link, add, or) = black_box((1_u64, 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03));
    let begun = Instant::now();
    for _ in 0..PAIRS {
        link = link.wrapping_add(add) ^ or;
    }
    black_box(link);
    (PAIRS * LINKS_OF_A_PAIR) as f64 / begun.elapsed().as_secs_f64()
}
