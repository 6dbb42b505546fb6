//! An excerpt of a run: all spans that overlap a window of simulated time, and the trips of lines to which these spans
//! belong.
//!
//! Readers and writers of an excerpted run use [`ExcerptVerbs`]. Those of any other run use plain verbs, so that a
//! run without an excerpt is not slowed down. A span outside the window is dropped before its name is formatted.

use crate::execution::Timed;
use crate::execution::explained::Explained;
use crate::execution::keep::{Keep, UnitSpan};
use crate::execution::operation::Operation;
use crate::execution::watch::Watch;
use crate::verbs::Verbs;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use units::{LineAddr, Time};

/// Returns whether a piece of work overlaps a window; both ranges exclude their ends. Work without duration overlaps
/// the window if it begins in the window.
pub fn meet(work: &Range<Time>, window: &Range<Time>) -> bool {
    work.start < window.end && (work.end > window.start || work.start >= window.start)
}

/// Times at which a requested line passed points on the chip, on the path to the controller and back. The code of a
/// scheme does not execute on this path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stops {
    /// Time at which the last-level cache had looked the line up, and missed.
    pub missed: Option<Time>,
    /// Time at which the fill could continue because a write-back buffer was free.
    pub went_on: Option<Time>,
    /// Time at which the line left for its core: from the memory controller, or from the cache on the chip that held
    /// the line.
    pub set_off: Option<Time>,
}

/// The path of one line between memory and the caches above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trip {
    /// Number of the trip, from 1.
    pub number: u64,
    /// Address of the line.
    pub line: LineAddr,
    /// Core that requested the line; `None` for a line that is written back.
    pub core: Option<usize>,
    /// Time at which the request left the private caches, or a writer took the line up.
    pub start: Time,
    /// Time at which the core received the line, or at which all steps of the write were done.
    pub end: Time,
    /// Points that a read passed between the two times.
    pub stops: Stops,
}

/// A piece of work, with the trip to which it belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clip {
    /// Number of the trip; zero if the excerpt has no request for the line.
    pub trip: u64,
    /// Line for which the work is done.
    pub line: LineAddr,
    /// Piece of work with its span.
    pub piece: UnitSpan,
}

/// Record of one window of a run.
pub struct Excerpt {
    window: Range<Time>,
    clips: RefCell<Vec<Clip>>,
    trips: RefCell<Vec<Trip>>,
    /// Trips of lines on their way to a core, which have no end yet.
    requested: RefCell<FxHashMap<(usize, LineAddr), Trip>>,
    /// Number of trips that have begun.
    begun: Cell<u64>,
}

impl Excerpt {
    /// Returns an excerpt of this window, which excludes its end.
    pub fn new(window: Range<Time>) -> Rc<Excerpt> {
        let (clips, trips, requested, begun) = Default::default();
        Rc::new(Excerpt { window, clips, trips, requested, begun })
    }

    /// Window of the excerpt.
    pub fn window(&self) -> Range<Time> {
        self.window.clone()
    }

    fn next(&self) -> u64 {
        self.begun.set(self.begun.get() + 1);
        self.begun.get()
    }

    /// Notes that a core's request for a line leaves its private caches.
    pub fn requested(&self, core: usize, line: LineAddr, at: Time) {
        let (number, stops) = (self.next(), Stops::default());
        let trip = Trip { number, line, core: Some(core), start: at, end: Time::NEVER, stops };
        self.requested.borrow_mut().insert((core, line), trip);
    }

    /// Notes that the last-level cache does not have the requested line.
    pub fn missed(&self, core: usize, line: LineAddr, at: Time) {
        self.stop(core, line, |stops| stops.missed = Some(at));
    }

    /// Notes that a write-back buffer is free for a line that the requested line may displace.
    pub fn went_on(&self, core: usize, line: LineAddr, at: Time) {
        self.stop(core, line, |stops| stops.went_on = Some(at));
    }

    /// Notes that a requested line leaves for its core.
    pub fn set_off(&self, core: usize, line: LineAddr, at: Time) {
        self.stop(core, line, |stops| stops.set_off = Some(at));
    }

    fn stop(&self, core: usize, line: LineAddr, change: impl FnOnce(&mut Stops)) {
        if let Some(trip) = self.requested.borrow_mut().get_mut(&(core, line)) {
            change(&mut trip.stops);
        }
    }

    /// Notes that a line arrives at the core that requested it.
    pub fn arrived(&self, core: usize, line: LineAddr, end: Time) {
        let trip = self.requested.borrow_mut().remove(&(core, line));
        if let Some(trip) = trip {
            self.add(Trip { end, ..trip });
        }
    }

    fn add(&self, trip: Trip) {
        if meet(&(trip.start..trip.end), &self.window) {
            self.trips.borrow_mut().push(trip);
        }
    }

    /// Returns the kept trips and clips, in the order of their ends, and empties the excerpt.
    pub fn take(&self) -> (Vec<Trip>, Vec<Clip>) {
        (self.trips.take(), self.clips.take())
    }
}

/// Filter that keeps the clips of one reader's or writer's work.
struct Clipper {
    excerpt: Rc<Excerpt>,
    /// Trip that the work is part of.
    trip: Cell<u64>,
    line: Cell<LineAddr>,
    began: Cell<Time>,
}

impl Clipper {
    /// Returns a clipper that keeps the work that overlaps the window of `excerpt`.
    fn new(excerpt: &Rc<Excerpt>) -> Clipper {
        let (trip, line, began) = (Cell::new(0), Cell::new(LineAddr(0)), Cell::new(Time::ZERO));
        Clipper { excerpt: excerpt.clone(), trip, line, began }
    }
}

impl Keep for Clipper {
    fn operation(&self, _: &dyn Fn() -> Operation) {}

    fn span(&self, start: Time, end: Time, piece: &dyn Fn() -> UnitSpan) {
        if meet(&(start..end), &self.excerpt.window) {
            self.excerpt.clips.borrow_mut().push(Clip { trip: self.trip.get(), line: self.line.get(), piece: piece() });
        }
    }
}

/// Verbs of a reader or a writer of an excerpted run.
pub struct ExcerptVerbs {
    verbs: Explained<Timed>,
    clipper: Rc<Clipper>,
}

impl ExcerptVerbs {
    /// Returns verbs that keep the work that overlaps the window of `excerpt`.
    pub fn new(verbs: Timed, excerpt: &Rc<Excerpt>) -> ExcerptVerbs {
        let clipper = Rc::new(Clipper::new(excerpt));
        ExcerptVerbs { verbs: Explained::new(verbs, clipper.clone()), clipper }
    }
}

/// A reader or a writer with its verbs, which may note the line that the work is for.
pub trait Attended {
    /// Verbs that do the work.
    type Verbs: Verbs;

    /// Returns the verbs that do the work.
    fn verbs(&self) -> &Self::Verbs;
    /// The following work is for this core's request.
    fn reads(&self, core: usize, line: LineAddr);
    /// The following work is for a line that is written back.
    fn writes(&self, line: LineAddr);
    /// The write of that line is done.
    fn written(&self);
}

impl Attended for Timed {
    type Verbs = Timed;

    fn verbs(&self) -> &Timed {
        self
    }

    fn reads(&self, _: usize, _: LineAddr) {}

    fn writes(&self, _: LineAddr) {}

    fn written(&self) {}
}

impl Attended for ExcerptVerbs {
    type Verbs = Explained<Timed>;

    fn verbs(&self) -> &Explained<Timed> {
        &self.verbs
    }

    fn reads(&self, core: usize, line: LineAddr) {
        let kept = &self.clipper;
        let requested = kept.excerpt.requested.borrow();
        kept.trip.set(requested.get(&(core, line)).map_or(0, |trip| trip.number));
        kept.line.set(line);
    }

    fn writes(&self, line: LineAddr) {
        let Clipper { excerpt, trip, line: of, began } = &*self.clipper;
        trip.set(excerpt.next());
        of.set(line);
        began.set(self.verbs.inside().now());
    }

    fn written(&self) {
        let Clipper { excerpt, trip, line, began } = &*self.clipper;
        let (start, end) = (began.get(), self.verbs.inside().now());
        let (number, line, stops) = (trip.get(), line.get(), Stops::default());
        excerpt.add(Trip { number, line, core: None, start, end, stops });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::keep::Unit;
    use sim::span::{Span, Verb};
    use units::Duration;

    fn at(fs: u64) -> Time {
        Time::from_fs(fs)
    }

    fn is_kept(start: u64, end: u64) -> bool {
        let excerpt = Excerpt::new(at(100)..at(200));
        let span = Span {
            verb: Verb::Mac,
            what: String::new(),
            start: at(start),
            end: at(end),
            waited_for: None,
            outcome: None,
        };
        Clipper::new(&excerpt).span(at(start), at(end), &|| UnitSpan {
            unit: Unit::Mac,
            span: span.clone(),
            began: at(start),
            delayed: Duration::ZERO,
            data: None,
        });
        let kept = !excerpt.take().1.is_empty();
        // A trip over the same time is kept with it.
        excerpt.requested(0, LineAddr(7), at(start));
        excerpt.arrived(0, LineAddr(7), at(end));
        assert_eq!(excerpt.take().0.len(), usize::from(kept));
        kept
    }

    #[test]
    fn a_trace_window_omits_spans_that_end_at_its_start_and_keeps_later_spans() {
        assert!(!is_kept(50, 100));
        assert!(is_kept(50, 101));
        assert!(is_kept(50, 500), "all of the window and more");
    }

    #[test]
    fn a_trace_window_omits_spans_that_begin_at_its_end_and_keeps_earlier_spans() {
        assert!(is_kept(199, 300));
        assert!(!is_kept(200, 300));
    }

    #[test]
    fn a_trace_window_contains_instants_from_its_start_to_before_its_end() {
        assert_eq!([99, 100, 199, 200].map(|moment| is_kept(moment, moment)), [false, true, true, false]);
    }

    #[test]
    fn a_trip_in_an_excerpt_needs_a_request_and_ends_at_its_first_arrival() {
        let excerpt = Excerpt::new(at(100)..at(200));
        excerpt.arrived(0, LineAddr(7), at(150));
        excerpt.requested(0, LineAddr(7), at(110));
        excerpt.requested(1, LineAddr(7), at(120));
        excerpt.missed(1, LineAddr(7), at(130));
        excerpt.arrived(1, LineAddr(7), at(150));
        excerpt.arrived(1, LineAddr(7), at(160));
        let (trips, _) = excerpt.take();
        let stops = Stops { missed: Some(at(130)), ..Stops::default() };
        let trip = Trip { number: 2, line: LineAddr(7), core: Some(1), start: at(120), end: at(150), stops };
        assert_eq!(trips, [trip]);
    }
}
