//! Receives released lines and reports of tampering from the timed memory, and returns latencies between components of
//! the chip.

use super::Chip;
use protection::execution::{ReadPartTimes, Receiver};
use protection::verbs::{Fault, Leg, Plaintext, Role, Slot};
use units::{Duration, LineAddr, Words};

impl Receiver for Chip {
    /// Notes that the first words of a requested line are about to be released.
    fn read(&self, line: LineAddr, parts: &ReadPartTimes) {
        if let Some(requested_at) = self.under_way.read(line, parts) {
            self.llc.count(|counts| counts.miss_latency_fs += self.clock.now().since(requested_at).as_fs());
        }
    }

    fn released_first(&self, line: LineAddr, _: &Plaintext, words: Words) {
        self.deliver_first(line, words, self.latencies.distances.path);
    }

    fn released(&self, line: LineAddr, plaintext: &Plaintext) {
        if let Some(began) = self.under_way.direct.end(line) {
            self.llc.count(|counts| counts.miss_latency_fs += self.clock.now().since(began).as_fs());
            self.shadow.returned(line, plaintext);
            self.under_way.direct.wake_issuer();
            return;
        }
        self.shadow.returned(line, plaintext);
        self.pass_by(line);
        self.deliver(line, self.latencies.distances.path);
    }

    fn released_in_private(&self, line: LineAddr, plaintext: &Plaintext) {
        self.shadow.returned(line, plaintext);
        let displaced = self.llc.fetched_unverified(line);
        self.make_room(displaced);
        self.arrived(line);
    }

    fn found(&self, line: LineAddr, _: &Plaintext) {
        self.deliver(line, self.latencies.distances.path);
    }

    fn fault(&self, fault: Fault) {
        self.scheme.report(fault);
    }

    fn takes_permutation(&self, chunk: u64) -> bool {
        self.under_way.permutations.push(chunk);
        true
    }

    fn last_level_look_up(&self, _: Slot) -> Duration {
        self.latencies.distances.last_level_look_up
    }

    fn way(&self, leg: Leg) -> Duration {
        self.latencies.of_leg(leg)
    }

    fn last_stretch(&self, leg: Leg) -> Option<Duration> {
        self.latencies.of_last_stretch(leg)
    }

    fn private_look_up(&self, role: Role) -> Duration {
        self.latencies.distances.private_look_up(role)
    }

    fn exception_time(&self) -> Duration {
        self.latencies.distances.exception
    }

    fn hit_time(&self, core: usize, line: LineAddr) -> Duration {
        self.latencies.of_hit(core, line)
    }

    fn start_up_content(&self, line: LineAddr) -> units::Line {
        self.shadow.start_up(line)
    }
}
