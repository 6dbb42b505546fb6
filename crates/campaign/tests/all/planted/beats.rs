//! Words of a line that are used before they have arrived: the test compares releases of the controller with the pins.

use super::codes::{CHUNKS, SEALED_CHUNKS, composed};
use crate::common::{DATA_LINES, Machine, engines};
use catalogue::Design;
use protection::design::CipherChoice;
use protection::execution::{CipherEngine, Engine, Engines, Receiver, Timed};
use protection::planted::{Bug, PlantedBug};
use protection::probe::Probe;
use protection::verbs::{Fault, Plaintext};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Time, Word, Words};

/// Bugs that are caught here.
pub const BUGS: [Bug; 1] = [Bug::WordsNotAwaited];

const LINE: LineAddr = LineAddr(5);
/// Time from one word to the next on a bus of DDR4-3200.
const BEAT: Duration = Duration::from_fs(312_500);

/// A core that records the arrival of words.
#[derive(Default)]
struct Core {
    clock: RefCell<Option<sim::Clock>>,
    first: Cell<Option<(Words, Time)>>,
    line: Cell<Option<Time>>,
}

impl Core {
    fn now(&self) -> Time {
        self.clock.borrow().as_ref().map_or(Time::ZERO, sim::Clock::now)
    }
}

impl Receiver for Core {
    fn released_first(&self, _: LineAddr, plaintext: &Plaintext, words: Words) {
        assert_eq!(plaintext.bytes, [7; 64]);
        self.first.set(Some((words, self.now())));
    }

    fn released(&self, _: LineAddr, plaintext: &Plaintext) {
        assert_eq!(plaintext.bytes, [7; 64]);
        self.line.set(Some(self.now()));
    }

    fn fault(&self, fault: Fault) {
        panic!("nothing was tampered with, and yet: {fault}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        [7; 64]
    }
}

/// Reads a line with its metadata on the chip. Returns when its last word crossed the pins, the first words of the core
/// with their time, and the time of the whole line.
fn read(design: &Design, word: Word, planted: PlantedBug) -> (Time, Option<(Words, Time)>, Time) {
    read_with(&engines(), design, word, planted)
}

fn read_with(
    engines: &Engines,
    design: &Design,
    word: Word,
    planted: PlantedBug,
) -> (Time, Option<(Words, Time)>, Time) {
    let scheme = design.parts.build_with(DATA_LINES, 1, planted).unwrap();
    let slot = scheme.layout().data_slot(LINE).slot();
    let (line, _) = scheme.layout().shape().lines(slot);
    let mut machine = Machine::in_beats_with(engines, scheme, Core::default());
    machine.core.clock.replace(Some(machine.executor.clock().clone()));
    let crossed = Rc::new(Cell::new(Time::ZERO));
    let seen = crossed.clone();
    machine.memory.attach(Probe::new(false, move |at, crossing| {
        if crossing.line == line {
            seen.set(at);
        }
    }));
    let (scheme, memory, done) = (machine.scheme.clone(), machine.memory.clone(), Rc::new(Cell::new(false)));
    let (finished, clock) = (done.clone(), machine.executor.clock().clone());
    machine.executor.clock().spawn(async move {
        let verbs = Timed::new(&memory);
        scheme.write(&verbs, LINE, &[7; 64]).await;
        // Long enough for memory to have stored the line.
        clock.sleep(Duration::from_ns(10_000)).await;
        scheme.read_at_controller(&verbs, LINE, word).await;
        finished.set(true);
    });
    assert!(machine.run(Duration::from_ns(1_000_000), || done.get()), "the read ends");
    machine.memory.probe().into_iter().for_each(Probe::finish);
    (crossed.get(), machine.core.first.get(), machine.core.line.get().unwrap())
}

/// Returns true if all words had arrived before the core used them, and the core got some before the remaining ones.
fn in_time(design: &Design, planted: PlantedBug) -> bool {
    Words::ALL.iter().all(|word| {
        let (crossed, first, line) = read(design, word, planted);
        let (words, at) = first.unwrap();
        // The first words precede the last word by one beat for each remaining word.
        let others = 8 - words.iter().count() as u64;
        assert!(words.contains(Words::of(word)) && others > 0);
        at + BEAT * others >= crossed && line >= crossed
    })
}

fn designs() -> impl Iterator<Item = Design> {
    let chunks = [CHUNKS, SEALED_CHUNKS].map(|name| composed(name).unwrap());
    chunks.into_iter().chain(["none", "ctr-only", "xts", "ecb"].map(|name| catalogue::design(name).unwrap()))
}

#[test]
fn no_word_is_released_to_the_core_before_it_has_crossed_the_memory_pins() {
    for design in designs() {
        assert!(in_time(&design, PlantedBug::NONE), "{}", design.name);
    }
}

#[test]
fn the_planted_bug_that_ignores_word_arrival_releases_words_too_early() {
    let caught = designs().filter(|design| !in_time(design, PlantedBug::new(Bug::WordsNotAwaited))).count();
    // A cipher or a tag that takes longer than the burst hides the bug.
    assert!(caught >= 2, "{caught}");
}

#[test]
fn a_cbc_block_is_decrypted_only_after_the_previous_block_has_crossed_the_pins() {
    // The ciphers take almost no time, so that the core waits only for words.
    let at_once = || CipherEngine::from(Engine { units: 16, latency_ns: 0.001, interval_ns: 0.001 });
    let engines = Engines { aes: at_once(), tdes: Some(at_once()), ..engines() };
    for (cipher, block) in [(CipherChoice::TdesCbc, 1), (CipherChoice::Aes128Cbc, 2)] {
        let mut design = catalogue::design("ctr-only").unwrap();
        design.parts.cipher = cipher;
        for word in 0..8 {
            let (crossed, first, _) = read_with(&engines, &design, Word::at(8 * word), PlantedBug::NONE);
            let (_, at) = first.unwrap();
            let start = word / block * block;
            // The n-th word to arrive is the one with a number that differs from the first's in the bits of n.
            let turn = (start.saturating_sub(block)..start + block).map(|needed| needed ^ word).max().unwrap();
            let last = at + BEAT * (7 - turn as u64);
            assert!(last >= crossed && last < crossed + BEAT, "{cipher:?}, word {word}: {last:?} and {crossed:?}");
        }
    }
}
