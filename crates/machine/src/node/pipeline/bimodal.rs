//! The simplest direction predictor, used as the only predictor or as the base of TAGE.

/// A table of two-bit saturating counters, indexed by the low bits of the branch address.
#[derive(Clone, Debug)]
pub(in crate::node) struct Bimodal {
    counters: Box<[u8]>,
}

impl Bimodal {
    const WEAKLY_TAKEN: u8 = 2;

    pub(in crate::node) fn new(entries: usize) -> Bimodal {
        Bimodal { counters: vec![Bimodal::WEAKLY_TAKEN - 1; entries].into() }
    }

    /// Predicts the direction, then trains with the outcome.
    pub(in crate::node) fn predict(&mut self, pc: u64, taken: bool) -> bool {
        let predicted = self.peek(pc);
        self.learn(pc, taken);
        predicted
    }

    pub(in crate::node) fn peek(&self, pc: u64) -> bool {
        self.counters[self.index(pc)] >= Bimodal::WEAKLY_TAKEN
    }

    pub(in crate::node) fn learn(&mut self, pc: u64, taken: bool) {
        let index = self.index(pc);
        let counter = &mut self.counters[index];
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
    }

    fn index(&self, pc: u64) -> usize {
        pc as usize & (self.counters.len() - 1)
    }
}
