//! Programs that store past the caches.

use isa::{Instruction, PersistEffect};
use std::sync::Arc;
use workload::stream::{Block, Chunk};
use workload::{Origin, Source, WorkloadError};

/// A program in which each plain store is a non-temporal store.
pub struct PastCaches(Box<dyn Source>);

impl PastCaches {
    /// Returns the program with non-temporal stores.
    pub fn of(program: Box<dyn Source>) -> Box<dyn Source> {
        Box::new(PastCaches(program))
    }
}

/// Returns true for a plain store: it has an address and no result.
fn stores(instruction: &Instruction) -> bool {
    !instruction.address_sources.is_empty() && instruction.destinations.is_empty()
}

impl Source for PastCaches {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        let Some(chunk) = self.0.next_chunk()? else { return Ok(None) };
        let mut chunk = Arc::unwrap_or_clone(chunk);
        for block in &mut chunk.new_blocks {
            let Block { instructions, .. } = Arc::make_mut(block);
            let stores = instructions.iter_mut().filter(|instruction| stores(instruction));
            stores.for_each(|store| store.persist = PersistEffect::Store);
        }
        Ok(Some(Arc::new(chunk)))
    }

    fn origin(&self) -> &Origin {
        self.0.origin()
    }
}
