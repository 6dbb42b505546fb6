//! Feeds one execution to many machines: every consumer receives the same chunks, and may run on a separate thread.
//!
//! A pump thread pulls chunks from the source and sends each one to all consumers through short queues. Consumers share
//! the chunks; the pump does not copy them. The slowest consumer determines the speed. The pump removes a consumer that
//! was dropped, and drops the source after the last one, which ends a live program.

use crate::error::WorkloadError;
use crate::source::{Origin, Source};
use crate::stream::Chunk;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use units::Bytes;

/// Maximum chunks that wait for a consumer: enough to absorb uneven progress, and few enough to stay in a cache of the
/// host.
const QUEUE_CHUNKS: usize = 16;

#[derive(Clone)]
enum Message {
    Chunk(Arc<Chunk>),
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

/// Splits a source into `consumers` sources that all return the same chunks.
pub fn broadcast(source: impl Source + 'static, consumers: usize) -> Vec<BroadcastTap> {
    let (origin, footprint) = (source.origin().clone(), source.footprint());
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..consumers).map(|_| bounded(QUEUE_CHUNKS)).unzip();
    std::thread::spawn(move || pump(source, senders));
    receivers.into_iter().map(|queue| BroadcastTap { origin: origin.clone(), footprint, queue, ended: None }).collect()
}

fn pump(mut source: impl Source, mut consumers: Vec<Sender<Message>>) {
    while !consumers.is_empty() {
        let message = match source.next_chunk() {
            Ok(Some(chunk)) => Message::Chunk(chunk),
            Ok(None) => Message::End(source.origin().clone()),
            Err(error) => Message::Failed(Arc::new(error)),
        };
        consumers.retain(|consumer| consumer.send(message.clone()).is_ok());
        if !matches!(message, Message::Chunk(_)) {
            return;
        }
    }
}

impl Source for BroadcastTap {
    fn next_chunk(&mut self) -> Result<Option<Arc<Chunk>>, WorkloadError> {
        if self.ended.is_none() {
            match self.queue.recv() {
                Ok(Message::Chunk(chunk)) => return Ok(Some(chunk)),
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

    fn numbered(count: u64) -> Vec<Chunk> {
        (0..count).map(|n| Chunk { words: vec![n], ..Chunk::default() }).collect()
    }

    #[test]
    fn every_consumer_of_a_broadcast_gets_every_chunk_even_if_another_is_dropped() {
        let mut taps = broadcast(Listed::new(numbered(200)), 3);
        let mut leaver = taps.remove(0);
        leaver.next_chunk().unwrap();
        drop(leaver);
        std::thread::scope(|scope| {
            for mut tap in taps {
                scope.spawn(move || {
                    for n in 0..200 {
                        assert_eq!(tap.next_chunk().unwrap().unwrap().words, [n]);
                    }
                    assert!(tap.next_chunk().unwrap().is_none());
                    assert_eq!(tap.origin(), &origin());
                });
            }
        });
    }

    #[test]
    fn an_error_reaches_every_consumer() {
        let mut taps = broadcast(Listed::failing_after(numbered(1)), 2);
        for tap in &mut taps {
            tap.next_chunk().unwrap();
            assert!(tap.next_chunk().is_err());
            assert!(tap.next_chunk().is_err());
        }
    }
}
