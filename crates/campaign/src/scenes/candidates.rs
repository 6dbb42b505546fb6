//! Chunks of frequent values, copied from another position, line or time. A controller that predicts the content of
//! lines neither decrypts nor verifies a chunk that equals one of its candidates. So it must only accept a candidate
//! for this position of this line at this time.
//!
//! The victim's lines contain a few values again and again, and a table learns them. The attacker copies one chunk, a block of the
//! cipher, with the tag that covers it: the chunk's tag where chunks have tags, else the line's. The source is another position of
//! the line, another line, or an earlier time, once without and once with the counters of that time. The victim reads. The attacker
//! restores the counters, the victim writes the line once more, and the attacker copies the same chunk once more.

use super::{Ended, SceneInput, Scenes};
use crate::attacker::bring_back;
use crate::bus::{Bus, CELL_BYTES, Recording, Structure, cell};
use crate::frequent;
use crate::victim::Victim;
use catalogue::{Attack, End, Verdict};
use protection::design::{MacChoice, Parts};
use std::ops::Range;
use units::{Line, LineAddr, WORD_BYTES, Words};

/// Scenes of this file.
pub(super) const SCENES: Scenes = &[(Attack::CandidateSplice, candidate_splice)];

/// Number of different words that lines contain.
const VALUES: usize = 4;
/// Writes of each line before the attack.
const ROUNDS: usize = 2;

/// Source of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChunkSource {
    Position,
    Line,
    Time,
    TimeWithCounters,
}

use ChunkSource::{Position, Time, TimeWithCounters};

const ORIGINS: [ChunkSource; 4] = [Position, ChunkSource::Line, Time, TimeWithCounters];

impl ChunkSource {
    /// Name of the counter of released chunks from this source.
    fn counter_name(self) -> &'static str {
        match self {
            Position => "chunks of another position that came out",
            ChunkSource::Line => "chunks of another line that came out",
            Time => "chunks of an earlier time that came out",
            TimeWithCounters => "chunks of an earlier time that came out under its counters",
        }
    }
}

/// A line and the index of a chunk in it.
type Chunk = (LineAddr, usize);

/// A chunk that is copied, with its source and destination.
struct Splice<'a> {
    parts: &'a Parts,
    origin: ChunkSource,
    /// Recorded memory that contains the chunk.
    source: &'a Recording,
    from: Chunk,
    to: Chunk,
    /// Plaintext of the chunk.
    plaintext: Vec<u8>,
}

fn candidate_splice(mut stage: SceneInput<'_>) -> Option<Ended> {
    let values = frequent::values(stage.parts, VALUES);
    let target = stage.any_line();
    let others: Vec<LineAddr> = stage.victim.oracle().lines().into_iter().filter(|line| *line != target).collect();
    let donor = stage.random.pick(&others)?;
    let mut moments = Vec::new();
    for _ in 0..ROUNDS {
        for line in [donor, target] {
            stage.victim.write(line, &frequent::line_of(&values, &mut stage.random));
        }
        stage.victim.machine().flush();
        let content = |line| stage.victim.oracle().current(line).copied();
        moments.push((stage.victim.attacked(|bus| bus.record()), content(target)?, content(donor)?));
    }
    let [(before, old, _), (now, current, of_donor)] = &moments[..] else { return None };
    let hits = stage.hits_of(target);
    let mut ended = Ended::new(Verdict::Harmless, target).counting("chunks that candidates matched", hits);
    for origin in ORIGINS {
        let bytes = chunk_bytes(stage.parts);
        let chunks = (stage.victim.map().line_bytes() / bytes) as u64;
        // The core requests the first word, and the controller releases its chunk first.
        let to = if stage.random.below(2) == 0 { 0 } else { stage.random.below(chunks) as usize };
        let other = (to + 1 + stage.random.below(chunks - 1) as usize) % chunks as usize;
        let (source, from, content) = match origin {
            Position => (now, (target, other), current),
            ChunkSource::Line => (now, (donor, to), of_donor),
            Time | TimeWithCounters => (before, (target, to), old),
        };
        let plaintext = content[from.1 * bytes..][..bytes].to_vec();
        let splice = Splice { parts: stage.parts, origin, source, from, to: (target, to), plaintext };
        let new = frequent::line_of(&values, &mut stage.random);
        let end = splice.history(stage.victim.twin(), &new);
        ended = ended.counting(origin.counter_name(), u64::from(!end.is_stopped()));
        ended.end = ended.end.worst(end);
    }
    Some(ended)
}

impl SceneInput<'_> {
    /// Counts the chunks of a line that match candidates now.
    fn hits_of(&self, line: LineAddr) -> u64 {
        let hits = || self.victim.machine().speculation().map_or(0, |speculation| speculation.counted().chunks.hits);
        let before = hits();
        self.victim.read(line);
        self.victim.machine().flush();
        hits() - before
    }
}

impl Splice<'_> {
    /// Runs the attack before and after the victim writes the line with `new`; returns the worst end.
    fn history(&self, mut victim: Victim, new: &Line) -> End {
        let target = self.to.0;
        let counters = victim.attacked(|bus| bus.read_structure(Structure::Counter, target));
        let first = self.strike(&victim, self.origin == TimeWithCounters);
        victim.machine().flush();
        victim.attacked(|bus| put_back(bus, target, counters.as_ref()));
        victim.write(target, new);
        victim.machine().flush();
        let worst = first.max(self.strike(&victim, false)).max(self.judge(&victim, self.from.0, None));
        End::from(worst).leaking(victim.memory().keystream_reuse().is_some())
    }

    /// Copies the chunk and lets the victim read, unless the line would then equal an earlier version: that is a replay.
    fn strike(&self, victim: &Victim, with_counters: bool) -> Verdict {
        let target = self.to.0;
        let Some(wished) = self.wished(victim) else { return Verdict::Harmless };
        self.bring(victim, with_counters);
        // An old chunk that is released under the counters of its time is stale and not worse.
        self.judge(victim, target, Some(wished).filter(|_| !with_counters))
    }

    /// Copies the chunk and its tag; with `with_counters`, also the counters of their time.
    fn bring(&self, victim: &Victim, with_counters: bool) {
        let (bytes, target) = (chunk_bytes(self.parts), self.to.0);
        victim.attacked(|bus| {
            let text = |chunk: Chunk| bits(chunk.1 * bytes..(chunk.1 + 1) * bytes);
            self.copy(bus, Structure::Data, text(self.from), text(self.to));
            let room = bus.map().slot_bytes(Structure::Tag, target).map_or(0, |(_, bytes)| bytes.len());
            let tag = |chunk: Chunk| tag_bits(self.parts, chunk.1, room);
            self.copy(bus, Structure::Tag, tag(self.from), tag(self.to));
            if with_counters {
                bring_back(bus, self.source, Structure::Counter, target);
            }
        });
    }

    /// Copies bits from a structure of the source line to the same structure of the target line.
    fn copy(&self, bus: &mut Bus<'_>, structure: Structure, source: Range<usize>, bits: Range<usize>) {
        let map = bus.map();
        let (Some((from, of)), Some((to, bytes))) =
            (map.then(self.source).slot_bytes(structure, self.from.0), map.slot_bytes(structure, self.to.0))
        else {
            return;
        };
        let source_cell = self.source.get(from).map_or([0; CELL_BYTES], cell);
        let mut content = bus.read_cell(to)[bytes.clone()].to_vec();
        for (bit, source) in bits.zip(source) {
            let is_set = source_cell[of.start + source / 8] >> (source % 8) & 1;
            content[bit / 8] = content[bit / 8] & !(1 << (bit % 8)) | is_set << (bit % 8);
        }
        bus.write_bytes(to, bytes, &content);
    }

    /// Returns the current line with the chunk replaced, unless the line ever had this content.
    fn wished(&self, victim: &Victim) -> Option<Line> {
        let (target, number) = self.to;
        let mut wished = *victim.oracle().current(target)?;
        wished[number * self.plaintext.len()..][..self.plaintext.len()].copy_from_slice(&self.plaintext);
        (!victim.oracle().held(target, &wished, Words::ALL)).then_some(wished)
    }

    fn judge(&self, victim: &Victim, line: LineAddr, wished: Option<Line>) -> Verdict {
        victim.oracle().judge(line, &victim.read(line).0, wished)
    }
}

/// Bytes of a chunk that is copied: a block of the cipher, or of AES without one.
fn chunk_bytes(parts: &Parts) -> usize {
    if parts.cipher.is_tdes() { WORD_BYTES } else { crypto::BLOCK_BYTES }
}

fn bits(bytes: Range<usize>) -> Range<usize> {
    8 * bytes.start..8 * bytes.end
}

/// Bits of the tag that cover a chunk within the room of a line's tag, counted from the lowest. These are the chunk's bits, with the
/// first chunk's at the top, or all bits.
fn tag_bits(parts: &Parts, number: usize, room: usize) -> Range<usize> {
    let mac = &parts.mac;
    if mac.code != MacChoice::OcbChunks {
        return bits(0..room);
    }
    let (all, chunks) = (mac.line_bits(parts.cipher) as usize, mac.chunks(parts.cipher) as usize);
    let above = |chunks_before: usize| chunks_before * (all / chunks) + chunks_before.min(all % chunks);
    all - above(number + 1)..all - above(number)
}

/// Restores the counters of a line, if it has any.
fn put_back(bus: &mut Bus<'_>, line: LineAddr, counters: Option<&Line>) {
    if let Some(((slot, _), counters)) = bus.map().slot_bytes(Structure::Counter, line).zip(counters) {
        bus.write(slot, counters);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunk_tags_of_a_line_are_contiguous_with_the_first_in_the_top_bits() {
        let mut parts = catalogue::design("fvs-tdes").unwrap().parts;
        let ranges = |parts: &Parts| [0, 1, 7].map(|number| tag_bits(parts, number, 32));
        assert_eq!(ranges(&parts), [224..256, 192..224, 0..32]);
        // The first chunks have the remaining bits.
        parts.mac = parts.mac.clone().with_line_bits(57);
        assert_eq!(ranges(&parts), [49..57, 42..49, 0..7]);
        assert_eq!(tag_bits(&catalogue::design("sc64-bmt").unwrap().parts, 2, 8), 0..64);
    }
}
