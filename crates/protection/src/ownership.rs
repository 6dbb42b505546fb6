//! Ownership of pages: decides which software may access a page at all. A table in memory, as AMD SEV-SNP's reverse map
//! table, has an entry for each page. It names the owner, the owner's address of the page, and whether the owner has
//! accepted the page at that address.
//!
//! ```text
//! byte   0        4                5        8             16
//!        | owner  | not validated  | unused | guest page  |     four entries to a line
//!        | 32 bit | 1 bit of 8     |        | 64 bit      |
//! ```
//! The guest page is written as its distance from the page itself. A blank entry is therefore correct when the machine
//! starts: the page is the tenant's, at the same address, and validated.
//!
//! Ownership stops software that goes through the controller from *writing*: another tenant, or a hypervisor that maps
//! one page of a tenant in the place of another. It need not stop reads. Other software has other keys, so it reads a
//! page as ciphertext. If the hypervisor assigns a page to other software, the controller stores the writes of that
//! software as ciphertext. That is SEV-SNP (AMD, "SEV-SNP: strengthening VM isolation", 2020; Programmer's Manual,
//! volume 2, 15.36.10); parts with *ciphertext hiding* refuse these reads. An attacker on the bus bypasses the table:
//! it reads and writes memory directly, and the table itself is in memory without any protection.
//!
//! # Contract
//! [`OwnershipEntry::admits`] is the only check before an access; it does not verify the content that is read.

use serde::{Deserialize, Serialize};
use strum::VariantArray;
use units::{LINES_PER_PAGE, Line, LineAddr};

/// Bytes of an entry, as in AMD's table.
const ENTRY_BYTES: usize = 16;
/// Entries in one line of the table.
const ENTRIES_PER_LINE: usize = size_of::<Line>() / ENTRY_BYTES;
/// Lines of data per line of the table.
pub(crate) const LINES_PER_TABLE_LINE: u64 = (ENTRIES_PER_LINE * LINES_PER_PAGE) as u64;

/// Choice of ownership of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Ownership {
    /// No ownership: any software that reaches the controller may access any page.
    #[default]
    None,
    /// Each page has an owner, and only the owner may write it; other software may read the page's ciphertext.
    Pages,
    /// Each page has an owner; other software cannot read it either.
    PagesHidden,
}

/// Software to which a page can belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner(pub u32);

impl Owner {
    /// Owner of the machine, who owns all pages when the machine starts.
    pub const TENANT: Owner = Owner(0);
    /// The software that manages the machine.
    pub const HYPERVISOR: Owner = Owner(1);
    /// Another tenant of the same machine.
    pub const NEIGHBOUR: Owner = Owner(2);
}

/// Software that accesses a page, and the address that it uses for the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asker {
    /// The software's identity as an owner.
    pub owner: Owner,
    /// Page number under which the owner addresses this page.
    pub guest_page: u64,
}

impl Asker {
    /// Returns the machine's tenant, for a page that it has had since the machine started.
    pub fn tenant(line: LineAddr) -> Asker {
        Asker::of(Owner::TENANT, line)
    }

    /// Returns an owner that addresses the page of a line by the physical page number.
    pub fn of(owner: Owner, line: LineAddr) -> Asker {
        Asker { owner, guest_page: page_of(line) }
    }
}

/// Entry of the table for a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnershipEntry {
    /// Owner of the page.
    pub owner: Owner,
    /// Address of the page for its owner, as a page number.
    pub guest_page: u64,
    /// True if the owner has accepted the page at this address.
    pub validated: bool,
}

impl OwnershipEntry {
    /// Returns whether a page with this entry may be accessed by the asker.
    pub fn admits(&self, asker: Asker) -> bool {
        self.validated && self.owner == asker.owner && self.guest_page == asker.guest_page
    }

    /// Reads the entry of a data line's page from the table line that holds the entry.
    pub(crate) fn read(table: &Line, line: LineAddr) -> OwnershipEntry {
        let bytes = &table.as_chunks::<ENTRY_BYTES>().0[position_of(line)];
        let (words, _) = bytes.as_chunks::<8>();
        let [first, distance] = [words[0], words[1]].map(u64::from_le_bytes);
        OwnershipEntry {
            owner: Owner(first as u32),
            guest_page: page_of(line).wrapping_add(distance),
            validated: first >> u32::BITS & 1 == 0,
        }
    }

    /// Writes the entry of a data line's page to the table line that holds the entry.
    pub(crate) fn write(&self, table: &mut Line, line: LineAddr) {
        let first = u64::from(self.owner.0) | u64::from(!self.validated) << u32::BITS;
        let distance = self.guest_page.wrapping_sub(page_of(line));
        let entry = &mut table.as_chunks_mut::<ENTRY_BYTES>().0[position_of(line)];
        entry[..8].copy_from_slice(&first.to_le_bytes());
        entry[8..].copy_from_slice(&distance.to_le_bytes());
    }
}

fn page_of(line: LineAddr) -> u64 {
    line.0 / LINES_PER_PAGE as u64
}

fn position_of(line: LineAddr) -> usize {
    page_of(line) as usize % ENTRIES_PER_LINE
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::ZERO_LINE;

    const LINE: LineAddr = LineAddr(6 * LINES_PER_PAGE as u64 + 3);

    #[test]
    fn a_blank_ownership_table_gives_a_page_to_the_tenant_at_the_identical_address() {
        let entry = OwnershipEntry::read(&ZERO_LINE, LINE);
        assert_eq!(entry, OwnershipEntry { owner: Owner::TENANT, guest_page: 6, validated: true });
        assert!(entry.admits(Asker::of(Owner::TENANT, LINE)));
    }

    #[test]
    fn a_validated_ownership_entry_admits_only_its_owner_at_its_guest_page() {
        let entry = OwnershipEntry { owner: Owner::NEIGHBOUR, guest_page: 2, validated: true };
        let asker = Asker { owner: Owner::NEIGHBOUR, guest_page: 2 };
        assert!(entry.admits(asker));
        assert!(!entry.admits(Asker { owner: Owner::HYPERVISOR, ..asker }));
        assert!(!entry.admits(Asker { guest_page: 3, ..asker }));
        assert!(!OwnershipEntry { validated: false, ..entry }.admits(asker));
    }

    #[test]
    fn ownership_entries_in_one_table_line_are_stored_independently() {
        let mut table = ZERO_LINE;
        let lines: Vec<LineAddr> = (4..8).map(|page| LineAddr(page * LINES_PER_PAGE as u64)).collect();
        let entry = |line: LineAddr| OwnershipEntry {
            owner: Owner(line.0 as u32),
            guest_page: u64::MAX - line.0,
            validated: page_of(line).is_multiple_of(2),
        };
        lines.iter().for_each(|line| entry(*line).write(&mut table, *line));
        lines.iter().for_each(|line| assert_eq!(OwnershipEntry::read(&table, *line), entry(*line)));
    }
}
