//! A victim, and an attacker whose strokes are any bytes: what the fuzz targets about memory share.

use catalogue::Design;
use protection::design::{Parts, Point};
use protection::execution::{Functional, run_now};
use protection::media::Media;
use protection::scheme::{DurableCaches, Scheme};
use protection::verbs::{Slot, Untrusted};
use units::{Bytes, LINE_BYTES, Line, LineAddr};

const DATA_LINES: u64 = 1 << 13;
const SEED: u64 = 1;
/// Neighbours in a line of tags, in a line of counters, and below each level of a tree.
const LINES: [LineAddr; 6] = [LineAddr(0), LineAddr(1), LineAddr(9), LineAddr(64), LineAddr(513), LineAddr(8_191)];

/// A victim, and what each line may hold: what it last wrote there, and what that may have failed to replace.
pub struct Victim {
    parts: Parts,
    scheme: Scheme,
    memory: Functional,
    held: [Vec<Line>; LINES.len()],
    /// Whether only what a line may hold can come out.
    is_fresh: bool,
    old: Vec<(Slot, Untrusted)>,
}

impl Victim {
    /// A memory in use, in which every line was written twice.
    pub fn new(design: &Design) -> Victim {
        let parts = Parts { caches: design.parts.caches.resized(Bytes(128), 2), ..design.parts.clone() };
        let (scheme, memory) = built(&parts);
        let is_fresh = design.design_class.as_str() >= "C4";
        let mut victim = Victim { parts, scheme, memory, held: Default::default(), is_fresh, old: Vec::new() };
        (0..LINES.len()).for_each(|index| victim.write(index, 1));
        victim.flush();
        victim.old = image(&victim.memory.media.borrow());
        (0..LINES.len()).for_each(|index| victim.write(index, 2));
        victim.flush();
        victim
    }

    fn write(&mut self, index: usize, fill: u8) {
        run_now(self.scheme.write(&self.memory, LINES[index], &[fill; 64]));
        if self.memory.take_fault().is_none() {
            self.held[index].clear();
        }
        self.held[index].push([fill; 64]);
    }

    fn read(&self, index: usize) {
        run_now(self.scheme.read(&self.memory, LINES[index]));
        let fault = self.memory.take_fault();
        let released = self.memory.take_released().map(|(_, text)| text.bytes);
        if self.is_fresh {
            let right = released.is_some_and(|text| self.held[index].contains(&text));
            assert!(right || released.is_none() && fault.is_some(), "line {index} gave {released:02x?}, {fault:?}");
        }
    }

    /// Reads all lines; panics if something comes out that must not.
    pub fn read_all(&self) {
        (0..LINES.len()).for_each(|index| self.read(index));
    }

    /// Empties the metadata caches.
    pub fn flush(&self) {
        run_now(self.scheme.flush(&self.memory));
        self.memory.take_fault();
    }

    /// Power fails and comes back: the battery of durable caches does its work, and a fresh chip recovers from memory and
    /// from the registers that outlive power.
    pub fn lose_power(&mut self) {
        if self.parts.persistence.point == Point::Caches {
            run_now(DurableCaches::of(&self.scheme).drain_on_battery(&self.memory, Vec::new()));
        }
        let registers = self.memory.registers();
        let (scheme, memory) = built(&self.parts);
        memory.media.swap(&self.memory.media);
        memory.go_on_with(registers.clone());
        run_now(scheme.recover(&memory, &registers));
        memory.take_fault();
        (self.scheme, self.memory) = (scheme, memory);
    }

    /// What an attacker does, stroke by stroke: it writes what it likes, moves lines, brings old ones back, and lets the
    /// victim read and write between.
    pub fn suffer(&mut self, mut strokes: &[u8]) {
        while let [stroke, place, rest @ ..] = strokes {
            strokes = rest;
            let slots = image(&self.memory.media.borrow());
            let (slot, content) = slots[usize::from(*place) % slots.len()];
            let index = usize::from(*place) % LINES.len();
            match stroke % 8 {
                0 => {
                    let (forged, next) = strokes.split_at(strokes.len().min(LINE_BYTES));
                    let mut line = content.examine();
                    line[..forged.len()].copy_from_slice(forged);
                    strokes = next;
                    self.put(slot, Untrusted::with(line, content.beside()));
                }
                1 => {
                    let room = self.scheme.layout().tag_bytes().clamp(8, 16) as u32 * 8;
                    let flips = u128::from(*stroke) << (u32::from(*place) % room) & u128::MAX >> (u128::BITS - room);
                    self.put(slot, Untrusted::with(content.examine(), content.beside() ^ flips));
                }
                2 => {
                    let mut line = content.examine();
                    line[usize::from(*stroke / 8) * 2 % LINE_BYTES] ^= 1 << (place % 8);
                    self.put(slot, Untrusted::with(line, content.beside()));
                }
                3 => self.put(slot, slots[usize::from(*stroke) % slots.len()].1),
                4 => {
                    let (slot, content) = self.old[usize::from(*place) % self.old.len()];
                    self.put(slot, content);
                }
                5 => self.write(index, *stroke),
                6 => self.read(index),
                _ => self.flush(),
            }
        }
    }

    fn put(&self, slot: Slot, content: Untrusted) {
        self.memory.media.borrow_mut().store(slot, content);
    }
}

fn built(parts: &Parts) -> (Scheme, Functional) {
    let scheme = parts.build(DATA_LINES, SEED).expect("a built-in design");
    let memory = Functional::new(scheme.layout().total_lines());
    (scheme, memory)
}

/// What stands in the slots that have been written, with what lies beside lines, in their order.
fn image(media: &Media) -> Vec<(Slot, Untrusted)> {
    media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
}
