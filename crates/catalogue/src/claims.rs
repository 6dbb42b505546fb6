//! The claims of a design about attacks and losses of power, as data. A *row* is one attack or one kind of loss. A
//! design has the claims of its class, except for the rows that its file names.
//!
//! A campaign compares claims with results in both directions. A design that does worse than its claim is broken, and a
//! design that does better has a stale claim. Either the design or the claim must then be corrected.

use crate::end::End;
use crate::named::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// An attack on memory. A published attack has its published name.
    Attack:
    /// Overwrites a line of data with bytes that the attacker chooses.
    SpoofData = "spoof-data",
    /// Overwrites a stored tag with bytes that the attacker chooses.
    SpoofTag = "spoof-tag",
    /// Overwrites a counter line with bytes that the attacker chooses.
    SpoofCounter = "spoof-counter",
    /// Overwrites a node of the tree with bytes that the attacker chooses.
    SpoofNode = "spoof-node",
    /// Flips one chosen bit of a line of data.
    FlipData = "flip-data",
    /// Flips one bit of a stored tag.
    FlipTag = "flip-tag",
    /// Flips one bit of a counter line.
    FlipCounter = "flip-counter",
    /// Flips one bit of a node of the tree.
    FlipNode = "flip-node",
    /// Flips one bit of a table of owners.
    FlipOwner = "flip-owner",
    /// Overwrites a line of bitmaps, which hold the order of the words of re-ordered lines, with random bytes.
    SpoofBitmap = "spoof-bitmap",
    /// Flips one bit of a line of bitmaps.
    FlipBitmap = "flip-bitmap",
    /// Restores an old version of a line of bitmaps.
    ReplayBitmap = "replay-bitmap",
    /// Replaces the data of one line by the data of another.
    SpliceData = "splice-data",
    /// Replaces the data and the tag of one line by those of another.
    SpliceDataTag = "splice-data-tag",
    /// Replaces the data, the tag and the counters of one line by those of another.
    SpliceDataTagCounter = "splice-data-tag-counter",
    /// Replaces a chunk of frequent values and its tag by those from another position, from another line or from an earlier time, the
    /// latter also with its old counters.
    CandidateSplice = "candidate-splice",
    /// Restores an old version of the data.
    ReplayData = "replay-data",
    /// Restores an old version of the data and its tag.
    ReplayDataTag = "replay-data-tag",
    /// Restores an old version of the data, its tag and its counters.
    ReplayDataTagCounter = "replay-data-tag-counter",
    /// Waits until L2s have copies of a line's counters and the line is written, then restores its old data and tag: does an L2 accept them
    /// with its old copy?
    StaleCopy = "stale-copy",
    /// Swaps the replies to reads of two cores: the data with its spare bits.
    CrossedReplies = "crossed-replies",
    /// Restores an old version of all memory below one level of the tree, for each level.
    ReplayBelowLevel = "replay-below-level",
    /// Replaces a line by the same line of a memory with another key: only its data, also with its tag, and also with its counters.
    CrossKeySplice = "cross-key-splice",
    /// Restores an old image of the whole memory while the machine is off.
    PowerOffRollback = "power-off-rollback",
    /// Restores old counters, with or without the data and nodes that belong to them, and lets the victim continue to
    /// write.
    RollbackThenWrite = "rollback-then-write",
    /// Restores old bytes of a group just before its counters overflow, and lets the victim continue to write.
    RollbackThenOverflow = "rollback-then-overflow",
    /// Restores old bytes while the machine is off, and lets the victim continue to write after the reboot.
    RollbackThenReboot = "rollback-then-reboot",
    /// Forges the counters of a line before its first read, restores them, lets the victim write the line, and restores the memory that the
    /// first read left.
    ForgedBoot = "forged-boot",
    /// Tampers now and then and partly undoes it, while the victim writes, reads and evicts its metadata.
    TamperedHistory = "tampered-history",
    /// Swaps two adjacent nodes of the tree, or two adjacent counter lines.
    SwapSiblings = "swap-siblings",
    /// Replaces a node of the tree by a node of another level.
    NodeOfOtherLevel = "node-of-other-level",
    /// Replaces a line of data by a counter line.
    CounterAsData = "counter-as-data",
    /// Drops writes on the bus while the victim runs.
    DropWrite = "drop-write",
    /// Holds writes back on the bus until after the next ones.
    DelayWrite = "delay-write",
    /// Lets writes pass, and repeats them after the next ones.
    DuplicateWrite = "duplicate-write",
    /// Exchanges two successive writes of a slot on the bus.
    ReorderWrites = "reorder-writes",
    /// Makes the module report a false size from power-on, so that ghost addresses reach the victim's cells (BadRAM, De
    /// Meulemeester et al., S&P 2025).
    Badram = "badram",
    /// Switches an alias of addresses on and off while the victim runs, after every check at power-on (Battering RAM,
    /// De Meulemeester et al., 2025).
    BatteringRam = "battering-ram",
    /// Reads a line through the controller, as another tenant or as the hypervisor, without the tenant's keys.
    ForeignRead = "foreign-read",
    /// Writes a line through the controller, as another tenant or as the hypervisor.
    ForeignWrite = "foreign-write",
    /// Maps one of the victim's pages to the address of another (SEVered, Morbitzer et al., EuroSec 2018).
    RemapPage = "remap-page",
    /// Forges the table of owners on the bus, then restores old ciphertext as the owner, or maps one page in place of
    /// another (BadRAM's attack on SEV-SNP's reverse map table).
    SpoofOwner = "spoof-owner",
    /// Checks on the bus whether the ciphertext repeats when the victim writes an earlier content of a line again.
    BusRepeat = "bus-repeat",
    /// Records on the bus the ciphertext of a line for each of 256 values, then looks up a secret value (WireTap and
    /// TEE.fail, 2025).
    BusDictionary = "bus-dictionary",
    /// Checks as the hypervisor, by reading through the controller, whether the ciphertext repeats (CipherLeaks, Li et
    /// al., USENIX Security 2021).
    SoftwareRepeat = "software-repeat",
    /// Records as the hypervisor, by reading through the controller, the ciphertext of a line for each of 256 values, then looks up a
    /// secret value.
    SoftwareDictionary = "software-dictionary",
    /// Takes one image of many lines that hold zeros, or one of eight values, and tests whether their ciphertext looks random.
    CiphertextHistogram = "ciphertext-histogram",
    /// Times on the bus the delay from the fetch of a line to the fetch that depends on it: does the delay reveal a
    /// line of frequent values?
    ValueTiming = "value-timing",
    /// Watches the addresses on the bus of one of two known programs, which access the same chunks in the same order: which one runs?
    /// (HIDE, Zhuang, Zhang and Pande, ASPLOS 2004; Membuster, Lee et al., USENIX Security 2020).
    AddressPattern = "address-pattern",
    /// The same with the data on the bus, and knowledge of the lines that either program writes.
    AddressAndData = "address-and-data",
    /// Acts as an operating system that loads records: replaces a node on the path by bytes that it chooses.
    OsWrongNode = "os-wrong-node",
    /// Loads the right node with a wrong position, depth or address.
    OsWrongPlace = "os-wrong-place",
    /// Swaps two siblings on the path.
    OsSwappedSiblings = "os-swapped-siblings",
    /// Requests the check of a node whose parent is only in the verification buffer.
    OsParentInBuffer = "os-parent-in-buffer",
    /// Loads the path from before the last permutation of the page: one pair of nodes, several, or all.
    OsStalePath = "os-stale-path",
    /// Passes the address of data, of a node of another process's tree, or of no node.
    OsWrongAddress = "os-wrong-address",
    /// Refuses service: returns at once, in the middle of its walk, or without loading the nodes that it checks.
    OsNoService = "os-no-service",
    /// Switches processes in the middle of a walk, and continues with nodes loaded before the switch, or with a path that was right then.
    OsReplayOverSwitch = "os-replay-over-switch",
    /// Loads the record of another page of the process, possibly with that page's lines in the frame of this one.
    OsOtherPage = "os-other-page",
    /// Swaps the mappings of two pages, and loads the records that belong to the frames.
    OsSwappedPages = "os-swapped-pages",
    /// Reads the registers after an interrupt, and the context that leaves the chip.
    ContextSpy = "context-spy",
    /// Changes a bit of a context outside the chip, or truncates it.
    ContextForge = "context-forge",
    /// Restores an old context, with and without the memory of that time, or restores the same context twice.
    ContextReplay = "context-replay",
    /// Lets a process continue with the memory of another.
    ContextSwap = "context-swap",
    /// Tampers, and collects the plaintext that leaves the chip before the verdict, also as the address of the next
    /// read.
    UseBeforeVerify = "use-before-verify",
    /// Guesses tags of 8, 10, 12 and 16 bits, and counts the accepted guesses.
    ShortTags = "short-tags",
    /// Makes a machine that keeps its key lose its counters, so that nonces repeat; solves for the hash key and forges
    /// (the forbidden attack, Joux 2006).
    ForbiddenAttack = "forbidden-attack",
    /// Garbles a control word of unknown content, so that it is no longer zero (blinded random corruption, Branco and
    /// Gueron, HOST 2016).
    BlindedCorruption = "blinded-corruption",
    /// Flips clusters of bits in neighbouring rows (Rowhammer, Kim et al., ISCA 2014).
    Rowhammer = "rowhammer",
    /// Removes the module with up to 10 % of its bits decayed, and searches it for keys, pads and plaintext (cold boot,
    /// Halderman et al., USENIX Security 2008).
    ColdBoot = "cold-boot",
    /// Does not tamper: an alarm would be false.
    FalseAlarm = "false-alarm",
    /// Tampers with a line and leaves it so: does memory release any line after the first report?
    Denial = "denial",
}

impl Attack {
    /// Returns true if the attack assumes a fault that no design here has. Reports list its result separately, because
    /// the result shows the consequence of the fault and no property of the design.
    pub fn is_hypothetical(self) -> bool {
        self == Attack::ForbiddenAttack
    }
}

named! {
    /// A loss of power under a memory that survives it.
    Loss:
    /// Cuts the power at every point of short workloads, with every subset of the writes under way, torn at eight
    /// bytes.
    PowerLoss = "power-loss",
    /// Cuts the power again while the machine recovers, up to three times, and lets it recover twice.
    LossInRecovery = "loss-in-recovery",
    /// Continues after recovery, with and without tampering, and searches for two texts under one pad.
    PadReuseAfterLoss = "pad-reuse-after-loss",
    /// Carries out every attack on memory at rest, and restores whole old images, before the machine recovers and continues; during
    /// re-encryption, the power fails once more in recovery.
    TamperingWhileOff = "tampering-while-off",
    /// Flips a bit of each kind of stored line while the battery works, and flips it back before the machine recovers and continues.
    TamperingOnBattery = "tampering-on-battery",
    /// Attacks while the machine runs, while its battery works and while power is off, over up to three sessions: histories are drawn
    /// at random.
    TamperingOverSessions = "tampering-over-sessions",
    /// Lets the battery die at some operation, and restores whole images of earlier sessions before the machine recovers and continues.
    BatteryLost = "battery-lost",
    /// Cuts the power of a machine without stored energy, so that it loses its write-pending queue, and continues.
    QueueLost = "queue-lost",
}

impl Loss {
    /// Returns true if the loss concerns a battery; designs without a battery have no cases of it.
    pub fn is_on_battery(self) -> bool {
        matches!(self, Loss::TamperingOnBattery | Loss::BatteryLost)
    }
}

/// For each row, an attack or a kind of loss, the worst end that a design admits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent, bound(deserialize = "Row: Ord + Deserialize<'de>"))]
pub struct Claims<Row>(BTreeMap<Row, End>);

impl<Row> Default for Claims<Row> {
    fn default() -> Claims<Row> {
        Claims(BTreeMap::new())
    }
}

impl<Row: Ord + Copy> Claims<Row> {
    /// The claim about a row, if any.
    pub fn about(&self, row: Row) -> Option<End> {
        self.0.get(&row).copied()
    }

    /// Replaces the claim about a row.
    pub fn set(&mut self, row: Row, end: End) {
        self.0.insert(row, end);
    }

    /// These claims, and the claims of `class` about all other rows.
    pub(crate) fn or(self, class: &Claims<Row>) -> Claims<Row> {
        self.or_where(class, |_| true)
    }

    /// These claims, and the claims of `class` about all other rows that `applies` accepts.
    pub(crate) fn or_where(mut self, class: &Claims<Row>, applies: impl Fn(Row) -> bool) -> Claims<Row> {
        class.0.iter().filter(|(row, _)| applies(**row)).for_each(|(row, end)| {
            self.0.entry(*row).or_insert(*end);
        });
        self
    }

    /// The rows with the same claim in both.
    #[cfg(test)]
    pub(crate) fn repeated<'a>(&'a self, class: &'a Claims<Row>) -> impl Iterator<Item = Row> + 'a {
        self.0.iter().filter(|(row, end)| class.0.get(row) == Some(end)).map(|(row, _)| *row)
    }

    /// The rows without a claim.
    pub(crate) fn missing(&self, rows: &'static [Row]) -> impl Iterator<Item = Row> + '_ {
        rows.iter().copied().filter(|row| !self.0.contains_key(row))
    }
}
