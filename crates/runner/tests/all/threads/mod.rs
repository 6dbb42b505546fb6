//! Programs with several threads or processes.

use crate::common::kernel;
use std::sync::Arc;
use workload::stream::Batch;
use workload::{Origin, Source, WorkloadError};

/// Kernels as the threads of one process, which use the same memory almost at the same time, or as processes.
pub struct Threads {
    are_processes: bool,
    kernels: Vec<Box<dyn Source>>,
    turn: usize,
}

impl Threads {
    /// Threads of one process, each running the kernel with these parameters.
    pub fn of(name: &str, settings: &[(&str, &str)], threads: usize) -> Box<dyn Source> {
        Threads::among((0..threads).map(|_| kernel(name, settings, 1)).collect())
    }

    /// These kernels as the threads of one process.
    pub fn among(kernels: Vec<Box<dyn Source>>) -> Box<dyn Source> {
        Box::new(Threads { are_processes: false, kernels, turn: 0 })
    }

    /// Returns a source that runs these kernels as processes; their batches take turns.
    pub fn as_processes(kernels: Vec<Box<dyn Source>>) -> Box<dyn Source> {
        Box::new(Threads { are_processes: true, kernels, turn: 0 })
    }
}

impl Source for Threads {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        for _ in 0..self.kernels.len() {
            let thread = self.turn;
            self.turn = (thread + 1) % self.kernels.len();
            if let Some(batch) = self.kernels[thread].next_batch()? {
                let mut batch = Arc::unwrap_or_clone(batch);
                *(if self.are_processes { &mut batch.strand.process } else { &mut batch.strand.thread }) =
                    thread as u32;
                return Ok(Some(Arc::new(batch)));
            }
        }
        Ok(None)
    }

    fn origin(&self) -> &Origin {
        self.kernels[0].origin()
    }
}
