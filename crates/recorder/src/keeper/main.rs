//! The keeper: a process between Casemate and a recorded program, so that nothing of the program outlives Casemate.
//!
//! A program may start others in sessions of their own, whose parents are long gone and which ignore every signal that can be
//! ignored. The kernel makes all of them children of the keeper when their parents die, so the keeper can end them: when
//! Casemate asks for it (SIGTERM), and when Casemate has died, however it died. It waits until none is left and then
//! ends as the program itself has ended.
//!
//! `casemate-keeper CALLER PROGRAM ARGS...`: CALLER is the process that calls.

mod signals;

use signals::Asked;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;
use wire::process;

/// Between two looks at whether the caller lives. It learns of everything else at once.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Between two rounds of ending processes, whose children come to light when they are gone.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(2);
/// The exit status if the program cannot be started.
const NOT_STARTED: u8 = 127;
const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let caller = words.next().and_then(|word| word.to_str()?.parse().ok());
    let (Some(caller), Some(program)) = (caller, words.next()) else {
        eprintln!("usage: casemate-keeper CALLER PROGRAM ARGS...");
        return ExitCode::from(MISUSED);
    };
    match keep(caller, &program, words) {
        Ok(status) => signals::end_as(status),
        Err(error) => {
            eprintln!("casemate-keeper: starting '{}': {error}", program.display());
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// Starts the program and stays until it and everything that it started is gone. Returns how it ended.
fn keep(caller: u32, program: &OsString, arguments: impl Iterator<Item = OsString>) -> io::Result<ExitStatus> {
    signals::adopt_orphans()?;
    signals::hold_back()?;
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    signals::prepare(&mut command);
    let leader = command.spawn()?.id();
    let mut ended = ExitStatus::default();
    let mut unwanted = false;
    while let Some(gone) = signals::reap() {
        if let Some((pid, status)) = gone {
            if pid == leader {
                ended = status;
            }
            continue;
        }
        unwanted |= parent_id() != caller;
        if unwanted {
            // Only its own children: their numbers are given to no other process before they are reaped here.
            process::children(std::process::id()).into_iter().for_each(process::kill);
        }
        let patience = if unwanted { BETWEEN_ROUNDS } else { BETWEEN_LOOKS };
        unwanted |= signals::wait(patience) == Asked::ToEnd;
    }
    Ok(ended)
}
