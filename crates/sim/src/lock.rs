//! Named locks: prevent concurrent accesses to one line from interfering.
//!
//! A name is locked by one exclusive holder or by any number of sharers. Waiters are served in the order of their
//! arrival, so no task starves.

use crate::{Clock, TaskId};
use rustc_hash::FxHashMap;
use slab::Slab;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::task::Poll;

/// Mode of a lock: exclusive or shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Excludes all other holders.
    Exclusive,
    /// Allows other sharers of the name.
    Shared,
}

/// Index of a waiter in the table of all waiters. With one table, a wait allocates no memory.
type WaiterIndex = usize;

struct LockWaiter {
    mode: Mode,
    task: TaskId,
    granted: bool,
    /// The next waiter for the same name.
    next: Option<WaiterIndex>,
}

/// The first and the last waiter for a name.
type Queue = (WaiterIndex, WaiterIndex);

#[derive(Default)]
struct LockState {
    exclusive: bool,
    sharers: u32,
    waiters: Option<Queue>,
}

impl LockState {
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

struct NamedLocks<K> {
    held: FxHashMap<K, LockState>,
    waiters: Slab<LockWaiter>,
}

/// A set of locks, one per name in use.
pub struct LockTable<K> {
    clock: Clock,
    names: RefCell<NamedLocks<K>>,
}

/// Holds a lock until it is dropped.
pub struct Guard<'a, K: Hash + Eq + Copy> {
    table: &'a LockTable<K>,
    name: K,
    mode: Mode,
}

impl<K: Hash + Eq + Copy> NamedLocks<K> {
    /// Enters at once and returns `None`, or joins the waiters and returns the index of the waiter.
    fn enter_or_wait(&mut self, name: K, mode: Mode, task: TaskId) -> Option<WaiterIndex> {
        let held = self.held.entry(name).or_default();
        if held.waiters.is_none() && held.admits(mode) {
            held.enter(mode);
            return None;
        }
        let slot = self.waiters.insert(LockWaiter { mode, task, granted: false, next: None });
        let first = match held.waiters {
            Some((first, last)) => {
                self.waiters[last].next = Some(slot);
                first
            }
            None => slot,
        };
        held.waiters = Some((first, slot));
        Some(slot)
    }

    /// Returns true if the lock is granted to this waiter; its index is free from then on.
    fn is_granted(&mut self, slot: WaiterIndex) -> bool {
        let granted = self.waiters[slot].granted;
        if granted {
            self.waiters.remove(slot);
        }
        granted
    }

    /// Releases the lock, and grants it to the next waiters.
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
    /// Creates a table without locked names.
    pub fn new(clock: &Clock) -> LockTable<K> {
        let names = NamedLocks { held: FxHashMap::default(), waiters: Slab::new() };
        LockTable { clock: clock.clone(), names: RefCell::new(names) }
    }

    /// Locks `name`, after all earlier waiters. A wait that has begun must not be dropped: the lock would be granted to
    /// the dropped waiter, and the name would stay locked.
    pub fn lock(&self, name: K, mode: Mode) -> impl Future<Output = Guard<'_, K>> {
        let mut waits = None;
        poll_fn(move |_| {
            let mut names = self.names.borrow_mut();
            let granted = match waits {
                Some(slot) => names.is_granted(slot),
                None => {
                    waits = names.enter_or_wait(name, mode, self.clock.current_task());
                    waits.is_none()
                }
            };
            if granted { Poll::Ready(Guard { table: self, name, mode }) } else { Poll::Pending }
        })
    }

    /// Returns the number of locked names.
    pub fn len(&self) -> usize {
        self.names.borrow().held.len()
    }

    /// Returns true if no name is locked.
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
    use proptest::prelude::*;
    use std::rc::Rc;
    use units::{Duration, Time};

    /// A task of the test: arrival in nanoseconds, name, mode, and time for which it holds the lock.
    type Visit = (u64, u8, Mode, u64);

    /// Returns the time at which each task enters. A task enters after its arrival, and after the entries of all
    /// earlier tasks for its name. It also enters after the departures of all earlier tasks with which it cannot share
    /// the lock.
    fn expected(visits: &[Visit]) -> Vec<u64> {
        let mut entered: Vec<u64> = Vec::new();
        for &(comes, name, mode, _) in visits {
            let earlier = visits.iter().zip(&entered).filter(|((_, other, ..), _)| *other == name);
            let may_enter =
                earlier.map(
                    |((_, _, held, hold), began)| {
                        if mode == Mode::Exclusive || *held == Mode::Exclusive { began + hold } else { *began }
                    },
                );
            entered.push(may_enter.max().unwrap_or(0).max(comes));
        }
        entered
    }

    proptest! {
        #[test]
        fn shared_and_exclusive_locks_are_granted_in_order_as_soon_as_earlier_holders_permit(
            mut visits in proptest::collection::vec(
                (0..40_u64, 0..3_u8, prop_oneof![Just(Mode::Shared), Just(Mode::Exclusive)], 0..20_u64), 1..40)
        ) {
            visits.sort_by_key(|(comes, ..)| *comes);
            let mut executor = Executor::new();
            let table = Rc::new(LockTable::new(executor.clock()));
            let entered = Rc::new(RefCell::new(vec![None; visits.len()]));
            for (number, (comes, name, mode, hold)) in visits.iter().copied().enumerate() {
                let (clock, table, entered) = (executor.clock().clone(), table.clone(), entered.clone());
                executor.clock().spawn(async move {
                    clock.sleep_until(Time::ZERO + Duration::from_ns(comes)).await;
                    let _guard = table.lock(name, mode).await;
                    entered.borrow_mut()[number] = Some(clock.now().as_fs() / 1_000_000);
                    clock.sleep(Duration::from_ns(hold)).await;
                });
            }
            executor.run();
            prop_assert_eq!(entered.take(), expected(&visits).into_iter().map(Some).collect::<Vec<_>>());
            prop_assert!(table.is_empty() && table.names.borrow().waiters.is_empty());
        }
    }

    #[test]
    fn shared_lock_holders_overlap_and_an_exclusive_one_waits_its_turn() {
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
