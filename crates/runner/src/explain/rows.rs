//! The state of the DRAM rows when an access is explained, and the rows of one access that share a bank.

use machine::memory::{DeviceConfig, MemoryConfig};
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use units::LineAddr;

/// State of the DRAM rows of all lines that the access fetches: the line of a read, and the metadata that is not on the
/// chip. An access that fetches two rows of the same bank finds only one of them in this state, that of the line of data
/// if it is one of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum RowState {
    /// The row is open.
    Hit,
    /// The bank is closed, as after a refresh.
    #[default]
    Closed,
    /// Another row of the bank is open.
    Conflict,
}

impl RowState {
    /// Finds a line by trial. After a read of the returned line on a memory with closed rows, the row of `target` is in
    /// this state.
    pub(super) fn opening(self, config: &MemoryConfig, target: LineAddr) -> Option<LineAddr> {
        let DeviceConfig::Dram(dram) = &config.device else { return None };
        let stride = match self {
            RowState::Closed => return None,
            RowState::Hit => 1,
            RowState::Conflict => dram.organisation.lines_per_row,
        };
        let row = config.row(target)?;
        let mut candidates = (1..1 << 12).map(|step| LineAddr(target.0.wrapping_sub(step * stride)));
        candidates.find(|candidate| {
            let its = config.row(*candidate);
            its.is_some_and(|its| if self == RowState::Hit { its == row } else { its.conflicts_with(&row) })
        })
    }
}

/// The number of pairs of lines whose rows are different rows of the same bank. No state of the banks lets both rows of
/// such a pair be open.
pub(super) fn clashes(config: &MemoryConfig, lines: &[LineAddr]) -> usize {
    let rows: Vec<_> = lines.iter().filter_map(|line| config.row(*line)).collect();
    let later = |index: usize| rows[index + 1..].iter();
    rows.iter().enumerate().map(|(index, row)| later(index).filter(|other| other.conflicts_with(row)).count()).sum()
}
