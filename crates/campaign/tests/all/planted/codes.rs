//! Bugs in tags, in how they are compared, and in what is done about it.

use super::Case;
use super::checks::Check::{
    EveryBit, Honest, Overflow, Row, SpliceFrom, SwappedChunks, SwappedTags, ZeroLine, ZeroTag,
};
use super::checks::Found::{Ended, Unnoticed};
use catalogue::{Attack, Design, Verdict};
use protection::design::{CipherChoice, Covered, MacChoice, MacDesign, Over};
use protection::planted::Bug;

/// The design with a tree with a tag of 256 bits.
pub const WIDE: &str = "sc64-bmt, 256 bits";
/// The same with a tag of 64 bits for each chunk of 64, over its plaintext or over its ciphertext.
pub const CHUNKS: &str = "sc64-bmt, chunks";
pub const SEALED_CHUNKS: &str = "sc64-bmt, chunks over ciphertext";

/// Speculation on the tags of pads' lines, which are re-ordered for that.
pub const REORDERED_COUNTER: &str = "fvs-counter, re-ordered";

/// The design of one of these names.
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
        // A line's data and tag, moved to a line whose counter happens to be equal, fit there.
        Case::new(Bug::TagWithoutAddress, row(Attack::SpliceDataTag), garbled(), row(Attack::ReplayDataTag)),
        // They fit at the same place of another page,
        Case::new(Bug::TagAddressTruncated, SpliceFrom(64), garbled(), SpliceFrom(1)),
        // or with their own.
        Case::new(Bug::TagNamesLineOfTags, SpliceFrom(1), garbled(), SpliceFrom(8)),
        // What the line holds shows in when the next one is fetched, and in nothing else.
        Case::new(Bug::SmallNumbersEarly, row(Attack::ValueTiming), ended(Verdict::Leaked), row(Attack::BusDictionary))
            .of("xts"),
        // A line's old data and old tag fit each other under any counter.
        Case::new(Bug::TagWithoutCounter, row(Attack::ReplayDataTag), garbled(), row(Attack::SpliceDataTag)),
        // Flips there come out, one for one.
        Case::new(Bug::TagWithoutLastBlock, row(Attack::FlipData), ended(Verdict::Forged), SpliceFrom(1)),
        // So do flips in the last of four lines under one tag.
        Case::new(Bug::GroupTagWithoutLast, row(Attack::FlipData), ended(Verdict::Forged), Honest).of("sc64-bmt-mac4"),
        // One forgery in 256 passes: many tries, and only many.
        Case::new(Bug::ShortComparison, Row(Attack::SpoofData, 2_000), garbled(), Honest),
        // No way to use this is known, but 8 bits of each tag in use can be anything: another tenant's message, say.
        Case::new(
            Bug::SpareTagBitsIgnored,
            EveryBit("tag"),
            Unnoticed(65 * 8, Verdict::Detected),
            row(Attack::SpoofTag),
        ),
        // As little use, but 192 bits of each tag can be anything: it is as short as 64.
        Case::new(
            Bug::WideTagComparedShort,
            EveryBit("tag"),
            Unnoticed(65 * 192, Verdict::Detected),
            row(Attack::SpoofTag),
        )
        .of(WIDE),
        // Whatever the last chunk decrypts to is taken for authentic.
        // What the core gets first is out before it is refused. Tags that are none do not change it.
        Case::new(Bug::FirstPieceUnchecked, row(Attack::FlipData), garbled(), row(Attack::SpoofTag)).of(CHUNKS),
        Case::new(Bug::LastChunkTagNotCompared, row(Attack::FlipData), garbled(), SwappedChunks).of(CHUNKS),
        // Two stored tags change places unnoticed; what they are over is still bound to its own place.
        Case::new(Bug::ChunkTagsComparedAsSet, SwappedTags, ended(Verdict::Harmless), SwappedChunks).of(SEALED_CHUNKS),
        // Chunks that take their tags along fit at each other's place, where they decrypt to something else.
        Case::new(Bug::ChunkIndexMissing, SwappedChunks, garbled(), SwappedTags).of(SEALED_CHUNKS),
        Case::new(Bug::ZeroTagFits, ZeroTag, garbled(), row(Attack::SpoofTag)),
        Case::new(Bug::BlankLinePasses, ZeroLine, garbled(), row(Attack::SpoofData)),
        // The alarm comes, but the flipped bit is out already.
        Case::new(Bug::ReleaseBeforeVerdict, row(Attack::FlipData), ended(Verdict::Forged), Honest),
        // Nothing comes out, and nothing is said: the core waits for ever.
        Case::new(Bug::FaultSwallowed, row(Attack::FlipData), garbled(), Overflow),
    ]
}
