//! Limits the times of a machine: no memory or core has a longer time, so it is a mistake of the user. Sums of very
//! long times would also exceed the range of the simulated clock.

use crate::settings;
use serde::Serialize;

/// Maximum latency of a core's units and caches in cycles: 2.5 us at 4 GHz.
const CYCLES_MAX: u64 = 10_000;
/// Maximum of the times between two commands of a memory, in clocks: 15 times those of DDR5-8400.
const COMMAND_CLOCKS_MAX: u64 = 1_000;
/// Maximum time of a refresh, in clocks.
const REFRESH_CLOCKS_MAX: u64 = 10_000;
/// Maximum time between two refreshes, in clocks.
const INTERVAL_CLOCKS_MAX: u64 = 1_000_000;

/// Refuses longer latencies, in cycles of a core and clocks of a memory. The parsers of other keys check nanoseconds.
pub(crate) fn check(machine: &impl Serialize) -> Result<(), String> {
    let long = settings::values(machine)?.into_iter().find_map(|(key, value)| {
        let (found, most) = value.as_u64().zip(longest(&key))?;
        (found > most).then(|| format!("{key} is {found}: expected at most {most}"))
    });
    long.map_or(Ok(()), Err)
}

/// The maximum value of a key, if it is a time in cycles or clocks.
fn longest(key: &str) -> Option<u64> {
    match key.strip_prefix("dram.timing.") {
        Some("trefi") => Some(INTERVAL_CLOCKS_MAX),
        Some("trfc") => Some(REFRESH_CLOCKS_MAX),
        Some(_) => Some(COMMAND_CLOCKS_MAX),
        None => key.ends_with("_cycles").then_some(CYCLES_MAX),
    }
}
