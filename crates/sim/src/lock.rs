//! Named locks: what keeps two accesses from meddling with one line at the same time.
//!
//! A name is locked either by one holder exclusively or by any number together. Waiters are served in the order in
//! which they came, so no task starves.

use crate::{Clock, TaskId};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::rc::Rc;
use std::task::Poll;

/// Alone, or together with others that share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// No other holder.
    Exclusive,
    /// Others may share.
    Shared,
}

struct Waiter {
    mode: Mode,
    task: TaskId,
    granted: Rc<Cell<bool>>,
}

#[derive(Default)]
struct Held {
    exclusive: bool,
    sharers: u32,
    waiters: VecDeque<Waiter>,
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

/// A set of locks, one for every name in use.
pub struct LockTable<K> {
    clock: Clock,
    held: RefCell<FxHashMap<K, Held>>,
}

/// Holds a lock until it is dropped.
pub struct Guard<'a, K: Hash + Eq + Copy> {
    table: &'a LockTable<K>,
    name: K,
    mode: Mode,
}

impl<K: Hash + Eq + Copy> LockTable<K> {
    /// A table with nothing locked.
    pub fn new(clock: &Clock) -> LockTable<K> {
        LockTable { clock: clock.clone(), held: RefCell::new(FxHashMap::default()) }
    }

    /// Locks `name`, waiting for those that came before.
    pub fn lock(&self, name: K, mode: Mode) -> impl Future<Output = Guard<'_, K>> {
        let mut ticket: Option<Rc<Cell<bool>>> = None;
        poll_fn(move |_| {
            let granted = match &ticket {
                Some(granted) => granted.get(),
                None => {
                    ticket = self.enter_or_wait(name, mode);
                    ticket.is_none()
                }
            };
            if granted { Poll::Ready(Guard { table: self, name, mode }) } else { Poll::Pending }
        })
    }

    /// Enters at once, or joins the waiters and returns the flag that will say when it is in.
    fn enter_or_wait(&self, name: K, mode: Mode) -> Option<Rc<Cell<bool>>> {
        let mut table = self.held.borrow_mut();
        let held = table.entry(name).or_default();
        if held.waiters.is_empty() && held.admits(mode) {
            held.enter(mode);
            return None;
        }
        let granted = Rc::new(Cell::new(false));
        held.waiters.push_back(Waiter { mode, task: self.clock.current_task(), granted: granted.clone() });
        Some(granted)
    }

    fn unlock(&self, name: K, mode: Mode) {
        let mut table = self.held.borrow_mut();
        let Some(held) = table.get_mut(&name) else { return };
        held.leave(mode);
        while let Some(waiter) = held.waiters.front()
            && held.admits(waiter.mode)
        {
            let Some(waiter) = held.waiters.pop_front() else { break };
            held.enter(waiter.mode);
            waiter.granted.set(true);
            self.clock.wake(waiter.task);
        }
        if !held.exclusive && held.sharers == 0 {
            table.remove(&name);
        }
    }

    /// How many names are locked.
    pub fn len(&self) -> usize {
        self.held.borrow().len()
    }

    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.held.borrow().is_empty()
    }
}

impl<K: Hash + Eq + Copy> Drop for Guard<'_, K> {
    fn drop(&mut self) {
        self.table.unlock(self.name, self.mode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Executor;
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
