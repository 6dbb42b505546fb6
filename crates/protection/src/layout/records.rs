//! Layout of the records of page chunks and of the tree over pairs of records, above all data (CryptoPage: Duc and
//! Keryell, ACSAC 2006, figure 3).
//!
//! ```text
//! | ... | record 0 | record 1 | ... | pairs of nodes above pairs of records | ... | the topmost pair | contexts of processes |
//! ```

use super::{Layout, Root};
use crate::slot::{Kind, Role};
use crypto::SHA1_BYTES;

/// Adds a record of `lines_per_record` lines for each page chunk of data, and a tree over pairs of records. A node is
/// one hash of the pair below it, and a pair of nodes occupies a line. The number of records is rounded up to the
/// number of leaves of a full binary tree.
#[must_use]
pub fn with_records(mut layout: Layout, lines_per_page_chunk: u64, lines_per_record: u64) -> Layout {
    let records = layout.data_lines().div_ceil(lines_per_page_chunk).next_power_of_two().max(2);
    layout.append(Role::Record, records * lines_per_record, lines_per_page_chunk);
    layout.leaves = Some(Kind::Records);
    let mut pairs = records / 2;
    while pairs > 1 {
        pairs /= 2;
        layout.append(Role::Node(layout.levels().len() as u8), pairs, 2);
    }
    layout.root = Some(Root { lines: 1, serves: 2, bytes: SHA1_BYTES as u64 });
    layout
}

/// Adds room for this many contexts outside the chip, of `lines_per_context` lines each, above all other regions.
#[must_use]
pub fn with_contexts(mut layout: Layout, contexts: u64, lines_per_context: u64) -> Layout {
    if contexts > 0 {
        layout.append(Role::Context, contexts * lines_per_context, 1);
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Needs;

    #[test]
    fn a_layout_of_2_to_the_19_pages_has_five_line_records_under_a_tree_of_depth_19() {
        // 4 GB in lines of 32 bytes, 256 of them to a page of 8 KB. A tree over n records has n / 4 + n / 8 + ... + 1 lines of pairs.
        let laid_out = |lines| {
            let nothing_else = Needs { lines_per_counter_line: None, tags: None, tree: None };
            with_records(Layout::new(lines, nothing_else).unwrap(), 256, 5)
        };
        let report = laid_out((4 << 30) / 32).report(&[], 1);
        let [_, records, nodes @ ..] = &report.regions[..] else { panic!("records and nodes are apart") };
        assert_eq!((records.role.as_str(), records.lines, records.serves), ("record", 5 << 19, 256));
        assert_eq!(nodes.iter().map(|level| level.lines).sum::<u64>(), (1 << 18) - 1);
        // Depths 18 to 1 are in memory, the records are at depth 19, the root is on the chip.
        assert_eq!((nodes.len(), nodes.last().unwrap().lines), (18, 1));
        assert_eq!(report.on_chip.iter().map(|store| store.bytes).collect::<Vec<_>>(), [20]);
        assert_eq!(laid_out(1).total_lines(), 1 + 2 * 5, "a single page chunk has a sibling");
    }
}
