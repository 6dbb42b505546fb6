//! What a timed memory asks of the machine around it: where lines go, and how long the ways on the chip are.

use crate::execution::reads::Parts;
use crate::verbs::{Fault, Leg, Plaintext, Role, Slot};
use units::{Duration, Line, LineAddr, Words};

/// What is on the other side of a timed memory.
pub trait Receiver {
    /// Words of a line have left the checker before the rest, which follows. A receiver may wait for that.
    fn released_first(&self, _line: LineAddr, _plaintext: &Plaintext, _words: Words) {}
    /// What the time of a read was for whose line is about to be released, or the first words of it.
    fn read(&self, _line: LineAddr, _parts: &Parts) {}
    /// A line has left the checker.
    fn released(&self, line: LineAddr, plaintext: &Plaintext);
    /// Tampering was reported.
    fn fault(&self, fault: Fault);
    /// How long it takes to look for a line of metadata in the last-level cache, from the controller and back.
    fn last_level_look_up(&self, _slot: Slot) -> Duration {
        Duration::ZERO
    }
    /// How long a leg of the way on the chip takes from now, what it waits for others included; without its last stretch if
    /// it has one.
    fn way(&self, _leg: Leg) -> Duration {
        Duration::ZERO
    }
    /// How long the last stretch of a leg takes from now, if that is known only when it has come so far.
    fn last_stretch(&self, _leg: Leg) -> Option<Duration> {
        None
    }
    /// How long an L2 looks for a line of this role.
    fn private_look_up(&self, _role: Role) -> Duration {
        Duration::ZERO
    }
    /// How long the last-level cache takes to answer a core with a line that it has.
    fn hit_time(&self, _core: usize, _line: LineAddr) -> Duration {
        Duration::ZERO
    }
    /// How long the operating system's handler of a missing record takes besides its instructions for the tree.
    fn exception_time(&self) -> Duration {
        Duration::ZERO
    }
    /// A line has left the checker in the L2 that asked for it.
    fn released_in_private(&self, line: LineAddr, plaintext: &Plaintext) {
        self.released(line, plaintext);
    }
    /// The last-level cache was found to have a line that memory was about to be asked for.
    fn found(&self, line: LineAddr, plaintext: &Plaintext) {
        self.released(line, plaintext);
    }
    /// What a line held when the machine started, or when it is first asked for.
    fn start_up_content(&self, line: LineAddr) -> Line;
}
