//! Any bytes in memory when power comes back: recovery never panics, and nothing comes out that is not the last that was
//! written, or it is refused. The registers are the chip's own; of a renewal under way they may say so.
#![no_main]

use libfuzzer_sys::fuzz_target;
use protection::counter::{Age, WRITES_LEFT};
use protection::design::Parts;
use protection::scheme::Scheme;
use protection::verbs::{Slot, Verbs};
use protection::ways::{Explained, Functional, Operation, run_now};
use std::sync::LazyLock;
use systems::{Design, designs};
use units::{Bytes, Line, LineAddr};

static DESIGNS: LazyLock<Vec<Design>> =
    LazyLock::new(|| designs().into_iter().filter(|design| design.parts.persistence.exists()).collect());

const DATA_LINES: u64 = 1 << 13;
/// Two of a group that is renewed, one of another.
const LINES: [LineAddr; 3] = [LineAddr(0), LineAddr(9), LineAddr(513)];

fn chip(design: &Design) -> Scheme {
    let caches = protection::design::CacheDesign { counters: Bytes(128), tags: Bytes(128), nodes: Bytes(128), ways: 2 };
    Parts { caches, ..design.parts.clone() }.build(DATA_LINES, 1).expect("a built-in design")
}

/// A memory in use, just before its first group overflows, and what it was asked for since.
fn in_use(scheme: &Scheme) -> Explained<Functional> {
    let memory = Explained::new(Functional::new(scheme.layout().total_lines()));
    run_now(scheme.age(&memory, LINES[0], Age::BeforeRenewal));
    for write in 0..WRITES_LEFT {
        run_now(scheme.write(&memory, LINES[0], &[write as u8; 64]));
    }
    LINES.iter().for_each(|line| run_now(scheme.write(&memory, *line, &[1; 64])));
    memory
}

/// After recovery, each line is what was written last or is refused.
fn check(scheme: &Scheme, memory: &Functional) {
    for line in LINES {
        run_now(scheme.read(memory, line));
        let fault = memory.take_fault();
        let released: Option<Line> = memory.take_released().map(|(_, text)| text.bytes);
        let right = released == Some([1; 64]) || released.is_none() && fault.is_some();
        assert!(right, "line {line} gave {released:02x?}, {fault:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [which, cut, strokes @ ..] = bytes else { return };
    let design = &DESIGNS[usize::from(*which) % DESIGNS.len()];
    let used = in_use(&chip(design));
    let completed: Vec<_> = used
        .take_operations()
        .into_iter()
        .filter_map(|operation| match operation {
            Operation::Complete(registers) => Some(registers),
            _ => None,
        })
        .collect();
    // The last registers, or older ones, as if memory had been brought forward.
    let registers = completed[completed.len() - 1 - usize::from(*cut) % completed.len()].clone();
    let memory = used.inside();
    let slots: Vec<Slot> = memory.media.borrow().written_slots().map(|(slot, _)| slot).collect();
    for stroke in strokes.chunks_exact(4) {
        let slot = slots[usize::from(stroke[0]) % slots.len()];
        let mut media = memory.media.borrow_mut();
        let mut content = media.read(slot).examine();
        match stroke[1] % 3 {
            0 => content[usize::from(stroke[2]) % 64] = stroke[3],
            1 => content.fill(stroke[3]),
            _ => content = media.read(slots[usize::from(stroke[2]) % slots.len()]).examine(),
        }
        media.write(slot, &content);
    }
    let fresh = chip(design);
    memory.complete(registers.clone());
    run_now(fresh.recover(memory, &registers));
    memory.take_fault();
    check(&fresh, memory);
});
