//! What a design claims about attacks, as data: what its class says of each row, but for the rows that its file names.
//!
//! A claim is compared with what happens in both directions: a design that falls where it claims to stand is broken,
//! and a design that stands where it claims to fall has a stale claim. Either way something must be made right.

use crate::end::End;
use crate::named::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

named! {
    /// What an attacker does. Where it has been done in public, it has the name that it has there.
    Attack:
    /// Writes bytes of its own over a line of data.
    SpoofData = "spoof-data",
    /// Writes bytes of its own over a stored tag.
    SpoofTag = "spoof-tag",
    /// Writes bytes of its own over a line of counters.
    SpoofCounter = "spoof-counter",
    /// Writes bytes of its own over a node of the tree.
    SpoofNode = "spoof-node",
    /// Flips one chosen bit of a line of data.
    FlipData = "flip-data",
    /// Flips one bit of a stored tag.
    FlipTag = "flip-tag",
    /// Flips one bit of a line of counters.
    FlipCounter = "flip-counter",
    /// Flips one bit of a node of the tree.
    FlipNode = "flip-node",
    /// Flips one bit of a table of owners.
    FlipOwner = "flip-owner",
    /// Random bytes instead of a line of bitmaps, which say how the words of re-ordered lines are put back.
    SpoofBitmap = "spoof-bitmap",
    /// Flips a bit in a line of bitmaps.
    FlipBitmap = "flip-bitmap",
    /// Brings back an old line of bitmaps.
    ReplayBitmap = "replay-bitmap",
    /// Puts the data of one line in the place of another.
    SpliceData = "splice-data",
    /// Puts the data and the tag of one line in the place of another.
    SpliceDataTag = "splice-data-tag",
    /// Puts the data, the tag and the counters of one line in the place of another.
    SpliceDataTagCounter = "splice-data-tag-counter",
    /// Puts a chunk of frequent values with its tag in the place of another: one from another position of the line, from another
    /// line, or from an earlier time, there also with the counters of then.
    CandidateSplice = "candidate-splice",
    /// Brings back an old version of the data.
    ReplayData = "replay-data",
    /// Brings back an old version of the data and its tag.
    ReplayDataTag = "replay-data-tag",
    /// Brings back an old version of the data, its tag and its counters.
    ReplayDataTagCounter = "replay-data-tag-counter",
    /// Waits until L2s have copies of a line's counters and the line is written, and brings back its old data and tag: does an
    /// L2 still believe its copy?
    StaleCopy = "stale-copy",
    /// Gives two reads of two cores each other's answer: the data with its spare bits.
    CrossedReplies = "crossed-replies",
    /// Brings back an old version of everything in memory below some level of the tree, for each level.
    ReplayBelowLevel = "replay-below-level",
    /// Puts a line of a memory under another key in the place of the same line, alone, with its tag, and with its counters.
    CrossKeySplice = "cross-key-splice",
    /// Brings back an old image of the whole memory while the machine is off.
    PowerOffRollback = "power-off-rollback",
    /// Brings back old counters, alone or with what lies below and above them, and lets the victim write on.
    RollbackThenWrite = "rollback-then-write",
    /// Brings back old bytes of a group just before its counters overflow, and lets the victim write on.
    RollbackThenOverflow = "rollback-then-overflow",
    /// Brings back old bytes while the machine is off, and lets the victim write on when it is on again.
    RollbackThenReboot = "rollback-then-reboot",
    /// Forges the counters of a line that is read for the first time, puts them back, lets the line be written, and brings
    /// back what the first read had left in memory.
    ForgedBoot = "forged-boot",
    /// Strikes now and then and takes some of it back, while the victim writes, reads and lets its metadata go.
    TamperedHistory = "tampered-history",
    /// Swaps two nodes of the tree, or two lines of counters, that stand side by side.
    SwapSiblings = "swap-siblings",
    /// Puts a node of the tree in the place of one at another level.
    NodeOfOtherLevel = "node-of-other-level",
    /// Puts a line of counters in the place of a line of data.
    CounterAsData = "counter-as-data",
    /// Drops writes on the bus while the victim runs.
    DropWrite = "drop-write",
    /// Holds writes back on the bus until after the next ones.
    DelayWrite = "delay-write",
    /// Lets writes pass, and repeats them after the next ones.
    DuplicateWrite = "duplicate-write",
    /// Exchanges two successive writes of a place on the bus.
    ReorderWrites = "reorder-writes",
    /// Makes the module lie about its size from power-on, so that ghost addresses reach the victim's cells
    /// (BadRAM, De Meulemeester et al., S&P 2025).
    Badram = "badram",
    /// Switches an alias of addresses on and off while the victim runs, after every check at power-on
    /// (Battering RAM, De Meulemeester et al., 2025).
    BatteringRam = "battering-ram",
    /// Reads a line through the controller, as another tenant or as the hypervisor, which do without the tenant's keys.
    ForeignRead = "foreign-read",
    /// Writes a line through the controller, as another tenant or as the hypervisor.
    ForeignWrite = "foreign-write",
    /// Maps one of the victim's pages where another of them should be
    /// (SEVered, Morbitzer et al., EuroSec 2018).
    RemapPage = "remap-page",
    /// Writes into the table of owners on the bus; then puts back old ciphertext as the owner, or maps one page in the place
    /// of another (BadRAM's way into the reverse map table of SEV-SNP).
    SpoofOwner = "spoof-owner",
    /// Looks on the bus whether the same ciphertext comes back when a line is written with what it held before.
    BusRepeat = "bus-repeat",
    /// Collects on the bus the ciphertext of each of 256 values of a line, then looks a secret one up
    /// (WireTap and TEE.fail, 2025).
    BusDictionary = "bus-dictionary",
    /// Looks as the hypervisor, by reading through the controller, whether the same ciphertext comes back
    /// (CipherLeaks, Li et al., USENIX Security 2021).
    SoftwareRepeat = "software-repeat",
    /// Collects as the hypervisor, by reading through the controller, the ciphertext of each of 256 values of a line, then looks
    /// a secret one up.
    SoftwareDictionary = "software-dictionary",
    /// Takes one image of many lines of zeros, or of eight values, and looks whether their ciphertext passes for random bytes.
    CiphertextHistogram = "ciphertext-histogram",
    /// Times on the bus how soon after the fetch of a line the one begins that depends on it: does that tell a line of
    /// frequent values from another?
    ValueTiming = "value-timing",
    /// Looks at the addresses on the bus, knowing two programs that access the same chunks in the same order: which of them runs?
    /// (HIDE, Zhuang, Zhang and Pande, ASPLOS 2004; Membuster, Lee et al., USENIX Security 2020).
    AddressPattern = "address-pattern",
    /// The same, knowing also what either program writes, and looking at the data on the bus.
    AddressAndData = "address-and-data",
    /// As an operating system that brings records: puts bytes of its own in the place of a node on the path.
    OsWrongNode = "os-wrong-node",
    /// Loads the right node under another position or depth, or from the address of another.
    OsWrongPlace = "os-wrong-place",
    /// Swaps two siblings of the path.
    OsSwappedSiblings = "os-swapped-siblings",
    /// Has a node checked while its parent is in the verification buffer alone.
    OsParentInBuffer = "os-parent-in-buffer",
    /// Loads the path as it was before the page was permuted: one pair of it, some, or all.
    OsStalePath = "os-stale-path",
    /// Gives the address of data, of a node of another process's tree, or of nothing.
    OsWrongAddress = "os-wrong-address",
    /// Refuses service: returns at once, in the middle of its walk, or without having loaded what it checks.
    OsNoService = "os-no-service",
    /// Switches processes in the middle of a walk, and goes on with what it loaded before; or with a path that was right then.
    OsReplayOverSwitch = "os-replay-over-switch",
    /// Brings the record of another page of the process.
    OsOtherPage = "os-other-page",
    /// Maps two pages the wrong way round, and brings the records that belong to the frames.
    OsSwappedPages = "os-swapped-pages",
    /// Looks at what an interrupt leaves in the registers, and at the context that leaves the chip.
    ContextSpy = "context-spy",
    /// Changes a bit of a context outside the chip, or cuts it short.
    ContextForge = "context-forge",
    /// Brings back an old context, alone and with the memory of its time, or the same one twice.
    ContextReplay = "context-replay",
    /// Lets a process go on over the memory of another.
    ContextSwap = "context-swap",
    /// Tampers, and takes what leaves the chip before the verdict, also as the address of the next read.
    UseBeforeVerify = "use-before-verify",
    /// Guesses tags of 8, 10, 12 and 16 bits, and counts how many pass.
    ShortTags = "short-tags",
    /// Makes a machine that keeps its key lose its counters, so that nonces repeat; solves for the hash key and forges
    /// (the forbidden attack, Joux 2006).
    ForbiddenAttack = "forbidden-attack",
    /// Garbles a control word without knowing its content, so that it is no longer zero
    /// (blinded random corruption, Branco and Gueron, HOST 2016).
    BlindedCorruption = "blinded-corruption",
    /// Flips clusters of bits in neighbouring rows (Rowhammer, Kim et al., ISCA 2014).
    Rowhammer = "rowhammer",
    /// Takes the module away with up to 10 % of its bits decayed, and looks for keys, pads and plaintext
    /// (cold boot, Halderman et al., USENIX Security 2008).
    ColdBoot = "cold-boot",
    /// Does nothing: an alarm would be false.
    FalseAlarm = "false-alarm",
    /// Tampers with a line and leaves it so: what is released after the first report?
    Denial = "denial",
}

impl Attack {
    /// Whether it assumes a fault that no design here has. What it comes to is then no outcome of the design, and stands apart
    /// from those: it says what the fault would cost.
    pub fn is_hypothetical(self) -> bool {
        self == Attack::ForbiddenAttack
    }
}

named! {
    /// What a loss of power does to a memory that survives it.
    Loss:
    /// Cuts the power at every point of short workloads, with every subset of what was on its way, torn at eight bytes.
    PowerLoss = "power-loss",
    /// Cuts it again while the machine recovers, up to three times, and lets it recover twice.
    LossInRecovery = "loss-in-recovery",
    /// Goes on after recovery, with tampering and without, and looks for two texts under one pad.
    PadReuseAfterLoss = "pad-reuse-after-loss",
    /// Carries out every attack on memory at rest, and brings back whole old images, before the machine recovers and goes on;
    /// where lines were being re-encrypted, the power fails once more during recovery.
    TamperingWhileOff = "tampering-while-off",
    /// Flips a bit of each kind of stored line while the battery works, and flips it back before the machine recovers and goes on.
    TamperingOnBattery = "tampering-on-battery",
    /// Lets the battery die at some operation, and brings back whole images of earlier sessions before the machine recovers and
    /// goes on.
    BatteryLost = "battery-lost",
    /// Cuts the power of a machine without stored energy, whose write-pending queue is lost, and goes on.
    QueueLost = "queue-lost",
}

impl Loss {
    /// Whether it is about a battery, so that designs without one have no cases of it.
    pub fn is_on_battery(self) -> bool {
        matches!(self, Loss::TamperingOnBattery | Loss::BatteryLost)
    }
}

/// The worst end of each row that a design admits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent, bound(deserialize = "Row: Ord + Deserialize<'de>"))]
pub struct Claims<Row>(BTreeMap<Row, End>);

impl<Row> Default for Claims<Row> {
    fn default() -> Claims<Row> {
        Claims(BTreeMap::new())
    }
}

impl<Row: Ord + Copy> Claims<Row> {
    /// What is claimed about a row.
    pub fn about(&self, row: Row) -> Option<End> {
        self.0.get(&row).copied()
    }

    /// Claims something else about a row.
    pub fn set(&mut self, row: Row, end: End) {
        self.0.insert(row, end);
    }

    /// These, and about every other row what `class` claims.
    pub(crate) fn or(self, class: &Claims<Row>) -> Claims<Row> {
        self.or_where(class, |_| true)
    }

    /// These, and about every other row that `applies` what `class` claims.
    pub(crate) fn or_where(mut self, class: &Claims<Row>, applies: impl Fn(Row) -> bool) -> Claims<Row> {
        class.0.iter().filter(|(row, _)| applies(**row)).for_each(|(row, end)| {
            self.0.entry(*row).or_insert(*end);
        });
        self
    }

    /// The rows about which both claim the same.
    #[cfg(test)]
    pub(crate) fn repeated<'a>(&'a self, class: &'a Claims<Row>) -> impl Iterator<Item = Row> + 'a {
        self.0.iter().filter(|(row, end)| class.0.get(row) == Some(end)).map(|(row, _)| *row)
    }

    /// The rows about which nothing is claimed.
    pub(crate) fn missing(&self, rows: &'static [Row]) -> impl Iterator<Item = Row> + '_ {
        rows.iter().copied().filter(|row| !self.0.contains_key(row))
    }
}
