//! Stores a program's execution: `record TRACE SKIP LIMIT PROGRAM ARGUMENT...`.

use casemate_workload::live::{Live, LiveOptions, recorder_from_environment};
use casemate_workload::trace::record;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let path = PathBuf::from(arguments.next().unwrap_or_default());
    let mut number = || arguments.next().and_then(|text| text.to_str()?.parse().ok());
    let (skip, limit) = (number().unwrap_or(0), number());
    let mut options = LiveOptions::new(arguments, recorder_from_environment().unwrap_or_default());
    (options.skip, options.limit) = (skip, limit);
    match Live::start(options).and_then(|live| record(live, &path)) {
        Ok(totals) => {
            println!("{totals:#?}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
