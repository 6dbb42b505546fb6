//! What L2s expect of the last-level cache, where they predict it.

use super::Chip;
use super::upward::Miss;

impl Chip {
    /// Whether L2s predict what the last-level cache has.
    pub fn predicts(&self) -> bool {
        self.predictors.is_some()
    }

    /// Whether an L2 expects what it asks for in memory.
    pub fn expects_memory(&self, miss: Miss) -> bool {
        let Some(predictors) = &self.predictors else { return false };
        let predicted = predictors.borrow()[miss.core].expects_memory();
        self.count(|counters| counters.predicted += u64::from(predicted));
        predicted
    }

    /// An L2 learns what served its request.
    pub fn learn(&self, miss: Miss, memory: bool, predicted: bool) {
        self.count(|counters| counters.predicted_wrongly += u64::from(predicted && !memory));
        if let Some(predictors) = &self.predictors {
            predictors.borrow_mut()[miss.core].learn(memory);
        }
    }
}
