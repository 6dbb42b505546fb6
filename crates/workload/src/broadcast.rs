//! Feeds one execution to many machines: every consumer receives the same batches, and may run on a separate thread.
//!
//! A pump thread pulls batches from the source and sends each one to all consumers through short queues. Consumers
//! share the batches; the pump does not copy them. The slowest consumer determines the speed. The pump removes a
//! consumer that was dropped, and drops the source after the last one, which ends a live program.

use crate::error::WorkloadError;
use crate::source::{Origin, Source};
use crate::stream::Batch;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use units::Bytes;

/// Maximum batches that wait for a consumer: enough to absorb uneven progress, and few enough to stay in a cache of the
/// host.
const QUEUE_BATCHES: usize = 16;

#[derive(Clone)]
enum Message {
    Batch(Arc<Batch>),
    End(Origin),
    Failed(Arc<WorkloadError>),
}

/// A consumer's end of the broadcast.
pub struct BroadcastTap {
    origin: Origin,
    footprint: Option<Bytes>,
    queue: Receiver<Message>,
    ended: Option<Result<(), Arc<WorkloadError>>>,
}

/// Splits a source into `consumers` sources that all return the same batches.
pub fn broadcast(source: impl Source + 'static, consumers: usize) -> Vec<BroadcastTap> {
    let (origin, footprint) = (source.origin().clone(), source.footprint());
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..consumers).map(|_| bounded(QUEUE_BATCHES)).unzip();
    std::thread::spawn(move || pump(source, senders));
    receivers.into_iter().map(|queue| BroadcastTap { origin: origin.clone(), footprint, queue, ended: None }).collect()
}

fn pump(mut source: impl Source, mut consumers: Vec<Sender<Message>>) {
    while !consumers.is_empty() {
        let message = match source.next_batch() {
            Ok(Some(batch)) => Message::Batch(batch),
            Ok(None) => Message::End(source.origin().clone()),
            Err(error) => Message::Failed(Arc::new(error)),
        };
        consumers.retain(|consumer| consumer.send(message.clone()).is_ok());
        if !matches!(message, Message::Batch(_)) {
            return;
        }
    }
}

impl Source for BroadcastTap {
    fn next_batch(&mut self) -> Result<Option<Arc<Batch>>, WorkloadError> {
        if self.ended.is_none() {
            match self.queue.recv() {
                Ok(Message::Batch(batch)) => return Ok(Some(batch)),
                Ok(Message::End(origin)) => {
                    self.origin = origin;
                    self.ended = Some(Ok(()));
                }
                Ok(Message::Failed(error)) => self.ended = Some(Err(error)),
                Err(_) => self.ended = Some(Err(Arc::new(WorkloadError::PumpDied))),
            }
        }
        match &self.ended {
            Some(Err(error)) => Err(WorkloadError::Shared(Arc::clone(error))),
            _ => Ok(None),
        }
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn footprint(&self) -> Option<Bytes> {
        self.footprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Listed, origin};

    fn numbered(count: u64) -> Vec<Batch> {
        (0..count).map(|n| Batch { words: vec![n], ..Batch::default() }).collect()
    }

    #[test]
    fn every_consumer_of_a_broadcast_gets_every_batch_even_if_another_is_dropped() {
        let mut taps = broadcast(Listed::new(numbered(200)), 3);
        let mut leaver = taps.remove(0);
        leaver.next_batch().unwrap();
        drop(leaver);
        std::thread::scope(|scope| {
            for mut tap in taps {
                scope.spawn(move || {
                    for n in 0..200 {
                        assert_eq!(tap.next_batch().unwrap().unwrap().words, [n]);
                    }
                    assert!(tap.next_batch().unwrap().is_none());
                    assert_eq!(tap.origin(), &origin());
                });
            }
        });
    }

    #[test]
    fn an_error_reaches_every_consumer() {
        let mut taps = broadcast(Listed::failing_after(numbered(1)), 2);
        for tap in &mut taps {
            tap.next_batch().unwrap();
            assert!(tap.next_batch().is_err());
            assert!(tap.next_batch().is_err());
        }
    }
}
