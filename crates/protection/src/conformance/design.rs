//! Contract of every design: it returns the last written text, lays its memory out without overlaps, and refuses
//! exactly the tampering that its parts detect.

use super::{Checked, LINE_BITS, compositions, flipped, hold, pairs};
use crate::design::{Covered, Over, Parts, TreeKind};
use crate::execution::{Functional, Untimed, run_now};
use crate::planted::PlantedBug;
use crate::scheme::{Demand, FixedScheme, Scheme};
use crate::verbs::{Plaintext, Role, Slot, Untrusted};
use std::future::{Ready, ready};
use units::random::Random;
use units::{Bytes, Line, LineAddr, Word, Words};

/// Caches so small that every access evicts metadata.
pub const TINY: (Bytes, usize) = (Bytes(128), 2);

/// Lines of data, enough for every tree to store a level.
pub const DATA_LINES: u64 = 1 << 15;

/// Neighbours in one tag line and in one counter line, and lines with different higher nodes of the tree.
pub const LINES: [LineAddr; 6] =
    [LineAddr(5), LineAddr(6), LineAddr(13), LineAddr(5 + 128), LineAddr(5 + 1024), LineAddr(DATA_LINES - 1)];

/// A scheme over a memory without time.
pub struct SchemeMemory {
    pub scheme: Scheme,
    pub functional: Functional,
}

impl SchemeMemory {
    pub fn new(parts: &Parts, planted: PlantedBug) -> Result<SchemeMemory, String> {
        let scheme = parts.build_with(DATA_LINES, 1, planted)?;
        let functional = Functional::new(scheme.layout().total_lines());
        Ok(SchemeMemory { scheme, functional })
    }

    /// The scheme, whose lines have fixed slots.
    pub fn fixed(&self) -> &FixedScheme {
        self.scheme.fixed().expect("compositions have fixed slots")
    }

    pub fn write(&self, line: LineAddr, content: &Line) -> Checked {
        run_now(self.scheme.write(&self.functional.verbs(), line, content));
        self.functional.take_fault().map_or(Ok(()), |fault| Err(format!("a false alarm at a write: {fault}")))
    }

    /// The text that a read releases, or `None` if it reports tampering.
    pub fn read(&self, line: LineAddr) -> Option<Line> {
        self.read_word(line, Word::FIRST)
    }

    /// Reads a line for a reader that requests this word first.
    fn read_word(&self, line: LineAddr, word: Word) -> Option<Line> {
        let demand = Demand { word, ..Demand::of(line, 0) };
        run_now(self.scheme.read_from(&self.functional.verbs(), demand, ready(()), ready(true), None::<Ready<()>>));
        let released = self.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
        let fault = self.functional.take_fault();
        assert!(released.is_none() || fault.is_none(), "something came out beside an alarm");
        released
    }

    fn flush(&self) {
        run_now(self.scheme.flush(&self.functional.verbs()));
    }

    /// All slots of memory that were written, with spare bits.
    pub fn image(&self) -> Vec<(Slot, Untrusted)> {
        let media = self.functional.media.borrow();
        media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
    }

    fn bring_back(&self, image: &[(Slot, Untrusted)]) {
        image.iter().for_each(|(slot, content)| self.functional.media.borrow_mut().store(*slot, *content));
    }

    fn stored(&self, slot: Slot) -> Untrusted {
        self.functional.media.borrow().read(slot)
    }

    /// Puts a line into a slot and keeps its spare bits.
    pub fn put(&self, slot: Slot, content: &Line) {
        self.functional.media.borrow_mut().write(slot, content);
    }
}

/// Checks a composition against the contract of designs.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    layout(parts, planted)?;
    let memory = SchemeMemory::new(parts, planted)?;
    let mut random = Random::new(1);
    let texts: Vec<[Line; 2]> = LINES.iter().map(|_| [random.line(), random.line()]).collect();
    let write_all = |version: usize| {
        let written = LINES.iter().zip(&texts).try_for_each(|(line, text)| memory.write(*line, &text[version]));
        memory.flush();
        written
    };
    write_all(0)?;
    nothing_is_on_the_chip(&memory)?;
    let old = memory.image();
    write_all(1)?;
    for (line, [_, current]) in LINES.iter().zip(&texts) {
        hold(memory.read(*line) == Some(*current), || format!("line {line} does not read as it was written"))?;
    }
    let reuse = memory.functional.ledger().reuse();
    hold(reuse.is_none(), || format!("keystream hid two things: {reuse:?}"))?;
    memory.flush();
    let current = memory.image();
    flips(parts, &memory, &texts[0][1])?;
    splices(parts, &memory, &texts)?;
    memory.bring_back(&current);
    stale(parts, &memory, &old, &texts)
}

/// Regions follow each other without gaps and overlaps, each slot has one place, and the data is at the bottom.
fn layout(parts: &Parts, planted: PlantedBug) -> Checked {
    let scheme = parts.build_with(DATA_LINES, 1, planted)?;
    let layout = scheme.layout();
    let mut next = 0;
    for region in layout.regions() {
        hold(region.base == next && region.lines > 0, || format!("{} overlaps or leaves a gap", region.role))?;
        next += region.lines;
        for index in [0, region.lines - 1] {
            let found = layout.role_and_index(region.slot(index));
            hold(found == (region.role, index), || format!("slot {index} of {} is somewhere else", region.role))?;
        }
    }
    hold(next == layout.total_lines() && layout.data_slot(LineAddr(7)).slot() == Slot(7), || {
        "data is not at the bottom".into()
    })
}

/// After a flush, the chip holds no metadata line that has a slot in memory.
fn nothing_is_on_the_chip(memory: &SchemeMemory) -> Checked {
    let metadata = memory.scheme.layout().regions().iter().filter(|region| region.role != Role::Data);
    for (role, slot) in metadata.flat_map(|region| (0..region.lines).map(move |line| (region.role, region.slot(line))))
    {
        let held = memory.fixed().on_chip(|chip| chip.caches.content(role, slot).is_some());
        hold(!held, || format!("after a flush a line of {role} is still on the chip"))?;
    }
    Ok(())
}

/// A design with a code refuses a flipped bit of data or of a line's own tag. Without a code, the read releases the
/// line, but with another text.
fn flips(parts: &Parts, memory: &SchemeMemory, current: &Line) -> Checked {
    let line = LINES[0];
    let authentic = memory.fixed().codec.mac.is_some();
    let data = memory.scheme.layout().data_slot(line).slot();
    let stored = memory.stored(data).examine();
    // A tag of a few bits for each chunk misses some flips.
    let short = parts.weaknesses().contains(&"short tag");
    for bit in (0..LINE_BITS).step_by(if short { LINE_BITS } else { 37 }) {
        memory.put(data, &flipped(&stored, bit));
        // The flipped bit is in the word that is requested first, or in another word.
        let word = Word::at(if bit % 3 > 0 { bit / 8 } else { (bit * 7) % LINE_BITS / 8 });
        let released = memory.read_word(line, word);
        hold(released.is_none() == authentic, || format!("bit {bit} of the data: {released:02x?}"))?;
        let right = |(_, first, words): (_, Plaintext, Words)| {
            words.iter().all(|word| word.of(&first.bytes) == word.of(current))
        };
        let first = memory.functional.take_released_first();
        hold(first.is_none_or(right), || format!("bit {bit} of the data comes out before the line is refused"))?;
        hold(released != Some(*current), || format!("bit {bit} of the data does not matter"))?;
    }
    memory.put(data, &stored);
    let Some(mac) = &memory.fixed().codec.mac else { return Ok(()) };
    // If the tag travels with its line, it is in the line's own slot.
    let slot = memory.fixed().tag_slot(line).unwrap_or(data);
    let stored = memory.stored(slot);
    for bit in 0..mac.tag_layout().bytes * 8 {
        let changed = if mac.travels() {
            Untrusted::with(stored.examine(), stored.spare_bits() ^ 1 << bit)
        } else {
            flipped(&stored.examine(), mac.tag_layout().entry_of(line).1 * mac.tag_layout().bytes * 8 + bit).into()
        };
        memory.bring_back(&[(slot, changed)]);
        memory.flush();
        hold(memory.read(line).is_none(), || format!("bit {bit} of the tag is not compared"))?;
    }
    memory.bring_back(&[(slot, stored)]);
    memory.flush();
    hold(memory.read(line) == Some(*current), || "the line does not come back with its bits".into())
}

/// A design with a code refuses another line's data. Without a code, the data does not decrypt to the other line's
/// text, except in a codebook and without encryption.
fn splices(parts: &Parts, memory: &SchemeMemory, texts: &[[Line; 2]]) -> Checked {
    for (index, donor) in LINES.iter().enumerate().skip(1) {
        let [slot, of_donor] = [LINES[0], *donor].map(|line| memory.scheme.layout().data_slot(line).slot());
        let (own, other) = (memory.stored(slot).examine(), memory.stored(of_donor).examine());
        memory.put(slot, &other);
        let released = memory.read(LINES[0]);
        memory.put(slot, &own);
        // The target's tag stays in place and refuses the text of another line.
        hold(released.is_none() == memory.fixed().codec.mac.is_some(), || format!("the data of {donor} was accepted"))?;
        let knows_address = released != Some(texts[index][1]);
        let codebook =
            parts.weaknesses().iter().any(|word| ["no encryption", "equal blocks look equal"].contains(word));
        hold(knows_address || codebook, || format!("the data of {donor} reads as there"))?;
    }
    Ok(())
}

/// A design with a tree refuses an old image of the whole memory. Without a tree, the image reads as the memory did
/// then.
fn stale(parts: &Parts, memory: &SchemeMemory, old: &[(Slot, Untrusted)], texts: &[[Line; 2]]) -> Checked {
    memory.bring_back(old);
    memory.flush();
    let fresh = parts.tree.kind != TreeKind::None;
    // A tag that names no version does not tie data to a fresh counter, unless it is over the plaintext.
    let tied =
        parts.mac.has_nonce() || parts.mac.covers.contains(&Covered::Counter) || parts.mac.over == Over::Plaintext;
    for (line, [before, _]) in LINES.iter().zip(texts) {
        let released = memory.read(*line);
        hold(released.is_none() == fresh || !tied, || format!("an old image: line {line} gave {released:02x?}"))?;
        hold(fresh || released == Some(*before), || format!("an old image does not read as it did at {line}"))?;
    }
    Ok(())
}

#[test]
fn every_compatible_pair_of_parts_passes_the_conformance_check_of_designs() {
    for parts in pairs() {
        assert_eq!(check(parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn every_valid_composition_of_parts_passes_the_conformance_check_of_designs() {
    let compositions = compositions();
    assert!(compositions.len() > 100_000, "{}", compositions.len());
    for parts in &compositions {
        assert_eq!(check(parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}
