//! What is behind a channel: DRAM or phase-change memory.
//!
//! Both are state machines with one shape: they have room or not, take requests, and are called again when they asked to
//! be. An enum rather than a trait object: there are two, and every access passes here.

use crate::dram::{Burst, BurstLength, Completion, Dram, DramConfig, DramCounters, Kind};
use crate::pcm::{Pcm, PcmConfig};
use units::{Clock, Cycles, Duration, LineAddr, LineLength, Time};

/// One channel's memory, as data.
#[derive(Clone, PartialEq, Debug)]
pub enum DeviceConfig {
    /// DRAM of any generation whose timing constraints are those of the DDR standards.
    Dram(DramConfig),
    /// Phase-change memory.
    Pcm(PcmConfig),
}

impl DeviceConfig {
    /// Checks that the values can describe a device.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        match self {
            DeviceConfig::Dram(dram) => dram.check().map_err(|rule| format!("dram: {rule}")),
            DeviceConfig::Pcm(pcm) => pcm.check().map_err(|rule| format!("pcm: {rule}")),
        }
    }

    /// The clock of its bus.
    pub fn clock(&self) -> Clock {
        match self {
            DeviceConfig::Dram(dram) => dram.clock_mhz.clock(),
            DeviceConfig::Pcm(pcm) => pcm.clock_mhz.clock(),
        }
    }

    /// Whether bursts can be shorter than 64 bytes.
    pub fn has_short_bursts(&self) -> bool {
        matches!(self, DeviceConfig::Dram(DramConfig { bursts: BurstLength::Any, .. }))
    }

    /// From a read that finds its bank at rest, with no row open, to the end of its line of 64 bytes.
    pub fn closed_read(&self) -> Duration {
        match self {
            DeviceConfig::Dram(dram) => {
                let timing = &dram.timing;
                self.clock().span(Cycles(timing.trcd + timing.cl + timing.burst_clocks))
            }
            DeviceConfig::Pcm(pcm) => Duration::from_ns_f64(pcm.read_ns) + self.clock().span(Cycles(pcm.burst_clocks)),
        }
    }

    /// Bytes on one channel, where its lines are so long.
    pub fn capacity(&self, line: LineLength) -> u64 {
        match self {
            DeviceConfig::Dram(dram) => dram.capacity(line),
            DeviceConfig::Pcm(pcm) => pcm.capacity.0,
        }
    }
}

impl From<DramConfig> for DeviceConfig {
    fn from(config: DramConfig) -> DeviceConfig {
        DeviceConfig::Dram(config)
    }
}

impl From<PcmConfig> for DeviceConfig {
    fn from(config: PcmConfig) -> DeviceConfig {
        DeviceConfig::Pcm(config)
    }
}

/// One channel's memory.
#[derive(Clone, Debug)]
pub(crate) enum ChannelDevice {
    Dram(Box<Dram>),
    Pcm(Box<Pcm>),
}

impl ChannelDevice {
    /// A device at power-on.
    ///
    /// # Panics
    /// If the configuration does not pass [`DeviceConfig::check`].
    pub fn new(config: DeviceConfig) -> ChannelDevice {
        match config {
            DeviceConfig::Dram(dram) => ChannelDevice::Dram(Box::new(Dram::new(dram))),
            DeviceConfig::Pcm(pcm) => ChannelDevice::Pcm(Box::new(Pcm::new(pcm))),
        }
    }

    /// Whether one more request of this kind is accepted.
    pub fn has_room(&self, kind: Kind) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.has_room(kind),
            ChannelDevice::Pcm(pcm) => pcm.has_room(kind),
        }
    }

    /// Whether a write of this line is in the controller's queue.
    pub fn holds_write(&self, line: LineAddr) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.holds_write(line),
            ChannelDevice::Pcm(pcm) => pcm.holds_write(line),
        }
    }

    /// Accepts a request at `now`; there must be room for it. Returns whether anything moves between controller and memory. Bursts
    /// of phase-change memory have one length.
    pub fn submit(&mut self, now: Time, burst: Burst, kind: Kind, token: u32) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.submit(now, burst, kind, token),
            ChannelDevice::Pcm(pcm) => pcm.submit(now, burst.line, kind, token),
        }
    }

    /// Does what can be done until `now`, appends the reads that are answered by it, and says when to call again.
    pub fn advance(&mut self, now: Time, completions: &mut Vec<Completion>) -> Option<Time> {
        match self {
            ChannelDevice::Dram(dram) => dram.advance(now, completions),
            ChannelDevice::Pcm(pcm) => pcm.advance(now, completions),
        }
    }

    /// Closes all rows of an idle device, if it has rows.
    pub fn close_rows(&mut self, now: Time) {
        if let ChannelDevice::Dram(dram) = self {
            dram.close_rows(now);
        }
    }

    /// What the device has done so far.
    pub fn counters(&self) -> &DramCounters {
        match self {
            ChannelDevice::Dram(dram) => dram.counters(),
            ChannelDevice::Pcm(pcm) => pcm.counters(),
        }
    }
}
