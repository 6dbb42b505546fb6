//! Limits the times of a machine: sums of very long times would exceed the range of the simulated clock, and a run would not end in
//! reasonable time.

use crate::settings;
use serde::Serialize;

/// Maximum latency in cycles or clocks: a quarter of a millisecond at 4 GHz.
const CYCLES_MAX: u64 = 1_000_000;

/// Refuses longer latencies, in cycles of a core and clocks of a memory. The parsers of other keys check nanoseconds.
pub(crate) fn check(machine: &impl Serialize) -> Result<(), String> {
    let is_time = |key: &str| key.ends_with("_cycles") || key.starts_with("dram.timing.");
    let long = settings::values(machine)?.into_iter().find_map(|(key, value)| {
        let found = value.as_u64().filter(|found| is_time(&key) && *found > CYCLES_MAX)?;
        Some(format!("{key} is {found}: expected at most {CYCLES_MAX}"))
    });
    long.map_or(Ok(()), Err)
}
