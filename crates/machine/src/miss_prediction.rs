//! Whether a core expects its next request in memory: its notice to the memory controller as it asks the last-level
//! cache (Intel's XPT prefetch; EMCC, MICRO 2022, section IV-D).
//!
//! Neither Intel nor the paper says how it is predicted. Here each core has one saturating counter of two bits over the
//! outcomes of its requests, as the simplest branch predictors do (Smith, ISCA 1981): it predicts what the last few were.

use serde::{Deserialize, Serialize};

/// How an L2 predicts whether the last-level cache has what it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissPrediction {
    /// By the outcomes of the core's last requests.
    Xpt,
}

/// What one core's L2 expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissPredictor(u8);

impl MissPredictor {
    const MAX: u8 = 3;

    /// Whether the next request is expected in memory.
    pub fn expects_memory(self) -> bool {
        self.0 > Self::MAX / 2
    }

    /// A request was served by memory, or on the chip.
    pub fn learn(&mut self, memory: bool) {
        self.0 = if memory { (self.0 + 1).min(Self::MAX) } else { self.0.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_in_a_row_turn_the_prediction_and_one_exception_does_not() {
        let mut predictor = MissPredictor::default();
        let expected = [true, true, true, false, true, false, false, false].map(|memory| {
            predictor.learn(memory);
            predictor.expects_memory()
        });
        assert_eq!(expected, [false, true, true, true, true, true, false, false]);
    }
}
