//! Background requests: they use a channel only while no other request waits, until their priority is raised.
//!
//! The queue of background requests is separate from the queues of the memory device. The channel passes the first
//! request of the queue to the device when the device has no request that waits for a command. So another request waits
//! at most for one background request.

use derive_more::{AddAssign, Sub};
use serde::Serialize;
use sim::{Clock, TaskId};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Statistics of background requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, AddAssign, Sub)]
pub struct BackgroundCounts {
    /// Requests that the channel served while no other request waited.
    pub served: u64,
    /// Requests that lost their turn in the background, because their priority was raised while they waited.
    pub raised: u64,
}

/// Priority of requests: that of all other requests, or the background until it is raised. All clones of a value are
/// raised together.
#[derive(Clone, Default)]
pub struct BusPriority(Option<Rc<Background>>);

struct Background {
    clock: Clock,
    is_raised: Cell<bool>,
    waiting: RefCell<Vec<TaskId>>,
}

impl BusPriority {
    /// Returns the background priority, which was not raised yet.
    pub fn background(clock: &Clock) -> BusPriority {
        let background = Background { clock: clock.clone(), is_raised: Cell::new(false), waiting: RefCell::default() };
        BusPriority(Some(Rc::new(background)))
    }

    /// Returns true if requests of this priority do not wait for other requests to be absent.
    pub fn is_demand(&self) -> bool {
        self.0.as_ref().is_none_or(|background| background.is_raised.get())
    }

    /// Raises the priority: waiting requests and later ones have the priority of all other requests from now on.
    pub fn raise_to_demand(&self) {
        if let Some(background) = &self.0 {
            background.is_raised.set(true);
            background.waiting.borrow_mut().drain(..).for_each(|task| background.clock.wake(task));
        }
    }

    /// Wakes the current task when the priority is raised.
    pub(super) fn wake_when_raised(&self) {
        if let Some(background) = &self.0 {
            background.waiting.borrow_mut().push(background.clock.current_task());
        }
    }

    /// Returns true if the other value is this one or a clone of it.
    pub fn is(&self, other: &BusPriority) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Rc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

/// The queue of background requests of one channel.
#[derive(Default)]
pub(super) struct BackgroundQueue {
    /// Tickets and tasks of waiting requests, in order of arrival.
    waiting: VecDeque<(u64, TaskId)>,
    tickets: u64,
    counts: BackgroundCounts,
}

impl BackgroundQueue {
    /// Adds a request of this task at the end; returns its ticket.
    pub fn join(&mut self, task: TaskId) -> u64 {
        self.tickets += 1;
        self.waiting.push_back((self.tickets, task));
        self.tickets
    }

    /// Returns true if the request with this ticket is the first, or no request waits before one without a ticket.
    pub fn is_first(&self, ticket: Option<u64>) -> bool {
        self.first().is_none_or(|(first, _)| Some(first) == ticket)
    }

    /// Returns the ticket and the task of the first request.
    pub fn first(&self) -> Option<(u64, TaskId)> {
        self.waiting.front().copied()
    }

    /// Removes a request that the channel serves now; `ticket` is `None` if the request has not waited.
    pub fn serve(&mut self, ticket: Option<u64>) {
        self.counts.served += 1;
        self.remove(ticket);
    }

    /// Removes a request after its priority was raised.
    pub fn raise(&mut self, ticket: u64) {
        self.counts.raised += 1;
        self.remove(Some(ticket));
    }

    fn remove(&mut self, ticket: Option<u64>) {
        if let Some(ticket) = ticket
            && let Some(at) = self.waiting.iter().position(|(waiting, _)| *waiting == ticket)
        {
            self.waiting.remove(at);
        }
    }

    /// Returns the statistics of all requests so far.
    pub fn counts(&self) -> BackgroundCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::Channel;
    use super::*;
    use crate::dram::{DramConfig, Wanted};
    use sim::Executor;
    use units::{LineAddr, Time};

    /// One clock of DDR4-3200.
    const CLOCK_FS: u64 = 625_000;
    /// tRAS, and a read of a bank with another row open: tRP, tRCD, CL and the burst.
    const IN_PROGRESS: u64 = 52 + 22 + 48;
    /// A write of a bank with another row open, and then a read of the bank: tRP, tRCD, CWL, the burst, tWR, and the same as before.
    const WRITE_IN_PROGRESS: u64 = 22 + 22 + 16 + 4 + 24 + IN_PROGRESS;

    fn started() -> (Executor, Rc<Channel>) {
        let executor = Executor::new();
        let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
        (executor, channel)
    }

    /// Starts background reads of these lines; returns the number of those that have ended.
    fn read_in_background(
        executor: &Executor,
        channel: &Rc<Channel>,
        lines: impl Iterator<Item = u64>,
        priority: &BusPriority,
    ) -> Rc<Cell<usize>> {
        let ended = Rc::new(Cell::new(0));
        for line in lines {
            let (channel, priority, ended) = (channel.clone(), priority.clone(), ended.clone());
            executor.clock().spawn(async move {
                channel.turn(&priority).await;
                channel.read(LineAddr(line), Wanted::LINE).await;
                ended.set(ended.get() + 1);
            });
        }
        ended
    }

    /// The nth of scattered lines.
    fn scattered(n: u64) -> u64 {
        n * 7919 % 65_536
    }

    /// The nth of lines that are in two rows of one bank in turn.
    fn conflicting(n: u64) -> u64 {
        ((n % 2) << 20) + n
    }

    /// Starts background writes of these lines.
    fn write_in_background(
        executor: &Executor,
        channel: &Rc<Channel>,
        lines: impl Iterator<Item = u64>,
        priority: &BusPriority,
    ) {
        for line in lines {
            let (channel, priority) = (channel.clone(), priority.clone());
            executor.clock().spawn(async move {
                channel.turn(&priority).await;
                channel.write(LineAddr(line)).await;
            });
        }
    }

    /// Checks that a demand read, at each of many moments, takes at most `most` clocks longer if `begin` has started background
    /// requests before.
    fn assert_waits_at_most(most: u64, begin: impl Fn(&Executor, &Rc<Channel>, &BusPriority)) {
        for start in (0..4000).step_by(37) {
            let latency = |has_others: bool| {
                let (mut executor, channel) = started();
                let priority = BusPriority::background(executor.clock());
                if has_others {
                    begin(&executor, &channel, &priority);
                }
                let (clock, took) = (executor.clock().clone(), Rc::new(Cell::new(0)));
                let seen = took.clone();
                executor.clock().spawn(async move {
                    clock.sleep_until(Time::from_fs(start * CLOCK_FS)).await;
                    channel.read(LineAddr(91 * start), Wanted::LINE).await;
                    seen.set((clock.now().as_fs() / CLOCK_FS) - start);
                });
                executor.run_until(|| took.get() > 0);
                took.get()
            };
            let (alone, with_others) = (latency(false), latency(true));
            assert!(with_others <= alone + most, "at clock {start}: {with_others} clocks, {alone} alone");
        }
    }

    #[test]
    fn a_demand_read_waits_at_most_for_the_background_read_in_progress() {
        for lines in [scattered, conflicting] {
            assert_waits_at_most(IN_PROGRESS, |executor, channel, priority| {
                read_in_background(executor, channel, (0..400).map(lines), priority);
            });
        }
    }

    #[test]
    fn a_demand_read_waits_at_most_for_the_background_write_in_progress() {
        for lines in [scattered, conflicting] {
            assert_waits_at_most(WRITE_IN_PROGRESS, |executor, channel, priority| {
                write_in_background(executor, channel, (0..400).map(lines), priority);
            });
        }
    }

    #[test]
    fn background_reads_of_a_row_follow_each_other_without_a_gap_on_the_bus() {
        let (mut executor, channel) = started();
        let priority = BusPriority::background(executor.clock());
        let ended = read_in_background(&executor, &channel, 0..64, &priority);
        executor.run_until(|| ended.get() == 64);
        let clocks = executor.clock().now().as_fs() / CLOCK_FS;
        // 48 clocks for the first, and at most tCCD_L for each other.
        assert!(clocks <= 48 + 63 * 8, "{clocks}");
        assert_eq!(channel.counts().queues.background, BackgroundCounts { served: 64, raised: 0 });
    }

    /// Eight readers keep the channel busy for ever.
    #[test]
    fn a_background_read_waits_for_endless_demand_until_its_priority_is_raised() {
        let (mut executor, channel) = started();
        for reader in 0..8 {
            let channel = channel.clone();
            executor.clock().spawn(async move {
                for line in 0.. {
                    channel.read(LineAddr((line * 8 + reader) * 4099), Wanted::LINE).await;
                }
            });
        }
        let priority = BusPriority::background(executor.clock());
        let clock = executor.clock().clone();
        executor.run_until(|| clock.now() > Time::from_fs(1000 * CLOCK_FS));
        let ended = read_in_background(&executor, &channel, 0..64, &priority);
        executor.run_until(|| clock.now() > Time::from_fs(20_000 * CLOCK_FS));
        let before = ended.get();
        priority.raise_to_demand();
        assert!(priority.is_demand() && before < 64);
        executor.run_until(|| ended.get() == 64);
        let BackgroundCounts { served, raised } = channel.counts().queues.background;
        assert_eq!((served + raised, raised > 0), (64, true));
        assert!(clock.now() < Time::from_fs(30_000 * CLOCK_FS), "raised requests share the bus at once");
    }

    #[test]
    fn background_writes_wait_until_no_demand_write_is_queued() {
        let (mut executor, channel) = started();
        let priority = BusPriority::background(executor.clock());
        let order = Rc::new(RefCell::new(Vec::new()));
        for (line, is_background) in [(0, true), (1, false), (2, true), (3, false)] {
            let (channel, priority, order) = (channel.clone(), priority.clone(), order.clone());
            executor.clock().spawn(async move {
                let at = if is_background { priority } else { BusPriority::default() };
                channel.turn(&at).await;
                channel.write(LineAddr(line * 4096)).await;
                order.borrow_mut().push(line);
            });
        }
        executor.run_until(|| order.borrow().len() == 4);
        assert_eq!(*order.borrow(), [0, 1, 3, 2], "the first finds the channel idle");
    }
}
