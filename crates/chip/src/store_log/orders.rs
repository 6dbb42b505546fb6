//! Persist ordering of a program's flushes and fences: a store behind a fence is accepted only when memory has the
//! lines flushed before that fence.

use std::collections::VecDeque;
use units::LineAddr;

/// A flush of a line.
pub(super) struct LineFlush {
    /// Address of the line.
    pub line: LineAddr,
    /// Number of stores of the core before the flush.
    pub stores: u64,
}

/// A fence without an accepted store behind it.
struct PendingFence {
    /// Number of stores of the core before the fence.
    stores: u64,
    /// Flushes between the previous fence and this one.
    flushes: Vec<LineFlush>,
}

/// Flushes and fences of one core's program, in program order.
#[derive(Default)]
pub(super) struct FenceQueue {
    /// Flushes since the latest fence.
    open: Vec<LineFlush>,
    fences: VecDeque<PendingFence>,
}

impl FenceQueue {
    /// Notes a flush behind `stores` stores of the program.
    pub fn flushed(&mut self, line: LineAddr, stores: u64) {
        self.open.push(LineFlush { line, stores });
    }

    /// Notes a fence behind `stores` stores of the program.
    pub fn fenced(&mut self, stores: u64) {
        if !self.open.is_empty() {
            self.fences.push_back(PendingFence { stores, flushes: std::mem::take(&mut self.open) });
        }
    }

    /// Accepts the store that follows `stores` earlier stores. Returns the flushes that must be complete, because a
    /// fence precedes this store.
    pub fn accepted(&mut self, stores: u64) -> Vec<LineFlush> {
        let mut over = Vec::new();
        while self.fences.front().is_some_and(|fence| fence.stores <= stores)
            && let Some(fence) = self.fences.pop_front()
        {
            over.extend(fence.flushes);
        }
        over
    }
}
