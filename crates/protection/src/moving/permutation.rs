//! A permutation of a chunk.
//!
//! ```text
//! read every slot that no fill has read ─ check all ─ verdicts ─ unlock ─ draw anew ─ write all slots ─ record and path
//! ```
//! Slots are read and written in their order, and the first is written when the last is read and checked: a buffer of one chunk is
//! between them. What the cache has of a line is what goes to memory; lines stay there, as memory has them.

use super::chunk::{line_at, placed};
use super::free::Free;
use super::{MovingLines, PermutationTime};
use crate::placement::DataSlot;
use crate::planted::ChunkBug;
use crate::record::{Record, SLOTS};
use crate::verbs::{Fault, LockName, Verbs};
use sim::join_all;
use sim::lock::Mode;
use std::rc::Rc;
use units::{Line, LineAddr};

/// The lines of a chunk between reading and writing, by position; nothing of those that are not in memory yet.
struct Buffer {
    first: u64,
    texts: Box<[Option<Line>]>,
}

impl Buffer {
    fn of(chunk: u64) -> Buffer {
        Buffer { first: chunk * SLOTS as u64, texts: vec![None; SLOTS].into() }
    }

    fn put(&mut self, line: LineAddr, text: Option<Line>) {
        self.texts[(line.0 - self.first) as usize] = text;
    }

    fn get(&self, line: LineAddr) -> Option<&Line> {
        self.texts[(line.0 - self.first) as usize].as_ref()
    }
}

/// The lines of a chunk with their slots under a record, in order of slots.
fn by_slot(chunk: u64, record: &Record) -> impl Iterator<Item = DataSlot> + '_ {
    record.lines_by_slot().into_iter().map(move |position| placed(record, line_at(chunk, position)))
}

impl MovingLines {
    /// Permutes a chunk; if so many permutations of it are told, only while there were no more.
    pub(super) async fn permute<V: Verbs>(
        &self,
        verbs: &V,
        chunk: u64,
        unless_after: Option<u64>,
    ) -> Result<(), Fault> {
        let _alone = verbs.lock(LockName::Group(chunk), Mode::Exclusive).await;
        if unless_after.is_some_and(|before| self.counted.borrow().permutations_of(chunk) != before) {
            return Ok(());
        }
        match self.time {
            PermutationTime::Charged => verbs.renewing(Permutation { lines: self, verbs, chunk }.carry_out()).await,
            PermutationTime::Free => {
                let all_good = verbs.await_verdicts().await;
                // No walk may be under way that looked at what changes.
                let _walks = self.records.all().alone(verbs).await;
                if !all_good {
                    return Err(Fault::Tainted(line_at(chunk, 0)));
                }
                Permutation { lines: self, verbs: &Free(verbs), chunk }.carry_out().await
            }
        }
    }
}

/// A permutation that nothing else of its chunk is under way beside.
struct Permutation<'a, V> {
    lines: &'a MovingLines,
    verbs: &'a V,
    chunk: u64,
}

impl<V: Verbs> Permutation<'_, V> {
    async fn carry_out(&self) -> Result<(), Fault> {
        let Permutation { lines, verbs, chunk } = *self;
        let first = line_at(chunk, 0);
        lines.refuse_if_halted(first)?;
        let before = lines.records.get(verbs, chunk).await?;
        let mut buffer = self.read_rest(&before).await?;
        if !verbs.await_verdicts().await {
            return Err(Fault::Tainted(first));
        }
        // From here on a store locks its line again.
        for (line, text) in lines.cache().unlock(chunk) {
            if !lines.planted.has(ChunkBug::PermutationIgnoresCache) || buffer.get(line).is_none() {
                buffer.put(line, Some(text));
            }
        }
        let drawn = lines.records.all().draw(Some(&before));
        self.write_all(&drawn.record, &buffer).await;
        let record = Rc::new(drawn.record.clone());
        if let Err(fault) = lines.records.all().store(verbs, chunk, &drawn).await {
            // Memory has lines whose record it has not.
            lines.halted.set(true);
            return Err(fault);
        }
        lines.records.put(chunk, &record);
        lines.counted.borrow_mut().permuted(chunk, &record);
        Ok(())
    }

    /// Reads the slots of a chunk that no fill has read since it was permuted last, and checks them.
    async fn read_rest(&self, record: &Record) -> Result<Buffer, Fault> {
        let Permutation { lines, verbs, chunk } = *self;
        let (cache, by_cache) = (lines.cache(), lines.planted.has(ChunkBug::CachedSlotsNotRead));
        let is_left = |at: &DataSlot| match by_cache {
            true => cache.look_up(at.line()).is_none(),
            false => !cache.was_read(at.line()),
        };
        let left = by_slot(chunk, record).filter(is_left);
        let read = async |at: DataSlot| {
            lines.counted.borrow_mut().read(at.slot());
            let is_there = lines.entered.borrow().has(at.line());
            let open = lines.lines.open(verbs, (at, is_there), record);
            (at.line(), verbs.in_places(&[at.slot()], open).await)
        };
        let mut buffer = Buffer::of(chunk);
        for (line, text) in join_all(left.map(read)).await {
            let text = if lines.planted.has(ChunkBug::PermutationTrustsMemory) { text.unwrap_or(None) } else { text? };
            buffer.put(line, text);
        }
        Ok(buffer)
    }

    /// Writes all slots of a chunk, in order.
    async fn write_all(&self, record: &Record, buffer: &Buffer) {
        let Permutation { lines, verbs, chunk } = *self;
        let write = async |at: DataSlot| {
            lines.counted.borrow_mut().written(at.slot());
            let text = buffer.get(at.line());
            text.iter().for_each(|_| lines.entered.borrow_mut().note(at.line()));
            verbs.in_places(&[at.slot()], lines.lines.store(verbs, at, record, text)).await;
        };
        let mut places: Vec<DataSlot> = by_slot(chunk, record).collect();
        if lines.planted.has(ChunkBug::SweepByLine) {
            places.sort_unstable_by_key(|at| at.line());
        }
        join_all(places.into_iter().map(write)).await;
    }
}
