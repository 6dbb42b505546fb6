//! A read of a permuted line, or a store to it: in the last-level cache, or after a way of the cache is reserved for
//! the line.

use super::locks::Room;
use super::page_chunk::{Group, chunk_of, group_of, placed};
use super::{MovingLines, set};
use crate::meetings::{self, Mechanism};
use crate::planted::PageChunkBug;
use crate::release::Release;
use crate::verbs::{Exit, Fault, LockName, Plaintext, Verbs};
use sim::lock::Mode;
use std::cell::Cell;
use units::{Line, LineAddr};

/// One access to a line.
pub(super) struct LineAccess<'a, V> {
    pub lines: &'a MovingLines,
    pub verbs: &'a V,
    pub line: LineAddr,
}

impl<V: Verbs> LineAccess<'_, V> {
    /// Stores a whole line.
    pub async fn store(&self, text: &Line) -> Result<(), Fault> {
        let LineAccess { lines, verbs, line } = *self;
        verbs.come_in().await;
        loop {
            if lines.cache().stored(line, text) {
                self.unlock_if(PageChunkBug::StoreLeavesUnlocked);
                return Ok(());
            }
            if self.has_reserved().await? {
                break;
            }
        }
        lines.cache().enter_stored(line, text);
        self.permute_in_advance().await
    }

    /// Reads a line into the cache, if the cache does not hold it.
    pub async fn read(&self) -> Result<(), Fault> {
        let LineAccess { lines, verbs, line } = *self;
        verbs.come_in().await;
        loop {
            if let Some(text) = lines.cache().look_up(line) {
                verbs.release(line, Plaintext { bytes: text, verified: lines.lines.are_checked() }, Exit::LastLevel);
                return Ok(());
            }
            if self.has_reserved().await? {
                break;
            }
        }
        // Accesses that wait for this line's way wait for this lock.
        let coming = verbs.lock(LockName::Line(line), Mode::Exclusive).await;
        match self.fetch().await {
            Ok(text) => {
                lines.cache().filled(line, &text);
                self.unlock_if(PageChunkBug::FillLeavesUnlocked);
            }
            Err(fault) => {
                lines.cache().give_back(line);
                return Err(fault);
            }
        }
        drop(coming);
        self.permute_in_advance().await
    }

    /// Unlocks the page chunk of the line, if this bug is planted. Has no effect without the bug.
    fn unlock_if(&self, bug: PageChunkBug) {
        if self.lines.planted.has(bug) {
            self.lines.cache().unlock(chunk_of(self.line));
        }
    }

    /// Tries to reserve a way, or executes the step that must precede the reservation. Returns whether a way is
    /// reserved.
    async fn has_reserved(&self) -> Result<bool, Fault> {
        match self.lines.cache().reserve(self.line) {
            Room::Reserved => return Ok(true),
            Room::After(other) => drop(self.verbs.lock(LockName::Line(other), Mode::Exclusive).await),
            Room::Permute(chunk) => self.lines.permutation_requests().permute_again(self.verbs, chunk).await?,
        }
        Ok(false)
    }

    /// Fetches the line from its slot, and releases it.
    async fn fetch(&self) -> Result<Line, Fault> {
        let LineAccess { lines, verbs, line } = *self;
        let chunk = chunk_of(line);
        lines.under_way.borrow_mut().wait(chunk);
        let _shared = verbs.lock(LockName::Group(chunk), Mode::Shared).await;
        lines.refuse_if_halted(line)?;
        let record = lines.records.get(verbs, chunk).await?;
        let group = group_of(&record, line, lines.lines.slots_per_tag());
        let _tag = self.tag(&group).await;
        lines.counted.borrow_mut().filled(placed(&record, line), &group);
        let in_advance = Cell::new(false);
        let decrypted = |text: &Line| {
            if lines.policy.release == Release::Speculative {
                in_advance.set(true);
                verbs.release(line, Plaintext { bytes: *text, verified: false }, Exit::BeforeVerdict);
            }
        };
        if !lines.entered.borrow().has(line) {
            drop(meetings::begin(Mechanism::Boot, set(lines)));
        }
        lines.lines.boot(verbs, (&group, &record), line, &lines.entered);
        let opened = lines.lines.open_line(verbs, (&group, &record), (line, &lines.entered), decrypted).await;
        if in_advance.get() {
            verbs.settle(line, opened.is_ok());
        }
        let text = opened?;
        // A line that is stored as plaintext counts as present in memory once it was read.
        lines.entered.borrow_mut().note(line);
        if !in_advance.get() {
            verbs.release(line, Plaintext { bytes: text, verified: lines.lines.are_checked() }, Exit::Controller);
        }
        Ok(text)
    }

    /// Locks the tag of a group. While a line enters memory under a tag of several lines, this access is the only one
    /// to the group.
    async fn tag(&self, group: &Group) -> Option<V::Guard<'_>> {
        if group.len() == 1 {
            return None;
        }
        let boots = !self.lines.entered.borrow().has(self.line);
        let mode = if boots { Mode::Exclusive } else { Mode::Shared };
        Some(self.verbs.lock(LockName::Tag(group[0].slot()), mode).await)
    }

    /// Permutes a page chunk in the background, if the cache is almost full.
    async fn permute_in_advance(&self) -> Result<(), Fault> {
        let chunk = self.lines.policy.background.chunk(&*self.lines.cache(), self.line);
        match chunk {
            Some(chunk) => self.lines.permutation_requests().permute_in_background(self.verbs, chunk).await,
            None => Ok(()),
        }
    }
}
