//! The keeper: a process between Casemate and a recorded program. When Casemate ends, the keeper ends all processes of
//! the program.
//!
//! A program may start processes in separate sessions. They may ignore every signal that can be ignored, and their
//! parents may have ended long ago. When a parent dies, the kernel makes its children children of the keeper, so the
//! keeper can end them. It does so when Casemate requests it (SIGTERM), and when Casemate has died, from any cause. The
//! keeper waits until all these processes have ended, and then ends in the same way as the program.
//!
//! `casemate-keeper CALLER PROGRAM ARGS...`: CALLER is the number of the calling process.

mod signals;

use signals::SignalRequest;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;
use wire::process;

/// Time between two checks that the caller is alive. The keeper learns of all other events at once.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// Time between two rounds of ending processes. After a round, the keeper inherits the children of the ended processes.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(2);
/// Exit status if the program cannot be started.
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

/// Starts the program and waits until it and all processes that it started have ended. Returns the program's exit
/// status.
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
            // Kills only children of the keeper: the kernel does not reuse their numbers before the keeper has reaped
            // them.
            process::children(std::process::id()).into_iter().for_each(process::kill);
        }
        let patience = if unwanted { BETWEEN_ROUNDS } else { BETWEEN_LOOKS };
        unwanted |= signals::wait(patience) == SignalRequest::ToEnd;
    }
    Ok(ended)
}
