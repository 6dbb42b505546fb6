//! A permutation of the lines of a page chunk.
//!
//! ```text
//! read every slot that no fill has read ─ check all ─ verdicts ─ unlock ─ draw anew ─ start up ─ write all slots ─ record and path
//! ```
//! A permutation reads the slots in order, and then writes them in order. It writes the first slot after it has read
//! and verified the last one. A buffer of one page chunk holds the lines in the meantime. If the cache has a line, the
//! permutation writes the content of the cache to memory, and the line stays in the cache.
//!
//! A line that memory still lacks gets its start-up content, or zeros if it has none, and is in memory from then on. So
//! no slot of a permuted page chunk is blank: a blank slot would show, at a fill, that no program had used the line
//! before. The line must not boot again, since its pad would then hide two texts.

use super::free::Free;
use super::page_chunk::{Group, SLOTS_PER_TAG_MAX, groups, line_at, placed};
use super::slot_access::SlotAccess;
use super::{MovingLines, PermutationTime, set};
use crate::meetings::{self, Mechanism};
use crate::placement::DataSlot;
use crate::planted::PageChunkBug;
use crate::record::{Record, SLOTS};
use crate::untimed::Untimed;
use crate::verbs::{BusPriority, Fault, LockName, Verbs};
use arrayvec::ArrayVec;
use sim::join_all;
use sim::lock::Mode;
use std::rc::Rc;
use units::{Line, LineAddr, ZERO_LINE};

/// The lines of a page chunk between reading and writing, by position; `None` for those that memory still lacks.
struct PageChunkBuffer {
    first: u64,
    texts: Box<[Option<Line>]>,
}

impl PageChunkBuffer {
    fn of(chunk: u64) -> PageChunkBuffer {
        PageChunkBuffer { first: chunk * SLOTS as u64, texts: vec![None; SLOTS].into() }
    }

    fn put(&mut self, line: LineAddr, text: Option<Line>) {
        self.texts[(line.0 - self.first) as usize] = text;
    }

    fn has(&self, line: LineAddr) -> bool {
        self.texts[(line.0 - self.first) as usize].is_some()
    }

    fn text(&self, line: LineAddr) -> Line {
        self.texts[(line.0 - self.first) as usize].unwrap_or(ZERO_LINE)
    }
}

impl MovingLines {
    /// Permutes a page chunk; with `unless_after`, only if the page chunk was permuted exactly this number of times so
    /// far. Returns whether it was permuted.
    pub(super) async fn permute<V: Verbs>(
        &self,
        verbs: &V,
        chunk: u64,
        unless_after: Option<u64>,
    ) -> Result<bool, Fault> {
        let _alone = verbs.lock(LockName::Group(chunk), Mode::Exclusive).await;
        if unless_after.is_some_and(|before| self.counted.borrow().permutations_of(chunk) != before) {
            return Ok(false);
        }
        match self.policy.time {
            PermutationTime::Charged | PermutationTime::IdleBus => {
                // A caller without a request waits for the permutation itself.
                let requested = unless_after.map(|_| self.under_way.borrow().priority(chunk));
                let priority = &requested.unwrap_or_default();
                verbs.renewing(priority, Permutation { lines: self, verbs, chunk, priority }.carry_out()).await?;
            }
            PermutationTime::Free => {
                // No walk may see a part of the changes: this waits for walks under way, and blocks new ones.
                let _walks = self.records.all().alone(verbs).await;
                let all_good = verbs.await_verdicts().await;
                if !all_good {
                    return Err(Fault::Tainted(line_at(chunk, 0)));
                }
                let priority = &BusPriority::default();
                Permutation { lines: self, verbs: &Free(verbs).verbs(), chunk, priority }.carry_out().await?;
            }
        }
        Ok(true)
    }
}

/// A permutation of a page chunk without any other access to it.
struct Permutation<'a, V> {
    lines: &'a MovingLines,
    verbs: &'a V,
    chunk: u64,
    /// Priority of the transfers of its slots.
    priority: &'a BusPriority,
}

impl<V: Verbs> Permutation<'_, V> {
    async fn carry_out(&self) -> Result<(), Fault> {
        let Permutation { lines, verbs, chunk, .. } = *self;
        let first = line_at(chunk, 0);
        let _permutation = meetings::begin(Mechanism::Permutation, set(lines));
        lines.refuse_if_halted(first)?;
        let before = lines.records.get(verbs, chunk).await?;
        let mut buffer = match self.read_rest(&before).await {
            Err(fault) if lines.planted.has(PageChunkBug::BackgroundWritesUnchecked) && !self.priority.is_demand() => {
                self.write_all(&before, &PageChunkBuffer::of(chunk)).await;
                return Err(fault);
            }
            read => read?,
        };
        if !verbs.await_verdicts().await {
            return Err(Fault::Tainted(first));
        }
        // From here on a store locks its line again.
        for (line, text) in lines.cache().unlock(chunk) {
            if !lines.planted.has(PageChunkBug::PermutationIgnoresCache) || !buffer.has(line) {
                buffer.put(line, Some(text));
            }
            lines.entered.borrow_mut().note(line);
        }
        let drawn = lines.records.all().draw(Some(&before));
        self.start_up(&drawn.record, &mut buffer);
        self.write_all(&drawn.record, &buffer).await;
        let record = Rc::new(drawn.record.clone());
        // A chip that halts meanwhile commits no more records.
        let may_commit = || lines.refuse_if_halted(first);
        if let Err(fault) = lines.records.all().store(verbs, chunk, &drawn, may_commit).await {
            // Memory has lines without their record.
            lines.halted.set(true);
            meetings::note(set(lines));
            return Err(fault);
        }
        lines.records.put(chunk, &record);
        lines.counted.borrow_mut().permuted(chunk, &record);
        Ok(())
    }

    /// Reads and checks the slots of a page chunk that no fill has read for their lines since its last permutation, each with all
    /// slots under its tag.
    async fn read_rest(&self, record: &Record) -> Result<PageChunkBuffer, Fault> {
        let Permutation { lines, verbs, chunk, .. } = *self;
        let (cache, by_cache) = (lines.cache(), lines.planted.has(PageChunkBug::CachedSlotsNotRead));
        let is_left = |at: &DataSlot| match by_cache {
            true => cache.look_up(at.line()).is_none(),
            false => !cache.was_read(at.line()),
        };
        let left = groups(chunk, record, lines.lines.slots_per_tag()).filter(|group| group.iter().any(is_left));
        let read = async |group: Group| {
            lines.counted.borrow_mut().read(&group);
            let texts = lines.lines.open_group(verbs, &group, record, self.slot_access()).await;
            (group, texts)
        };
        let mut buffer = PageChunkBuffer::of(chunk);
        for (group, texts) in join_all(left.map(read)).await {
            let texts = match texts {
                Err(_) if lines.planted.has(PageChunkBug::PermutationTrustsMemory) => continue,
                texts => texts?,
            };
            group.iter().zip(texts).for_each(|(at, text)| buffer.put(at.line(), text));
        }
        Ok(buffer)
    }

    fn slot_access(&self) -> SlotAccess<'_> {
        SlotAccess { entered: &self.lines.entered, priority: self.priority }
    }

    /// Gives each line that memory still lacks its start-up content, for the slot of the new record. No wait may separate
    /// this from the unlocking of the page chunk: a content that becomes known later must find the line in memory.
    fn start_up(&self, record: &Record, buffer: &mut PageChunkBuffer) {
        let Permutation { lines, verbs, chunk, .. } = *self;
        let mut entered = lines.entered.borrow_mut();
        for line in (0..=u8::MAX).map(|position| line_at(chunk, position)) {
            if entered.has(line) || lines.planted.has(PageChunkBug::UnusedLinesBlank) {
                continue;
            }
            drop(meetings::begin(Mechanism::Boot, set(lines)));
            buffer.put(line, verbs.start_up(placed(record, line)));
            entered.note(line);
            if lines.planted.has(PageChunkBug::StartedUpLinesBoot) {
                entered.boot_again(line);
            }
        }
    }

    /// Writes all slots of a page chunk, in order.
    async fn write_all(&self, record: &Record, buffer: &PageChunkBuffer) {
        let Permutation { lines, verbs, chunk, .. } = *self;
        let write = async |group: Group| {
            lines.counted.borrow_mut().written(&group);
            let texts: ArrayVec<Line, SLOTS_PER_TAG_MAX> = group.iter().map(|at| buffer.text(at.line())).collect();
            lines.lines.store(verbs, &group, record, &texts, self.slot_access()).await;
        };
        let mut tag_layout: Vec<Group> = groups(chunk, record, lines.lines.slots_per_tag()).collect();
        if lines.planted.has(PageChunkBug::SweepByLine) {
            tag_layout.sort_unstable_by_key(|group| group[0].line());
        }
        join_all(tag_layout.into_iter().map(write)).await;
    }
}
