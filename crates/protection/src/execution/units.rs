//! The units of the chip that execute a scheme's operations: AES, tags, hashes, and the ports of metadata caches.

use super::engines::CipherUnits;
use super::private::{Patience, PrivateAes};
use super::{CipherEngine, Engines, TimedCounts};
use crate::slot::{Kind, MetadataCacheKind};
use crate::verbs::AesUnits;
use crypto::BlockCipher;
use enum_map::EnumMap;
use sim::pipe::Pipe;
use units::Duration;

/// The units that all accesses of one machine share.
pub(super) struct EngineUnits {
    aes: CipherUnits,
    tdes: Option<CipherUnits>,
    /// Time to decode a counter from its line.
    pub decoding: Duration,
    /// Time to find the matching candidate of a chunk.
    pub comparing: Duration,
    /// Time of the XOR of ciphertext and pad, for a permuted line.
    pub xor: Duration,
    /// Units in each core's L2, if the machine has some and the design uses them.
    in_l2: Box<[PrivateAes]>,
    pub mac: Pipe,
    hash: Pipe,
    /// True if metadata lines have tags with masks made by AES; the other work of these tags takes no time.
    pub hashes_by_aes: bool,
    ports: EnumMap<MetadataCacheKind, Pipe>,
    /// True if all metadata shares one cache with one port.
    pub one_port: bool,
}

impl EngineUnits {
    /// Returns the controller's units, with a port for each metadata cache.
    pub fn new(engines: &Engines) -> EngineUnits {
        EngineUnits {
            aes: engines.aes.build(),
            tdes: engines.tdes.as_ref().map(CipherEngine::build),
            decoding: Duration::from_ns_f64(engines.counter_decode_ns.unwrap_or(0.0)),
            comparing: Duration::from_ns_f64(engines.candidates_ns.unwrap_or(0.0)),
            xor: Duration::from_ns_f64(engines.xor_ns.unwrap_or(0.0)),
            in_l2: Box::default(),
            mac: engines.mac.build(),
            hash: engines.hash.build(),
            hashes_by_aes: false,
            ports: EnumMap::from_fn(|_| engines.metadata_cache.build()),
            one_port: false,
        }
    }

    /// Adds AES units like these to the L2 of each of `cores` cores.
    pub fn add_to_l2s(&mut self, engine: &CipherEngine, cores: usize, patience: Patience) {
        self.in_l2 = (0..cores).map(|_| PrivateAes::new(engine, patience)).collect();
    }

    /// Returns the units that do some work of a block cipher.
    ///
    /// # Panics
    /// If the machine has no units for the cipher; machines are checked for this.
    pub fn of_cipher(&self, units: AesUnits, cipher: BlockCipher) -> &CipherUnits {
        let in_l2 = match units {
            AesUnits::Controller => None,
            AesUnits::L2(core) => self.in_l2(core),
        };
        match (in_l2, cipher) {
            (Some(aes), _) => &aes.units,
            (None, BlockCipher::Aes) => &self.aes,
            (None, BlockCipher::Tdes) => {
                self.tdes.as_ref().unwrap_or_else(|| unreachable!("a machine without Triple-DES"))
            }
        }
    }

    /// Returns the AES units in the L2 of a core, if it has some.
    pub fn in_l2(&self, core: usize) -> Option<&PrivateAes> {
        self.in_l2.get(core)
    }

    /// Returns the unit that hashes a metadata line.
    pub fn hash(&self) -> &Pipe {
        if self.hashes_by_aes { &self.aes.pipe } else { &self.hash }
    }

    /// Returns the port of the metadata cache for lines of a kind.
    pub fn port(&self, kind: Kind) -> &Pipe {
        &self.ports[if self.one_port { MetadataCacheKind::Counters } else { kind.looked_up_in() }]
    }

    /// Sets the counts of items that passed through the units.
    pub fn count(&self, counts: &mut TimedCounts) {
        counts.aes_blocks_in_l2 = self.in_l2.iter().map(|aes| aes.units.pipe.items()).sum();
        counts.tdes_blocks = self.tdes.as_ref().map_or(0, |units| units.pipe.items());
        counts.aes_blocks = self.aes.pipe.items() + counts.aes_blocks_in_l2;
        counts.macs = self.mac.items();
        counts.hashes = self.hash.items();
    }
}
