//! What a program's flushes and fences promise: a store behind a fence is not accepted before memory has the lines that were
//! flushed before that fence.

use std::collections::VecDeque;
use units::LineAddr;

/// A flush.
pub(super) struct Flush {
    /// Of which line.
    pub line: LineAddr,
    /// How many stores of its core come before it.
    pub stores: u64,
}

/// A fence that no accepted store is behind.
struct Fence {
    /// How many stores of its core come before it.
    stores: u64,
    /// The flushes since the fence before.
    flushes: Vec<Flush>,
}

/// The flushes and fences of one core's program, in its order.
#[derive(Default)]
pub(super) struct Orders {
    /// Flushes since the latest fence.
    open: Vec<Flush>,
    fences: VecDeque<Fence>,
}

impl Orders {
    /// The program flushes a line, behind so many of its stores.
    pub fn flushed(&mut self, line: LineAddr, stores: u64) {
        self.open.push(Flush { line, stores });
    }

    /// The program fences, behind so many of its stores.
    pub fn fenced(&mut self, stores: u64) {
        if !self.open.is_empty() {
            self.fences.push_back(Fence { stores, flushes: std::mem::take(&mut self.open) });
        }
    }

    /// The store behind so many others is accepted: the flushes that are over by that, and were not before.
    pub fn accepted(&mut self, stores: u64) -> Vec<Flush> {
        let mut over = Vec::new();
        while self.fences.front().is_some_and(|fence| fence.stores <= stores)
            && let Some(fence) = self.fences.pop_front()
        {
            over.extend(fence.flushes);
        }
        over
    }
}
