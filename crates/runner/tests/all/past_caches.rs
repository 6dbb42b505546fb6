//! Programs that store past the caches.

use isa::{Instruction, PersistEffect};
use std::sync::Arc;
use workload::stream::{Batch, Block};
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
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        let Some(batch) = self.0.next_batch()? else { return Ok(None) };
        let mut batch = Arc::unwrap_or_clone(batch);
        for block in &mut batch.new_blocks {
            let Block { instructions, .. } = Arc::make_mut(block);
            let stores = instructions.iter_mut().filter(|instruction| stores(instruction));
            stores.for_each(|store| store.persist = PersistEffect::Store);
        }
        Ok(Some(Arc::new(batch)))
    }

    fn origin(&self) -> &Origin {
        self.0.origin()
    }
}
