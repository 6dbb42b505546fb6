//! Miss prediction: an L2 predicts that its next request will miss the last-level cache and go to memory, and notifies
//! the memory controller. The notification is parallel to the request to the last-level cache (Intel's XPT prefetch;
//! EMCC, MICRO 2022, section IV-D).
//!
//! Neither Intel nor the paper documents the predictor. In this model each core has one saturating counter of two bits
//! over the outcomes of its requests, like the simplest branch predictors (Smith, ISCA 1981). The prediction is the
//! outcome that most of the last few requests had.

use serde::{Deserialize, Serialize};

/// Method by which an L2 predicts misses of the last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissPrediction {
    /// By the outcomes of the core's latest requests.
    Xpt,
}

/// Miss predictor of one core's L2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissPredictor(u8);

impl MissPredictor {
    const MAX: u8 = 3;

    /// Returns true if the next request is expected to be served by memory.
    pub fn expects_memory(self) -> bool {
        self.0 > Self::MAX / 2
    }

    /// Trains the predictor with the outcome of a request: true if memory served the request, false if the chip did.
    pub fn learn(&mut self, memory: bool) {
        self.0 = if memory { (self.0 + 1).min(Self::MAX) } else { self.0.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_llc_miss_predictor_changes_after_two_equal_outcomes_and_not_after_one() {
        let mut predictor = MissPredictor::default();
        let expected = [true, true, true, false, true, false, false, false].map(|memory| {
            predictor.learn(memory);
            predictor.expects_memory()
        });
        assert_eq!(expected, [false, true, true, true, true, true, false, false]);
    }
}
