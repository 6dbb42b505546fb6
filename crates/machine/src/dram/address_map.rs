//! Address map: the bank, row and column of a line.
//!
//! Every map is a bijection between the lines of the channel and its cells, made only of shifts and masks, since all
//! counts are powers of two. A line number beyond the capacity wraps around to a cell that another line uses. Metadata
//! regions may end above a power of two, and only the bank and the row affect the timing.

use super::config::{AddressMap, DramConfig, Organisation};
use units::LineAddr;

/// The storage of one line on the channel: its bank, row and column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Cell {
    /// Row in the bank.
    pub row: u32,
    /// Index of the line in the row.
    pub column: u16,
    /// Index of the bank on the channel, ordered by rank, then by bank group, then by bank in the group.
    pub bank: u8,
}

/// An [`AddressMap`] for one [`Organisation`].
#[derive(Clone, Debug)]
pub(super) struct Mapper {
    map: AddressMap,
    rank_bits: u32,
    group_bits: u32,
    bank_bits: u32,
    row_bits: u32,
    column_bits: u32,
}

/// Removes the lowest `bits` bits of `rest` and returns them.
fn take(rest: &mut u64, bits: u32) -> u64 {
    let field = *rest & ((1 << bits) - 1);
    *rest >>= bits;
    field
}

impl DramConfig {
    /// Returns the bank of a line on the channel, and its row in that bank.
    pub fn bank_and_row(&self, line: LineAddr) -> (u8, u32) {
        let cell = Mapper::new(self.address_map, &self.organisation).cell(line);
        (cell.bank, cell.row)
    }
}

impl Mapper {
    /// Creates the map for an organisation that was checked.
    pub fn new(map: AddressMap, organisation: &Organisation) -> Mapper {
        Mapper {
            map,
            rank_bits: organisation.ranks.trailing_zeros(),
            group_bits: organisation.bank_groups.trailing_zeros(),
            bank_bits: organisation.banks_per_group.trailing_zeros(),
            row_bits: organisation.rows.trailing_zeros(),
            column_bits: organisation.lines_per_row.trailing_zeros(),
        }
    }

    /// Returns the cell of a line.
    pub fn cell(&self, line: LineAddr) -> Cell {
        let mut rest = line.0;
        let (column, group) = match self.map {
            AddressMap::BankGroupLow => {
                let group = take(&mut rest, self.group_bits);
                (take(&mut rest, self.column_bits), group)
            }
            AddressMap::RowBankGroupColumn | AddressMap::XorBanks => {
                let column = take(&mut rest, self.column_bits);
                (column, take(&mut rest, self.group_bits))
            }
        };
        let bank = take(&mut rest, self.bank_bits);
        let rank = take(&mut rest, self.rank_bits);
        let row = take(&mut rest, self.row_bits);
        let mut number = (((rank << self.group_bits) | group) << self.bank_bits) | bank;
        if self.map == AddressMap::XorBanks {
            number ^= row & ((1 << (self.rank_bits + self.group_bits + self.bank_bits)) - 1);
        }
        Cell { row: row as u32, column: column as u16, bank: number as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dram::DramConfig;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const MAPS: [AddressMap; 3] = [AddressMap::RowBankGroupColumn, AddressMap::BankGroupLow, AddressMap::XorBanks];

    fn ddr4(map: AddressMap) -> Mapper {
        Mapper::new(map, &DramConfig::ddr4_3200().organisation)
    }

    #[test]
    fn the_plain_dram_map_takes_column_bank_group_bank_and_row_from_the_low_address_bits() {
        let line = (0x1234 << 11) | (2 << 9) | (3 << 7) | 0x55;
        let cell = ddr4(AddressMap::RowBankGroupColumn).cell(LineAddr(line));
        assert_eq!(cell, Cell { row: 0x1234, column: 0x55, bank: 3 * 4 + 2 });
    }

    #[test]
    fn the_bank_group_low_map_puts_neighbouring_lines_into_different_bank_groups() {
        let groups: Vec<u8> = (0..4).map(|line| ddr4(AddressMap::BankGroupLow).cell(LineAddr(line)).bank / 4).collect();
        assert_eq!(groups, [0, 1, 2, 3]);
    }

    #[test]
    fn the_xor_map_spreads_a_stride_of_rows_over_all_banks() {
        let banks: HashSet<u8> = (0..16).map(|row| ddr4(AddressMap::XorBanks).cell(LineAddr(row << 11)).bank).collect();
        assert_eq!(banks.len(), 16);
    }

    proptest! {
        #[test]
        fn every_map_of_every_small_organisation_is_a_bijection(
            map in 0..3usize, ranks in 0..2u32, groups in 0..3u32, banks in 0..3u32, rows in 0..5u32, columns in 0..4u32
        ) {
            let organisation = Organisation {
                ranks: 1 << ranks,
                bank_groups: 1 << groups,
                banks_per_group: 1 << banks,
                rows: 1 << rows,
                lines_per_row: 1 << columns,
            };
            let mapper = Mapper::new(MAPS[map], &organisation);
            let mut seen = HashSet::new();
            for line in 0..organisation.lines() {
                let cell = mapper.cell(LineAddr(line));
                prop_assert!(u64::from(cell.bank) < organisation.banks());
                prop_assert!(u64::from(cell.row) < organisation.rows);
                prop_assert!(u64::from(cell.column) < organisation.lines_per_row);
                prop_assert!(seen.insert(cell), "{cell:?} holds two lines");
            }
        }

        #[test]
        fn dram_addresses_beyond_the_capacity_wrap_around(map in 0..3usize, line in 0..u64::from(u32::MAX)) {
            let lines = DramConfig::ddr4_3200().organisation.lines();
            let mapper = ddr4(MAPS[map]);
            prop_assert_eq!(mapper.cell(LineAddr(line)), mapper.cell(LineAddr(line % lines)));
        }
    }
}
