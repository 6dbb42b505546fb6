//! Memory cryptography in the L2s of a machine, for designs in which L2s decrypt and verify lines (EMCC, MICRO 2022).
//!
//! ```toml
//! [at_l2]
//! counter_look_up_ns = 6.0
//! aes_share = 0.5
//! patience_ns = 6.0 # optional: the default follows from the machine's latencies
//! sees_controller = true # optional: the rule of EMCC sees only the L2's units
//! off_below = { per_thousand_requests = 10, sample = 10000 } # optional
//! ```
//! The L2s and the memory controller share the AES units of `[engines]`: the controller has the units that the L2s do
//! not get. Under a design that computes only at the controller, the controller has all units.

use super::Machine;
use machine::llc::Inclusion;
use protection::design::Parts;
use protection::execution::{CipherEngine, Engines, Patience};
use serde::{Deserialize, Serialize};
use units::Duration;

/// AES units and counter look-up in L2s.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtL2 {
    /// Latency of the look-up of a line's counters in an L2 that has missed the line, in nanoseconds.
    pub counter_look_up_ns: f64,
    /// Share of the machine's AES units that all L2s get together, from 0 to 1.
    pub aes_share: f64,
    /// Maximum wait of a read for the AES units of its L2, in nanoseconds. If a read would wait longer, the controller
    /// decrypts its line. By default the time that decryption in the L2 saves ([`Machine::patience`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ns: Option<f64>,
    /// True if L2s see the load of the controller, and accept reads by it (not in EMCC). A read then waits for the AES
    /// units of its L2 for a shorter time if reads wait for memory, and for a longer time if the controller's units are
    /// busy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sees_controller: bool,
    /// Rate of memory accesses below which an L2 decrypts no lines; without it, an L2 always does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_below: Option<OffBelow>,
}

/// Rate of memory accesses below which a core's L2 leaves decryption to the controller (EMCC, section IV-F; its only
/// number is "fewer than one memory access per thousand instructions").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OffBelow {
    /// Threshold: memory accesses per thousand requests to the L2, including hits.
    pub per_thousand_requests: u64,
    /// Number of requests to the L2 after which it compares its rate with the threshold again.
    pub sample: u64,
}

impl OffBelow {
    fn check(&self) -> Result<(), String> {
        let OffBelow { per_thousand_requests, sample } = *self;
        if !(1..=1000).contains(&per_thousand_requests) {
            return Err(format!(
                "at_l2.off_below.per_thousand_requests is {per_thousand_requests}: expected 1 to 1000"
            ));
        }
        if !(1..=SAMPLE_MAX).contains(&sample) {
            return Err(format!("at_l2.off_below.sample is {sample}: expected 1 to {SAMPLE_MAX}"));
        }
        Ok(())
    }
}

/// The longest sample, in requests.
const SAMPLE_MAX: u64 = 1_000_000_000;

impl AtL2 {
    /// Number of units in each L2, and of units of the controller; `None` if the share does not give each L2 the same
    /// whole number.
    fn split(&self, units: usize, cores: usize) -> Option<(usize, usize)> {
        let each = self.aes_share * units as f64 / cores as f64;
        let whole = each.round();
        let in_l2s = whole as usize * cores;
        ((each - whole).abs() < 1e-9 && whole >= 1.0 && in_l2s < units).then(|| (whole as usize, units - in_l2s))
    }

    /// Checks the table for a machine with these AES units and `cores` cores.
    ///
    /// # Errors
    /// A sentence with the broken rule.
    pub(crate) fn check(&self, aes: &CipherEngine, cores: usize) -> Result<(), String> {
        let patience_ns = self.patience_ns.unwrap_or_default();
        for (name, found) in [("counter_look_up_ns", self.counter_look_up_ns), ("patience_ns", patience_ns)] {
            if !(0.0..1e6).contains(&found) {
                return Err(format!("at_l2.{name} is {found}: expected 0 to 1000000"));
            }
        }
        self.off_below.as_ref().map_or(Ok(()), OffBelow::check)?;
        let (share, units) = (self.aes_share, aes.units);
        self.split(units, cores).map(drop).ok_or_else(|| {
            format!(
                "at_l2.aes_share is {share}: expected a share of engines.aes.units = {units} that gives each of \
                 {cores} L2s the same whole number of units and leaves the controller some"
            )
        })
    }
}

/// Peak AES blocks per second; absent if units accept any number of blocks at once, or if the design has another
/// cipher.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct AesBandwidth {
    /// Blocks per second of all units together.
    pub total: Option<f64>,
    /// Blocks per second of the controller's units.
    pub controller: Option<f64>,
    /// Blocks per second of the units in each L2, if it has any.
    pub each_l2: Option<f64>,
}

/// Peak blocks per second of these units.
fn per_second(aes: &CipherEngine) -> Option<f64> {
    (aes.interval_ns > 0.0).then(|| aes.units as f64 / aes.interval_ns * 1e9)
}

impl Machine {
    /// Peak AES blocks per second of the machine's units, distributed as the design uses them.
    pub fn aes_bandwidth(&self, parts: &Parts) -> AesBandwidth {
        let (engines, in_l2) = self.engines_under(parts);
        let of_aes = |engine: &CipherEngine| per_second(engine).filter(|_| !parts.cipher.is_tdes());
        AesBandwidth {
            total: of_aes(&self.engines.aes),
            controller: of_aes(&engines.aes),
            each_l2: in_l2.as_ref().and_then(of_aes),
        }
    }

    /// Checks that the machine supports a design.
    ///
    /// # Errors
    /// A sentence with the missing part, and a remedy.
    pub fn admits(&self, parts: &Parts) -> Result<(), String> {
        self.has_engine_for(parts)?;
        self.takes_buffers_of(parts)?;
        self.lets_lines_move(parts)?;
        if parts.caches.counters_in_l2.is_none() {
            return Ok(());
        }
        if parts.cipher.is_tdes() {
            return Err(
                "caches.counters_in_l2 makes pads in the AES units of L2s: set cipher = \"aes128-counter\"".to_owned()
            );
        }
        if self.at_l2.is_none() {
            return Err(format!(
                "caches.counters_in_l2 needs AES units in L2s, and machine '{}' has none: give it a table [at_l2], or take \
                 'emcc-4core'",
                self.name
            ));
        }
        match self.llc.inclusion {
            Inclusion::Neither => Err(format!(
                "caches.counters_in_l2 sends lines to L2s encrypted, so they must bypass the last-level cache, or stay \
                 there only while an L2 holds them decrypted: give machine '{}' llc.inclusion = \"victim\" or \
                 \"inclusive\"",
                self.name
            )),
            Inclusion::Inclusive | Inclusion::Victim => Ok(()),
        }
    }

    /// Checks that the controller has units for a design's cipher.
    ///
    /// # Errors
    /// A sentence with the missing units, and a remedy.
    pub fn has_engine_for(&self, parts: &Parts) -> Result<(), String> {
        if parts.cipher.is_tdes() && self.engines.tdes.is_none() {
            return Err(format!(
                "the cipher is Triple-DES, and machine '{}' has no units for it: give it a key such as engines.tdes = {{ units = 8, \
                 latency_ns = 96.0, interval_ns = 2.0 }}, which 'simplescalar-2005' has",
                self.name
            ));
        }
        Ok(())
    }

    /// The maximum wait of a read for the AES units of its L2 under a design. It is the time that the read saves by
    /// decryption and verification in the L2 instead of the controller. The estimate assumes counters in the last-level
    /// cache and a closed row (EMCC, figures 8, 13 and 14; section IV-D). A predicted line arrives from memory earlier,
    /// so the controller would wait longer for its counters.
    pub fn patience(&self, parts: &Parts) -> Option<Patience> {
        let at_l2 = self.at_l2.filter(|_| parts.caches.counters_in_l2.is_some())?;
        let sees_controller = at_l2.sees_controller;
        if let Some(ns) = at_l2.patience_ns {
            let patience = Duration::from_ns_f64(ns);
            return Some(Patience { unpredicted: patience, predicted: patience, sees_controller });
        }
        let ns = Duration::from_ns_f64;
        let (way, look_up) = self.mean_way();
        let path = self.path();
        let (request, reply) = (way + look_up + path, path + way);
        let decode = self.engines.counter_decode_ns.filter(|_| parts.counters.are_coded()).unwrap_or_default();
        let pad = ns(decode) + ns(self.engines.aes.latency_ns);
        let at_controller = request + ns(self.engines.metadata_cache.latency_ns) + self.last_level_look_up() + pad;
        let in_l2 = ns(at_l2.counter_look_up_ns) + way * 2 + look_up + pad;
        let row = self.memory_config().device.closed_read();
        let saved = |line: Duration| {
            let (late, early) = (line.max(at_controller) + reply, (line + reply).max(in_l2));
            late.saturating_sub(early)
        };
        Some(Patience {
            unpredicted: saved(request + row),
            predicted: saved((self.mean_hop() + row).saturating_sub(self.l2_look_up()).max(request)),
            sees_controller,
        })
    }

    /// The units under a design: the controller's, and the AES units of each L2 if the design uses them.
    pub fn engines_under(&self, parts: &Parts) -> (Engines, Option<CipherEngine>) {
        let split = self.at_l2.filter(|_| parts.caches.counters_in_l2.is_some());
        let aes = self.engines.aes;
        match split.and_then(|at_l2| at_l2.split(aes.units, self.cores)) {
            Some((each, left)) => {
                let units = |units| CipherEngine { units, ..aes };
                (Engines { aes: units(left), ..self.engines }, Some(units(each)))
            }
            None => (self.engines, None),
        }
    }
}
