//! Measures the present clock of a core, without a counter of the processor.
//!
//! An addition and an exclusive or take one cycle each on every processor of the last twenty years. Each operation here
//! depends on the previous one, so a chain takes as many cycles as it has operations. The time stamp counter has a
//! separate clock. It differs from the core's clock if that clock varies, as on most present computers.

use std::hint::black_box;
use std::time::Instant;

/// Pairs of links: they take about 10 microseconds, so that reading the time takes less than a percent.
const PAIRS: u64 = 20_000;
const LINKS_OF_A_PAIR: u64 = 2;

/// Returns the clock in hertz. The result is too low if the core did other work meanwhile: use the median of several.
pub fn core_clock_hz() -> f64 {
    // The compiler does not know the values, so it cannot shorten the chain; no algebraic law joins the two operations.
    let (mut link, add, or) = black_box((1_u64, 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03));
    let begun = Instant::now();
    for _ in 0..PAIRS {
        link = link.wrapping_add(add) ^ or;
    }
    black_box(link);
    (PAIRS * LINKS_OF_A_PAIR) as f64 / begun.elapsed().as_secs_f64()
}
