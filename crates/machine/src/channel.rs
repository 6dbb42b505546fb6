//! One memory channel as tasks of the simulation use it: a task waits only for room in a queue or for its data.
//!
//! A memory device is a state machine that must be called when its state can change. One task of the simulation calls it. The
//! tasks that read and write see only a future that is ready when their data arrives.

mod background;

pub use background::{BackgroundCounts, BusPriority};

use crate::dram::{Burst, Completion, DramCounts, Kind, Wanted};
use crate::memory::device::{ChannelDevice, DeviceConfig};
use background::BackgroundQueue;
use sim::{Clock, TaskId};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::rc::Rc;
use std::task::Poll;
use units::{LineAddr, Time};

/// An outstanding read: the task that waits, and the answer once the device has given it.
struct OutstandingRead {
    task: TaskId,
    wanted: Wanted,
    answer: Option<Completion>,
}

struct ChannelState {
    device: ChannelDevice,
    answers: Vec<Completion>,
    pending: Vec<Option<OutstandingRead>>,
    free: Vec<u32>,
    /// Tasks that wait for room in the read queue or the write queue, in order of arrival, indexed by [`Kind`].
    waiting: [VecDeque<(u64, TaskId)>; 2],
    tickets: u64,
    background: BackgroundQueue,
    /// Tasks that wait until no write of a line is in the write queue.
    watched: Vec<(LineAddr, TaskId)>,
    driver: Option<TaskId>,
    /// Time at which the driver must call the device again.
    due: Time,
}

impl ChannelState {
    /// Returns true if no request waits for a command or for room in a queue, except for background requests.
    fn is_idle(&self) -> bool {
        self.device.is_idle() && self.waiting.iter().all(VecDeque::is_empty)
    }
}

/// One memory channel on a simulated clock.
pub struct Channel {
    clock: Clock,
    state: RefCell<ChannelState>,
}

impl Channel {
    /// Creates a channel at power-on; starts the task that drives it.
    pub fn start(clock: &Clock, config: impl Into<DeviceConfig>) -> Rc<Channel> {
        let state = ChannelState {
            device: ChannelDevice::new(config.into()),
            answers: Vec::new(),
            pending: Vec::new(),
            free: Vec::new(),
            waiting: [VecDeque::new(), VecDeque::new()],
            tickets: 0,
            background: BackgroundQueue::default(),
            watched: Vec::new(),
            driver: None,
            due: Time::NEVER,
        };
        let channel = Rc::new(Channel { clock: clock.clone(), state: RefCell::new(state) });
        let driven = channel.clone();
        clock.spawn(poll_fn(move |_| {
            driven.drive();
            Poll::Pending
        }));
        channel
    }

    /// Reads a line of 64 bytes or another burst; completes when the wanted words have arrived.
    pub async fn read(&self, burst: impl Into<Burst>, wanted: Wanted) -> Completion {
        self.room(Kind::Read).await;
        let token = self.enter(burst.into(), wanted);
        poll_fn(|_| {
            let mut state = self.state.borrow_mut();
            let entry = &mut state.pending[token as usize];
            let answer = entry.as_ref().and_then(|pending| pending.answer.as_ref());
            match answer.filter(|answer| answer.ready(wanted) <= self.clock.now()).copied() {
                Some(answer) => {
                    *entry = None;
                    state.free.push(token);
                    Poll::Ready(answer)
                }
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Writes a line of 64 bytes or another burst; completes when the write queue has accepted it. Returns true if the
    /// write occupies a separate entry of the queue, and so causes a burst on the bus.
    pub async fn write(&self, burst: impl Into<Burst>) -> bool {
        self.room(Kind::Write).await;
        self.submit(burst.into(), Kind::Write, 0)
    }

    /// Waits until a read or write of this priority may begin: until no other request waits, or until the priority is
    /// raised. The read or write must then begin at once.
    pub fn turn<'a>(&'a self, priority: &'a BusPriority) -> impl Future<Output = ()> + 'a {
        let mut ticket = None;
        poll_fn(move |_| {
            let mut state = self.state.borrow_mut();
            if priority.is_demand() {
                ticket.iter().for_each(|ticket| state.background.raise(*ticket));
                return Poll::Ready(());
            }
            if state.is_idle() && state.background.is_first(ticket) {
                state.background.serve(ticket);
                return Poll::Ready(());
            }
            if ticket.is_none() {
                ticket = Some(state.background.join(self.clock.current_task()));
                priority.wake_when_raised();
            }
            Poll::Pending
        })
    }

    /// Waits until no write of a line is in the write queue.
    pub fn left(&self, line: LineAddr) -> impl Future<Output = ()> + '_ {
        let mut watching = false;
        poll_fn(move |_| {
            let mut state = self.state.borrow_mut();
            if !state.device.holds_write(line) {
                return Poll::Ready(());
            }
            if !watching {
                watching = true;
                state.watched.push((line, self.clock.current_task()));
            }
            Poll::Pending
        })
    }

    /// Closes all rows of the channel, which must be idle.
    pub fn close_rows(&self) {
        self.state.borrow_mut().device.close_rows(self.clock.now());
    }

    /// Keeps the times of all further refreshes.
    pub fn keep_refreshes(&self) {
        self.state.borrow_mut().device.keep_refreshes();
    }

    /// Returns the rank and the time of each kept refresh.
    pub fn refreshes(&self) -> Vec<(usize, Range<Time>)> {
        self.state.borrow().device.refreshes()
    }

    /// Returns the statistics of the channel.
    pub fn counts(&self) -> DramCounts {
        let state = self.state.borrow();
        let mut counts = *state.device.counts();
        counts.queues.background = state.background.counts();
        counts
    }

    /// Waits until the queue for this kind has room and it is this task's turn.
    fn room(&self, kind: Kind) -> impl Future<Output = ()> + '_ {
        let mut ticket = None;
        poll_fn(move |_| {
            let mut state = self.state.borrow_mut();
            let first = state.waiting[kind as usize].front().map(|waiter| waiter.0);
            if state.device.has_room(kind) && (first.is_none() || first == ticket) {
                if first.is_some() {
                    state.waiting[kind as usize].pop_front();
                }
                return Poll::Ready(());
            }
            if ticket.is_none() {
                let number = state.tickets;
                state.tickets += 1;
                ticket = Some(number);
                let waiter = (number, self.clock.current_task());
                state.waiting[kind as usize].push_back(waiter);
            }
            Poll::Pending
        })
    }

    fn enter(&self, burst: Burst, wanted: Wanted) -> u32 {
        let mut state = self.state.borrow_mut();
        let pending = OutstandingRead { task: self.clock.current_task(), wanted, answer: None };
        let token = match state.free.pop() {
            Some(token) => token,
            None => {
                state.pending.push(None);
                state.pending.len() as u32 - 1
            }
        };
        state.pending[token as usize] = Some(pending);
        drop(state);
        self.submit(Burst { group: wanted.group, ..burst }, Kind::Read, token);
        token
    }

    fn submit(&self, burst: Burst, kind: Kind, token: u32) -> bool {
        let now = self.clock.now();
        let mut state = self.state.borrow_mut();
        let moves = state.device.submit(now, burst, kind, token);
        if state.due > now {
            self.advance(&mut state);
        }
        moves
    }

    /// Runs the task that drives the device: whenever the device is due, and once at the start.
    fn drive(&self) {
        let mut state = self.state.borrow_mut();
        let first = state.driver.replace(self.clock.current_task()).is_none();
        // A submission may have postponed the due time after this call was scheduled. This call is then too early.
        if first || self.clock.now() >= state.due {
            state.due = Time::NEVER;
            self.advance(&mut state);
        }
    }

    /// Advances the device, passes its answers to the waiting tasks, and schedules the next call of the device.
    fn advance(&self, state: &mut ChannelState) {
        let mut answers = std::mem::take(&mut state.answers);
        let next = state.device.advance(self.clock.now(), &mut answers);
        for answer in answers.drain(..) {
            if let Some(pending) = &mut state.pending[answer.token as usize] {
                pending.answer = Some(answer);
                self.clock.wake_at(pending.task, answer.ready(pending.wanted));
            }
        }
        state.answers = answers;
        let device = &state.device;
        for (_, task) in state.watched.extract_if(.., |(line, _)| !device.holds_write(*line)) {
            self.clock.wake(task);
        }
        for kind in [Kind::Read, Kind::Write] {
            if let Some((_, task)) = state.waiting[kind as usize].front()
                && state.device.has_room(kind)
            {
                self.clock.wake(*task);
            }
        }
        if let Some((_, task)) = state.background.first()
            && state.is_idle()
        {
            self.clock.wake(task);
        }
        let appointed = std::mem::replace(&mut state.due, next.unwrap_or(Time::NEVER));
        if let (Some(next), Some(driver)) = (next, state.driver)
            && next != appointed
        {
            self.clock.wake_at(driver, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::DramConfig;
    use crate::testing::clocks_of_reads;
    use sim::Executor;
    use std::cell::Cell;
    use units::Word;

    fn time_of_reads(lines: Vec<u64>) -> Vec<u64> {
        let mut executor = Executor::new();
        let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
        clocks_of_reads(&mut executor, lines, |line| {
            let channel = channel.clone();
            async move { channel.read(line, Wanted::LINE).await }
        })
    }

    #[test]
    fn a_single_dram_read_of_a_closed_row_takes_48_clocks() {
        assert_eq!(time_of_reads(vec![0]), [48]);
    }

    #[test]
    fn the_first_word_of_a_lone_read_arrives_three_and_a_half_clocks_before_the_last() {
        let mut executor = Executor::new();
        let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
        let (clock, ready) = (executor.clock().clone(), Rc::new(Cell::new(Time::ZERO)));
        let seen = ready.clone();
        executor.clock().spawn(async move {
            channel.read(LineAddr(0), Wanted::piece(Word::FIRST, 8)).await;
            seen.set(clock.now());
        });
        executor.run_until(|| ready.get() > Time::ZERO);
        assert_eq!(ready.get(), Time::from_fs(625_000 * 89 / 2));
    }

    #[test]
    fn more_reads_than_the_queue_holds_all_complete() {
        let times = time_of_reads((0..500).map(|n| n * 7919).collect());
        assert!(times.iter().all(|time| *time >= 48));
    }

    #[test]
    fn a_dram_write_leaves_its_queue_when_its_column_command_is_issued() {
        let mut executor = Executor::new();
        let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
        let (clock, left) = (executor.clock().clone(), Rc::new(Cell::new(Time::ZERO)));
        let seen = left.clone();
        executor.clock().spawn(async move {
            channel.left(LineAddr(0)).await;
            assert_eq!(clock.now(), Time::ZERO, "nothing waits");
            channel.write(LineAddr(0)).await;
            channel.left(LineAddr(0)).await;
            seen.set(clock.now());
        });
        executor.run_until(|| left.get() > Time::ZERO);
        // The write leaves the queue with its column command, tRCD after the activate of its row.
        assert_eq!(left.get(), Time::from_fs(625_000 * 22));
    }

    #[test]
    fn dram_writes_wait_for_queue_room_and_then_complete() {
        let mut executor = Executor::new();
        let channel = Channel::start(executor.clock(), DramConfig::ddr4_3200());
        let taken = Rc::new(Cell::new(0));
        let (writer, seen) = (channel.clone(), taken.clone());
        executor.clock().spawn(async move {
            for line in 0..200 {
                writer.write(LineAddr(line * 128)).await;
                seen.set(seen.get() + 1);
            }
        });
        executor.run_until(|| taken.get() == 200);
        assert_eq!((taken.get(), channel.counts().writes), (200, 200));
    }
}
