//! One key for two uses, with an effect that an attacker with only the memory can use.

use crate::common::Machine;
use casemate_campaign::scenes::change_of_tag;
use casemate_campaign::victim::with_tiny_caches;
use protection::execution::{Receiver, Timed};
use protection::placement::Placement;
use protection::planted::{Bug, PlantedBug};
use protection::verbs::{Fault, Plaintext, Slot};
use std::cell::Cell;
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr};

/// Bug that is caught here.
pub const BUGS: [Bug; 1] = [Bug::OneKeyForDataAndTags];

/// Last released line, and whether the chip reported tampering.
#[derive(Default)]
struct Core {
    released: Cell<Option<Line>>,
    alarmed: Cell<bool>,
}

impl Receiver for Core {
    fn released(&self, _: LineAddr, text: &Plaintext) {
        self.released.set(Some(text.bytes));
    }

    fn fault(&self, _: Fault) {
        self.alarmed.set(true);
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        KNOWN
    }
}

/// Publicly known content with which memory starts.
const KNOWN: Line = [0x5a; 64];
const TARGET: LineAddr = LineAddr(64 * 3 + 9);

/// Runs one access to its end.
fn run(machine: &mut Machine<Core>, written: Option<Line>, line: LineAddr) {
    let (memory, scheme, done) = (machine.memory.clone(), machine.scheme.clone(), Rc::new(Cell::new(false)));
    let finished = done.clone();
    machine.executor.clock().spawn(async move {
        let verbs = Timed::new(&memory);
        match written {
            Some(content) => scheme.write(&verbs, line, &content).await,
            None => scheme.read(&verbs, line).await,
        }
        scheme.flush(&verbs).await;
        finished.set(true);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || done.get()));
}

/// Reads the first line with its start-up content. The first block of its pad then serves as the hash key of the tags.
/// The attacker changes another line, and its tag by the effect of the change under this key. Returns true if the changed
/// line is released.
fn forged_with_the_first_pad(planted: PlantedBug) -> bool {
    let parts = with_tiny_caches(&catalogue::design("sc64-bmt").unwrap().parts);
    let mut machine = Machine::new(&parts, 1, Core::default());
    machine.scheme = Rc::new(parts.build_with(crate::common::DATA_LINES, 1, planted).unwrap());
    let (content, change) = (Random::new(1).line(), Random::new(2).line());
    run(&mut machine, None, LineAddr(0));
    run(&mut machine, Some(content), TARGET);
    let tags = machine.scheme.fixed().unwrap().tag_slot(TARGET).unwrap();
    {
        let mut media = machine.memory.media().borrow_mut();
        let first = media.read(Slot(0)).examine();
        let pad: [u8; 16] = std::array::from_fn(|byte| first[byte] ^ KNOWN[byte]);
        let slot = Placement::Fixed.of(TARGET).slot();
        let stored = media.read(slot).examine();
        media.write(slot, &std::array::from_fn(|byte| stored[byte] ^ change[byte]));
        let difference =
            change_of_tag(&change, u128::from_be_bytes(pad), parts.mac.line_bits(parts.cipher)).to_le_bytes();
        let (mut line, start) = (media.read(tags).examine(), TARGET.0 as usize % 8 * 8);
        line[start..start + 8].iter_mut().zip(difference).for_each(|(byte, difference)| *byte ^= difference);
        media.write(tags, &line);
    }
    machine.core.released.set(None);
    run(&mut machine, None, TARGET);
    let core = &machine.core;
    let wanted: Line = std::array::from_fn(|byte| content[byte] ^ change[byte]);
    let forged = core.released.get() == Some(wanted);
    assert_eq!(core.alarmed.get(), !forged, "who does not pass is found out");
    forged
}

#[test]
fn one_key_for_encryption_and_gmac_reveals_the_hash_key_as_a_pad() {
    assert!(!forged_with_the_first_pad(PlantedBug::NONE));
    assert!(forged_with_the_first_pad(PlantedBug::new(Bug::OneKeyForDataAndTags)));
}
