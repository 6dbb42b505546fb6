//! A line without the end that a weak tag does not cover.

use crypto::BLOCK_BYTES;
use units::{LINE_BYTES, Line};

/// Returns a line with zeros for its last block.
pub(crate) fn without_last_block(line: &Line) -> Line {
    let mut line = *line;
    line[LINE_BYTES - BLOCK_BYTES..].fill(0);
    line
}
