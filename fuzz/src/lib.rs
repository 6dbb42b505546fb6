//! Common part of the fuzz targets for memory: a victim, and an attacker that derives its actions from the fuzzer's
//! bytes.
//!
//! In designs with a persist buffer or durable caches, some stores stay in the buffer or the caches until power fails.

use catalogue::Design;
use protection::design::{BatteryAction, DataLines, Parts, Point};
use protection::execution::{Functional, Untimed, run_now};
use protection::media::Media;
use protection::planted::PlantedBug;
use protection::scheme::{DurableCaches, PersistBufferHandle, Scheme};
use protection::verbs::{Slot, Untrusted};
use std::collections::BTreeMap;
use units::{Bytes, LINE_BYTES, Line, LineAddr, LineLength};

const DATA_LINES: u64 = 1 << 13;
const SEED: u64 = 1;
/// Lines that are neighbours in a tag line, in a counter line, and below each level of a tree.
const LINES: [LineAddr; 6] = [LineAddr(0), LineAddr(1), LineAddr(9), LineAddr(64), LineAddr(513), LineAddr(8_191)];

/// A victim, with the texts that each line may hold: the last one written, and older ones that this write may not have
/// replaced.
pub struct Victim {
    parts: Parts,
    scheme: Scheme,
    memory: Functional,
    held: [Vec<Line>; LINES.len()],
    /// Texts that only the durable caches have, by the index of the line.
    dirty: BTreeMap<usize, Line>,
    /// True if a read must return one of the texts in `held`, or report a fault.
    is_fresh: bool,
    old: Vec<(Slot, Untrusted)>,
    planted: PlantedBug,
}

impl Victim {
    /// Creates a memory in use: every line was written twice. `planted` selects a deliberate weakness.
    pub fn new(design: &Design, planted: PlantedBug) -> Victim {
        let parts = Parts { caches: design.parts.caches.resized(Bytes(128), 2), ..design.parts.clone() };
        let (scheme, memory) = built(&parts, planted);
        let is_fresh = design.design_class.as_str() >= "C4";
        let (held, dirty, old) = Default::default();
        let mut victim = Victim { parts, scheme, memory, held, dirty, is_fresh, old, planted };
        (0..LINES.len()).for_each(|index| victim.write(index, 1));
        victim.flush();
        victim.old = image(&victim.memory.media.borrow());
        (0..LINES.len()).for_each(|index| victim.write(index, 2));
        victim.flush();
        victim
    }

    fn write(&mut self, index: usize, fill: u8) {
        self.dirty.remove(&index);
        self.write_line(index, [fill; LINE_BYTES]);
    }

    fn write_line(&mut self, index: usize, text: Line) {
        let text = self.scheme.layout().shape().length.cut(text);
        run_now(self.scheme.write(&self.memory.verbs(), LINES[index], &text));
        self.note(index, text);
    }

    /// Notes a store to a line. The line holds only this text, unless the store reported a fault.
    fn note(&mut self, index: usize, text: Line) {
        if self.memory.take_fault().is_none() {
            self.held[index].clear();
        }
        self.held[index].push(text);
    }

    /// Stores to a line. The store stays in the persist buffer or in the caches if these are durable.
    fn store(&mut self, index: usize, fill: u8) {
        match self.parts.persistence.point {
            Point::Controller => self.write(index, fill),
            Point::Buffer => {
                let text = [fill; LINE_BYTES];
                run_now(PersistBufferHandle::of(&self.scheme).accept(&self.memory.verbs(), LINES[index], &text));
                self.note(index, text);
            }
            Point::Caches => {
                self.dirty.insert(index, [fill; LINE_BYTES]);
            }
        }
    }

    /// Drains a line from the persist buffer or the caches to memory.
    fn drain(&mut self, index: usize) {
        if self.parts.persistence.has_buffer() {
            run_now(PersistBufferHandle::of(&self.scheme).drain(&self.memory.verbs(), LINES[index]));
            self.memory.take_fault();
        }
        if let Some(text) = self.dirty.remove(&index) {
            self.write_line(index, text);
        }
    }

    /// Reads a line, unless it is on the chip.
    fn read(&self, index: usize) {
        if self.dirty.contains_key(&index) {
            return;
        }
        run_now(self.scheme.read(&self.memory.verbs(), LINES[index]));
        let fault = self.memory.take_fault();
        let released = self.memory.take_released().map(|(_, text)| text.bytes);
        if self.is_fresh {
            let right = released.is_some_and(|text| self.held[index].contains(&text));
            assert!(right || released.is_none() && fault.is_some(), "line {index} gave {released:02x?}, {fault:?}");
        }
    }

    /// Reads all lines; panics if a read returns a text that it must not return.
    pub fn read_all(&self) {
        (0..LINES.len()).for_each(|index| self.read(index));
    }

    /// Empties the metadata caches.
    pub fn flush(&self) {
        run_now(self.scheme.flush(&self.memory.verbs()));
        self.memory.take_fault();
    }

    /// Loses power and restores it. The battery drains the persist buffer or the durable caches to memory, and a fresh
    /// chip recovers from memory and from the registers that survive. Each two bytes of `flips` choose a line in memory
    /// and one of its bits. The bit is flipped while the battery works, and flipped back unless the line was written
    /// meanwhile.
    pub fn lose_power(&mut self, flips: &[u8]) {
        let flipped: Vec<_> = flips.chunks_exact(2).map(|flip| self.flip_any(flip[0], flip[1])).collect();
        self.drain_on_battery();
        for (slot, honest, forged) in flipped.into_iter().rev() {
            if self.memory.media.borrow().read(slot) == forged {
                self.put(slot, honest);
            }
        }
        let registers = self.memory.registers();
        let (scheme, memory) = built(&self.parts, self.planted);
        memory.media.swap(&self.memory.media);
        memory.go_on_with(registers.clone());
        run_now(scheme.recover(&memory.verbs(), &registers));
        memory.take_fault();
        (self.scheme, self.memory) = (scheme, memory);
    }

    /// Drains on battery. Later reads must return durable stores or refuse them, even after tampering during the drain.
    fn drain_on_battery(&mut self) {
        // A battery that does not drain metadata leaves lines without their counters.
        self.is_fresh &= self.parts.persistence.battery == BatteryAction::Tuples;
        match self.parts.persistence.point {
            Point::Controller => {}
            Point::Buffer => run_now(PersistBufferHandle::of(&self.scheme).drain_on_battery(&self.memory.verbs())),
            Point::Caches => {
                let dirty = std::mem::take(&mut self.dirty);
                dirty.iter().for_each(|(index, text)| self.held[*index] = vec![*text]);
                let lines = dirty.into_iter().map(|(index, text)| (LINES[index], text)).collect();
                run_now(DurableCaches::of(&self.scheme).drain_on_battery(&self.memory.verbs(), lines));
            }
        }
        self.memory.take_fault();
    }

    /// Flips a bit of a line in memory; returns the slot, its old content and its new content.
    fn flip_any(&self, choice: u8, bit: u8) -> (Slot, Untrusted, Untrusted) {
        let slots = image(&self.memory.media.borrow());
        let (slot, honest) = slots[usize::from(choice) % slots.len()];
        let forged = flipped(honest, usize::from(bit / 8) * 2, bit);
        self.put(slot, forged);
        (slot, honest, forged)
    }

    /// Executes the attacker's actions: the attacker writes any bytes, moves lines, replays old lines, and lets the
    /// victim read, write, store and drain between these actions.
    pub fn suffer(&mut self, mut strokes: &[u8]) {
        while let [stroke, choice, rest @ ..] = strokes {
            strokes = rest;
            let slots = image(&self.memory.media.borrow());
            let (slot, content) = slots[usize::from(*choice) % slots.len()];
            let index = usize::from(*choice) % LINES.len();
            match stroke % 10 {
                0 => {
                    let (forged, next) = strokes.split_at(strokes.len().min(LINE_BYTES));
                    let mut line = content.examine();
                    line[..forged.len()].copy_from_slice(forged);
                    strokes = next;
                    self.put(slot, Untrusted::with(line, content.spare_bits()));
                }
                1 => {
                    let room = self.scheme.layout().tag_bytes().clamp(8, 16) as u32 * 8;
                    let flips = u128::from(*stroke) << (u32::from(*choice) % room) & u128::MAX >> (u128::BITS - room);
                    self.put(slot, Untrusted::with(content.examine(), content.spare_bits() ^ flips));
                }
                2 => self.put(slot, flipped(content, usize::from(*stroke / 8) * 2, *choice)),
                3 => self.put(slot, slots[usize::from(*stroke) % slots.len()].1),
                4 => {
                    let (slot, content) = self.old[usize::from(*choice) % self.old.len()];
                    self.put(slot, content);
                }
                5 => self.write(index, *stroke),
                6 => self.read(index),
                7 => self.store(index, *stroke),
                8 => self.drain(index),
                _ => self.flush(),
            }
        }
    }

    fn put(&self, slot: Slot, content: Untrusted) {
        self.memory.media.borrow_mut().store(slot, content);
    }
}

fn built(parts: &Parts, planted: PlantedBug) -> (Scheme, Functional) {
    let length = if parts.permutation.is_some() { LineLength::HALF } else { LineLength::WHOLE };
    let data = DataLines { count: DATA_LINES, length };
    let scheme = parts.build_with(data, SEED, planted).expect("a built-in design");
    let memory = Functional::new(scheme.layout().total_lines());
    (scheme, memory)
}

/// Returns the content with a bit of a byte flipped.
fn flipped(content: Untrusted, byte: usize, bit: u8) -> Untrusted {
    let mut line = content.examine();
    line[byte % LINE_BYTES] ^= 1 << (bit % 8);
    Untrusted::with(line, content.spare_bits())
}

/// Returns the content of all written slots, with their spare bits, in slot order.
fn image(media: &Media) -> Vec<(Slot, Untrusted)> {
    media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
}
