//! Any bytes in memory under any design: no read or write panics, and where there is a tree nothing comes out that is not the
//! last that was written. A write that reports tampering may have happened or not.
//!
//! The bytes are what an attacker does to a memory in use, stroke by stroke: it writes what it likes, moves lines, brings old
//! ones back, and lets the victim read and write between.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protection::design::Parts;
use protection::media::Media;
use protection::scheme::Scheme;
use protection::ways::{Functional, run_now};
use std::sync::LazyLock;
use systems::{Design, designs};
use units::{Bytes, Line, LineAddr};

static DESIGNS: LazyLock<Vec<Design>> = LazyLock::new(designs);

const DATA_LINES: u64 = 1 << 13;
/// Neighbours in a line of tags, in a line of counters, and below each level of a tree.
const LINES: [LineAddr; 6] = [LineAddr(0), LineAddr(1), LineAddr(9), LineAddr(64), LineAddr(513), LineAddr(8_191)];

/// A victim, and what each line may hold: what it last wrote there, and what that may have failed to replace.
struct Victim {
    scheme: Scheme,
    memory: Functional,
    held: [Vec<Line>; LINES.len()],
    is_fresh: bool,
}

impl Victim {
    fn new(design: &Design) -> Victim {
        let caches =
            protection::design::CacheDesign { counters: Bytes(128), tags: Bytes(128), nodes: Bytes(128), ways: 2 };
        let parts = Parts { caches, ..design.parts.clone() };
        let scheme = parts.build(DATA_LINES, 1).expect("a built-in design");
        let memory = Functional::new(scheme.layout().total_lines());
        let is_fresh = design.design_class.as_str() >= "C4";
        Victim { scheme, memory, held: Default::default(), is_fresh }
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

    fn flush(&self) {
        run_now(self.scheme.flush(&self.memory));
        self.memory.take_fault();
    }
}

/// What stands in the slots that have been written, in their order.
fn image(media: &Media) -> Vec<(protection::verbs::Slot, Line)> {
    media.written_slots().map(|(slot, content)| (slot, *content)).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, mut strokes)) = bytes.split_first() else { return };
    let mut victim = Victim::new(&DESIGNS[usize::from(*which) % DESIGNS.len()]);
    (0..LINES.len()).for_each(|index| victim.write(index, 1));
    victim.flush();
    let old = image(&victim.memory.media.borrow());
    (0..LINES.len()).for_each(|index| victim.write(index, 2));
    victim.flush();
    while let [stroke, place, rest @ ..] = strokes {
        strokes = rest;
        let slots = image(&victim.memory.media.borrow());
        let (slot, content) = slots[usize::from(*place) % slots.len()];
        let index = usize::from(*place) % LINES.len();
        match stroke % 8 {
            0 | 1 => {
                let count = strokes.len().min(64);
                let mut forged = content;
                forged[..count].copy_from_slice(&strokes[..count]);
                strokes = &strokes[count..];
                victim.memory.media.borrow_mut().write(slot, &forged);
            }
            2 => {
                let mut flipped = content;
                flipped[usize::from(*stroke / 8) * 2 % 64] ^= 1 << (place % 8);
                victim.memory.media.borrow_mut().write(slot, &flipped);
            }
            3 => {
                let (_, other) = slots[usize::from(*stroke) % slots.len()];
                victim.memory.media.borrow_mut().write(slot, &other);
            }
            4 => {
                let (slot, content) = old[usize::from(*place) % old.len()];
                victim.memory.media.borrow_mut().write(slot, &content);
            }
            5 => victim.write(index, *stroke),
            6 => victim.read(index),
            _ => victim.flush(),
        }
    }
    victim.flush();
    (0..LINES.len()).for_each(|index| victim.read(index));
});
