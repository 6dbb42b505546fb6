//! Sources for tests.

use crate::decode::BlockDecoder;
use crate::error::WorkloadError;
use crate::source::{Finish, Medium, Origin, Persistent, Source, Values};
use crate::stream::{Batch, Block, BlockId};
use std::collections::VecDeque;
use std::sync::Arc;
use units::VirtAddr;

/// Source that returns the batches of a list.
pub struct Listed {
    batches: VecDeque<Batch>,
    fails: bool,
    origin: Origin,
}

impl Listed {
    pub fn new(batches: Vec<Batch>) -> Listed {
        Listed { batches: batches.into(), fails: false, origin: origin() }
    }

    pub fn failing_after(batches: Vec<Batch>) -> Listed {
        Listed { fails: true, ..Listed::new(batches) }
    }

    /// Sets the status at the end of the execution.
    pub fn finished(self, finish: Finish) -> Listed {
        Listed { origin: Origin { finish, ..self.origin }, ..self }
    }
}

impl Source for Listed {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        match self.batches.pop_front() {
            None if self.fails => Err(WorkloadError::NoProgram),
            batch => Ok(batch.map(Arc::new)),
        }
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}

pub fn origin() -> Origin {
    Origin {
        program: vec!["a test".into()],
        skip: 0,
        limit: None,
        values: Values::Seeded(1),
        load_values: true,
        medium: Medium::BuiltIn,
        conditions: Vec::new(),
        persistent: Persistent::All,
        requests: None,
        restarts: 0,
        finish: Finish::Exited(0),
        suspects: Vec::new(),
    }
}

/// Returns a block of these instructions, each given by its bytes.
pub fn block(id: u32, pc: u64, instructions: &[&[u8]]) -> Arc<Block> {
    let lengths: Vec<u8> = instructions.iter().map(|bytes| bytes.len() as u8).collect();
    Arc::new(BlockDecoder::default().block(BlockId(id), VirtAddr(pc), &lengths, &instructions.concat()))
}
