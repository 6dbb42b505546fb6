//! A line that a tag is not over to its end.

use crypto::BLOCK_BYTES;
use units::{LINE_BYTES, Line};

/// A line of which the last block is left out.
pub(crate) fn without_last_block(line: &Line) -> Line {
    let mut line = *line;
    line[LINE_BYTES - BLOCK_BYTES..].fill(0);
    line
}
