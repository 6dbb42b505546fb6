//! The memory device of a channel: DRAM or phase-change memory.
//!
//! Both devices are state machines with the same interface: each reports whether its queues have room, takes requests,
//! and returns the time of the next call. The model uses an enum and not a trait object, because only two kinds exist
//! and every access passes through this code.

use crate::dram::{Burst, BurstLength, Completion, Dram, DramConfig, DramCounts, Kind};
use crate::pcm::{Pcm, PcmConfig};
use std::ops::Range;
use units::{Clock, Cycles, Duration, LineAddr, LineLength, Time};

/// Configuration of one channel's memory.
#[derive(Clone, PartialEq, Debug)]
pub enum DeviceConfig {
    /// DRAM of any generation with the timing constraints of the DDR standards.
    Dram(DramConfig),
    /// Phase-change memory of one channel.
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

    /// Returns the clock of the device's bus.
    pub fn clock(&self) -> Clock {
        match self {
            DeviceConfig::Dram(dram) => dram.clock_mhz.clock(),
            DeviceConfig::Pcm(pcm) => pcm.clock_mhz.clock(),
        }
    }

    /// Returns true if bursts can be shorter than 64 bytes.
    pub fn has_short_bursts(&self) -> bool {
        matches!(self, DeviceConfig::Dram(DramConfig { bursts: BurstLength::Any, .. }))
    }

    /// Returns the latency of a read of 64 bytes that finds its bank idle and without an open row.
    pub fn closed_read(&self) -> Duration {
        match self {
            DeviceConfig::Dram(dram) => {
                let timing = &dram.timing;
                self.clock().span(Cycles(timing.trcd + timing.cl + timing.burst_clocks))
            }
            DeviceConfig::Pcm(pcm) => Duration::from_ns_f64(pcm.read_ns) + self.clock().span(Cycles(pcm.burst_clocks)),
        }
    }

    /// Returns the capacity of one channel in bytes, for lines of length `line`.
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

/// Memory device of one channel.
#[derive(Clone, Debug)]
pub(crate) enum ChannelDevice {
    Dram(Box<Dram>),
    Pcm(Box<Pcm>),
}

impl ChannelDevice {
    /// Creates a device at power-on.
    ///
    /// # Panics
    /// If the configuration does not pass [`DeviceConfig::check`].
    pub fn new(config: DeviceConfig) -> ChannelDevice {
        match config {
            DeviceConfig::Dram(dram) => ChannelDevice::Dram(Box::new(Dram::new(dram))),
            DeviceConfig::Pcm(pcm) => ChannelDevice::Pcm(Box::new(Pcm::new(pcm))),
        }
    }

    /// Returns true if the device accepts one more request of this kind.
    pub fn has_room(&self, kind: Kind) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.has_room(kind),
            ChannelDevice::Pcm(pcm) => pcm.has_room(kind),
        }
    }

    /// Returns true if no request waits in a queue.
    pub fn is_idle(&self) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.is_idle(),
            ChannelDevice::Pcm(pcm) => pcm.is_idle(),
        }
    }

    /// Returns true if a write of this line is in the controller's queue.
    pub fn holds_write(&self, line: LineAddr) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.holds_write(line),
            ChannelDevice::Pcm(pcm) => pcm.holds_write(line),
        }
    }

    /// Accepts a request at `now`; the device must have room for it. Returns true if the request causes a burst between
    /// controller and memory. All bursts of phase-change memory have the same length,
    /// and no group of reads has an order there.
    pub fn submit(&mut self, now: Time, burst: Burst, kind: Kind, token: u32) -> bool {
        match self {
            ChannelDevice::Dram(dram) => dram.submit(now, burst, kind, token),
            ChannelDevice::Pcm(pcm) => pcm.submit(now, burst.line, kind, token),
        }
    }

    /// Performs all actions until `now`, appends the completions of the answered reads, and returns the time of the
    /// next call.
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

    /// Keeps the times of all further refreshes, if the device needs any.
    pub fn keep_refreshes(&mut self) {
        if let ChannelDevice::Dram(dram) = self {
            dram.keep_refreshes();
        }
    }

    /// Returns the rank and the time of each kept refresh.
    pub fn refreshes(&self) -> Vec<(usize, Range<Time>)> {
        match self {
            ChannelDevice::Dram(dram) => dram.refreshes().collect(),
            ChannelDevice::Pcm(_) => Vec::new(),
        }
    }

    /// Returns the statistics of the device.
    pub fn counts(&self) -> &DramCounts {
        match self {
            ChannelDevice::Dram(dram) => dram.counts(),
            ChannelDevice::Pcm(pcm) => pcm.counts(),
        }
    }
}
