//! Requirements of a design that permutes lines: pages of the size of its page chunks, and a single last-level cache
//! that can lock lines.

use super::Machine;
use machine::llc::Inclusion;
use machine::memory::WordOrder;
use protection::design::{CipherChoice, MacChoice, Parts};
use protection::moving::{BackgroundStart, LINES_PER_PAGE_CHUNK};
use units::{Bytes, LineLength};

impl Machine {
    /// Checks that the machine supports a design that permutes lines.
    ///
    /// # Errors
    /// A sentence with the first wrong key, and its expected value.
    pub(super) fn lets_lines_move(&self, parts: &Parts) -> Result<(), String> {
        self.has_a_handler_for(parts)?;
        self.has_interrupts_for(parts)?;
        if parts.permutation.is_none() {
            return Ok(());
        }
        let (page, chunk) = (self.memory.page, LINES_PER_PAGE_CHUNK * self.memory.line.0);
        let prefetches = self.node.l1d.prefetcher.is_some() || self.node.l2.prefetcher.is_some();
        let rules = [
            (self.cores != 1, format!("cores is {}: expected 1", self.cores)),
            (
                self.memory.line.0 != LineLength::HALF.bytes() as u64,
                format!(
                    "memory.line is \"{}\": expected \"{}\"",
                    self.memory.line,
                    Bytes(LineLength::HALF.bytes() as u64)
                ),
            ),
            (
                page.0 != chunk,
                format!(
                    "memory.page is \"{page}\": expected \"{}\", which are the {LINES_PER_PAGE_CHUNK} lines of a chunk",
                    Bytes(chunk)
                ),
            ),
            (
                self.llc.inclusion != Inclusion::Inclusive,
                "llc.inclusion: expected \"inclusive\", since locked lines stay in this cache".to_owned(),
            ),
            (
                self.llc.ways < 2,
                "llc.ways is 1: expected at least 2, one for a line that waits for the chunk of another line"
                    .to_owned(),
            ),
            (self.llc.miss_prediction.is_some(), "llc.miss_prediction: leave it out".to_owned()),
            (self.at_l2.is_some(), "[at_l2]: leave it out, since L2s begin no reads".to_owned()),
            (self.noc.is_some(), "[noc]: leave it out".to_owned()),
            (prefetches, "prefetcher: leave it out of node.l1d and node.l2".to_owned()),
            (
                self.node.walker.is_some(),
                "[node.walker]: leave it out, since TLBs have no records for lines of page tables".to_owned(),
            ),
            (
                self.memory.critical_word_first != WordOrder::FromFirst,
                "memory.critical_word_first: expected \"from-first\", since a tag is computed from the first block on"
                    .to_owned(),
            ),
        ];
        let broken = rules.into_iter().find(|(broken, _)| *broken);
        broken.map_or_else(
            || has_ways_for(self, parts).and_then(|()| permits_at_once(self, parts)),
            |(_, rule)| {
                let other = if self.name == "cryptopage-2006" { "" } else { "; or take 'cryptopage-2006'" };
                Err(format!("machine '{}' does not support permutation. {rule}{other}", self.name))
            },
        )
    }

    /// Checks that the design uses the operating system's handler, if the machine file gives the cost of the handler. A
    /// design without protection may run on this machine too, for comparison.
    fn has_a_handler_for(&self, parts: &Parts) -> Result<(), String> {
        let is_brought = parts.permutation.is_some_and(|permutation| permutation.verification_buffer.is_some());
        if self.os_walk_cycles.is_none() || is_brought || is_plain(parts) {
            return Ok(());
        }
        Err("os_walk_cycles: leave it out, since no operating system walks for this design; or take a design with \
             permutation.verification_buffer, such as 'cryptopage-os'"
            .to_owned())
    }

    /// Checks that the design has contexts of processes, if the machine has clock interrupts. A design without
    /// protection may run on this machine too, for comparison.
    fn has_interrupts_for(&self, parts: &Parts) -> Result<(), String> {
        if self.clock_interrupt.is_none() || parts.permutation.is_some() || is_plain(parts) {
            return Ok(());
        }
        Err("clock_interrupt: leave it out, since only plain memory and designs with permutation have interrupts; or \
             take 'cryptopage-os', since interrupts switch its contexts"
            .to_owned())
    }
}

/// Returns true if the design does not protect memory.
fn is_plain(parts: &Parts) -> bool {
    parts.permutation.is_none() && parts.mac.code == MacChoice::None && parts.cipher == CipherChoice::None
}

/// Checks that a set has more ways than must stay unlocked: else every access to the set permutes a page chunk.
fn has_ways_for(machine: &Machine, parts: &Parts) -> Result<(), String> {
    let ways = machine.llc.ways;
    match parts.permutation.map(|permutation| permutation.ahead) {
        Some(BackgroundStart::WaysLeft(left)) if left >= ways => Err(format!(
            "permutation.ahead is {left}, and llc.ways of machine '{}' is {ways}: expected fewer than {ways} unlocked \
             ways, a share of the cache's lines such as 0.75, or \"never\"",
            machine.name
        )),
        _ => Ok(()),
    }
}

/// Checks that the machine permits as many renewals as page chunks may be permuted at once. A permutation in the background
/// would otherwise wait for a permit, and the controller would admit no request meanwhile.
fn permits_at_once(machine: &Machine, parts: &Parts) -> Result<(), String> {
    let at_once = parts.permutation.map_or(0, |permutation| permutation.at_once);
    match machine.memory.overflows.map(|limits| limits.outstanding) {
        Some(outstanding) if outstanding < at_once => Err(format!(
            "permutation.at_once is {at_once}, and memory.overflows.outstanding of machine '{}' is {outstanding}: expected at most \
             {outstanding}",
            machine.name
        )),
        _ => Ok(()),
    }
}
