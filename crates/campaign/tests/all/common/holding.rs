//! What holds the crowd's stores until power fails: a persist buffer or durable caches, in which a few lines stay, or nothing.

use protection::design::{Battery, Parts, Point};
use protection::execution::Functional;
use protection::execution::run_now;
use protection::scheme::{DurableCaches, PersistBuffer, Scheme};
use protection::verbs::Verbs;
use std::cell::RefCell;
use units::{Line, LineAddr};

/// Lines that stay; when there is one more, the oldest leaves for memory.
const ROOM: usize = 3;

/// It, of one machine.
#[derive(Default)]
pub struct Holding {
    /// Where stores are durable; a controller holds none.
    point: Point,
    /// What only durable caches have, the oldest first.
    dirty: RefCell<Vec<(LineAddr, Line)>>,
}

impl Holding {
    /// That of a machine with these parts. What a battery would leave without its metadata is written at once.
    pub fn of(parts: &Parts) -> Holding {
        let comes_back = parts.persistence.battery == Battery::Tuples;
        let point = if comes_back { parts.persistence.point } else { Point::Controller };
        Holding { point, dirty: RefCell::default() }
    }

    /// Whether it holds stores.
    pub fn exists(&self) -> bool {
        self.point != Point::Controller
    }

    /// Whether caches have a line, so that a read of it asks no memory.
    pub fn has_in_caches(&self, line: LineAddr) -> bool {
        self.dirty.borrow().iter().any(|(dirty, _)| *dirty == line)
    }

    /// Stores to a line; returns when the store is durable and what had to make room for it has left.
    pub async fn store<V: Verbs>(&self, scheme: &Scheme, verbs: &V, line: LineAddr, content: &Line) {
        match self.point {
            Point::Controller => scheme.write(verbs, line, content).await,
            Point::Buffer => {
                let buffer = PersistBuffer::of(scheme);
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

    /// A line leaves for memory, as if another core had asked for it, if it is here.
    pub async fn leaves<V: Verbs>(&self, scheme: &Scheme, verbs: &V, line: LineAddr) {
        if self.point == Point::Buffer {
            PersistBuffer::of(scheme).drain(verbs, line).await;
        }
        let dirty = self.dirty.borrow_mut().extract_if(.., |(dirty, _)| *dirty == line).next();
        if let Some((line, content)) = dirty {
            scheme.write(verbs, line, &content).await;
        }
    }

    /// What has to leave the caches for a store, if anything has.
    fn makes_dirty(&self, line: LineAddr, content: &Line) -> Option<(LineAddr, Line)> {
        let mut dirty = self.dirty.borrow_mut();
        dirty.retain(|(other, _)| *other != line);
        dirty.push((line, *content));
        (dirty.len() > ROOM).then(|| dirty.remove(0))
    }

    /// How many lines it has that memory has not.
    pub fn resident(&self, scheme: &Scheme) -> usize {
        PersistBuffer::of(scheme).lines().len() + self.dirty.borrow().len()
    }

    /// Power has failed, and the battery takes to memory what is here.
    pub fn drain_on_battery(&self, scheme: &Scheme, memory: &Functional) {
        match self.point {
            Point::Controller => {}
            Point::Buffer => run_now(PersistBuffer::of(scheme).drain_on_battery(memory)),
            Point::Caches => run_now(DurableCaches::of(scheme).drain_on_battery(memory, self.dirty.take())),
        }
    }
}
