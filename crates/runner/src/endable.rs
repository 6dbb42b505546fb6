//! A source that can be ended here.
//!
//! The user who watches a run may want to end it before its program has ended. Everything the program did so far then
//! counts, as if the program had been asked for no more: the consumer of the source sees an ordinary end.
//!
//! Several designs that run executions of their own have come to different points by then. The one that has come
//! furthest says where the program ends; the others go on to there, so that all have done the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use units::Bytes;
use workload::stream::Chunk;
use workload::{Origin, Source, WorkloadError};

/// What all executions of one program share.
#[derive(Debug, Default)]
struct Shared {
    is_on: bool,
    /// Chunks that the execution that has come furthest has handed out.
    furthest: u64,
}

/// Ends sources; all clones end the same ones, which are executions of one program.
#[derive(Clone, Debug, Default)]
pub struct EndSwitch(Arc<Mutex<Shared>>);

impl EndSwitch {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends each source as soon as it has handed out what any of them has.
    pub fn end(&self) {
        self.shared().is_on = true;
    }

    /// Whether the sources have to end.
    pub fn is_on(&self) -> bool {
        self.shared().is_on
    }

    /// Whether a source that has handed out so many chunks may hand out another.
    fn admits_another(&self, handed_out: u64) -> bool {
        let mut shared = self.shared();
        if shared.is_on && handed_out >= shared.furthest {
            return false;
        }
        shared.furthest = shared.furthest.max(handed_out + 1);
        true
    }
}

/// A source with a switch.
pub struct Endable<S> {
    source: S,
    switch: EndSwitch,
    handed_out: u64,
}

impl<S: Source> Endable<S> {
    /// A source that ends when `switch` says so.
    pub fn new(source: S, switch: EndSwitch) -> Endable<S> {
        Endable { source, switch, handed_out: 0 }
    }
}

impl<S: Source> Source for Endable<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        if !self.switch.admits_another(self.handed_out) {
            return Ok(None);
        }
        self.handed_out += 1;
        match self.source.next_chunk() {
            // A live program may have been killed to end it: that is the end that was wanted.
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
