//! The units of a memory controller that protection needs, as a machine defines them.

use crate::verbs::{Blocks, Purpose};
use serde::{Deserialize, Serialize};
use sim::pipe::{Passage, Pipe};
use units::{Duration, Time};

/// The shortest interval in nanoseconds: a picosecond. Shorter ones cannot be distinguished from zero.
const INTERVAL_NS_MIN: f64 = 0.001;

/// Identical pipelined units of one kind.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Number of the units.
    pub units: usize,
    /// Latency from input to output, in nanoseconds.
    pub latency_ns: f64,
    /// Interval between one item and the next into the same unit, in nanoseconds.
    pub interval_ns: f64,
}

/// Identical pipelined units for one block cipher. They take any length of key, and either direction.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CipherEngine {
    /// Number of the units.
    pub units: usize,
    /// Latency from input to output, in nanoseconds.
    pub latency_ns: f64,
    /// Latency of blocks in the inverse cipher, if it differs, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrypt_latency_ns: Option<f64>,
    /// Interval between one block and the next into the same unit, in nanoseconds.
    pub interval_ns: f64,
}

/// Unit that makes the tags of counter lines in trees of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterTags {
    /// The engine for hashes.
    #[default]
    Hash,
    /// The units for AES, one block each for the tag's mask; the product needs no time in addition (EMCC, section II).
    Aes,
}

impl CounterTags {
    fn are_hashes(&self) -> bool {
        *self == CounterTags::Hash
    }
}

/// The hardware that the memory controller has for protection. Part of the machine, so that all designs share it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engines {
    /// Units that take one AES block.
    pub aes: CipherEngine,
    /// Units that take one block of Triple-DES. A machine without them runs no design that needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdes: Option<CipherEngine>,
    /// Units that take one data line and its tag.
    pub mac: Engine,
    /// Units that take one line of metadata, unless `counter_tags` is different.
    pub hash: Engine,
    /// Port of each metadata cache, which takes one look-up.
    pub metadata_cache: Engine,
    /// Unit that makes the tags of counter lines in trees of counters; by default the engine for hashes.
    #[serde(default, skip_serializing_if = "CounterTags::are_hashes")]
    pub counter_tags: CounterTags,
    /// Time to decode one counter from a line of counters, in nanoseconds, before a pad may begin. It applies to
    /// organisations with counters that must be decoded; by default zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_decode_ns: Option<f64>,
    /// Time to find the candidate of a speculation that matches a chunk of a line, in nanoseconds; by default zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates_ns: Option<f64>,
    /// Time from ciphertext and pad to the plaintext of a line that moves, in nanoseconds; by default zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xor_ns: Option<f64>,
}

impl Engine {
    /// Checks whether the unit can be built.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check(&self, name: &str) -> Result<(), String> {
        match self {
            Engine { units: 0, .. } => Err(format!("engines.{name}.units is 0: at least one unit is needed")),
            engine if !(0.0..1e6).contains(&engine.latency_ns) => {
                Err(format!("engines.{name}.latency_ns is {}: expected 0 to 1000000", engine.latency_ns))
            }
            engine if !(INTERVAL_NS_MIN..1e6).contains(&engine.interval_ns) => Err(format!(
                "engines.{name}.interval_ns is {}: expected {INTERVAL_NS_MIN} to 1000000, since a unit that takes any number \
                 at once has no limit to its speed",
                engine.interval_ns
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn build(&self) -> Pipe {
        Pipe::new(self.units, Duration::from_ns_f64(self.latency_ns), Duration::from_ns_f64(self.interval_ns))
    }
}

impl From<Engine> for CipherEngine {
    /// Returns units with the same latency in either direction.
    fn from(Engine { units, latency_ns, interval_ns }: Engine) -> CipherEngine {
        CipherEngine { units, latency_ns, decrypt_latency_ns: None, interval_ns }
    }
}

impl CipherEngine {
    /// Checks whether the units can be built.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check(&self, name: &str) -> Result<(), String> {
        self.encrypting().check(name)?;
        match self.decrypt_latency_ns {
            Some(found) if !(0.0..1e6).contains(&found) => {
                Err(format!("engines.{name}.decrypt_latency_ns is {found}: expected 0 to 1000000"))
            }
            _ => Ok(()),
        }
    }

    fn encrypting(&self) -> Engine {
        let CipherEngine { units, latency_ns, interval_ns, .. } = *self;
        Engine { units, latency_ns, interval_ns }
    }

    pub(super) fn build(&self) -> CipherUnits {
        let inverse = Duration::from_ns_f64(self.decrypt_latency_ns.unwrap_or(self.latency_ns));
        CipherUnits { pipe: self.encrypting().build(), inverse }
    }
}

/// The working units of one block cipher.
pub(super) struct CipherUnits {
    pub pipe: Pipe,
    /// Latency of the inverse cipher.
    inverse: Duration,
}

impl CipherUnits {
    /// Passes the blocks through the units, from `ready` on. Returns their times.
    pub fn pass(&self, ready: Time, blocks: Blocks) -> Passage {
        if blocks.chained == 0 && blocks.purpose != Purpose::Opening {
            return self.pipe.pass(ready, blocks.parallel);
        }
        let chain = self.pipe.pass_chained(ready, blocks.chained);
        if blocks.parallel == 0 {
            return chain;
        }
        let rest = match blocks.purpose {
            Purpose::Opening => self.pipe.pass_in(self.inverse, chain.done, blocks.parallel),
            _ => self.pipe.pass(chain.done, blocks.parallel),
        };
        Passage { start: if blocks.chained > 0 { chain.start } else { rest.start }, done: rest.done }
    }
}
