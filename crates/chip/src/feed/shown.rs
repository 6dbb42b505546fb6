//! Lines that the recording shows, with content that may differ from memory's.

use super::FeedCounts;
use crate::load_values::accessor::Accessor;
use crate::shadow::Shadow;
use crate::shadow::persisted::{becomes_mapped, before_show};
use units::{Line, LineAddr};

/// How the recording shows a line.
#[derive(Clone, Copy)]
pub(super) struct ShownLine {
    /// True if the line is in a file that the program maps shared.
    pub mapped: bool,
    /// True if the kernel may have written the line.
    pub is_written: bool,
}

/// Passes the content of lines that the program of a core is about to access, also of mapped files, to the shadow.
/// Records each line that had other content before.
pub(super) fn show_lines(
    (shadow, by, core): (&mut Shadow, Accessor, usize),
    (lines, how): (impl Iterator<Item = (LineAddr, Line)>, ShownLine),
    foreign: &mut Vec<LineAddr>,
    counts: &mut FeedCounts,
) {
    for (line, content) in lines {
        if shadow.persisted.is_some() {
            before_show(shadow, core, line, &content);
            shadow.log.iter_mut().for_each(|log| log.shown(core, line, &content));
        }
        if let Some(loads) = &mut shadow.loads {
            loads.show(line, by, how.is_written);
        }
        counts.mapped_lines += u64::from(how.mapped);
        let behind = how.mapped && becomes_mapped(shadow, line);
        if shadow.show(line, &content) || behind {
            foreign.push(line);
            counts.foreign_writes += 1;
        }
    }
}
