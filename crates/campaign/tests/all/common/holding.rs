//! Holder of the crowd's stores until power fails: a persist buffer or durable caches, in which a few lines remain, or no
//! holder.

use protection::design::{BatteryAction, Parts, Point};
use protection::execution::run_now;
use protection::execution::{Functional, Untimed};
use protection::scheme::{DurableCaches, PersistBufferHandle, Scheme};
use protection::verbs::Verbs;
use std::cell::RefCell;
use units::{Line, LineAddr};

/// Number of lines that remain; with one more, the oldest leaves for memory.
const ROOM: usize = 3;

/// The holder of stores of one machine.
#[derive(Default)]
pub struct Holding {
    /// Point at which stores are durable; a controller holds no stores.
    point: Point,
    /// Lines that only durable caches have, the oldest first.
    dirty: RefCell<Vec<(LineAddr, Line)>>,
}

impl Holding {
    /// Creates the holder of a machine with these parts. If the battery would leave lines without their metadata, stores are
    /// written at once.
    pub fn of(parts: &Parts) -> Holding {
        let comes_back = parts.persistence.battery == BatteryAction::Tuples;
        let point = if comes_back { parts.persistence.point } else { Point::Controller };
        Holding { point, dirty: RefCell::default() }
    }

    /// Returns true if it holds stores.
    pub fn exists(&self) -> bool {
        self.point != Point::Controller
    }

    /// Returns true if caches have a line, so that a read of it needs no memory access.
    pub fn has_in_caches(&self, line: LineAddr) -> bool {
        self.dirty.borrow().iter().any(|(dirty, _)| *dirty == line)
    }

    /// Stores to a line; returns when the store is durable and an evicted line has left.
    pub async fn store<V: Verbs>(&self, scheme: &Scheme, verbs: &V, line: LineAddr, content: &Line) {
        match self.point {
            Point::Controller => scheme.write(verbs, line, content).await,
            Point::Buffer => {
                let buffer = PersistBufferHandle::of(scheme);
                buffer.accept(verbs, line, content).await;
                if let [oldest, rest @ ..] = &buffer.lines()[..]
                    && rest.len() >= ROOM
                {
                    buffer.drain(verbs, *oldest).await;
                }
            }
            Point::Caches => {
                if let Some((line, content)) = self.makes_dirty(line, content) {
                    scheme.write(verbs, line, &content).await;
                }
            }
        }
    }

    /// Sends a line to memory if it is here, as if another core had requested it.
    pub async fn leaves<V: Verbs>(&self, scheme: &Scheme, verbs: &V, line: LineAddr) {
        if self.point == Point::Buffer {
            PersistBufferHandle::of(scheme).drain(verbs, line).await;
        }
        let dirty = self.dirty.borrow_mut().extract_if(.., |(dirty, _)| *dirty == line).next();
        if let Some((line, content)) = dirty {
            scheme.write(verbs, line, &content).await;
        }
    }

    /// Makes a line dirty; returns the line that must leave the caches, if any.
    fn makes_dirty(&self, line: LineAddr, content: &Line) -> Option<(LineAddr, Line)> {
        let mut dirty = self.dirty.borrow_mut();
        dirty.retain(|(other, _)| *other != line);
        dirty.push((line, *content));
        (dirty.len() > ROOM).then(|| dirty.remove(0))
    }

    /// Returns the number of lines that memory does not have yet.
    pub fn resident(&self, scheme: &Scheme) -> usize {
        PersistBufferHandle::of(scheme).lines().len() + self.dirty.borrow().len()
    }

    /// Drains all lines to memory on battery after a loss of power.
    pub fn drain_on_battery(&self, scheme: &Scheme, memory: &Functional) {
        match self.point {
            Point::Controller => {}
            Point::Buffer => run_now(PersistBufferHandle::of(scheme).drain_on_battery(&memory.verbs())),
            Point::Caches => run_now(DurableCaches::of(scheme).drain_on_battery(&memory.verbs(), self.dirty.take())),
        }
    }
}
