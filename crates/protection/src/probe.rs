//! A probe at the pins of memory: reports every line that is read and written, in the order of these crossings.
//!
//! Like an interposer between the chip and the memory, the probe sees the lines under the numbers of the memory's
//! channels, reads and writes, and the bytes. It sees no slots and no roles: if tags are behind the lines, one access
//! of the scheme may cross as two lines ([`Shape`](crate::media::Shape) gives them). Timed memories report each
//! crossing with its time; the tap of a campaign reports only the order.
//!
//! In a timed memory, a **read** is reported at the instant its last data has arrived, even if its reader continued
//! with the first word. A **write** is reported at the instant memory's controller accepts it. The controller may send
//! it to the chips later, and a second write of a waiting line replaces the first one. The probe reports both writes,
//! the later one without a [burst](Crossing::burst). It also reports a read that the controller answers from its queue
//! of writes as a crossing without a burst.

use machine::dram::Kind;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use units::{Line, LineAddr, Time};

/// One line that crosses the pins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// Number of the line, as the channels of memory number lines. In a memory without tags behind lines, this is the
    /// number of its slot.
    pub line: LineAddr,
    /// Direction: a read by the chip or a write to memory.
    pub kind: Kind,
    /// True if this access transfers the line over the pins. False for a read that memory's controller answers from its
    /// queue of writes, and for a write that replaces one in that queue.
    pub burst: bool,
    /// Bytes of the line, if the probe requests them; `None` for a line that was never written to.
    pub content: Option<Content>,
}

/// The bytes of a line at the pins, as memory holds them at that time. For a masked write, these include the bytes of
/// the line that the write does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// Bytes of the line.
    pub line: Line,
    /// Spare bits that an ECC module sends with the line; zero in designs that do not use them.
    pub spare: u64,
}

type Listener = Box<dyn FnMut(Time, Crossing)>;

/// Passes crossings on to a listener, in the order of their times.
pub struct Probe {
    with_bytes: bool,
    listener: RefCell<Listener>,
    /// Reads with readers that have continued with the first word before all other words have arrived. The earliest
    /// arrival is first.
    arriving: RefCell<VecDeque<(Time, Crossing)>>,
    passed_on: Cell<u64>,
}

impl Probe {
    /// Returns a probe that passes crossings on, with the bytes if `with_bytes`.
    pub fn new(with_bytes: bool, listener: impl FnMut(Time, Crossing) + 'static) -> Probe {
        Probe {
            with_bytes,
            listener: RefCell::new(Box::new(listener)),
            arriving: RefCell::default(),
            passed_on: Cell::new(0),
        }
    }

    /// Returns whether the probe reads bytes.
    pub fn with_bytes(&self) -> bool {
        self.with_bytes
    }

    /// Number of crossings that the probe has passed on.
    pub fn passed_on(&self) -> u64 {
        self.passed_on.get()
    }

    /// Notes that a line crosses the pins at `at`, which may be later than `now`. No later call reports a crossing
    /// before `now`.
    pub(crate) fn crossed(&self, now: Time, at: Time, crossing: Crossing) {
        self.pass_on_until(now);
        if at <= now {
            return self.pass_on(at, crossing);
        }
        let mut arriving = self.arriving.borrow_mut();
        let position = arriving.partition_point(|(other, _)| *other <= at);
        arriving.insert(position, (at, crossing));
    }

    /// Passes on the reads that have not arrived completely, at the end of the run.
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
    fn a_bus_probe_reports_transfers_in_the_order_of_their_time() {
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
