//! Predictions by L2s that a request will miss the last-level cache, on machines with miss predictors.

use super::Chip;
use super::upward::Miss;
use units::Duration;

impl Chip {
    /// True if L2s predict misses of the last-level cache.
    pub fn predicts(&self) -> bool {
        self.predictors.is_some()
    }

    /// Time by which an L2's prediction reaches the controller before the L2 has missed its line.
    pub fn prediction_lead(&self) -> Duration {
        if self.predicts() { self.distances.prediction_lead() } else { Duration::ZERO }
    }

    /// True if an L2 predicts that its requested line is in memory.
    pub fn expects_memory(&self, miss: Miss) -> bool {
        let Some(predictors) = &self.predictors else { return false };
        let predicted = predictors.borrow()[miss.core].expects_memory();
        self.count(|counts| counts.predicted += u64::from(predicted));
        predicted
    }

    /// Trains an L2's predictor with the component that served its request.
    pub fn learn(&self, miss: Miss, memory: bool, predicted: bool) {
        self.count(|counts| counts.predicted_wrongly += u64::from(predicted && !memory));
        if let Some(predictors) = &self.predictors {
            predictors.borrow_mut()[miss.core].learn(memory);
        }
    }
}
