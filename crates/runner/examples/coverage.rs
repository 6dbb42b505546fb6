//! Measures how often the confidence interval of a sampled run contains the true figure. Usage: `coverage PROGRAM
//! DESIGN MILLIONS SEEDS [unit lead-in period]`. PROGRAM is a stored trace or a built-in kernel with its parameters, as
//! in `chase,work=0`.
//!
//! Runs the program once in detail, then as sampled runs with many different starts of the sample and the same page
//! placement. Prints the number of sampled runs with a confidence interval that contains the instructions per cycle of
//! the detailed run, and the error of their estimates.

use casemate_runner::sampling::{Detail, SamplingOptions};
use casemate_runner::{Record, RunControl, RunOptions, run};
use std::collections::BTreeMap;
use std::path::Path;
use workload::Source;
use workload::trace::TraceReader;

type Error = Box<dyn std::error::Error>;

fn open(program: &str) -> Result<Box<dyn Source>, Error> {
    if Path::new(program).is_file() {
        return Ok(Box::new(TraceReader::open(Path::new(program))?));
    }
    let mut parts = program.split(',');
    let name = parts.next().unwrap_or_default();
    let settings: BTreeMap<_, _> =
        parts.filter_map(|part| part.split_once('=')).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Ok(workload::kernels::open(name, &settings, 1)?)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, design, millions, seeds, lengths @ ..] = &arguments[..] else {
        return Err("usage: coverage PROGRAM DESIGN MILLIONS SEEDS [unit lead-in period]".into());
    };
    let lengths = lengths.iter().map(|text| text.parse()).collect::<Result<Vec<u64>, _>>()?;
    let usual = SamplingOptions::default();
    let sampling = match lengths[..] {
        [unit, lead_in, period] => SamplingOptions { unit, lead_in, period, ..usual },
        _ => usual,
    };
    let run_with = |detail| -> Result<Record, Error> {
        let options = RunOptions {
            detail,
            ..RunOptions::new(
                catalogue::machine("modern")?,
                catalogue::design(design)?,
                millions.parse::<u64>()? * 1_000_000,
            )
        };
        Ok(run(&options, open(program)?, |_| RunControl::GoOn)?)
    };
    let full = run_with(Detail::All)?;
    println!("in detail: IPC {:.4}, {} instructions, {:.2} s", full.ipc, full.instructions, full.host.seconds);
    let (mut held, mut bias, mut seconds) = (0, 0.0, 0.0);
    let seeds: u64 = seeds.parse()?;
    for seed in 1..=seeds {
        let record = run_with(Detail::Sampled(SamplingOptions { start: Some(seed), ..sampling }))?;
        let Some(sample) = &record.sampling else { return Err("a sampled run without a sample".into()) };
        let inside = sample.ipc.low <= full.ipc && full.ipc <= sample.ipc.high;
        held += u64::from(inside);
        bias += record.ipc / full.ipc - 1.0;
        seconds += record.host.seconds;
        println!(
            "seed {seed}: IPC {:.4} in [{:.4}, {:.4}] {} units {} detailed {:.1} % DRAM {:+.2} % of {} instructions, lines \
             wrong {}, {:.2} s",
            record.ipc,
            sample.ipc.low,
            sample.ipc.high,
            if inside { "holds" } else { "MISSES" },
            sample.units,
            100.0 * sample.detailed as f64 / record.instructions as f64,
            100.0 * (record.dram_bytes as f64 / full.dram_bytes.max(1) as f64 - 1.0),
            record.instructions,
            record.checks.lines.lines_wrong,
            record.host.seconds,
        );
    }
    println!(
        "held in {held} of {seeds}; mean deviation {:+.2} %; {:.2} s each, {:.1} times as fast",
        100.0 * bias / seeds as f64,
        seconds / seeds as f64,
        full.host.seconds * seeds as f64 / seconds,
    );
    Ok(())
}
