//! Execution of the controller's decisions: the commands, and their effects on requests.

use super::{Action, Controller, Decision, Served};
use crate::dram::device::CLOSED;
use crate::dram::queue::QueuedRequest;
use crate::dram::refresh::{self, Refresh};
use crate::dram::scheduler::BankLoad;
use crate::dram::{Kind, RowOutcome};

impl Controller {
    /// Performs a decision at its clock.
    pub(super) fn perform(&mut self, Decision { at, action }: Decision) {
        self.next = None;
        self.floor = at + 1;
        match action {
            Action::UseOpened(position) => {
                let opened = self.opening.remove(position);
                self.load[opened.bank()].opening = false;
                self.under_way[opened.kind as usize] -= 1;
                self.column(opened, at);
                self.reconsider_bank(opened.bank());
            }
            Action::Advance(kind, bank) => {
                self.advance_candidate(kind, bank, at);
                self.reconsider_bank(bank);
            }
            Action::CloseIdle(bank) => {
                self.precharge(bank, at);
                self.reconsider_bank(bank);
            }
            Action::PrechargeAll(rank) => self.precharge_all(rank, at),
            Action::Refresh(rank) => {
                self.device.refresh(rank, at);
                self.refreshes[rank].issued(at);
                self.counts.refreshes += 1;
                self.reconsider_rank(rank);
            }
        }
        self.update_turn();
    }

    /// Issues the next command for a candidate: its column command, an activate or a precharge.
    fn advance_candidate(&mut self, kind: Kind, bank: usize, at: u64) {
        let position = self.candidates[kind as usize].of(bank).position;
        let requests = self.queues[kind as usize].of_bank(bank);
        let waiting = requests[position];
        let open_row = self.device.banks[bank].open_row;
        if open_row == waiting.cell.row {
            self.load[bank].overtaken += u32::from(position > 0);
            self.note_first_command(waiting, RowOutcome::Hit, at);
            self.leave_queue(kind, bank, position);
            self.column(waiting, at);
        } else if open_row == CLOSED {
            self.note_first_command(waiting, RowOutcome::Closed, at);
            self.device.activate(bank, waiting.cell.row, at);
            self.resting.iter_mut().for_each(|resting| resting.used(bank));
            self.counts.activates += 1;
            self.load[bank] = BankLoad { opening: !waiting.must_follow, overtaken: 0 };
            if !waiting.must_follow {
                self.leave_queue(kind, bank, position);
                self.opening.push(waiting);
                self.under_way[kind as usize] += 1;
            }
        } else {
            self.note_first_command(waiting, RowOutcome::Conflict, at);
            self.precharge(bank, at);
        }
    }

    /// Records the bank state that a request found, at its first command.
    fn note_first_command(&mut self, waiting: QueuedRequest, outcome: RowOutcome, at: u64) {
        let request = self.pool.get_mut(waiting.ticket);
        if request.outcome.is_none() {
            request.outcome = Some(outcome);
            self.counts.count_first_command(waiting.kind, outcome, at - request.waits.seen);
        }
    }

    fn leave_queue(&mut self, kind: Kind, bank: usize, position: usize) {
        self.queues[kind as usize].remove(bank, position);
        match kind {
            Kind::Read => self.drain.read_served(),
            Kind::Write => self.drain.write_served(),
        }
    }

    fn precharge(&mut self, bank: usize, at: u64) {
        self.device.precharge(bank, at);
        self.counts.precharges += 1;
    }

    fn precharge_all(&mut self, rank: usize, at: u64) {
        self.device.precharge_all(rank, at);
        self.counts.precharges += 1;
        self.reconsider_rank(rank);
    }

    /// Closes all rows, as soon after `now` as possible; no request may wait.
    #[cold]
    pub(in crate::dram) fn close_rows(&mut self, now: u64) {
        self.run_before(now);
        assert!(self.is_idle(), "rows are closed under waiting requests");
        self.next = None;
        self.floor = self.floor.max(now);
        for rank in 0..self.refreshes.len() {
            if let Some(ready) = self.device.precharge_all_at(rank) {
                let at = ready.max(self.floor);
                self.precharge_all(rank, at);
                self.floor = at + 1;
            }
        }
    }

    /// Transfers a burst and ends its request.
    fn column(&mut self, waiting: QueuedRequest, at: u64) {
        let (number, kind) = (waiting.bank(), waiting.kind);
        let request = self.pool.remove(waiting.ticket);
        if let Some(group) = request.group
            && let Some(bank) = self.queues[kind as usize].permit_next(group, &self.pool)
        {
            self.reconsider(bank, kind);
        }
        let on_bus = self.timing.clocks_of(request.words);
        self.device.column(number, kind, at, on_bus);
        self.resting.iter_mut().for_each(|resting| resting.used(number));
        let latency = if kind == Kind::Read { self.timing.cl } else { self.timing.cwl };
        self.moved[kind as usize] = at + latency + on_bus;
        self.counts.data_bus_busy_clocks += on_bus;
        if kind == Kind::Write {
            return;
        }
        let needed = match request.outcome {
            Some(RowOutcome::Conflict) => self.timing.trp + self.timing.trcd,
            Some(RowOutcome::Closed) => self.timing.trcd,
            Some(RowOutcome::Hit) | None => 0,
        };
        let refresh = self.refreshes[self.device.banks[number].rank].clock(at);
        let waited_for = request.waits.cause(at, needed, refresh, self.drain_clock.at(at));
        let waited = request.waits.beyond(at, needed);
        self.served.push(Served { issued: at, request, waited_for, waited });
    }

    /// Performs all refreshes of an idle channel with closed banks before `end` at once, since each happens exactly
    /// when due.
    pub(super) fn refresh_while_idle(&mut self, end: u64) {
        if !refresh::any_due_before(&self.refreshes, end) {
            return;
        }
        let (device, floor) = (&self.device, self.floor);
        let punctual = |(rank, refresh): (usize, &Refresh)| {
            let ready = device.refresh_at(rank).max(floor);
            device.precharge_all_at(rank).is_none() && ready <= refresh.due
        };
        if !self.refreshes.iter().enumerate().all(punctual) {
            return;
        }
        self.next = None;
        for (rank, refresh) in self.refreshes.iter_mut().enumerate() {
            if let Some((count, last)) = refresh.issued_while_idle(end) {
                self.device.refresh(rank, last);
                self.counts.refreshes += count;
                self.floor = self.floor.max(last + 1);
            }
        }
        for rank in 0..self.refreshes.len() {
            self.reconsider_rank(rank);
        }
    }
}
