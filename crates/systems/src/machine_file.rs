//! A machine as its file says it.

use crate::error::ConfigError;
use machine::dram::DramConfig;
use machine::node::NodeConfig;
use protection::ways::Engines;
use serde::{Deserialize, Serialize};
use units::{Bytes, LINE_BYTES};

/// The last-level cache and the way to it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlcConfig {
    /// Its capacity.
    pub size: Bytes,
    /// Its associativity.
    pub ways: usize,
    /// From L2's miss to the answer, in nanoseconds: the network both ways and the look-up.
    pub latency_ns: f64,
    /// Lines that may be under way into it at once.
    pub mshrs: usize,
    /// Lines that may be on their way out of it at once.
    pub writeback_buffers: usize,
}

impl LlcConfig {
    /// How many sets it has.
    pub fn sets(&self) -> usize {
        self.size.0 as usize / LINE_BYTES / self.ways.max(1)
    }
}

/// Physical memory as the operating system hands it out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Memory for programs; metadata comes on top.
    pub size: Bytes,
    /// Pages that programs get: "4 KB" or "2 MB".
    pub page: Bytes,
    /// From the last-level cache to the memory controller and back, in nanoseconds.
    pub path_ns: f64,
}

/// A whole machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name, which is also its file's.
    pub name: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// The core and its private caches.
    pub node: NodeConfig,
    /// The last-level cache.
    pub llc: LlcConfig,
    /// Physical memory.
    pub memory: Memory,
    /// The memory channel.
    pub dram: DramConfig,
    /// The units that memory protection uses.
    pub engines: Engines,
}

impl Machine {
    /// Reads the text of a machine file.
    ///
    /// # Errors
    /// The line and the key that are wrong, or the rule that the values break.
    pub fn parse(file: &str, text: &str) -> Result<Machine, ConfigError> {
        let machine: Machine = toml::from_str(text).map_err(|error| ConfigError::syntax(file, text, &error))?;
        machine.check().map_err(|rule| ConfigError::Rule { file: file.to_owned(), rule })?;
        Ok(machine)
    }

    fn check(&self) -> Result<(), String> {
        self.node.check().map_err(|rule| rule.to_string())?;
        self.dram.check().map_err(|rule| format!("dram: {rule}"))?;
        let engines = &self.engines;
        for (name, engine) in [
            ("aes", engines.aes),
            ("mac", engines.mac),
            ("hash", engines.hash),
            ("metadata_cache", engines.metadata_cache),
        ] {
            engine.check(name)?;
        }
        let llc = &self.llc;
        let rules = [
            (
                llc.ways == 0 || !llc.sets().is_power_of_two(),
                "llc.size and llc.ways must give a power of two of sets".to_owned(),
            ),
            (llc.mshrs == 0, "llc.mshrs is 0: at least one miss must be possible".to_owned()),
            (llc.writeback_buffers == 0, "llc.writeback_buffers is 0: at least one is needed".to_owned()),
            (
                !(0.0..1e6).contains(&llc.latency_ns),
                format!("llc.latency_ns is {}: expected 0 to 1000000", llc.latency_ns),
            ),
            (
                !(0.0..1e6).contains(&self.memory.path_ns),
                format!("memory.path_ns is {}: expected 0 to 1000000", self.memory.path_ns),
            ),
            (
                ![4 << 10, 2 << 20].contains(&self.memory.page.0),
                format!("memory.page is \"{}\": expected \"4 KB\" or \"2 MB\"", self.memory.page),
            ),
            (
                self.memory.size.0 == 0 || !self.memory.size.0.is_multiple_of(2 << 20),
                format!("memory.size is \"{}\": expected a multiple of 2 MB", self.memory.size),
            ),
            (
                self.memory.size.0 > self.dram.capacity(),
                format!(
                    "memory.size is \"{}\", more than the {} that dram has",
                    self.memory.size,
                    Bytes(self.dram.capacity())
                ),
            ),
        ];
        rules.into_iter().find(|(broken, _)| *broken).map_or(Ok(()), |(_, rule)| Err(rule))
    }
}
