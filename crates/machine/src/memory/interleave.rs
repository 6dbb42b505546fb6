//! Interleaving: the channel of each line.
//!
//! Lines are distributed over the channels in granules, in turn. In the plain form, accesses with a stride of a
//! multiple of `channels` granules all use one channel. The XOR form permutes the channels by the higher bits of the
//! granule's number, which distributes these accesses over all channels. In both forms a channel's lines are numbered
//! without gaps, so each channel maps them to its banks as if it were the only one.

use crate::rule::rule;
use serde::{Deserialize, Serialize};
use units::LineAddr;

/// Maximum number of channels of a memory.
const CHANNELS_MAX: usize = 8;

/// Function from the number of a granule to its channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deal {
    /// Assigns one granule to each channel in turn.
    #[default]
    Plain,
    /// Like `Plain`, with the channel's number XOR-ed with all higher digits of the granule's number.
    Xor,
}

/// Distribution of lines over channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interleave {
    /// Memory lines in a granule.
    pub lines: u64,
    /// Order of the channels.
    #[serde(default)]
    pub deal: Deal,
}

impl Default for Interleave {
    /// Distributes single lines to the channels in turn.
    fn default() -> Interleave {
        Interleave { lines: 1, deal: Deal::Plain }
    }
}

impl Interleave {
    /// Checks that lines can be distributed over `channels` channels in this way.
    ///
    /// # Errors
    /// The first rule that is broken, with the values that break it.
    pub fn check(&self, channels: usize) -> Result<(), String> {
        rule((1..=CHANNELS_MAX).contains(&channels), || {
            format!("channels must be between 1 and {CHANNELS_MAX}, but is {channels}")
        })?;
        rule(self.lines > 0, || "interleave.lines must be positive, but is 0".to_owned())?;
        rule(self.deal == Deal::Plain || channels.is_power_of_two(), || {
            format!("interleave.deal is \"xor\", which needs a power of two of channels, but there are {channels}")
        })
    }

    /// Returns the channel of a line among `channels`, and the line's number on the channel.
    pub fn channel_of(&self, channels: usize, line: LineAddr) -> (usize, LineAddr) {
        if channels == 1 {
            return (0, line);
        }
        let count = channels as u64;
        let (granule, within) = (line.0 / self.lines, line.0 % self.lines);
        let (turn, mut channel) = (granule / count, granule % count);
        if self.deal == Deal::Xor {
            let mut higher = turn;
            while higher > 0 {
                channel ^= higher % count;
                higher /= count;
            }
        }
        (channel as usize, LineAddr(turn * self.lines + within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn channels_of(interleave: Interleave, channels: usize, lines: impl Iterator<Item = u64>) -> Vec<usize> {
        lines.map(|line| interleave.channel_of(channels, LineAddr(line)).0).collect()
    }

    #[test]
    fn interleaved_granules_alternate_over_the_memory_channels() {
        let pairs = Interleave { lines: 2, deal: Deal::Plain };
        assert_eq!(channels_of(pairs, 3, 0..8), [0, 0, 1, 1, 2, 2, 0, 0]);
        assert_eq!(pairs.channel_of(3, LineAddr(7)), (0, LineAddr(3)));
    }

    #[test]
    fn xor_interleaving_spreads_a_stride_that_plain_interleaving_keeps_on_one_channel() {
        let stride = || (0..8).map(|n| n * 4);
        let plain = channels_of(Interleave::default(), 4, stride());
        assert_eq!(plain, [0; 8]);
        let spread = channels_of(Interleave { lines: 1, deal: Deal::Xor }, 4, stride());
        assert_eq!(spread, [0, 1, 2, 3, 1, 0, 3, 2]);
    }

    #[test]
    fn invalid_channel_interleavings_are_refused_with_their_values() {
        let xor = Interleave { lines: 1, deal: Deal::Xor };
        assert_eq!(xor.check(8), Ok(()));
        assert!(xor.check(6).unwrap_err().contains("there are 6"));
        assert!(Interleave::default().check(0).unwrap_err().contains("is 0"));
        assert!(Interleave::default().check(9).unwrap_err().contains("is 9"));
        assert!(Interleave { lines: 0, deal: Deal::Plain }.check(2).unwrap_err().contains("interleave.lines"));
    }

    proptest! {
        #[test]
        fn every_channel_interleaving_is_a_bijection_without_gaps(channels in 1..=8usize, lines in 1..20u64, xor: bool) {
            let deal = if xor && channels.is_power_of_two() { Deal::Xor } else { Deal::Plain };
            let interleave = Interleave { lines, deal };
            let per_channel = 64 * lines;
            let mut seen = HashSet::new();
            for line in 0..per_channel * channels as u64 {
                let (channel, local) = interleave.channel_of(channels, LineAddr(line));
                prop_assert!(channel < channels && local.0 < per_channel, "line {line} is {local:?} on {channel}");
                prop_assert!(seen.insert((channel, local)), "line {line} shares its place");
            }
        }
    }
}
