//! The access to explain, the condition of the machine, and the rules that the two must keep.

use super::condition::OnChipMetadata;
use super::rows::RowState;
use super::store::Meets;
use super::value::{self, LineValue};
use catalogue::{Design, Machine};
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Kind of access to explain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// A read of a line: from the arrival of the request to the release of the line.
    #[default]
    Read,
    /// A write of a line that the last-level cache has evicted: from the moment at which the memory controller accepts
    /// the line until all steps of the write are done.
    Write,
    /// A store into a persist buffer: from its arrival in L1D until the store queue continues; followed by the drain of
    /// its entry.
    Store,
    /// A TLB miss under a design that permutes lines: from the start of the tree walk that fetches the page's record
    /// until the record is on the chip.
    Page,
    /// A permutation of a page chunk without reads since the last permutation: from its beginning until the new record
    /// and its path in the tree are stored.
    Permutation,
}

impl Of {
    /// Checks that a design has this kind of access.
    ///
    /// # Errors
    /// A sentence that explains why the design does not have this kind, and names a kind that it has.
    fn check(self, design: &Design) -> Result<(), String> {
        let (name, has_buffer) = (&design.name, design.parts.persistence.has_buffer());
        let moves = design.parts.permutation.is_some();
        match self {
            Of::Page | Of::Permutation if !moves => Err(format!(
                "'{name}' does not move lines, and has no records of their slots: explain a read (--of read), or \
                 take 'cryptopage'"
            )),
            Of::Write | Of::Store if moves => Err(format!(
                "'{name}' does not write lines back one by one: explain the permutation that writes stores to memory \
                 (--of permutation)"
            )),
            Of::Page | Of::Permutation => Ok(()),
            Of::Write if has_buffer => Err(format!(
                "'{name}' writes no lines back, since every store passes a persist buffer: explain a store (--of \
                 store)"
            )),
            Of::Store if !has_buffer => Err(format!(
                "'{name}' has no persist buffer, so no store waits for the protection of memory: explain a write \
                 (--of write), or take 'secpb-cm'"
            )),
            Of::Read | Of::Write | Of::Store => Ok(()),
        }
    }
}

/// Component at which the timeline begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum TimelineStart {
    /// At the memory controller: from the arrival of the request to the release of the line.
    #[default]
    Controller,
    /// At an L2: from the look-up in the L2, which misses, until the L2 can use the line. The last-level cache misses
    /// as well.
    L2,
}

/// The access to explain, and the condition of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Kind of the access.
    #[serde(default)]
    pub of: Of,
    /// Metadata on the chip when the access begins.
    pub on_chip: OnChipMetadata,
    /// State of the DRAM rows of all lines that the access fetches.
    pub row: RowState,
    /// Component at which the timeline begins.
    #[serde(default)]
    pub start: TimelineStart,
    /// True if the L2 predicts a miss: at its look-up, it notifies the controller that it expects the line in memory,
    /// like Intel's XPT. The controller then fetches the line at once, and performs all other steps when the request
    /// arrives.
    #[serde(default)]
    pub predicted: bool,
    /// True if the decoding of counters takes no time on this machine, as in the timelines of the EMCC paper.
    #[serde(default)]
    pub decoded: bool,
    /// State of the persist buffer for a store; absent for other accesses, which do not use the buffer.
    #[serde(default)]
    pub meets: Option<Meets>,
    /// Content of the line: the plaintext that a read finds encrypted in memory, or the plaintext that a write stores.
    #[serde(default)]
    pub value: LineValue,
}

impl Scenario {
    /// The scenario under a design, with the defaults that depend on the design.
    ///
    /// # Errors
    /// A sentence, if the design or the machine does not have this access.
    pub(super) fn under(self, machine: &Machine, design: &Design) -> Result<Scenario, String> {
        self.of.check(design)?;
        if self.of != Of::Read && self.start == TimelineStart::L2 {
            return Err("a write begins at the memory controller, when the last-level cache evicts its line: no L2 \
                        waits for it, so leave out --from l2"
                .to_owned());
        }
        if self.predicted && self.start != TimelineStart::L2 {
            return Err("only an L2 predicts misses of the last-level cache: give --from l2".to_owned());
        }
        if self.start == TimelineStart::L2 || self.of == Of::Store || design.parts.permutation.is_some() {
            machine.admits(&design.parts)?;
        }
        machine.has_engine_for(&design.parts)?;
        let meets = Meets::of(self.of == Of::Store, self.meets)?;
        self.value.fits(machine.line_length())?;
        let table = value::table_of(&design.parts.speculation);
        Ok(Scenario { value: self.value.under(&table), meets, ..self })
    }
}
