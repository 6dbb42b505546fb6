//! Bugs in tags, in their comparison, and in the reaction to a mismatch.

use super::Case;
use super::checks::Check::{
    EveryBit, Honest, Overflow, Row, SpliceFrom, SwappedChunks, SwappedTags, ZeroLine, ZeroTag,
};
use super::checks::Found::{Ended, Unnoticed};
use catalogue::{Attack, Design, Verdict};
use protection::design::{CipherChoice, Covered, MacChoice, MacDesign, Over};
use protection::planted::Bug;

/// The design with a tree and a tag of 256 bits.
pub const WIDE: &str = "sc64-bmt, 256 bits";
/// The same design with a tag of 64 bits for each chunk of 64, over its plaintext or over its ciphertext.
pub const CHUNKS: &str = "sc64-bmt, chunks";
pub const SEALED_CHUNKS: &str = "sc64-bmt, chunks over ciphertext";

/// Speculation on the tags of lines under pads, with lines re-ordered for it.
pub const REORDERED_COUNTER: &str = "fvs-counter, re-ordered";

/// Returns the design of one of these names.
pub fn composed(name: &str) -> Option<Design> {
    if name == REORDERED_COUNTER {
        let mut design = catalogue::design("fvs-counter").unwrap();
        design.parts.speculation.reorder = true;
        return Some(design);
    }
    let mut design = catalogue::design("sc64-bmt").unwrap();
    let mac = |code| MacDesign { code, ..MacDesign::default() };
    let (cipher, mac) = match name {
        WIDE => {
            let covers = vec![Covered::Address, Covered::Counter];
            (CipherChoice::Aes128Counter, MacDesign { covers, ..mac(MacChoice::HmacSha256) }.with_line_bits(256))
        }
        CHUNKS => {
            let mac = MacDesign { over: Over::Plaintext, ..mac(MacChoice::OcbChunks) };
            (CipherChoice::TdesOcbChunks, mac.with_chunk_bits(64))
        }
        SEALED_CHUNKS => (CipherChoice::TdesOcbChunks, mac(MacChoice::OcbChunks).with_chunk_bits(64)),
        _ => return None,
    };
    (design.parts.cipher, design.parts.mac) = (cipher, mac);
    Some(design)
}

pub fn cases() -> Vec<Case> {
    let row = |attack| Row(attack, 60);
    let ended = |verdict: Verdict| Ended(verdict.into(), Vec::new());
    let garbled = || ended(Verdict::Garbled);
    vec![
        // A line's data and tag, moved to a line with an equal counter, fit that line.
        Case::new(Bug::TagWithoutAddress, row(Attack::SpliceDataTag), garbled(), row(Attack::ReplayDataTag)),
        // They fit at the same position of another page,
        Case::new(Bug::TagAddressTruncated, SpliceFrom(64), garbled(), SpliceFrom(1)),
        // or at a line with its tag in the same tag line.
        Case::new(Bug::TagNamesLineOfTags, SpliceFrom(1), garbled(), SpliceFrom(8)),
        // The content of the line changes the time of the next fetch, and no other output.
        Case::new(Bug::SmallNumbersEarly, row(Attack::ValueTiming), ended(Verdict::Leaked), row(Attack::BusDictionary))
            .of("xts"),
        // A line's old data and old tag fit each other under any counter.
        Case::new(Bug::TagWithoutCounter, row(Attack::ReplayDataTag), garbled(), row(Attack::SpliceDataTag)),
        // Bit flips in the last block are released, one for one.
        Case::new(Bug::TagWithoutLastBlock, row(Attack::FlipData), ended(Verdict::Forged), SpliceFrom(1)),
        // Flips in the last of four lines under one tag are released too.
        Case::new(Bug::GroupTagWithoutLast, row(Attack::FlipData), ended(Verdict::Forged), Honest).of("sc64-bmt-mac4"),
        // One forgery in 256 passes: only a large number of tries finds one.
        Case::new(Bug::ShortComparison, Row(Attack::SpoofData, 2_000), garbled(), Honest),
        // No attack with this bug is known, but 8 bits of each tag in use are arbitrary: they could hold another
        // tenant's message.
        Case::new(
            Bug::SpareTagBitsIgnored,
            EveryBit("tag"),
            Unnoticed(65 * 8, Verdict::Detected),
            row(Attack::SpoofTag),
        ),
        // No attack with this bug is known either, but 192 bits of each tag are arbitrary: it is as short as 64.
        Case::new(
            Bug::WideTagComparedShort,
            EveryBit("tag"),
            Unnoticed(65 * 192, Verdict::Detected),
            row(Attack::SpoofTag),
        )
        .of(WIDE),
        // The chip releases the first words of a wrong line before it refuses the line. Forged tags do not change them.
        Case::new(Bug::FirstPieceUnchecked, row(Attack::FlipData), garbled(), row(Attack::SpoofTag)).of(CHUNKS),
        // The chip accepts any content of the last chunk as authentic.
        Case::new(Bug::LastChunkTagNotCompared, row(Attack::FlipData), garbled(), SwappedChunks).of(CHUNKS),
        // An exchange of two stored tags passes unnoticed; each tag still binds its chunk to the right position.
        Case::new(Bug::ChunkTagsComparedAsSet, SwappedTags, ended(Verdict::Harmless), SwappedChunks).of(SEALED_CHUNKS),
        // Chunks that are exchanged with their tags pass in each other's position, where they decrypt to other content.
        Case::new(Bug::ChunkIndexMissing, SwappedChunks, garbled(), SwappedTags).of(SEALED_CHUNKS),
        Case::new(Bug::ZeroTagFits, ZeroTag, garbled(), row(Attack::SpoofTag)),
        Case::new(Bug::BlankLinePasses, ZeroLine, garbled(), row(Attack::SpoofData)),
        // The chip reports the alarm, but the flipped bit is already released.
        Case::new(Bug::ReleaseBeforeVerdict, row(Attack::FlipData), ended(Verdict::Forged), Honest),
        // The chip releases no line and reports no fault: the core waits for ever.
        Case::new(Bug::FaultSwallowed, row(Attack::FlipData), garbled(), Overflow),
    ]
}
