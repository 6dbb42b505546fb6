//! Configuration of the cryptographic units of a memory controller.

use crate::verbs::{Blocks, Purpose};
use serde::{Deserialize, Serialize};
use sim::pipe::{Passage, Pipe};
use units::{Duration, Time};

/// The shortest interval, one picosecond, in nanoseconds. Shorter intervals cannot be distinguished from zero.
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

/// Identical pipelined units for one block cipher. They support all key lengths, encryption and decryption.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CipherEngine {
    /// Number of the units.
    pub units: usize,
    /// Latency from input to output, in nanoseconds.
    pub latency_ns: f64,
    /// Latency of a block in the inverse cipher, in nanoseconds, if it differs from `latency_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decrypt_latency_ns: Option<f64>,
    /// Interval between one block and the next into the same unit, in nanoseconds.
    pub interval_ns: f64,
}

/// Unit that computes the MACs of counter lines in trees of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterTags {
    /// The hash engine of the controller.
    #[default]
    Hash,
    /// The AES units, one block for the mask of each MAC; the product needs no additional time (EMCC, section II).
    Aes,
}

impl CounterTags {
    fn are_hashes(&self) -> bool {
        *self == CounterTags::Hash
    }
}

/// The cryptographic units of the memory controller. They belong to the machine file, so that all designs have the same
/// units.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engines {
    /// AES units; each item is one AES block.
    pub aes: CipherEngine,
    /// Triple-DES units; each item is one block. A machine without this table runs no design with Triple-DES.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdes: Option<CipherEngine>,
    /// Units that compute tags of data; each item is one data line.
    pub mac: Engine,
    /// Hash units, which compute hashes or MACs of metadata; each item is one metadata line. With
    /// `counter_tags = "aes"`, AES units compute the MACs of counter lines instead.
    pub hash: Engine,
    /// Port of each metadata cache; each item is one look-up.
    pub metadata_cache: Engine,
    /// Unit that computes the MACs of counter lines in a tree of counters: the hash engine (`hash`), or the AES
    /// units (`aes`).
    #[serde(default, skip_serializing_if = "CounterTags::are_hashes")]
    pub counter_tags: CounterTags,
    /// Time to decode one counter from a counter line, in nanoseconds, before the computation of a pad may begin;
    /// by default zero. It applies only to morphable counters, which must be decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_decode_ns: Option<f64>,
    /// Time to compare a chunk of a line with the candidates of a speculation, in nanoseconds; by default zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates_ns: Option<f64>,
    /// Time of the XOR of ciphertext and pad for a permuted line, in nanoseconds; by default zero.
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

/// The units of one block cipher in a timed memory.
pub(super) struct CipherUnits {
    pub pipe: Pipe,
    /// Latency of the inverse cipher.
    inverse: Duration,
}

impl CipherUnits {
    /// Passes blocks through the units, from `ready` on. Returns their times.
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
