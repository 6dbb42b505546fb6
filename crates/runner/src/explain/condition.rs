//! The condition of a machine when an access is explained: the metadata on the chip, and an idle memory.

use catalogue::Machine;
use machine::memory::DeviceConfig;
use protection::execution::{Timed, TimedMemory};
use protection::moving::LINES_PER_PAGE_CHUNK;
use protection::scheme::{FixedScheme, RecordPort, Scheme};
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use strum::VariantArray;
use units::{Cycles, Duration, LINES_PER_PAGE, LineAddr, Time, Word};

/// Metadata of the line that is on the chip when the access begins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum OnChipMetadata {
    /// No metadata: the walk goes up to the root.
    #[default]
    Nothing,
    /// The nodes of the tree above the line's counter.
    Tree,
    /// The tree, and the counter in the last-level cache. Under a design that does not keep counters in this cache,
    /// only the tree is on the chip.
    LastLevel,
    /// The tree and the counter, in the controller's cache.
    Counter,
    /// The counter and the tag; also the line's offset, if the design keeps offsets.
    All,
}

/// Lines of data in the memory of a machine.
pub fn memory_lines(machine: &Machine) -> u64 {
    machine.data_lines().count
}

/// Number of lines that share a counter line; without counters, the lines of a page.
pub(super) fn lines_per_group(scheme: &Scheme) -> u64 {
    scheme.fixed().and_then(FixedScheme::lines_per_counter_line).unwrap_or(LINES_PER_PAGE as u64)
}

/// Loads exactly the required metadata by a read of another line. The other line shares the parents of the counter
/// line, the counter line itself, or the tag line with the target, as required.
pub(super) async fn prepare(scheme: &Scheme, memory: &Rc<TimedMemory>, target: LineAddr, on_chip: OnChipMetadata) {
    if let Some(records) = RecordPort::of(scheme) {
        return load_records(records, memory, target, on_chip).await;
    }
    let Some(fixed) = scheme.fixed() else { return };
    let group = lines_per_group(scheme);
    let before = match on_chip {
        OnChipMetadata::Nothing => return,
        OnChipMetadata::Tree => target.0 ^ group,
        OnChipMetadata::LastLevel | OnChipMetadata::Counter => target.0 ^ (group / 2),
        // Only a read of the line itself loads a tag that fills a whole line, or the line's offset.
        OnChipMetadata::All if fixed.cryptography().keeps_offsets() => target.0,
        OnChipMetadata::All if fixed.tag_slot(LineAddr(target.0 ^ 2)) != fixed.tag_slot(target) => target.0,
        OnChipMetadata::All => target.0 ^ 2,
    };
    scheme.read_at_controller(&Timed::new(memory), LineAddr(before), Word::FIRST).await;
    if let (OnChipMetadata::LastLevel, Some(slot)) = (on_chip, fixed.counter_slot(target)) {
        fixed.on_chip(|chip| chip.caches.hand_on_counters(slot));
    }
}

/// Loads the required page records and tree nodes by a walk: for the page itself, or for another page with a record
/// under the same nodes.
async fn load_records(records: RecordPort<'_>, memory: &Rc<TimedMemory>, target: LineAddr, on_chip: OnChipMetadata) {
    let before = match on_chip {
        OnChipMetadata::Nothing => return,
        OnChipMetadata::Tree => target.0 ^ (2 * LINES_PER_PAGE_CHUNK),
        OnChipMetadata::LastLevel | OnChipMetadata::Counter | OnChipMetadata::All => target.0,
    };
    // Without an attacker, the walk cannot fail.
    let _ = records.slot_of(&Timed::new(memory), LineAddr(before)).await;
}

/// A moment at which the memory is idle. If the device needs refresh, it has just been refreshed, so the next refresh
/// is not due soon.
pub(super) fn at_rest(device: &DeviceConfig, now: Time) -> Time {
    let settled = now + Duration::from_ns(1_000);
    match device {
        DeviceConfig::Dram(dram) if dram.timing.trefi > 0 => {
            let clock = device.clock();
            let period = clock.span(Cycles(dram.timing.trefi)).as_fs();
            let refresh = settled.as_fs().div_ceil(period) * period;
            Time::from_fs(refresh) + clock.span(Cycles(2 * dram.timing.trfc))
        }
        DeviceConfig::Dram(_) | DeviceConfig::Pcm(_) => settled,
    }
}
