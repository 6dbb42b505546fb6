//! What a drain does at the worst, by the paper's assumptions: all is dirty, no two lines share counters or a path of the
//! tree, every look-up of metadata misses, tags are computed and not fetched, XOR and counting are free (section V).
//!
//! The paper prints no formula. These are the ones from which its tables follow; where two of its tables follow from two,
//! there are two.

use crate::operations::{Moved, Operations};
use crate::profile::{Entry, Profile};
use crate::scheme::{Accounting, Scheme, Step, System};
use units::LINE_BYTES;

const LINE_BITS: u64 = 8 * LINE_BYTES as u64;

/// Levels of a tree that no update fetches: the counters, which the counter's step brings, and the root, which is on the chip.
const LEVELS_NOT_FETCHED: u64 = 2;

/// Hashes of a line of secure eADR in the published volume.
const HASHES_AS_PUBLISHED: u64 = 2;

/// What a drain of a system does, with so many entries of a buffer and a tree of so many levels, counters and root included.
pub fn operations(system: System, profile: &Profile, entries: u32, levels: u32) -> Operations {
    let (entries, tuple) = (u64::from(entries), late_work(&Step::CHAIN, levels));
    match system {
        // The battery also finishes the store that is entering the buffer.
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

/// What each entry of a buffer adds: the steps that were left, and the move of what those need or memory stores.
pub fn per_entry(scheme: Scheme, entry: &Entry, levels: u32) -> Operations {
    moved(scheme, entry) + late_work(scheme.late(), levels)
}

/// What of an entry goes from the buffer to the memory controller when it drains.
pub fn moved(scheme: Scheme, entry: &Entry) -> Operations {
    let is_early = |step| scheme.early().contains(&step);
    let if_early = |step, bits: u32| if is_early(step) { u64::from(bits) } else { 0 };
    // Where the line is encrypted already, neither plaintext nor pad is needed. The root stays in its register.
    let text = match is_early(Step::Ciphertext) {
        true => u64::from(entry.ciphertext_bits),
        false => u64::from(entry.data_bits) + if_early(Step::Pad, entry.pad_bits),
    };
    let metadata = if_early(Step::Counter, entry.counter_bits) + if_early(Step::Tag, entry.tag_bits);
    from_secpb(text + metadata)
}

/// What these steps take.
fn late_work(steps: &[Step], levels: u32) -> Operations {
    steps.iter().fold(Operations::default(), |sum, step| sum + work(*step, levels))
}

fn work(step: Step, levels: u32) -> Operations {
    let (levels, none) = (u64::from(levels), Operations::default());
    match step {
        Step::Counter => Operations { fetched_lines: 1, ..none },
        Step::Pad => Operations { pads: 1, ..none },
        // The paper hashes once a level. A tree over the counters hashes once less: nothing hashes into them.
        Step::Root => {
            Operations { fetched_lines: levels.saturating_sub(LEVELS_NOT_FETCHED), hashed_lines: levels, ..none }
        }
        Step::Ciphertext => none,
        Step::Tag => Operations { hashed_lines: 1, ..none },
    }
}

fn from_secpb(bits: u64) -> Operations {
    Operations { moved: Moved { from_secpb_bits: bits, ..Moved::default() }, ..Operations::default() }
}

fn all_caches(profile: &Profile) -> Operations {
    let caches = &profile.caches;
    let moved = Moved {
        from_l1_bits: 8 * caches.l1.0,
        from_l2_bits: 8 * caches.l2.0,
        from_l3_bits: 8 * caches.l3.0,
        ..Moved::default()
    };
    Operations { moved, ..Operations::default() }
}

fn lines(profile: &Profile) -> u64 {
    let Moved { from_l1_bits, from_l2_bits, from_l3_bits, .. } = all_caches(profile).moved;
    (from_l1_bits + from_l2_bits + from_l3_bits) / LINE_BITS
}
