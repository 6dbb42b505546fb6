//! The pins of a timed memory: every access passes them, and a probe may listen.
//!
//! Without a probe, this is only the machine's memory.

use crate::media::{Media, Shape};
use crate::planted::PlantedBug;
use crate::probe::{Crossing, Probe};
use machine::dram::{Burst, Completion, Kind, Wanted};
use machine::memory::MemorySystem;
use sim::{Clock, join};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use units::{LineAddr, Time};

/// The machine's memory, as the chip accesses it.
pub(super) struct Pins {
    channels: MemorySystem,
    clock: Clock,
    shape: Shape,
    media: Rc<RefCell<Media>>,
    probe: OnceCell<Probe>,
    /// Deliberate weakness of stores through the pins, if any.
    pub planted: PlantedBug,
}

impl Pins {
    /// Returns the pins of a memory with these chips.
    pub fn new(channels: MemorySystem, clock: &Clock, shape: Shape, media: &Rc<RefCell<Media>>) -> Pins {
        Pins {
            channels,
            clock: clock.clone(),
            shape,
            media: media.clone(),
            probe: OnceCell::new(),
            planted: PlantedBug::NONE,
        }
    }

    /// Attaches a probe, unless one is attached already.
    pub fn attach(&self, probe: Probe) {
        let _ = self.probe.set(probe);
    }

    /// Returns the probe, if one is attached.
    pub fn probe(&self) -> Option<&Probe> {
        self.probe.get()
    }

    /// Returns the memory behind the pins.
    pub fn memory(&self) -> &MemorySystem {
        &self.channels
    }

    /// Reports a read to the probe after the wanted words have arrived. It is separate from the read, because this
    /// saves a level of nested futures.
    #[inline]
    pub fn was_read(&self, line: LineAddr, answer: &Completion) {
        if let Some(probe) = self.probe.get() {
            self.report(probe, answer.at, (line, Kind::Read, answer.burst));
        }
    }

    /// Reads two lines completely. The second line is requested last and arrives last, except after a refresh or if
    /// another channel has a shorter queue.
    pub async fn read_both(&self, first: Burst, second: Burst) -> (Completion, Completion) {
        let read = async |burst: Burst| {
            let answer = self.channels.read(burst, Wanted::LINE).await;
            self.was_read(burst.line, &answer);
            answer
        };
        join!(read(first), read(second))
    }

    /// Writes a burst; the chips already hold its bytes. Returns when memory's controller has accepted the burst.
    #[inline]
    pub async fn write(&self, burst: Burst) {
        let moves = self.channels.write(burst).await;
        if let Some(probe) = self.probe.get() {
            self.report(probe, self.clock.now(), (burst.line, Kind::Write, moves));
        }
    }

    #[inline(never)]
    fn report(&self, probe: &Probe, at: Time, (line, kind, burst): (LineAddr, Kind, bool)) {
        let content = probe.with_bytes().then(|| {
            let media = self.media.borrow();
            self.shape.content(line, |slot| media.read(slot))
        });
        probe.crossed(self.clock.now(), at, Crossing { line, kind, burst, content: content.flatten() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::dram::DramConfig;
    use machine::memory::{Interleave, MemoryConfig, WordOrder};
    use sim::Executor;
    use std::cell::Cell;
    use units::{LineLength, Word};

    /// One clock of DDR4-3200.
    const CLOCK_FS: u64 = 625_000;

    /// Returns the time at which the last of these accesses let its task continue, and all crossings that a probe has
    /// seen.
    fn seen(accesses: &'static [(Kind, u64)]) -> (Time, Vec<(u64, Crossing)>) {
        let mut executor = Executor::new();
        let device = DramConfig::ddr4_3200().into();
        let config = MemoryConfig {
            channels: 1,
            interleave: Interleave::default(),
            words: WordOrder::CriticalFirst,
            device,
            line: LineLength::WHOLE,
        };
        let clock = executor.clock().clone();
        let media = Rc::new(RefCell::new(Media::new(16)));
        let pins = Rc::new(Pins::new(MemorySystem::start(&clock, config), &clock, 16.into(), &media));
        let crossings = Rc::new(RefCell::new(Vec::new()));
        let listener = crossings.clone();
        pins.attach(Probe::new(true, move |at, crossing| listener.borrow_mut().push((at.as_fs(), crossing))));
        let done = Rc::new(Cell::new(None));
        let (ended, accessed) = (done.clone(), pins.clone());
        executor.clock().spawn(async move {
            for (kind, line) in accesses.iter().map(|(kind, line)| (*kind, LineAddr(*line))) {
                match kind {
                    Kind::Read => {
                        let answer = accessed.memory().read(line, Wanted::piece(Word::FIRST, 8)).await;
                        accessed.was_read(line, &answer);
                    }
                    Kind::Write => {
                        media.borrow_mut().write(crate::slot::Slot::of_metadata(line), &[7; 64]);
                        accessed.write(line.into()).await;
                    }
                }
            }
            ended.set(Some(clock.now()));
        });
        executor.run_until(|| done.get().is_some());
        pins.probe().into_iter().for_each(Probe::finish);
        (done.get().unwrap_or(Time::NEVER), crossings.take())
    }

    #[test]
    fn a_bus_read_has_the_time_of_its_last_word_even_if_released_at_the_first() {
        let (went_on, crossings) = seen(&[(Kind::Read, 0)]);
        // The last beats of the line arrive three and a half clocks after the first.
        assert_eq!(went_on, Time::from_fs(CLOCK_FS * 89 / 2));
        let line = Crossing { line: LineAddr(0), kind: Kind::Read, burst: true, content: None };
        assert_eq!(crossings, [(CLOCK_FS * 48, line)]);
    }

    #[test]
    fn a_bus_write_has_the_time_of_its_acceptance_and_a_forwarded_read_has_no_burst() {
        let (_, crossings) = seen(&[(Kind::Write, 3), (Kind::Write, 3), (Kind::Read, 3)]);
        let times_and_bursts: Vec<_> = crossings.iter().map(|(at, crossing)| (*at, crossing.burst)).collect();
        assert_eq!(times_and_bursts, [(0, true), (0, false), (CLOCK_FS, false)]);
        assert!(crossings.iter().all(|(_, crossing)| crossing.content.is_some_and(|content| content.line == [7; 64])));
    }
}
