//! A probe at the pins of memory: every line that is read and written there, in the order in which that happens.
//!
//! This is what an interposer between the chip and the memory sees: lines as the memory's channels number them, reads and
//! writes, and the bytes. It sees no slots and no roles: where a tag lies behind its line, what the scheme reads at once
//! crosses as two lines ([`Shape`](crate::media::Shape) says which). Timed memories report each crossing with its time, the
//! tap of a campaign has an order instead.
//!
//! Of a timed memory, a **read** is at the instant its last data has arrived, also where its reader went on with the first
//! word. A **write** is at the instant memory's controller takes it; when the controller sends it on to the chips is its own
//! affair, and what waits there is replaced if the same line is written again. Both crossings are reported, the later one as
//! without a [burst](Crossing::burst), and so is a read that the controller answers from what waits.

use machine::dram::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use units::{Line, LineAddr, Time};

/// One line at the pins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Its number, as the channels of memory number lines; where no tags lie behind lines this is the number of its slot.
    pub line: LineAddr,
    /// Whether it goes to the chip or to the memory.
    pub kind: Kind,
    /// Whether the line moves for this access alone. It does not for a read that memory's controller answers from its queue of
    /// writes, nor for a write that replaces one that waits there.
    pub burst: bool,
    /// The bytes, if the probe is asked for them; none of a line that nothing was ever written to.
    pub content: Option<Content>,
}

/// The bytes of a line at the pins, as memory holds them then: of a write that is masked, its neighbours' bytes, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// The line.
    pub line: Line,
    /// The spare bits that an ECC module sends with it; zero where no design has a use for them.
    pub spare: u64,
}

type Listener = Box<dyn FnMut(Time, Crossing)>;

/// Passes crossings on to a listener, in the order of their times.
pub struct Probe {
    with_bytes: bool,
    listener: RefCell<Listener>,
    /// Reads whose reader went on with the first word while the rest is on its way, the first to end first.
    arriving: RefCell<VecDeque<(Time, Crossing)>>,
    passed_on: Cell<u64>,
}

impl Probe {
    /// A probe that passes on what it sees; with the bytes, if asked to.
    pub fn new(with_bytes: bool, listener: impl FnMut(Time, Crossing) + 'static) -> Probe {
        Probe {
            with_bytes,
            listener: RefCell::new(Box::new(listener)),
            arriving: RefCell::default(),
            passed_on: Cell::new(0),
        }
    }

    /// Whether it looks at bytes.
    pub fn with_bytes(&self) -> bool {
        self.with_bytes
    }

    /// How many crossings it has passed on.
    pub fn passed_on(&self) -> u64 {
        self.passed_on.get()
    }

    /// A line crosses at `at`, which may be later than `now`. No crossing that is reported later is earlier than `now`.
    pub(crate) fn crossed(&self, now: Time, at: Time, crossing: Crossing) {
        self.pass_on_until(now);
        if at <= now {
            return self.pass_on(at, crossing);
        }
        let mut arriving = self.arriving.borrow_mut();
        let position = arriving.partition_point(|(other, _)| *other <= at);
        arriving.insert(position, (at, crossing));
    }

    /// Passes on what has not wholly arrived yet: the run is over.
    pub fn finish(&self) {
        self.pass_on_until(Time::NEVER);
    }

    fn pass_on_until(&self, now: Time) {
        let mut arriving = self.arriving.borrow_mut();
        let arrived = arriving.partition_point(|(at, _)| *at <= now);
        arriving.drain(..arrived).for_each(|(at, crossing)| self.pass_on(at, crossing));
    }

    fn pass_on(&self, at: Time, crossing: Crossing) {
        self.passed_on.set(self.passed_on.get() + 1);
        (self.listener.borrow_mut())(at, crossing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn what_arrives_later_is_passed_on_in_the_order_of_arrival() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let listener = seen.clone();
        let probe = Probe::new(false, move |at, crossing| listener.borrow_mut().push((at.as_fs(), crossing.line.0)));
        let read = |now, at, line| {
            let crossing = Crossing { line: LineAddr(line), kind: Kind::Read, burst: true, content: None };
            probe.crossed(Time::from_fs(now), Time::from_fs(at), crossing);
        };
        read(10, 19, 1);
        read(12, 15, 2);
        read(12, 19, 3);
        read(15, 15, 4);
        assert_eq!(*seen.borrow(), [(15, 2), (15, 4)]);
        read(18, 18, 5);
        probe.finish();
        assert_eq!(seen.borrow()[2..], [(18, 5), (19, 1), (19, 3)]);
        assert_eq!(probe.passed_on(), 5);
    }
}
