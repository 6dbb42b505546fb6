//! All of a machine's memory: its channels, and which line is on which.
//!
//! Each channel has its own controller and its own task that drives it; they share nothing. What reads and writes lines
//! sees one memory.

pub(crate) mod device;
mod interleave;
mod words;

pub use device::DeviceConfig;
pub use interleave::{Deal, Interleave};
pub use words::WordOrder;

use crate::channel::Channel;
use crate::dram::{Beats, Burst, Completion, DramCounters, Wanted};
use crate::rule::rule;
use sim::Clock;
use std::future::Future;
use std::rc::Rc;
use units::{LineAddr, LineLength, Word};

/// A memory as data.
#[derive(Clone, PartialEq, Debug)]
pub struct MemoryConfig {
    /// How many channels there are, all alike.
    pub channels: usize,
    /// How lines are spread over them.
    pub interleave: Interleave,
    /// In which order the words of a line are handed on.
    pub words: WordOrder,
    /// What is on each.
    pub device: DeviceConfig,
    /// How long memory lines are.
    pub line: LineLength,
}

impl MemoryConfig {
    /// Bytes on all channels.
    pub fn capacity(&self) -> u64 {
        self.channels as u64 * self.device.capacity(self.line)
    }

    /// Checks that the values can describe a memory.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        self.interleave.check(self.channels).map_err(|rule| format!("memory.{rule}"))?;
        self.device.check()?;
        rule(self.line == LineLength::WHOLE || self.device.has_short_bursts(), || {
            format!(
                "memory.line is \"{} B\", and all bursts of this memory are of 64 bytes: set dram.bursts = \"any\" or memory.line = \"64 B\"",
                self.line.bytes()
            )
        })
    }

    /// The channel of a line, and the line's number on it.
    pub fn place(&self, line: LineAddr) -> (usize, LineAddr) {
        self.interleave.place(self.channels, line)
    }

    /// The channel, the bank and the row of a line; nothing if this memory has no rows.
    pub fn row(&self, line: LineAddr) -> Option<Row> {
        let DeviceConfig::Dram(dram) = &self.device else { return None };
        let (channel, local) = self.place(line);
        let (bank, row) = dram.bank_and_row(local);
        Some(Row { channel, bank, row })
    }
}

/// A row of a memory's banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The channel.
    pub channel: usize,
    /// The bank on it.
    pub bank: u8,
    /// The row in that.
    pub row: u32,
}

impl Row {
    /// Whether a read of a line here makes one of a line there wait for its row: another row of the same bank.
    pub fn conflicts_with(&self, other: &Row) -> bool {
        (self.channel, self.bank) == (other.channel, other.bank) && self.row != other.row
    }
}

/// One to eight memory channels on a simulated clock; clones are the same memory.
#[derive(Clone)]
pub struct MemorySystem {
    channels: Rc<[Rc<Channel>]>,
    interleave: Interleave,
    words: WordOrder,
}

impl MemorySystem {
    /// A memory at power-on; starts the tasks that drive its channels.
    ///
    /// # Panics
    /// If the configuration does not pass [`MemoryConfig::check`].
    pub fn start(clock: &Clock, config: MemoryConfig) -> MemorySystem {
        if let Err(broken) = config.check() {
            panic!("the memory's configuration is impossible: {broken}");
        }
        let channels = (0..config.channels).map(|_| Channel::start(clock, config.device.clone())).collect();
        let MemoryConfig { interleave, words, .. } = config;
        MemorySystem { channels, interleave, words }
    }

    /// The same, handing on words in this order.
    #[must_use]
    pub fn handing_on(self, words: WordOrder) -> MemorySystem {
        MemorySystem { words, ..self }
    }

    /// In which order it hands the words of a line on.
    pub fn words(&self) -> WordOrder {
        self.words
    }

    /// Reads a line of 64 bytes or another burst; ready when what is wanted of it has arrived.
    pub fn read(&self, burst: impl Into<Burst>, wanted: Wanted) -> impl Future<Output = Completion> + '_ {
        let (channel, local) = self.place(burst.into());
        self.channels[channel].read(local, self.words.wanted(wanted))
    }

    /// When each word of a line that was read can be used, if that one came first.
    pub fn beats(&self, answer: &Completion, from: Word) -> Beats {
        self.words.beats(answer, from)
    }

    /// Writes a line of 64 bytes or another burst; ready when the channel's controller has taken it. A controller of phase-change
    /// memory takes it into the persistence domain: from then on the write is durable. Returns whether it takes a burst of its own,
    /// which it does unless it replaces a write of the line that waits.
    pub async fn write(&self, burst: impl Into<Burst>) -> bool {
        let (channel, local) = self.place(burst.into());
        self.channels[channel].write(local).await
    }

    /// The channel of a burst, and the burst there.
    fn place(&self, Burst { line, words }: Burst) -> (usize, Burst) {
        let (channel, line) = self.interleave.place(self.channels.len(), line);
        (channel, Burst { line, words })
    }

    /// Waits until no write of a line is in its controller's queue.
    pub async fn left(&self, line: LineAddr) {
        let (channel, local) = self.interleave.place(self.channels.len(), line);
        self.channels[channel].left(local).await;
    }

    /// Closes all rows of all channels, which must be idle.
    pub fn close_rows(&self) {
        for channel in self.channels.iter() {
            channel.close_rows();
        }
    }

    /// What all channels together have done so far.
    pub fn counters(&self) -> DramCounters {
        let mut sum = DramCounters::default();
        for channel in self.channels.iter() {
            sum += channel.counters();
        }
        sum
    }
}

impl From<Rc<Channel>> for MemorySystem {
    /// A single channel is a memory too.
    fn from(channel: Rc<Channel>) -> MemorySystem {
        MemorySystem { channels: Rc::new([channel]), interleave: Interleave::default(), words: WordOrder::Whole }
    }
}

#[cfg(test)]
mod tests;
