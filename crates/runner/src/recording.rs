//! Stores an execution in a file while the user watches. The source may be a program that produces no batch for a while, so a separate
//! thread reads it and the caller's thread calls `watch`.

use crate::endable::{EndSwitch, Endable};
use crate::session::Command;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use workload::trace::{Totals, TraceWriter};
use workload::{Finish, Source, WorkloadError};

/// Interval between two looks at the progress.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Stores all of a source in a file. The function calls `watch` about ten times a second with the number of
/// instructions so far. If `watch` ends the program early, the trace contains the execution up to that moment.
///
/// # Errors
/// The errors of the source and of the file. After an error, the file does not exist. After [`Command::GiveUp`] the
/// function returns no totals, and the file does not exist either.
///
/// # Panics
/// If the recording thread panics, which is a bug.
pub fn record_trace(
    source: impl Source + 'static,
    path: &Path,
    mut watch: impl FnMut(u64) -> Command,
) -> Result<Option<Totals>, WorkloadError> {
    let (end, give_up) = (EndSwitch::default(), EndSwitch::default());
    let instructions = Arc::new(AtomicU64::new(0));
    let source = Endable::new(source, end.clone());
    let writer = start(source, path.to_owned(), give_up.clone(), instructions.clone());
    while !writer.is_finished() {
        thread::park_timeout(BETWEEN_LOOKS);
        let command = watch(instructions.load(Ordering::Relaxed));
        if command != Command::GoOn {
            end.end();
        }
        if command == Command::GiveUp {
            give_up.end();
        }
    }
    writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

type Recording = JoinHandle<Result<Option<Totals>, WorkloadError>>;

fn start(
    mut source: Endable<impl Source + 'static>,
    path: PathBuf,
    give_up: EndSwitch,
    instructions: Arc<AtomicU64>,
) -> Recording {
    let watcher = thread::current();
    thread::spawn(move || {
        let mut writer = TraceWriter::create(&path, source.origin())?;
        while let Some(batch) = source.next_batch()? {
            writer.write(&batch)?;
            instructions.store(writer.totals().instructions, Ordering::Relaxed);
        }
        if give_up.is_on() {
            return Ok(None);
        }
        // The user ended this execution, so its limit counts as reached.
        let finish = match source.origin().finish {
            Finish::Running => Finish::LimitReached,
            finish => finish,
        };
        let totals = writer.finish(finish);
        watcher.unpark();
        totals.map(Some)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use workload::trace::TraceReader;

    fn endless() -> Box<dyn Source> {
        let updates = BTreeMap::from([("updates".to_owned(), "1000000000".to_owned())]);
        workload::kernels::open("gups", &updates, 1).unwrap()
    }

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("casemate-{}-{name}.trace", std::process::id()))
    }

    #[test]
    fn a_recording_ended_early_is_a_complete_trace() {
        let path = path("ended");
        let totals = record_trace(endless(), &path, |_| Command::EndProgram).unwrap().unwrap();
        let mut reader = TraceReader::open(&path).unwrap();
        while reader.next_batch().unwrap().is_some() {}
        assert_eq!(reader.totals(), totals);
        assert_eq!(reader.origin().finish, Finish::LimitReached);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_aborted_recording_leaves_no_file() {
        let path = path("given-up");
        assert_eq!(record_trace(endless(), &path, |_| Command::GiveUp).unwrap(), None);
        assert!(!path.exists());
        assert!(!path.with_extension("trace.partial").exists());
    }
}
