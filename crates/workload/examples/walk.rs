//! Measures how fast the library reads and walks a stored trace: `walk TRACE`.

use casemate_workload::Origin;
use casemate_workload::Source;
use casemate_workload::WorkloadError;
use casemate_workload::stream::Batch;
use casemate_workload::trace::TraceReader;
use casemate_workload::walker::{Event, Walker};
use std::sync::Arc;
use std::time::Instant;

/// Batches that were read before the walk, so that the second measurement excludes reading.
struct Read(std::vec::IntoIter<Arc<Batch>>, Origin);

impl Source for Read {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        Ok(self.0.next())
    }

    fn origin(&self) -> &Origin {
        &self.1
    }
}

fn main() -> Result<(), WorkloadError> {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    let start = Instant::now();
    let mut reader = TraceReader::open(path.as_ref())?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        batches.push(batch);
    }
    let origin = reader.origin().clone();
    println!("{:#?}", origin);
    println!("read in {:?}", start.elapsed());

    let start = Instant::now();
    let (mut steps, mut accesses) = (0_u64, 0_usize);
    let mut walker = Walker::new(Read(batches.into_iter(), origin));
    while let Some(event) = walker.next()? {
        if let Event::Instruction(step) = event {
            steps += 1;
            accesses += step.accesses.len();
        }
    }
    let taken = start.elapsed();
    println!(
        "{steps} steps and {accesses} accesses in {taken:?}: {:.1} M steps/s",
        steps as f64 / taken.as_secs_f64() / 1e6
    );
    Ok(())
}
