//! Records a program with the values of its loads and proves the recording exact: `check_values PROGRAM ARGUMENT...`.

use casemate_workload::live::{Live, LiveOptions, Output, recorder_from_environment};
use casemate_workload::shadow::check_values;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut options = LiveOptions::new(std::env::args_os().skip(1), recorder_from_environment().unwrap_or_default());
    options.load_values = true;
    options.output = Output::Inherit;
    match Live::start(options).and_then(check_values) {
        Ok(report) => {
            eprintln!("{report:#?}");
            if report.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
