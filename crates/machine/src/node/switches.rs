//! Switches of processes: the core stops before the first instruction of another process, or at an interrupt, and continues when the
//! switch is over.
//!
//! The owner of the node waits until everything before has retired and no line is outstanding. It then empties the TLBs, performs the
//! switch, and continues the node.

use super::Node;
use units::Time;

impl Node {
    /// Empties all TLBs at `at`. The records of their pages are given up: see [`Node::take_record_requests`].
    pub fn empty_tlbs(&mut self, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.tlbs.empty(cycle);
        self.core.forget_code();
    }

    /// Continues after a switch of processes that is over at `at`: no instruction enters the window before.
    pub fn switched(&mut self, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.switched(cycle);
        self.was_switched(cycle);
    }
}
