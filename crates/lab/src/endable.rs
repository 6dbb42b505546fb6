//! A source that can be told to end here.
//!
//! Whoever watches a run may want to end it before its program has ended. Everything the program did so far then counts,
//! as if the program had been asked for no more: whoever consumes the source sees an ordinary end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Bytes;
use workload::stream::Chunk;
use workload::{Origin, Source, WorkloadError};

/// Tells a source to end; all clones tell the same one.
#[derive(Clone, Debug, Default)]
pub struct EndSwitch(Arc<AtomicBool>);

impl EndSwitch {
    /// Ends the source at its next chunk.
    pub fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the source was told to end.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A source with a switch.
pub struct Endable<S> {
    source: S,
    switch: EndSwitch,
}

impl<S: Source> Endable<S> {
    /// A source that ends when `switch` says so.
    pub fn new(source: S, switch: EndSwitch) -> Endable<S> {
        Endable { source, switch }
    }
}

impl<S: Source> Source for Endable<S> {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        if self.switch.is_on() {
            return Ok(None);
        }
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
