//! Checks that the kit finds each bug that is planted in a part, for the right reason.
//!
//! Each case names a bug, the function of the kit that must find it, a part of the message, and a function that must
//! not find it.

use super::{Checked, buffered, composition, durable, eager, forest};
use super::{
    aged, boot, buffer, cipher, code, copies, counters, design, forests, halts, keys, moving, moving_in_background,
    processes, records, recovery, system_walks, tlb_walks, tree,
};
use crate::design::{CipherChoice, CounterChoice, Covered, MacChoice, MacDesign, Parts, TreeDesign, TreeKind};
use crate::planted::{Bug, PageChunkBug, PlantedBug};

/// A function of the kit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    Cipher,
    Code,
    Counters,
    Tree,
    Design,
    Keys,
    Boot,
    Buffer,
    Aged,
    Copies,
    Forests,
    Recovery,
    Halts,
    Records,
    SystemWalks,
    TlbWalks,
    Moving,
    Background,
    Processes,
}

/// Returns the composition in which the bug is planted. Each function of the kit has a part to check in it.
fn parts(bug: Bug) -> Parts {
    use Bug as B;
    let mac = MacDesign { code: MacChoice::Gmac, ..MacDesign::default() };
    let versions = TreeDesign { levels: vec![CounterChoice::Mono56], root_lines: 4, ..TreeKind::Counters.into() };
    let with = |counters, tree| composition(CipherChoice::Aes128Counter, counters, &mac, tree);
    match bug {
        B::ZccSizeNotStepped
        | B::MorphableLargestBeforeWrite
        | B::MorphableToUniformKeepsMajor
        | B::MorphableRebaseLosesBase
        | B::MorphableRebaseLosesWrite
        | B::SetOverflowForgetsOtherHalf
        | B::MorphableBaseWraps
        | B::MorphableNextBlockOnly => with(CounterChoice::Morphable, &TreeKind::Bonsai.into()),
        B::ExhaustedWraps
        | B::MacWithoutVersion
        | B::EmbeddedMacUnchecked
        | B::SealedUnderOldVersion
        | B::MacAddressTruncated
        | B::RootLinesShared => with(CounterChoice::Mono56, &versions),
        B::BlankChildStaysZeros => {
            let levels = TreeDesign { levels: vec![CounterChoice::Sc128], ..TreeKind::Counters.into() };
            with(CounterChoice::Vault32, &levels)
        }
        B::AddressWithoutHighBits | B::OneKeyForDataAndTweak => {
            Parts { cipher: CipherChoice::Aes128Xts, ..with(CounterChoice::Sc64, &TreeKind::Bonsai.into()) }
        }
        B::OneKeyForTagsAndTree => {
            let covers = vec![Covered::Address, Covered::Counter];
            let mac = MacDesign { code: MacChoice::Cmac, covers, ..mac };
            composition(CipherChoice::Aes128Counter, CounterChoice::Sc64, &mac, &TreeKind::Bonsai.into())
        }
        B::WideTagComparedShort => {
            let mac = MacDesign { code: MacChoice::HmacSha256, covers: vec![Covered::Address], ..mac };
            let mac = mac.with_line_bits(256);
            composition(CipherChoice::Aes128Counter, CounterChoice::Sc64, &mac, &TreeKind::Bonsai.into())
        }
        B::FirstPieceUnchecked | B::LastChunkTagNotCompared | B::ChunkTagsComparedAsSet | B::ChunkIndexMissing => {
            let mac = MacDesign { code: MacChoice::OcbChunks, ..mac }.with_chunk_bits(64);
            composition(CipherChoice::TdesOcbChunks, CounterChoice::Sc64, &mac, &TreeKind::Bonsai.into())
        }
        B::CopiesOutliveWrites | B::CopiesOutliveRenewals | B::OutdatedCopyEnters | B::VoidCountersServe => eager(),
        B::FoldLosesNews | B::FoldKeepsNews | B::RootDropped | B::RaiseStopsEarly => forest(),
        // With early counters, which are ahead of the text in memory.
        B::BufferPassedByReads | B::BatteryStopsEarly | B::EntryOutlivesTuple | B::NotCounted => {
            buffered().swap_remove(2)
        }
        bug if Bug::AFTER_LOSSES.contains(&bug) => durable().swap_remove(0),
        _ => with(CounterChoice::Sc64, &TreeKind::Bonsai.into()),
    }
}

fn run(check: Check, parts: &Parts, planted: PlantedBug) -> Checked {
    match check {
        Check::Cipher => cipher::check(parts.cipher, planted),
        Check::Code => code::check(&parts.mac, parts.cipher, planted),
        Check::Counters => counters::check(parts.counters, planted),
        Check::Tree => tree::check(parts, planted),
        Check::Design => design::check(parts, planted),
        Check::Keys => keys::check(parts, planted),
        Check::Boot => boot::check(parts, planted),
        Check::Aged => aged::check(parts, planted),
        Check::Copies => copies::check(parts, planted),
        Check::Forests => forests::check(parts, planted),
        Check::Buffer => buffer::check(parts, planted),
        Check::Recovery => recovery::check(parts, planted),
        Check::Halts => halts::check(parts, planted),
        Check::Records => records::check(planted),
        Check::SystemWalks => system_walks::check(planted),
        Check::TlbWalks => tlb_walks::check(planted),
        Check::Moving => moving::check(planted),
        Check::Background => moving_in_background::check(planted),
        Check::Processes => processes::check(planted),
    }
}

/// Bug, function that finds it, part of the function's message, and function that does not find it.
type Case = (Bug, Check, &'static str, Check);

fn cases() -> Vec<Case> {
    use Check::{Aged, Boot, Cipher, Code, Copies, Counters, Design, Forests, Keys, Tree};
    let mut cases = vec![
        (Bug::PadWithoutAddress, Cipher, "the place is not in the ciphertext", Code),
        (Bug::PadAddressTruncated, Cipher, "the place is not in the ciphertext", Counters),
        (Bug::PadWithoutCounter, Cipher, "the version is not in the ciphertext", Tree),
        (Bug::PadCounterTruncated, Cipher, "the version is not in the ciphertext", Design),
        (Bug::BlockIndexMissing, Cipher, "equal blocks of a line look equal", Design),
        (Bug::TagWithoutAddress, Code, "the tag of ", Cipher),
        (Bug::TagAddressTruncated, Code, "the tag of ", Cipher),
        (Bug::TagNamesLineOfTags, Code, "the tag of ", Tree),
        (Bug::TagWithoutCounter, Code, "the tag of Counter", Counters),
        (Bug::TagCounterTruncated, Code, "the tag of Counter", Design),
        (Bug::TagWithoutLastBlock, Code, "flipped bits of the text still fit: [384, 385,", Counters),
        (Bug::TagCutShort, Code, "some bits of a tag are always zero", Design),
        (Bug::ShortComparison, Code, "bit 8 of a stored tag is not compared", Cipher),
        (Bug::SpareTagBitsIgnored, Code, "bit 56 of a stored tag is not compared", Tree),
        (Bug::WideTagComparedShort, Code, "bit 0 of a stored tag is not compared", Keys),
        (Bug::FirstPieceUnchecked, Design, "bit 0 of the data comes out before the line is refused", Code),
        (Bug::LastChunkTagNotCompared, Code, "bit 0 of a stored tag is not compared", Keys),
        (Bug::ChunkTagsComparedAsSet, Code, "the tags of chunks 0 and 1 fit when swapped", Design),
        (Bug::ChunkIndexMissing, Code, "chunks 0 and 1 fit when swapped with their tags", Design),
        (Bug::ZeroTagFits, Code, "a stored tag fits every line", Design),
        (Bug::OneTagKey, Code, "the key survives a boot", Design),
        (Bug::CounterNotAdvanced, Counters, "a write did not advance the counter at 0", Code),
        (Bug::ExhaustedWraps, Counters, "went back", Design),
        (Bug::MinorWraps, Counters, "went back", Design),
        (Bug::MajorNotAdvanced, Counters, "went back", Design),
        (Bug::GroupOffByOne, Counters, "line 0x3f is not at its own position 63 of group 1", Cipher),
        (Bug::PositionTruncated, Counters, "line 0x20 is not at its own position 0 of group 0", Code),
        (Bug::ZccSizeNotStepped, Counters, "a write of", Design),
        (Bug::MorphableLargestBeforeWrite, Counters, "went back", Design),
        (Bug::MorphableToUniformKeepsMajor, Counters, "went back", Design),
        (Bug::MorphableRebaseLosesBase, Counters, "went back", Design),
        (Bug::MorphableRebaseLosesWrite, Counters, "a write did not advance the counter", Design),
        (Bug::SetOverflowForgetsOtherHalf, Counters, "a write of", Design),
        (Bug::MorphableBaseWraps, Counters, "went back", Design),
        (Bug::MorphableNextBlockOnly, Counters, "went back", Design),
        (Bug::NodeWithoutAddress, Tree, "the child of slot ", Design),
        (Bug::NodeAddressTruncated, Tree, "the child of slot ", Design),
        (Bug::ShortHashComparison, Tree, "of a child is not covered", Design),
        (Bug::BlankFits, Tree, "counter: a written line passes for a blank one", Design),
        (Bug::ChildrenShareEntries, Tree, "shares its place in its parent, Parent { node: Stored", Counters),
        (Bug::RootLinesShared, Tree, "shares its place in its parent, Parent { node: Root(0)", Code),
        (Bug::ParentNotUpdated, Tree, "counter: a child does not fit the parent that was told", Cipher),
        (Bug::RootNotUpdated, Tree, "tree level ", Counters),
        (Bug::MacWithoutVersion, Tree, "counter: an old child still fits", Code),
        (Bug::EmbeddedMacUnchecked, Tree, "counter: a written line passes for a blank one", Cipher),
        (Bug::SealedUnderOldVersion, Tree, "counter: a child does not fit the parent that was told", Counters),
        (Bug::MacAddressTruncated, Tree, "fits far away, at ", Design),
        (Bug::AddressWithoutHighBits, Cipher, "the place is not in the ciphertext", Design),
        (Bug::OneKeyForDataAndTweak, Keys, "one key encrypts data and tweaks", Cipher),
        (Bug::OneKeyForDataAndTags, Keys, "one key encrypts data and authenticates it", Code),
        (Bug::OneKeyForTagsAndTree, Keys, "one key authenticates data and makes the tree", Tree),
        (Bug::BootUnderNextCounter, Boot, "what the machine started with does not read right at first", Design),
        (Bug::BlankFits, Aged, "a written group passes for one that was never written", Counters),
        (Bug::BlankChildStaysZeros, Aged, "does not read right after its neighbour was written often", Boot),
        (Bug::CopiesOutliveWrites, Copies, "goes on with counters from before a write", Design),
        (Bug::CopiesOutliveRenewals, Copies, "goes on with counters from before an overflow", Design),
        (Bug::OutdatedCopyEnters, Copies, "an outdated copy of counters entered an L2", Design),
        (Bug::VoidCountersServe, Copies, "lets an L2 go on with counters that have changed", Design),
        (Bug::MajorCutShort, Counters, "of a counter line is in use and counts for nothing", Design),
        (Bug::RaiseStopsEarly, Forests, "before everybody above knew", Design),
        (Bug::FoldLosesNews, Forests, "a fold lost what its root had heard", Design),
        (Bug::FoldKeepsNews, Forests, "before everybody above knew", Design),
        (Bug::RootDropped, Forests, "a fold lost what its root had heard", Design),
    ];
    cases.extend(of_records().into_iter().chain(of_systems()).chain(of_processes()).chain(after_losses()));
    cases
}

/// Cases for bugs in records of page chunks.
fn of_records() -> [Case; 23] {
    use Check::{Background, Design, Moving, Records, Tree};
    [
        (Bug::OfPageChunks(PageChunkBug::RecordVectorRepeats), Records, "an initial vector serves twice", Design),
        (Bug::OfPageChunks(PageChunkBug::RecordVectorUnhashed), Records, "bit 0 of record is not covered", Tree),
        (Bug::OfPageChunks(PageChunkBug::RecordSpareIgnored), Records, "bit 384 of record is not covered", Tree),
        (
            Bug::OfPageChunks(PageChunkBug::RecordWalkALevelShort),
            Records,
            "an old record is accepted with the nodes of its time",
            Tree,
        ),
        (Bug::OfPageChunks(PageChunkBug::RecordTableKept), Records, "keeps its table", Design),
        (Bug::OfPageChunks(PageChunkBug::PadNumberKept), Records, "a number for pads serves twice", Design),
        (
            Bug::OfPageChunks(PageChunkBug::MerkleCacheUnverified),
            Records,
            "is refused though nothing is forged",
            Moving,
        ),
        (Bug::OfPageChunks(PageChunkBug::MerkleCacheStale), Records, "is not the one that was drawn last", Moving),
        (Bug::OfPageChunks(PageChunkBug::CachedRecordUnverified), Records, "is read wrong after a forgery", Moving),
        (Bug::OfPageChunks(PageChunkBug::CachedRecordStale), Records, "is not the one that was drawn last", Moving),
        (
            Bug::OfPageChunks(PageChunkBug::CodeWithoutRecord),
            Moving,
            "a line of an earlier permutation is accepted",
            Records,
        ),
        (Bug::OfPageChunks(PageChunkBug::CodeWithoutSlot), Moving, "is accepted for line", Records),
        (
            Bug::OfPageChunks(PageChunkBug::PermutationTrustsMemory),
            Moving,
            "a permutation takes a forged line",
            Records,
        ),
        (Bug::OfPageChunks(PageChunkBug::StoreLeavesUnlocked), Moving, "does not read as it was stored", Records),
        (Bug::OfPageChunks(PageChunkBug::FillLeavesUnlocked), Moving, "crosses the bus twice", Records),
        (Bug::OfPageChunks(PageChunkBug::PermutationIgnoresCache), Moving, "does not read as it was stored", Records),
        (Bug::OfPageChunks(PageChunkBug::CachedSlotsNotRead), Moving, "is written before the last read", Records),
        (Bug::OfPageChunks(PageChunkBug::CodeOfFirstLine), Moving, "of a line is not covered", Records),
        (Bug::OfPageChunks(PageChunkBug::BufferKeepsTranslated), Moving, "is not read right by TLBs", Records),
        (Bug::OfPageChunks(PageChunkBug::BackgroundWritesUnchecked), Background, "has checked all slots", Moving),
        (Bug::OfPageChunks(PageChunkBug::UnusedLinesBlank), Moving, "leaves a blank slot", Records),
        (Bug::OfPageChunks(PageChunkBug::StartedUpLinesBoot), Moving, "hid two texts in epoch", Records),
        (
            Bug::OfPageChunks(PageChunkBug::HaltIgnored),
            Moving,
            "a chip that has given a permutation up goes on",
            Records,
        ),
    ]
}

/// Cases for bugs in records that an operating system loads.
fn of_systems() -> [Case; 11] {
    use Check::{Records, SystemWalks, TlbWalks, Tree};
    [
        (
            Bug::OfPageChunks(PageChunkBug::ParentFromBuffer),
            SystemWalks,
            "a parent in the buffer vouches for a record",
            Records,
        ),
        (Bug::OfPageChunks(PageChunkBug::DepthUnchecked), SystemWalks, "a pair passes at another depth", Records),
        (
            Bug::OfPageChunks(PageChunkBug::VerificationBufferKept),
            SystemWalks,
            "a line of the buffer outlives a switch",
            Records,
        ),
        (Bug::OfPageChunks(PageChunkBug::MerkleCacheKept), SystemWalks, "the Merkle cache outlives a switch", Tree),
        (Bug::OfPageChunks(PageChunkBug::VerificationBufferStale), SystemWalks, "meets the exception", Records),
        (
            Bug::OfPageChunks(PageChunkBug::PathsReadTogether),
            TlbWalks,
            "two writes at once leave a record that is not the last",
            SystemWalks,
        ),
        (
            Bug::OfPageChunks(PageChunkBug::WalksDuringCommit),
            TlbWalks,
            "an honest walk is refused while a record is written",
            SystemWalks,
        ),
        (Bug::OfPageChunks(PageChunkBug::TlbWalkUnlocked), TlbWalks, "a TLB keeps a record from before", Records),
        (
            Bug::OfPageChunks(PageChunkBug::VerificationBufferEmptiedEarly),
            TlbWalks,
            "an honest walk is refused while a record is written",
            SystemWalks,
        ),
        (Bug::OfPageChunks(PageChunkBug::HardwareWalksEvict), SystemWalks, "meets the exception", Records),
        (Bug::OfPageChunks(PageChunkBug::EmptyLineRaises), SystemWalks, "an empty line raises the exception", Records),
    ]
}

/// Cases for bugs in switches of processes.
fn of_processes() -> [Case; 3] {
    use Check::{Processes, Records};
    [
        (
            Bug::OfPageChunks(PageChunkBug::ContextLeavesLocks),
            Processes,
            "a locked line stays when its context leaves",
            Records,
        ),
        (Bug::OfPageChunks(PageChunkBug::ContextLeavesLines), Processes, "stay when its context leaves", Records),
        (Bug::OfPageChunks(PageChunkBug::SwitchKeepsRecords), Processes, "a record outlives a switch", Records),
    ]
}

/// Cases for bugs that only show after a loss of power.
fn after_losses() -> Vec<Case> {
    use Check::{Buffer, Counters, Design, Halts, Recovery, Tree};
    vec![
        (Bug::BufferPassedByReads, Buffer, "is not read from the buffer as it was stored", Recovery),
        (Bug::BatteryStopsEarly, Buffer, "the battery leaves an entry", Recovery),
        (Bug::EntryOutlivesTuple, Buffer, "the battery leaves an entry", Tree),
        (Bug::NotCounted, Buffer, "keystream hid two things", Counters),
        (Bug::RecoveryAcceptsAnyRoot, Recovery, "recovery takes other counters at ", Design),
        (Bug::RecoveryComparesHalf, Recovery, "recovery takes other counters at ", Design),
        (Bug::RecoveryKeepsNodes, Recovery, "does not read as it was written after recovery", Design),
        (Bug::RecoveryStoresLowestNodes, Recovery, "does not read as it was written after recovery", Design),
        (Bug::RecoveryKeepsUnknownNodes, Recovery, "other nodes at tree level 0 stay", Design),
        (Bug::RecoveryForgetsRoot, Recovery, "the chip's root is not the register's", Design),
        (Bug::RecoverySkipsRenewal, Recovery, "after recovery in the middle of a renewal", Design),
        (Bug::RenewalNotRegistered, Recovery, "after recovery in the middle of a renewal", Design),
        (Bug::GivenUpGoesOn, Halts, "a chip that has given a write up goes on writing", Recovery),
        (Bug::BootsAfterRecovery, Halts, "a blank line boots after recovery", Recovery),
        (Bug::CounterNotPersisted, Recovery, "recovery refuses what was left", Tree),
    ]
}

#[test]
fn the_conformance_kit_finds_every_bug_planted_in_a_part_for_the_expected_reason() {
    let mut wrong = Vec::new();
    for (bug, check, reason, _) in cases() {
        let found = run(check, &parts(bug), PlantedBug::new(bug));
        if !found.as_ref().is_err_and(|found| found.contains(reason)) {
            wrong.push(format!("{bug:?}: {check:?} found {found:?}, expected {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_bug_that_only_the_conformance_kit_finds_is_tested_here() {
    let cases = cases();
    assert!(Bug::ONLY_IN_THE_KIT.iter().all(|bug| cases.iter().any(|case| case.0 == *bug)));
}

#[test]
fn each_bug_planted_in_a_part_passes_a_conformance_check_of_other_properties() {
    let mut wrong = Vec::new();
    for (bug, _, _, other) in cases() {
        if let Err(found) = run(other, &parts(bug), PlantedBug::new(bug)) {
            wrong.push(format!("{bug:?}: {other:?} found {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
