//! Interface of a timed memory to the machine around it: receivers of lines, and the latencies of transfers on the
//! chip.

use crate::execution::reads::ReadPartTimes;
use crate::verbs::{Fault, Leg, Plaintext, Role, Slot};
use units::{Duration, Line, LineAddr, Words};

/// Machine around a timed memory, which receives the released lines.
pub trait Receiver {
    /// Words of a line have left the checker before the remaining words, which follow. A receiver may ignore this call
    /// and wait for the whole line.
    fn released_first(&self, _line: LineAddr, _plaintext: &Plaintext, _words: Words) {}
    /// Receives the parts of a read's latency; its line, or the first words of it, is about to be released.
    fn read(&self, _line: LineAddr, _parts: &ReadPartTimes) {}
    /// A line has left the checker.
    fn released(&self, line: LineAddr, plaintext: &Plaintext);
    /// Tampering with a line was reported.
    fn fault(&self, fault: Fault);
    /// Latency of a look-up of a metadata line in the last-level cache, from the controller and back.
    fn last_level_look_up(&self, _slot: Slot) -> Duration {
        Duration::ZERO
    }
    /// Latency of a leg of the path on the chip from now on, including waits for other messages, but without a last
    /// stretch if the leg has one.
    fn way(&self, _leg: Leg) -> Duration {
        Duration::ZERO
    }
    /// Latency of the last stretch of a leg from now on. `None` unless it is known only when the message has reached
    /// that stretch.
    fn last_stretch(&self, _leg: Leg) -> Option<Duration> {
        None
    }
    /// Latency of a look-up of a line of this role in an L2.
    fn private_look_up(&self, _role: Role) -> Duration {
        Duration::ZERO
    }
    /// Latency of a hit in the last-level cache, until the line arrives at this core.
    fn hit_time(&self, _core: usize, _line: LineAddr) -> Duration {
        Duration::ZERO
    }
    /// Time of the operating system's handler of a missing record, without its instructions for the tree.
    fn exception_time(&self) -> Duration {
        Duration::ZERO
    }
    /// A line has left the checker in the L2 that requested it.
    fn released_in_private(&self, line: LineAddr, plaintext: &Plaintext) {
        self.released(line, plaintext);
    }
    /// The last-level cache was found to have a line that was about to be requested from memory.
    fn found(&self, line: LineAddr, plaintext: &Plaintext) {
        self.released(line, plaintext);
    }
    /// Accepts the permutation of a page chunk, which a separate task then executes. Returns false if the machine has no
    /// tasks for permutations.
    fn takes_permutation(&self, _chunk: u64) -> bool {
        false
    }
    /// Returns the content of a line at the start of the machine, or at its first request.
    fn start_up_content(&self, line: LineAddr) -> Line;
}
