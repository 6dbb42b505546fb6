//! The DRAM devices: compute the earliest legal clock of every command.
//!
//! Each constraint is stored at the level where the standard defines it. Constraints of a bank are tRCD, tRAS, tRC,
//! tRP, tRTP and tWR. Constraints between the banks of one group are the long forms of tCCD, tRRD and tWTR. Constraints
//! between the groups of one rank are the short forms of tCCD, tRRD and tWTR, and tFAW. The constraint between ranks is
//! the data bus. An issued command updates the earliest legal clocks of its bank and of all groups that it constrains.
//! The scheduler evaluates far more candidates than it issues commands, so a check compares only two numbers per
//! request: the bank's and the group's.
//!
//! This file contains no requests and no policies.

use super::Kind;
use super::config::DramConfig;
use super::timing::Timing;
use std::ops::Range;

/// Stored as the open row of a closed bank.
pub(super) const CLOSED: u32 = u32::MAX;

/// State of one bank: its row buffer and the constraints of its latest commands.
#[derive(Clone, Debug)]
pub(super) struct Bank {
    /// The row in the row buffer, or [`CLOSED`].
    pub open_row: u32,
    /// The bank's group, counted over the channel.
    pub group: usize,
    /// Rank of the bank.
    pub rank: usize,
    /// Clock at which the open row may be read or written (tRCD).
    pub column_ready: u64,
    /// Clock at which the open row may be closed (tRAS, tRTP, tWR).
    pub precharge_ready: u64,
    /// Clock at which a row may be opened (tRC, tRP, tRFC).
    pub activate_ready: u64,
    /// Clock of the latest use of the open row.
    pub last_used: u64,
}

/// Constraints on a command by commands of other banks, in addition to those of the same bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gate {
    /// For reads: tCCD, tWTR and the data bus.
    Read,
    /// For writes: tCCD and the data bus.
    Write,
    /// For activates: tRRD and tFAW.
    Activate,
    /// For precharges, which only the same bank constrains.
    Free,
}

impl Gate {
    /// The gate of a column command.
    pub fn of_column(kind: Kind) -> Gate {
        match kind {
            Kind::Read => Gate::Read,
            Kind::Write => Gate::Write,
        }
    }
}

/// The four latest activates of a rank, in a ring, as the clocks at which each leaves the window of tFAW.
#[derive(Clone, Debug, Default)]
struct FourActivates {
    released: [u64; 4],
    oldest: usize,
}

/// Minimum distance of two column commands: by the kind of the first, the kind of the second, and the relation of their
/// banks.
#[derive(Clone, Debug)]
struct ColumnSpacing([[[u64; 3]; 2]; 2]);

const SAME_GROUP: usize = 0;
const SAME_RANK: usize = 1;
const OTHER_RANK: usize = 2;

impl ColumnSpacing {
    fn new(t: &Timing) -> ColumnSpacing {
        let burst = t.burst_clocks;
        let read_to_write = t.cl + burst + t.trtrs - t.cwl;
        let write_to_read = t.cwl + burst;
        ColumnSpacing([
            [[t.tccd_l, t.tccd_s, burst + t.trtrs], [read_to_write; 3]],
            [
                [write_to_read + t.twtr_l, write_to_read + t.twtr_s, (write_to_read + t.trtrs).saturating_sub(t.cl)],
                [t.tccd_l, t.tccd_s, burst + t.trtrs],
            ],
        ])
    }
}

/// All banks of a channel.
#[derive(Clone, Debug)]
pub(super) struct Device {
    timing: Timing,
    spacing: ColumnSpacing,
    banks_per_rank: usize,
    /// The banks: rank, then group, then bank in the group.
    pub banks: Vec<Bank>,
    /// Clocks at which the gates of each group open (rank, then group), indexed by [`Gate`].
    pub gates: Vec<[u64; 4]>,
    groups_per_rank: usize,
    activates: Vec<FourActivates>,
    /// Every command so far, for the tests that judge them.
    #[cfg(test)]
    pub log: Vec<super::oracle::Issued>,
}

impl Bank {
    /// Creates a closed bank that accepts any command at once.
    pub fn closed(group: usize, rank: usize) -> Bank {
        let (column_ready, precharge_ready, activate_ready, last_used) = Default::default();
        Bank { open_row: CLOSED, group, rank, column_ready, precharge_ready, activate_ready, last_used }
    }
}

/// Raises `ready` to `later`, if `later` is greater.
fn push(ready: &mut u64, later: u64) {
    *ready = (*ready).max(later);
}

impl Device {
    /// Creates the devices of a checked configuration, with all banks closed and free.
    pub fn new(config: &DramConfig) -> Device {
        let organisation = &config.organisation;
        let in_group = organisation.banks_per_group as usize;
        let in_rank = in_group * organisation.bank_groups as usize;
        let bank = |number: usize| Bank::closed(number / in_group, number / in_rank);
        let groups = (organisation.ranks * organisation.bank_groups) as usize;
        Device {
            timing: config.timing,
            spacing: ColumnSpacing::new(&config.timing),
            banks_per_rank: in_rank,
            banks: (0..organisation.banks() as usize).map(bank).collect(),
            gates: vec![[0; 4]; groups],
            groups_per_rank: organisation.bank_groups as usize,
            activates: vec![FourActivates::default(); organisation.ranks as usize],
            #[cfg(test)]
            log: Vec::new(),
        }
    }

    /// Returns the earliest clock of a read or write of the bank's open row.
    pub fn column_at(&self, bank: usize, kind: Kind) -> u64 {
        let bank = &self.banks[bank];
        bank.column_ready.max(self.gates[bank.group][Gate::of_column(kind) as usize])
    }

    /// Returns the earliest clock of an activate of the bank, which must be closed.
    pub fn activate_at(&self, bank: usize) -> u64 {
        let bank = &self.banks[bank];
        bank.activate_ready.max(self.gates[bank.group][Gate::Activate as usize])
    }

    /// Returns the earliest clock at which all open banks of a rank can be precharged, or `None` if all are closed.
    pub fn precharge_all_at(&self, rank: usize) -> Option<u64> {
        self.rank(rank).iter().filter(|bank| bank.open_row != CLOSED).map(|bank| bank.precharge_ready).max()
    }

    /// Returns the earliest clock of a refresh of a rank; all its banks must be closed.
    pub fn refresh_at(&self, rank: usize) -> u64 {
        self.rank(rank).iter().map(|bank| bank.activate_ready).max().unwrap_or(0)
    }

    /// Reads or writes a line of the open row, or a burst that occupies the data bus for `on_bus` clocks.
    pub fn column(&mut self, bank: usize, kind: Kind, at: u64, on_bus: u64) {
        debug_assert!(self.banks[bank].open_row != CLOSED, "{kind:?} of a closed bank");
        debug_assert!(at >= self.column_at(bank, kind), "{kind:?} at {at} is too early");
        #[cfg(test)]
        self.log.push(super::oracle::Issued::column(at, bank, kind, on_bus));
        let t = &self.timing;
        // After a burst shorter than 64 bytes, later commands may issue earlier by the difference in bus clocks.
        let shorter = t.burst_clocks - on_bus;
        let Bank { group, rank, .. } = self.banks[bank];
        let spacing = &self.spacing.0[kind as usize];
        let groups_of_rank = rank * self.groups_per_rank..(rank + 1) * self.groups_per_rank;
        for (number, gates) in self.gates.iter_mut().enumerate() {
            let near = match number {
                _ if number == group => SAME_GROUP,
                _ if groups_of_rank.contains(&number) => SAME_RANK,
                _ => OTHER_RANK,
            };
            for next in [Kind::Read, Kind::Write] {
                let distance = spacing[next as usize][near].saturating_sub(shorter);
                push(&mut gates[Gate::of_column(next) as usize], at + distance);
            }
        }
        let recovery = match kind {
            Kind::Read => t.trtp,
            Kind::Write => t.cwl + on_bus + t.twr,
        };
        let bank = &mut self.banks[bank];
        push(&mut bank.precharge_ready, at + recovery);
        bank.last_used = at;
    }

    /// Opens a row of a closed bank.
    pub fn activate(&mut self, bank: usize, row: u32, at: u64) {
        debug_assert!(self.banks[bank].open_row == CLOSED, "activate of an open bank");
        debug_assert!(at >= self.activate_at(bank), "activate at {at} is too early");
        #[cfg(test)]
        self.log.push(super::oracle::Issued::activate(at, bank));
        let t = &self.timing;
        let Bank { group, rank, .. } = self.banks[bank];
        let four = &mut self.activates[rank];
        four.released[four.oldest] = at + t.tfaw;
        four.oldest = (four.oldest + 1) % four.released.len();
        let window = four.released[four.oldest];
        let first = rank * self.groups_per_rank;
        for (number, gates) in (first..).zip(&mut self.gates[first..first + self.groups_per_rank]) {
            let spacing = if number == group { t.trrd_l } else { t.trrd_s };
            push(&mut gates[Gate::Activate as usize], window.max(at + spacing));
        }
        let bank = &mut self.banks[bank];
        bank.open_row = row;
        bank.column_ready = at + t.trcd;
        bank.precharge_ready = at + t.tras;
        bank.activate_ready = at + t.trc;
        bank.last_used = at;
    }

    /// Closes an open bank.
    pub fn precharge(&mut self, bank: usize, at: u64) {
        #[cfg(test)]
        self.log.push(super::oracle::Issued::precharge(at, bank));
        let bank = &mut self.banks[bank];
        debug_assert!(bank.open_row != CLOSED, "precharge of a closed bank");
        debug_assert!(at >= bank.precharge_ready, "precharge at {at} is too early");
        bank.open_row = CLOSED;
        push(&mut bank.activate_ready, at + self.timing.trp);
    }

    /// Abandons the row of a bank at `at`: an open row is closed at no cost. A row that is still being opened stays
    /// open.
    pub fn abandon(&mut self, bank: usize, at: u64) {
        let bank = &mut self.banks[bank];
        if bank.column_ready <= at {
            bank.open_row = CLOSED;
            bank.activate_ready = at;
        }
    }

    /// Closes all banks of a rank.
    pub fn precharge_all(&mut self, rank: usize, at: u64) {
        for bank in self.banks_of(rank) {
            if self.banks[bank].open_row != CLOSED {
                self.precharge(bank, at);
            }
        }
    }

    /// Refreshes a rank; all its banks must be closed.
    pub fn refresh(&mut self, rank: usize, at: u64) {
        debug_assert!(self.precharge_all_at(rank).is_none(), "refresh of open banks");
        debug_assert!(at >= self.refresh_at(rank), "refresh at {at} is too early");
        #[cfg(test)]
        self.log.push(super::oracle::Issued::refresh(at, rank));
        let banks = self.banks_of(rank);
        for bank in &mut self.banks[banks] {
            bank.activate_ready = at + self.timing.trfc;
        }
    }

    /// Returns the range of the numbers of a rank's banks.
    pub fn banks_of(&self, rank: usize) -> Range<usize> {
        let first = rank * self.banks_per_rank;
        first..first + self.banks_per_rank
    }

    fn rank(&self, rank: usize) -> &[Bank] {
        &self.banks[self.banks_of(rank)]
    }
}

#[cfg(test)]
mod tests;
