//! Main memory of a machine: its channels, and the distribution of lines over them.
//!
//! Each channel has a separate controller and a separate task that drives it; two channels share no state. To
//! components that read and write lines, all channels together are one memory.

pub(crate) mod device;
mod interleave;
mod words;

pub use device::DeviceConfig;
pub use interleave::{Deal, Interleave};
pub use words::WordOrder;

use crate::channel::{BusPriority, Channel};
use crate::dram::{Beats, Burst, Completion, DramCounts, Wanted};
use crate::rule::rule;
use sim::Clock;
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;
use units::{LineAddr, LineLength, Time, Word};

/// Configuration of a memory.
#[derive(Clone, PartialEq, Debug)]
pub struct MemoryConfig {
    /// Number of channels, all identical.
    pub channels: usize,
    /// Distribution of lines over the channels.
    pub interleave: Interleave,
    /// Order in which the words of a line are delivered.
    pub words: WordOrder,
    /// Memory device of each channel.
    pub device: DeviceConfig,
    /// Length of memory lines.
    pub line: LineLength,
}

impl MemoryConfig {
    /// Returns the capacity of all channels together, in bytes.
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
                "memory.line is \"{} B\", and all bursts of this memory have 64 bytes: set dram.bursts = \"any\" or \
                 memory.line = \"64 B\"",
                self.line.bytes()
            )
        })
    }

    /// Returns the channel of a line, and the line's number on the channel.
    pub fn channel_of(&self, line: LineAddr) -> (usize, LineAddr) {
        self.interleave.channel_of(self.channels, line)
    }

    /// Returns the channel, the bank and the row of a line, or `None` if this memory has no rows.
    pub fn row(&self, line: LineAddr) -> Option<Row> {
        let DeviceConfig::Dram(dram) = &self.device else { return None };
        let (channel, local) = self.channel_of(line);
        let (bank, row) = dram.bank_and_row(local);
        Some(Row { channel, bank, row })
    }
}

/// A row of a memory's banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Channel of the row.
    pub channel: usize,
    /// Bank in the channel.
    pub bank: u8,
    /// Row in the bank.
    pub row: u32,
}

impl Row {
    /// Returns true if a read of one row must wait for the other: two different rows of the same bank.
    pub fn conflicts_with(&self, other: &Row) -> bool {
        (self.channel, self.bank) == (other.channel, other.bank) && self.row != other.row
    }
}

/// A refresh of one rank, which answers no request meanwhile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefreshTime {
    /// Channel of the rank.
    pub channel: usize,
    /// Number of the rank on its channel.
    pub rank: usize,
    /// Time from the command to the next possible command of the rank.
    pub time: Range<Time>,
}

/// One to eight memory channels on a simulated clock; all clones of a value refer to the same memory.
#[derive(Clone)]
pub struct MemorySystem {
    channels: Rc<[Rc<Channel>]>,
    interleave: Interleave,
    words: WordOrder,
}

impl MemorySystem {
    /// Creates a memory at power-on; starts the tasks that drive its channels.
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

    /// Returns the same memory with `words` as the order in which it delivers words.
    #[must_use]
    pub fn handing_on(self, words: WordOrder) -> MemorySystem {
        MemorySystem { words, ..self }
    }

    /// Returns the order in which it delivers the words of a line.
    pub fn words(&self) -> WordOrder {
        self.words
    }

    /// Reads a line of 64 bytes or another burst; completes when the wanted words have arrived. The reads of a group
    /// arrive in the order of the calls if they are on one channel; channels do not wait for each other.
    pub fn read(&self, burst: impl Into<Burst>, wanted: Wanted) -> impl Future<Output = Completion> + '_ {
        let (channel, local) = self.channel_of(burst.into());
        self.channels[channel].read(local, self.words.wanted(wanted))
    }

    /// Returns the time at which each word of a line that was read can be used, if the word `from` was requested first.
    pub fn beats(&self, answer: &Completion, from: Word) -> Beats {
        self.words.beats(answer, from)
    }

    /// Writes a line of 64 bytes or another burst; completes when the channel's controller has accepted it. A
    /// controller of phase-change memory accepts it into the persistence domain, so the write is durable from then on.
    /// Returns true if the write causes a separate burst, false if it replaces a waiting write of the line.
    pub async fn write(&self, burst: impl Into<Burst>) -> bool {
        let (channel, local) = self.channel_of(burst.into());
        self.channels[channel].write(local).await
    }

    /// Waits until a read or write of a line may begin under this priority. The read or write must then begin at once.
    pub async fn turn(&self, line: LineAddr, priority: &BusPriority) {
        let (channel, _) = self.interleave.channel_of(self.channels.len(), line);
        self.channels[channel].turn(priority).await;
    }

    /// Returns the channel of a burst, and the burst with the line's number on the channel.
    fn channel_of(&self, burst: Burst) -> (usize, Burst) {
        let (channel, line) = self.interleave.channel_of(self.channels.len(), burst.line);
        (channel, Burst { line, ..burst })
    }

    /// Waits until no write of a line is in its controller's queue.
    pub async fn left(&self, line: LineAddr) {
        let (channel, local) = self.interleave.channel_of(self.channels.len(), line);
        self.channels[channel].left(local).await;
    }

    /// Closes all rows of all channels, which must be idle.
    pub fn close_rows(&self) {
        for channel in self.channels.iter() {
            channel.close_rows();
        }
    }

    /// Keeps the times of all further refreshes.
    pub fn keep_refreshes(&self) {
        self.channels.iter().for_each(|channel| channel.keep_refreshes());
    }

    /// Returns all kept refreshes.
    pub fn refreshes(&self) -> Vec<RefreshTime> {
        let of_channel = |(channel, of): (usize, &Rc<Channel>)| {
            of.refreshes().into_iter().map(move |(rank, time)| RefreshTime { channel, rank, time })
        };
        self.channels.iter().enumerate().flat_map(of_channel).collect()
    }

    /// Returns the statistics of all channels, summed.
    pub fn counts(&self) -> DramCounts {
        let mut sum = DramCounts::default();
        for channel in self.channels.iter() {
            sum += channel.counts();
        }
        sum
    }
}

impl From<Rc<Channel>> for MemorySystem {
    /// Makes a memory of a single channel.
    fn from(channel: Rc<Channel>) -> MemorySystem {
        MemorySystem { channels: Rc::new([channel]), interleave: Interleave::default(), words: WordOrder::Whole }
    }
}

#[cfg(test)]
mod tests;
