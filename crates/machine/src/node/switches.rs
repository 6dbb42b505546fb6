//! Switches of processes: the core stops before the first instruction of another process, or at an interrupt, and
//! continues after the switch.
//!
//! The owner of the node waits until all earlier instructions have retired and no line is outstanding. The owner then
//! empties the TLBs, performs the switch, and continues the node.

use super::Node;
use units::Time;

impl Node {
    /// Empties all TLBs at `at`. The node gives up the records of their pages: see
    /// [`Tlbs::take_record_requests`](super::Tlbs::take_record_requests).
    pub fn empty_tlbs(&mut self, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.translation.tlbs.empty(cycle);
        self.core.front.forget_code();
    }

    /// Continues after a switch of processes that ends at `at`: no instruction enters the window before `at`.
    pub fn switched(&mut self, at: Time) {
        let cycle = self.clock.cycle_at_or_after(at).0;
        self.core.front.switched(cycle);
        self.stalls.was_switched(&self.standing(), cycle);
    }
}
