//! Closed forms of the operations of a drain in the worst case, under the paper's assumptions (section V). All lines
//! are dirty, and no two lines share a counter line or a path of the tree. Every look-up of metadata misses, and
//! tags are computed and not fetched. XOR and increments cost no energy.
//!
//! The paper prints no formula. These formulas reproduce its tables V and VI; the two tables need different formulas.

use crate::operations::{DrainTraffic, Operations};
use crate::profile::{EntryBits, Profile};
use crate::scheme::{Accounting, SecPbScheme, Step, System};
use units::LINE_BYTES;

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// Levels of a tree that an update does not fetch: the counters, which the counter's step fetches, and the root, which is on the chip.
const LEVELS_NOT_FETCHED: u64 = 2;

/// Hashes for each line of secure eADR that reproduce the published volume.
const HASHES_AS_PUBLISHED: u64 = 2;

/// The operations of a system's drain, for a buffer of `entries` entries and a tree of `levels` levels, including
/// counters and root.
pub fn operations(system: System, profile: &Profile, entries: u32, levels: u32) -> Operations {
    let (entries, tuple) = (u64::from(entries), late_work(&Step::CHAIN, levels));
    match system {
        // The battery also finishes the store that enters the buffer.
        System::Buffer(scheme) => per_entry(scheme, &profile.entry, levels) * entries + tuple,
        System::WholeEntries => from_secpb(profile.entry.bits()) * (entries + 1),
        System::SecureEadr(accounting) => {
            let hashed_lines = match accounting {
                Accounting::AsPublished => HASHES_AS_PUBLISHED,
                Accounting::Consistent => tuple.hashed_lines,
            };
            all_caches(profile) + Operations { hashed_lines, ..tuple } * lines(profile)
        }
        System::Bbb => from_secpb(u64::from(profile.entry.data_bits)) * entries,
        System::Eadr => all_caches(profile),
    }
}

/// The operations that each entry of a buffer adds: its late steps, and the transfer of the fields that these steps or
/// memory need.
pub fn per_entry(scheme: SecPbScheme, entry: &EntryBits, levels: u32) -> Operations {
    moved(scheme, entry) + late_work(scheme.late(), levels)
}

/// The transfer of the fields of an entry from the buffer to the memory controller when it drains.
pub fn moved(scheme: SecPbScheme, entry: &EntryBits) -> Operations {
    let is_early = |step| scheme.early().contains(&step);
    let if_early = |step, bits: u32| if is_early(step) { u64::from(bits) } else { 0 };
    // An early ciphertext replaces plaintext and pad. The root stays in its register.
    let text = match is_early(Step::Ciphertext) {
        true => u64::from(entry.ciphertext_bits),
        false => u64::from(entry.data_bits) + if_early(Step::Pad, entry.pad_bits),
    };
    let metadata = if_early(Step::Counter, entry.counter_bits) + if_early(Step::Tag, entry.tag_bits);
    from_secpb(text + metadata)
}

/// The operations of these steps.
fn late_work(steps: &[Step], levels: u32) -> Operations {
    steps.iter().fold(Operations::default(), |sum, step| sum + work(*step, levels))
}

fn work(step: Step, levels: u32) -> Operations {
    let (levels, none) = (u64::from(levels), Operations::default());
    match step {
        Step::Counter => Operations { fetched_lines: 1, ..none },
        Step::Pad => Operations { pads: 1, ..none },
        // The paper counts a hash for each level. A tree over the counters needs one hash less, because a counter
        // line contains no hashes.
        Step::Root => {
            Operations { fetched_lines: levels.saturating_sub(LEVELS_NOT_FETCHED), hashed_lines: levels, ..none }
        }
        Step::Ciphertext => none,
        Step::Tag => Operations { hashed_lines: 1, ..none },
    }
}

fn from_secpb(bits: u64) -> Operations {
    Operations { moved: DrainTraffic { from_secpb_bits: bits, ..DrainTraffic::default() }, ..Operations::default() }
}

fn all_caches(profile: &Profile) -> Operations {
    let caches = &profile.caches;
    let moved = DrainTraffic {
        from_l1_bits: 8 * caches.l1.0,
        from_l2_bits: 8 * caches.l2.0,
        from_l3_bits: 8 * caches.l3.0,
        ..DrainTraffic::default()
    };
    Operations { moved, ..Operations::default() }
}

fn lines(profile: &Profile) -> u64 {
    let DrainTraffic { from_l1_bits, from_l2_bits, from_l3_bits, .. } = all_caches(profile).moved;
    (from_l1_bits + from_l2_bits + from_l3_bits) / LINE_BITS
}
