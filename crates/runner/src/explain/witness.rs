//! The receiver of explained accesses, which replaces the chip. Its latencies between the components of the chip are
//! the mean latencies of a run.

use catalogue::Machine;
use chip::Distances;
use protection::execution::{Everything, Receiver};
use protection::verbs::{Fault, Leg, Plaintext, Role, Slot};
use sim::Clock;
use sim::span::Verb;
use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use units::{Duration, Line, LineAddr, Time, Words};

/// Returns the same content for all lines, and notes the time and place of a release.
pub(super) struct Witness {
    clock: Clock,
    /// Content of every line.
    content: Line,
    distances: Distances,
    /// Latency from L2 to the last-level cache, one way.
    way: Duration,
    /// Look-up latency of the last-level cache.
    look_up: Duration,
    released: Cell<Option<(Time, bool)>>,
    /// Time at which the whole line was released.
    whole: Cell<Option<Time>>,
}

impl Witness {
    pub fn new(clock: &Clock, machine: &Machine, content: Line) -> Witness {
        let (way, look_up) = machine.mean_way();
        let (clock, distances) = (clock.clone(), Distances::of(machine));
        let (released, whole) = (Cell::new(None), Cell::new(None));
        let content = machine.line_length().cut(content);
        Witness { clock, content, distances, way, look_up, released, whole }
    }

    /// Clears the recorded releases.
    pub fn forget(&self) {
        self.released.set(None);
    }

    /// Time at which the line was released, or its requested words if these were earlier.
    pub fn released(&self) -> Option<Time> {
        self.released.get().map(|(at, _)| at)
    }

    /// Waits until the line or its requested words are released, in the same task as the read.
    pub async fn until_released(&self) {
        poll_fn(|_| self.released.get().map_or(Poll::Pending, |_| Poll::Ready(()))).await;
    }

    /// Time at which the whole line was released.
    pub fn whole(&self) -> Option<Time> {
        self.whole.get()
    }

    /// Time at which the line is in L2. If the controller released the line, `records` gets its way to L2.
    pub fn in_l2(&self, records: &Everything, line: LineAddr) -> Option<Time> {
        let (mut at, in_l2) = self.released.get()?;
        for leg in [Leg::FromController, Leg::Answer(0, line)].into_iter().filter(|_| !in_l2) {
            let start = at;
            at = start + self.way(leg);
            records.add(Verb::Travel, leg.to_string(), start, at);
        }
        Some(at)
    }

    fn note(&self, plaintext: &Plaintext, in_l2: bool) {
        assert_eq!(plaintext.bytes, self.content, "an explained read returns the written line");
        let first = self.released.get().unwrap_or((self.clock.now(), in_l2));
        self.released.set(Some(first));
        self.whole.set(Some(self.clock.now()));
    }
}

impl Receiver for Witness {
    fn released_first(&self, _: LineAddr, plaintext: &Plaintext, _: Words) {
        self.note(plaintext, false);
    }

    fn released(&self, _: LineAddr, plaintext: &Plaintext) {
        self.note(plaintext, false);
    }

    fn released_in_private(&self, _: LineAddr, plaintext: &Plaintext) {
        self.note(plaintext, true);
    }

    fn fault(&self, fault: Fault) {
        panic!("an explained read reports tampering: {fault}");
    }

    fn last_level_look_up(&self, _: Slot) -> Duration {
        self.distances.last_level_look_up
    }

    fn way(&self, leg: Leg) -> Duration {
        match leg {
            Leg::Request(..) => self.way + self.look_up,
            Leg::Answer(..) => self.way,
            Leg::ToController | Leg::FromController => self.distances.path,
            Leg::Predicted => self.distances.prediction,
        }
    }

    fn private_look_up(&self, role: Role) -> Duration {
        self.distances.private_look_up(role)
    }

    fn exception_time(&self) -> Duration {
        self.distances.exception
    }

    fn hit_time(&self, _: usize, _: LineAddr) -> Duration {
        self.way * 2 + self.look_up
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        self.content
    }
}
