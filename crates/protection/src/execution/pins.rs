//! The pins of a timed memory: every access passes here, and a probe may listen.
//!
//! Without one, this is the machine's memory and nothing else.

use crate::media::{Media, Shape};
use crate::probe::{Crossing, Probe};
use machine::dram::{Completion, Kind, Wanted};
use machine::memory::MemorySystem;
use sim::Clock;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use units::{LineAddr, Time};

/// The machine's memory as the chip sees it.
pub(super) struct Pins {
    channels: MemorySystem,
    clock: Clock,
    shape: Shape,
    media: Rc<RefCell<Media>>,
    probe: OnceCell<Probe>,
}

impl Pins {
    /// The pins of a memory with these chips.
    pub fn new(channels: MemorySystem, clock: &Clock, shape: Shape, media: &Rc<RefCell<Media>>) -> Pins {
        Pins { channels, clock: clock.clone(), shape, media: media.clone(), probe: OnceCell::new() }
    }

    /// Puts a probe there, unless there is one.
    pub fn attach(&self, probe: Probe) {
        let _ = self.probe.set(probe);
    }

    /// The probe.
    pub fn probe(&self) -> Option<&Probe> {
        self.probe.get()
    }

    /// What is behind them.
    pub fn memory(&self) -> &MemorySystem {
        &self.channels
    }

    /// Reads a line; ready when what is wanted of it has arrived.
    #[inline]
    pub async fn read(&self, line: LineAddr, wanted: Wanted) -> Completion {
        let answer = self.channels.read(line, wanted).await;
        if let Some(probe) = self.probe.get() {
            self.report(probe, answer.at, (line, Kind::Read, answer.burst));
        }
        answer
    }

    /// Writes a line, whose bytes the chips hold already; ready when memory's controller has taken it.
    #[inline]
    pub async fn write(&self, line: LineAddr) {
        let burst = self.channels.write(line).await;
        if let Some(probe) = self.probe.get() {
            self.report(probe, self.clock.now(), (line, Kind::Write, burst));
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
