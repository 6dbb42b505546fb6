//! What takes the place of the chip when an access is explained: the ways between its stations, each as long as in the mean.

use catalogue::Machine;
use chip::Distances;
use protection::execution::{Explained, Receiver, Timed};
use protection::verbs::{Fault, Leg, Plaintext, Role, Slot};
use sim::Clock;
use sim::span::Verb;
use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;
use units::{Duration, Line, LineAddr, Time, Words};

/// Hands out one content for all lines and notes when a line is released, and where.
pub(super) struct Witness {
    clock: Clock,
    /// What every line holds.
    content: Line,
    distances: Distances,
    /// One way between L2 and the last-level cache.
    way: Duration,
    /// What the last-level cache takes to look a line up.
    look_up: Duration,
    released: Cell<Option<(Time, bool)>>,
    /// When all of it was.
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

    /// Nothing has been released yet.
    pub fn forget(&self) {
        self.released.set(None);
    }

    /// When the line was released, or the asked-for words of it before the rest.
    pub fn released(&self) -> Option<Time> {
        self.released.get().map(|(at, _)| at)
    }

    /// Waits until the line is released, or the asked-for words of it, in the same task as its read.
    pub async fn until_released(&self) {
        poll_fn(|_| self.released.get().map_or(Poll::Pending, |_| Poll::Ready(()))).await;
    }

    /// When all of the line was released.
    pub fn whole(&self) -> Option<Time> {
        self.whole.get()
    }

    /// When the line is in L2. What the controller releases goes there, which is written down in `explained`.
    pub fn in_l2(&self, explained: &Explained<Timed>, line: LineAddr) -> Option<Time> {
        let (mut at, in_l2) = self.released.get()?;
        for leg in [Leg::FromController, Leg::Answer(0, line)].into_iter().filter(|_| !in_l2) {
            let start = at;
            at = start + self.way(leg);
            explained.add(Verb::Travel, leg.to_string(), start, at);
        }
        Some(at)
    }

    fn note(&self, plaintext: &Plaintext, in_l2: bool) {
        assert_eq!(plaintext.bytes, self.content, "an explained read returns what was written");
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
