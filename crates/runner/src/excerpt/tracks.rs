//! Sorts the work of all units onto tracks: one track for each unit, with one lane for each of the unit's concurrent
//! operations.

use crate::record::Configuration;
use machine::memory::{DeviceConfig, MemoryConfig, RefreshTime};
use protection::execution::{Clip, Stops, Trip, Unit, UnitSpan, meet};
use protection::media::Shape;
use protection::verbs::{AesUnits, BlockCipher, Cache, Leg, Slot};
use serde::Serialize;
use sim::span::{Cause, Verb};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Cycles, Duration, LINE_BYTES, LineAddr, Time};

/// A part of the machine; the viewer shows its tracks as one group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum TrackGroup {
    Cores,
    Memory,
    Engines,
    Chip,
    Waits,
}

impl TrackGroup {
    pub const ALL: [TrackGroup; 5] =
        [TrackGroup::Cores, TrackGroup::Memory, TrackGroup::Engines, TrackGroup::Chip, TrackGroup::Waits];

    pub fn name(self) -> &'static str {
        match self {
            TrackGroup::Cores => "cores",
            TrackGroup::Memory => "memory",
            TrackGroup::Engines => "engines",
            TrackGroup::Chip => "caches and ways on the chip",
            TrackGroup::Waits => "waits",
        }
    }
}

/// Name of a unit, with a number that sorts the units of one part.
pub(super) type Name = (TrackGroup, u32, String);

/// Details of a span, shown by the viewer.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(super) struct SpanAbout {
    /// Number of the access to which the span belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<u64>,
    /// Address of the line on which the unit worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_for: Option<Cause>,
    /// Nanoseconds for which the access waited while the unit worked for other accesses, if this time is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
}

/// A span on a track.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TrackSpan {
    pub name: String,
    pub category: &'static str,
    pub start: Time,
    pub end: Time,
    /// Lane of the track, counted from zero.
    pub lane: usize,
    pub about: SpanAbout,
}

impl TrackSpan {
    /// Returns true if the event takes no time.
    pub fn is_moment(&self) -> bool {
        self.start == self.end
    }
}

/// Names of a machine's units under a design.
pub(super) struct UnitNames {
    memory: MemoryConfig,
    shape: Shape,
    /// Time for which a line occupies the data bus.
    burst: Duration,
    aes_in_l2: bool,
    one_port: bool,
    hashes_by_aes: bool,
}

impl UnitNames {
    pub fn of(configuration: &Configuration, shape: Shape) -> UnitNames {
        let (machine, parts) = (&configuration.machine, &configuration.design.parts);
        let memory = machine.memory_config();
        let clocks = match &memory.device {
            DeviceConfig::Dram(dram) => dram.timing.burst_clocks,
            DeviceConfig::Pcm(pcm) => pcm.burst_clocks,
        };
        UnitNames {
            burst: memory.device.clock().span(Cycles(clocks)),
            memory,
            shape,
            aes_in_l2: machine.engines_under(parts).1.is_some(),
            one_port: parts.caches.unified.is_some(),
            hashes_by_aes: chip::memory::hashes_by_aes(machine, parts),
        }
    }

    /// The name of the unit that did a piece of work.
    fn name(&self, piece: &UnitSpan) -> Name {
        let engine = |order, name: &str| (TrackGroup::Engines, order, name.to_owned());
        match piece.unit {
            Unit::Memory(slot) => self.of_memory(self.last_line(slot), piece.span.verb),
            Unit::Cipher(AesUnits::L2(core), _) if self.aes_in_l2 => {
                (TrackGroup::Engines, 10 + core as u32, format!("AES in L2 of core {core}"))
            }
            Unit::Cipher(_, cipher) => match cipher {
                BlockCipher::Aes => engine(0, "AES"),
                BlockCipher::Tdes => engine(1, "TDES"),
            },
            Unit::Candidates(BlockCipher::Aes) => engine(7, "candidates for AES"),
            Unit::Candidates(BlockCipher::Tdes) => engine(8, "candidates for TDES"),
            Unit::Decoder => engine(2, "counter decoder"),
            Unit::Mac => engine(3, "MAC"),
            Unit::Hash if self.hashes_by_aes => engine(0, "AES"),
            Unit::Hash => engine(4, "hash"),
            Unit::Cache(cache) => self.of_cache(cache),
            Unit::Way(leg) => (TrackGroup::Chip, 20 + order_of(leg), format!("way {leg}")),
            Unit::Wait => (TrackGroup::Waits, 0, waits(piece.span.verb).to_owned()),
            Unit::Exit => (TrackGroup::Cores, u32::MAX, "releases and verdicts".to_owned()),
        }
    }

    /// The last requested line of a slot, since a slot may have several lines. The recorded answer of memory is that
    /// for this line.
    fn last_line(&self, slot: Slot) -> LineAddr {
        let (first, second) = self.shape.lines(slot);
        second.unwrap_or(first)
    }

    fn of_memory(&self, line: LineAddr, verb: Verb) -> Name {
        let channel = self.memory.channel_of(line).0;
        let first = 1000 * channel as u32;
        match (verb, self.memory.row(line)) {
            (Verb::Fetch, Some(row)) => {
                (TrackGroup::Memory, first + 2 + u32::from(row.bank), format!("channel {channel} bank {}", row.bank))
            }
            (Verb::Fetch, None) => (TrackGroup::Memory, first + 2, format!("channel {channel} reads")),
            _ => (TrackGroup::Memory, first + 1, format!("channel {channel} write queue")),
        }
    }

    fn of_cache(&self, cache: Cache) -> Name {
        match cache {
            Cache::Controller(_) if self.one_port => (TrackGroup::Chip, 0, "metadata cache".to_owned()),
            Cache::Controller(role) => {
                let cache = role.kind().looked_up_in();
                (TrackGroup::Chip, cache as u32, format!("cache of {}", cache.contents()))
            }
            Cache::LastLevel(_) => (TrackGroup::Chip, 10, "last-level cache".to_owned()),
            Cache::L2(_) => (TrackGroup::Chip, 11, "L2".to_owned()),
            Cache::Candidates => (TrackGroup::Engines, 9, "comparison with candidates".to_owned()),
        }
    }

    /// The data bus and the time span in which a read transferred its line over it.
    fn on_bus(&self, piece: &UnitSpan) -> Option<(Name, Range<Time>)> {
        let (Unit::Memory(slot), Some(end)) = (piece.unit, piece.data) else { return None };
        let channel = self.memory.channel_of(self.last_line(slot)).0;
        let name = (TrackGroup::Memory, 1000 * channel as u32, format!("channel {channel} data bus: reads"));
        Some((name, Time::from_fs(end.as_fs() - self.burst.as_fs())..end))
    }
}

fn order_of(leg: Leg) -> u32 {
    match leg {
        Leg::Request(..) => 0,
        Leg::ToController => 1,
        Leg::FromController => 2,
        Leg::Answer(..) => 3,
        Leg::Predicted => 4,
    }
}

/// All units with their events, in order.
#[derive(Default)]
pub(super) struct Tracks(pub BTreeMap<Name, Vec<TrackSpan>>);

impl Tracks {
    /// Sorts the recorded trips and clips of a window by unit.
    pub fn of(units: &UnitNames, window: Range<Time>, trips: &[Trip], clips: &[Clip]) -> Tracks {
        let mut tracks = Tracks::default();
        let about = SpanAbout::default();
        tracks.add((TrackGroup::Cores, 0, "window".to_owned()), "window", "window", window.clone(), about.clone());
        for trip in trips {
            let (order, name, verb) = match trip.core {
                Some(core) => (1 + core as u32, format!("core {core} reads"), "read"),
                None => (u32::MAX - 1, "write-backs".to_owned(), "write back"),
            };
            let about = SpanAbout { access: Some(trip.number), line: Some(address(trip.line)), ..about.clone() };
            tracks.add((TrackGroup::Cores, order, name), verb, "access", trip.start..trip.end, about.clone());
            tracks.add_stops(trip, &window, &about);
        }
        for clip in clips {
            tracks.add_clip(units, clip, &window);
        }
        tracks.0.values_mut().for_each(|events| lay(events));
        tracks
    }

    /// Adds the refreshes of all ranks.
    pub fn add_refreshes(&mut self, window: &Range<Time>, refreshes: &[RefreshTime]) {
        let about = SpanAbout::default();
        for RefreshTime { channel, rank, time } in refreshes.iter().filter(|refresh| meet(&refresh.time, window)) {
            let order = 1000 * (*channel as u32 + 1) - 100 + *rank as u32;
            let unit = (TrackGroup::Memory, order, format!("channel {channel} refresh of rank {rank}"));
            self.add(unit, "refresh", "refresh", time.clone(), about.clone());
        }
    }

    /// Adds the parts of a read's trip in which no task of protection runs.
    fn add_stops(&mut self, trip: &Trip, window: &Range<Time>, about: &SpanAbout) {
        let Stops { missed, went_on, set_off } = trip.stops;
        for (unit, name, category, from, to) in [
            (
                (TrackGroup::Chip, 20, "way to last-level cache"),
                "travel to last-level cache",
                "way",
                Some(trip.start),
                missed,
            ),
            ((TrackGroup::Waits, 1, "for a write-back buffer"), "await a write-back buffer", "wait", missed, went_on),
            ((TrackGroup::Chip, 23, "way to L2"), "travel to L2", "way", set_off, Some(trip.end)),
        ] {
            let span = from.zip(to).map(|(from, to)| from..to);
            if let Some(span) = span.filter(|span| span.start < span.end && meet(span, window)) {
                let (part, order, unit) = unit;
                self.add((part, order, unit.to_owned()), name, category, span, about.clone());
            }
        }
    }

    fn add_clip(&mut self, units: &UnitNames, Clip { trip, line, piece }: &Clip, window: &Range<Time>) {
        let span = &piece.span;
        let (name, category) = (span.title(), span.verb.subject().into());
        let about = SpanAbout {
            access: Some(*trip).filter(|trip| *trip > 0),
            line: Some(address(*line)),
            waited_for: span.waited_for,
            waited_ns: (piece.began > span.start).then(|| piece.began.since(span.start).as_ns_f64()),
            outcome: span.outcome,
        };
        let unit = units.name(piece);
        if piece.began > span.start {
            let (part, order, unit) = &unit;
            let wait = span.start..piece.began;
            if meet(&wait, window) {
                let waits = (TrackGroup::Waits, 10 * *part as u32 + order, format!("for {unit}"));
                self.add(waits, &name, category, wait, about.clone());
            }
        }
        if piece.delayed > Duration::ZERO
            && let Some(cause) = span.waited_for
        {
            let wait = span.start..span.start + piece.delayed;
            if meet(&wait, window) {
                let waits = (TrackGroup::Waits, 1000 + cause as u32, delay(cause).to_owned());
                self.add(waits, &name, category, wait, about.clone());
            }
        }
        if let Some((bus, burst)) = units.on_bus(piece).filter(|(_, burst)| meet(burst, window)) {
            self.add(bus, &name, category, burst, about.clone());
        }
        let work = piece.began..span.end;
        if meet(&work, window) {
            self.add(unit, &name, category, work, about);
        }
    }

    fn add(
        &mut self,
        unit: Name,
        name: &str,
        category: &'static str,
        Range { start, end }: Range<Time>,
        about: SpanAbout,
    ) {
        let event = TrackSpan { name: name.to_owned(), category, start, end, lane: 0, about };
        self.0.entry(unit).or_default().push(event);
    }
}

/// Sorts the events of a unit by time, and assigns each to the first lane that is free at its start. So no two events
/// of a lane overlap.
fn lay(events: &mut [TrackSpan]) {
    events.sort_by_key(|event| (event.start, event.end));
    let mut free: Vec<Time> = Vec::new();
    for event in events.iter_mut() {
        let lane = free.iter().position(|until| *until <= event.start).unwrap_or(free.len());
        if lane == free.len() {
            free.push(Time::ZERO);
        }
        if !event.is_moment() {
            free[lane] = event.end;
        }
        event.lane = lane;
    }
}

fn address(line: LineAddr) -> String {
    format!("{:#x}", line.0 * LINE_BYTES as u64)
}

/// Names the cause of a longer read from memory.
fn delay(cause: Cause) -> &'static str {
    match cause {
        Cause::Refresh => "for a refresh",
        Cause::WriteDrain => "for a drain of writes",
        Cause::Bank => "for a busy bank",
        Cause::Queue | Cause::Unit | Cause::Lock | Cause::Verdict => "for other reads of memory",
    }
}

/// Names the resource for which an access waits, if the resource is not a unit.
fn waits(verb: Verb) -> &'static str {
    match verb {
        Verb::Lock => "for locks",
        Verb::Await => "for verdicts",
        Verb::Fetch => "for later words",
        Verb::Match => "for candidates",
        _ => "for the last-level cache's answer",
    }
}
