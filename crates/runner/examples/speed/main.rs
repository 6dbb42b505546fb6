//! Measures the speed on this host, of whole runs or only of the DRAM model. Prints one JSON object per line.
//!
//! ```text
//! speed run MACHINE WORKLOAD DESIGN MILLIONS [parameter=value ...] [machine.key=value ...]
//! speed dram REQUESTS
//! ```
//!
//! Speeds are per second of processor time of the simulating thread, so other programs on the host hardly affect the
//! speeds.

mod dram;
mod whole;

use std::error::Error;

const USAGE: &str = "usage: speed run MACHINE WORKLOAD DESIGN MILLIONS [parameter=value ...] [machine.key=value ...] | speed dram REQUESTS";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["run", machine, workload, design, millions, ref parameters @ ..] => {
            let millions = millions.parse().map_err(|_| USAGE)?;
            println!("{}", whole::measure(machine, workload, design, millions, parameters)?);
        }
        ["dram", requests] => {
            let requests = requests.parse().map_err(|_| USAGE)?;
            dram::measure_all(requests, |row| println!("{row}"));
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

/// Returns the seconds of processor time of `work`, and its result. Uses wall-clock time if the system does not count
/// the time of a thread.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let (started, before) = (std::time::Instant::now(), thread_seconds());
    let result = work();
    let seconds = thread_seconds().zip(before).map(|(after, before)| after - before);
    (seconds.unwrap_or_else(|| started.elapsed().as_secs_f64()), result)
}

/// Seconds of processor time of this thread.
fn thread_seconds() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    status.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}
