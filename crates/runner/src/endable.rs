//! A source that the user of a run can end.
//!
//! The user who watches a run may end it before its program has ended. The execution up to this moment is simulated, as
//! if the program's limit had been reached: the source reports an ordinary end.
//!
//! Several designs that run separate executions are at different positions when the user ends the run. The execution
//! that is furthest ahead determines the end of the program. The other designs continue to that position, so that all
//! designs have executed the same batches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Bytes;
use workload::stream::Batch;
use workload::{Origin, Source, WorkloadError};

/// State shared by all executions of one program.
#[derive(Debug, Default)]
struct EndSwitchState {
    is_on: bool,
    /// Number of batches that the execution furthest ahead has supplied.
    furthest: u64,
}

/// A switch that ends sources. All its clones end the same sources, which are executions of one program.
#[derive(Clone, Debug, Default)]
pub struct EndSwitch(Arc<Mutex<EndSwitchState>>);

impl EndSwitch {
    fn shared(&self) -> MutexGuard<'_, EndSwitchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends each source as soon as it has supplied as many batches as the source that is furthest ahead.
    pub fn end(&self) {
        self.shared().is_on = true;
    }

    /// Returns true if the sources have to end.
    pub fn is_on(&self) -> bool {
        self.shared().is_on
    }

    /// Returns true if a source that has supplied `handed_out` batches may supply another.
    fn admits_another(&self, handed_out: u64) -> bool {
        let mut shared = self.shared();
        if shared.is_on && handed_out >= shared.furthest {
            return false;
        }
        shared.furthest = shared.furthest.max(handed_out + 1);
        true
    }
}

/// A source with a switch that can end the source.
pub struct Endable<S> {
    source: S,
    switch: EndSwitch,
    handed_out: u64,
}

impl<S: Source> Endable<S> {
    /// Wraps a source so that it ends when `switch` is on.
    pub fn new(source: S, switch: EndSwitch) -> Endable<S> {
        Endable { source, switch, handed_out: 0 }
    }
}

impl<S: Source> Source for Endable<S> {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        if !self.switch.admits_another(self.handed_out) {
            return Ok(None);
        }
        self.handed_out += 1;
        match self.source.next_batch() {
            // The caller may have killed a live program to end it: the error is then the requested end.
            Err(_) if self.switch.is_on() => Ok(None),
            other => other,
        }
    }

    fn origin(&self) -> &Origin {
        self.source.origin()
    }

    fn footprint(&self) -> Option<Bytes> {
        self.source.footprint()
    }
}
