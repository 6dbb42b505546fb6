//! Idle times of rows, for a controller that closes rows after a timeout.
//!
//! All rows have the same timeout, so the controller keeps the banks in the order of their last use. It mostly examines
//! only the first bank with an open row.

use super::device::{Bank, CLOSED};

/// The banks that have been used; the bank that has been idle longest is first.
#[derive(Clone, Debug)]
pub(super) struct Resting {
    idle_clocks: u64,
    /// The list is so short that moving one entry to the end copies only some hundred bytes.
    order: Vec<u16>,
}

impl Resting {
    /// Creates a list without open rows; rows are closed after `idle_clocks` clocks.
    pub fn new(idle_clocks: u64) -> Resting {
        Resting { idle_clocks, order: Vec::new() }
    }

    /// Records that the row of a bank is opened or used. The calls must be in the order of these uses.
    pub fn used(&mut self, bank: usize) {
        let bank = bank as u16;
        if let Some(cell) = self.order.iter().position(|other| *other == bank) {
            self.order.remove(cell);
        }
        self.order.push(bank);
    }

    /// Returns the banks with open rows, with the clocks of their timeouts; the earliest first.
    pub fn rows(&self, banks: &[Bank]) -> impl Iterator<Item = (usize, u64)> {
        let open = self.order.iter().map(|bank| usize::from(*bank)).filter(|bank| banks[*bank].open_row != CLOSED);
        open.map(|bank| (bank, banks[bank].last_used + self.idle_clocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BANKS: usize = 6;
    const IDLE_CLOCKS: u64 = 40;

    proptest! {
        #[test]
        fn open_rows_with_an_idle_timeout_are_listed_in_the_order_of_their_last_use(
            script in prop::collection::vec((0..BANKS, prop::bool::weighted(0.7)), 0..80),
        ) {
            let mut banks = vec![Bank::closed(0, 0); BANKS];
            let mut resting = Resting::new(IDLE_CLOCKS);
            for (at, (bank, used)) in (1..).zip(script) {
                if used {
                    (banks[bank].open_row, banks[bank].last_used) = (1, at);
                    resting.used(bank);
                } else {
                    banks[bank].open_row = CLOSED;
                }
                let open = banks.iter().enumerate().filter(|(_, bank)| bank.open_row != CLOSED);
                let mut expected: Vec<_> = open.map(|(number, bank)| (number, bank.last_used + IDLE_CLOCKS)).collect();
                expected.sort_by_key(|(_, over)| *over);
                prop_assert_eq!(resting.rows(&banks).collect::<Vec<_>>(), expected);
            }
        }
    }
}
