//! Named locks: what keeps two accesses from meddling with one line at the same time.
//!
//! A name is locked either by one holder exclusively or by any number together. Waiters are served in the order in
//! which they came, so no task starves.

use crate::{Clock, TaskId};
use rustc_hash::FxHashMap;
use slab::Slab;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::task::Poll;

/// Alone, or together with others that share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// No other holder.
    Exclusive,
    /// Others may share.
    Shared,
}

/// Where a waiter is kept among those for all names, which come and go without anything being allocated for them.
type Place = usize;

struct Waiter {
    mode: Mode,
    task: TaskId,
    granted: bool,
    /// Who comes next for the same name.
    next: Option<Place>,
}

/// The first and the last of those who wait for a name.
type Queue = (Place, Place);

#[derive(Default)]
struct Held {
    exclusive: bool,
    sharers: u32,
    waiters: Option<Queue>,
}

impl Held {
    fn admits(&self, mode: Mode) -> bool {
        !self.exclusive && (mode == Mode::Shared || self.sharers == 0)
    }

    fn enter(&mut self, mode: Mode) {
        match mode {
            Mode::Exclusive => self.exclusive = true,
            Mode::Shared => self.sharers += 1,
        }
    }

    fn leave(&mut self, mode: Mode) {
        match mode {
            Mode::Exclusive => self.exclusive = false,
            Mode::Shared => self.sharers -= 1,
        }
    }
}

struct Names<K> {
    held: FxHashMap<K, Held>,
    waiters: Slab<Waiter>,
}

/// A set of locks, one for every name in use.
pub struct LockTable<K> {
    clock: Clock,
    names: RefCell<Names<K>>,
}

/// Holds a lock until it is dropped.
pub struct Guard<'a, K: Hash + Eq + Copy> {
    table: &'a LockTable<K>,
    name: K,
    mode: Mode,
}

impl<K: Hash + Eq + Copy> Names<K> {
    /// Enters at once, or joins the waiters and returns the place there.
    fn enter_or_wait(&mut self, name: K, mode: Mode, task: TaskId) -> Option<Place> {
        let held = self.held.entry(name).or_default();
        if held.waiters.is_none() && held.admits(mode) {
            held.enter(mode);
            return None;
        }
        let place = self.waiters.insert(Waiter { mode, task, granted: false, next: None });
        if let Some((_, last)) = held.waiters {
            self.waiters[last].next = Some(place);
        }
        held.waiters = Some((held.waiters.map_or(place, |(first, _)| first), place));
        Some(place)
    }

    /// Whether it is this waiter's turn, whose place is free from then on.
    fn is_granted(&mut self, place: Place) -> bool {
        let granted = self.waiters[place].granted;
        if granted {
            self.waiters.remove(place);
        }
        granted
    }

    /// Gives the lock up, and lets those in whose turn it is.
    fn leave(&mut self, name: K, mode: Mode, clock: &Clock) {
        let Some(held) = self.held.get_mut(&name) else { return };
        held.leave(mode);
        while let Some((first, last)) = held.waiters
            && held.admits(self.waiters[first].mode)
        {
            let waiter = &mut self.waiters[first];
            waiter.granted = true;
            held.enter(waiter.mode);
            held.waiters = waiter.next.map(|next| (next, last));
            clock.wake(waiter.task);
        }
        if !held.exclusive && held.sharers == 0 {
            self.held.remove(&name);
        }
    }
}

impl<K: Hash + Eq + Copy> LockTable<K> {
    /// A table with nothing locked.
    pub fn new(clock: &Clock) -> LockTable<K> {
        let names = Names { held: FxHashMap::default(), waiters: Slab::new() };
        LockTable { clock: clock.clone(), names: RefCell::new(names) }
    }

    /// Locks `name`, waiting for those that came before.
    pub fn lock(&self, name: K, mode: Mode) -> impl Future<Output = Guard<'_, K>> {
        let mut waits = None;
        poll_fn(move |_| {
            let mut names = self.names.borrow_mut();
            let granted = match waits {
                Some(place) => names.is_granted(place),
                None => {
                    waits = names.enter_or_wait(name, mode, self.clock.current_task());
                    waits.is_none()
                }
            };
            if granted { Poll::Ready(Guard { table: self, name, mode }) } else { Poll::Pending }
        })
    }

    /// How many names are locked.
    pub fn len(&self) -> usize {
        self.names.borrow().held.len()
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.names.borrow().held.is_empty()
    }
}

impl<K: Hash + Eq + Copy> Drop for Guard<'_, K> {
    fn drop(&mut self) {
        let LockTable { clock, names } = self.table;
        names.borrow_mut().leave(self.name, self.mode, clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Executor;
    use std::rc::Rc;
    use units::Duration;

    #[test]
    fn sharers_overlap_and_an_exclusive_holder_waits_its_turn() {
        let mut executor = Executor::new();
        let table = Rc::new(LockTable::new(executor.clock()));
        let log = Rc::new(RefCell::new(Vec::new()));
        for (name, mode) in [("a", Mode::Shared), ("b", Mode::Shared), ("c", Mode::Exclusive), ("d", Mode::Shared)] {
            let (clock, table, log) = (executor.clock().clone(), table.clone(), log.clone());
            executor.clock().spawn(async move {
                let _guard = table.lock(7u64, mode).await;
                log.borrow_mut().push((name, clock.now().as_ns_f64() as u64));
                clock.sleep(Duration::from_ns(10)).await;
            });
        }
        executor.run();
        assert_eq!(*log.borrow(), [("a", 0), ("b", 0), ("c", 10), ("d", 20)]);
        assert!(table.is_empty());
    }
}
