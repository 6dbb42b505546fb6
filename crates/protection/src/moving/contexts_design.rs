//! The choice of hardware contexts: the number of contexts that the chip holds, and the number that may be in memory.

use crate::layout::OnChipReport;
use context::{CONTEXT_BYTES, EXPORTED_BYTES};
use serde::{Deserialize, Serialize};
use units::LINE_BYTES;

/// Maximum number of buffers, and of entries of the table of contexts in memory.
const COUNT_MAX: usize = 65_535;
/// Bytes of an entry of that table: the number of a context.
const ENTRY_BYTES: usize = 8;

/// Sizes of the processor's store of contexts; CryptoPage, section 2.6, gives no sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextsDesign {
    /// Number of hardware context buffers, at least one. A process with its context in a buffer continues at once after
    /// a switch.
    pub buffers: usize,
    /// Number of encrypted contexts that may be in memory at the same time; with 0, no context leaves the chip. A
    /// context must leave its buffer before another one is loaded into that buffer, so `buffers + outside - 1`
    /// processes can take turns.
    pub outside: usize,
}

impl ContextsDesign {
    /// Metadata lines that an encrypted context takes.
    pub(crate) const LINES_PER_CONTEXT: u64 = EXPORTED_BYTES.div_ceil(LINE_BYTES) as u64;

    /// Returns the rule that these sizes break, if any.
    pub(crate) fn broken_rule(&self) -> Option<String> {
        let ContextsDesign { buffers, outside } = *self;
        if buffers == 0 {
            return Some(format!(
                "permutation.contexts.buffers is 0: a processor needs at least one hardware context buffer, so expected 1 to \
                 {COUNT_MAX}, or leave permutation.contexts out"
            ));
        }
        if buffers > COUNT_MAX {
            return Some(format!("permutation.contexts.buffers is {buffers}: expected 1 to {COUNT_MAX}"));
        }
        (outside > COUNT_MAX)
            .then(|| format!("permutation.contexts.outside is {outside}: expected at most {COUNT_MAX} contexts"))
    }

    /// Returns the on-chip storage of contexts, with its bytes.
    pub(crate) fn on_chip(&self) -> [OnChipReport; 2] {
        let ContextsDesign { buffers, outside } = *self;
        let store = |what: String, bytes: usize| OnChipReport { what, bytes: bytes as u64, ways: None, serves: None };
        [
            store(format!("{buffers} hardware context buffers"), buffers * CONTEXT_BYTES),
            store(format!("table of {outside} contexts outside"), outside * ENTRY_BYTES),
        ]
    }
}
