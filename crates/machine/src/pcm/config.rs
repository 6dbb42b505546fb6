//! Configuration of a channel of phase-change memory.

use crate::rule::rule;
use serde::{Deserialize, Serialize};
use units::{Bytes, Frequency, LineAddr};

/// Maximum number of banks of a channel.
const BANKS_MAX: usize = 64;
/// Maximum length of a queue.
const QUEUE_MAX: usize = 4096;

/// Map from lines to banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BankMapping {
    /// The lowest bits of the line's number, XOR-ed with the bits above them. Neighbouring lines are in different
    /// banks. Two lines at a distance equal to the number of banks are also in different banks.
    #[default]
    Xor,
    /// The line's number, as a polynomial over GF(2), modulo an irreducible polynomial. No stride of lines is limited
    /// to few banks, and two streams at a fixed distance do not collide in one bank repeatedly (Rau, "Pseudo-randomly
    /// interleaved memory", ISCA 1991).
    PseudoRandom,
}

impl BankMapping {
    fn is_usual(&self) -> bool {
        *self == BankMapping::default()
    }

    /// Returns the bank of a line, for `banks` banks, a power of two.
    pub(super) fn bank(self, line: LineAddr, banks: usize) -> usize {
        let bits = banks.trailing_zeros();
        match self {
            BankMapping::Xor => (line.0 ^ (line.0 >> bits)) as usize % banks,
            BankMapping::PseudoRandom => remainder(line.0, bits) as usize,
        }
    }
}

/// Irreducible polynomials over GF(2), by degree from one on; the lowest bit is the constant term.
const IRREDUCIBLE: [u64; 6] = [0b11, 0b111, 0b1011, 0b1_0011, 0b10_0101, 0b100_0011];

/// Returns a polynomial modulo the irreducible polynomial of this degree.
fn remainder(mut value: u64, degree: u32) -> u64 {
    let Some(divisor) = degree.checked_sub(1).map(|index| IRREDUCIBLE[index as usize]) else { return 0 };
    while value >> degree != 0 {
        value ^= divisor << (value.ilog2() - degree);
    }
    value
}

/// One channel of phase-change memory and its controller.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcmConfig {
    /// Bytes on the channel.
    pub capacity: Bytes,
    /// The bus's clock in megahertz; its cycle is a whole number of femtoseconds.
    pub clock_mhz: Frequency,
    /// Bus clocks for which a line occupies the bus.
    pub burst_clocks: u64,
    /// Number of concurrent banks, a power of two.
    pub banks: usize,
    /// Map from lines to banks.
    #[serde(default, skip_serializing_if = "BankMapping::is_usual")]
    pub mapping: BankMapping,
    /// Time that a bank takes to read a line, in nanoseconds.
    pub read_ns: f64,
    /// Time that a bank takes to write a line, in nanoseconds.
    pub write_ns: f64,
    /// Capacity of the queue of reads that wait for a bank.
    pub read_queue: usize,
    /// Capacity of the queue of writes that wait for a bank, in the memory device.
    pub write_queue: usize,
    /// Capacity of the controller's write-pending queue: writes that wait for the bus. A write in this queue is in the
    /// persistence domain.
    pub write_pending_queue: usize,
    /// Number of writes waiting for a bank at which writes are served before reads.
    pub drain_start: usize,
    /// Number of writes waiting for a bank at which reads are served again.
    pub drain_stop: usize,
}

impl PcmConfig {
    /// Returns the memory of the SecPB paper (HPCA 2023, Table I): 8 GB, 55 ns to read, 150 ns to write. Banks, burst
    /// and drain marks are those of gem5's NVM_2400_1x64 and its controller. The paper uses the clock and the queues of
    /// these gem5 models.
    pub fn secpb() -> PcmConfig {
        PcmConfig {
            capacity: Bytes(8 << 30),
            // A tCK of 0.833 ns, as in gem5.
            clock_mhz: Frequency::from_ratio(1_000_000, 833),
            burst_clocks: 4,
            banks: 16,
            mapping: BankMapping::Xor,
            read_ns: 55.0,
            write_ns: 150.0,
            read_queue: 64,
            write_queue: 128,
            write_pending_queue: 32,
            drain_start: 109,
            drain_stop: 64,
        }
    }

    /// Checks that the values can describe a memory.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub fn check(&self) -> Result<(), String> {
        let (burst, banks) = (self.burst_clocks, self.banks);
        let (start, stop, queue) = (self.drain_start, self.drain_stop, self.write_queue);
        self.clock_mhz.check().map_err(|rule| format!("clock_mhz {rule}"))?;
        rule((1..=1_000).contains(&burst), || format!("burst_clocks must be between 1 and 1000, but is {burst}"))?;
        rule(banks.is_power_of_two() && banks <= BANKS_MAX, || {
            format!("banks must be a power of two of at most {BANKS_MAX}, but is {banks}")
        })?;
        for (name, ns) in [("read_ns", self.read_ns), ("write_ns", self.write_ns)] {
            rule(ns > 0.0 && ns < 1e6, || format!("{name} must be positive and below 1000000, but is {ns}"))?;
        }
        for (name, length) in
            [("read_queue", self.read_queue), ("write_queue", queue), ("write_pending_queue", self.write_pending_queue)]
        {
            rule((1..=QUEUE_MAX).contains(&length), || {
                format!("{name} must be between 1 and {QUEUE_MAX}, but is {length}")
            })?;
        }
        rule(start <= queue, || format!("drain_start must not exceed write_queue, but {start} > {queue}"))?;
        rule(stop < start, || format!("drain_stop must be below drain_start, but {stop} >= {start}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_pseudo_random_mapping_spreads_each_stride_that_is_a_power_of_two_over_all_banks() {
        for banks in [1, 2, 4, 8, 16, 32, 64] {
            for stride in (0..20).map(|shift| 1_u64 << shift) {
                let of = |number| BankMapping::PseudoRandom.bank(LineAddr(number * stride), banks);
                let met: BTreeSet<usize> = (0..banks as u64).map(of).collect();
                assert_eq!(met.len(), banks, "{banks} banks, stride {stride}");
            }
        }
    }

    #[test]
    fn a_stride_of_banks_plus_one_hits_one_pcm_bank_under_xor_and_many_pseudo_randomly() {
        let met = |mapping: BankMapping| {
            (0..16).map(|number| mapping.bank(LineAddr(number * 17), 16)).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(met(BankMapping::Xor), 1);
        assert!(met(BankMapping::PseudoRandom) > 8);
    }
}
