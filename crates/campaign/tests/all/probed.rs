//! Observations of a probe at the pins. The probe reports the crossings that memory counts, in the order of time, with
//! the bytes that memory holds. A functional run has the same crossings as a timed run.

use crate::common::shares::designs_without_persistence;
use crate::common::{Machine, with_caches};
use crate::one_text::{Request, perform, requests};
use casemate_campaign::tap::{Alias, Meddling, Tapped};
use catalogue::Design;
use machine::dram::{DramCounts, Kind};
use protection::design::Parts;
use protection::execution::{Receiver, Timed, Untimed, run_now};
use protection::media::{Media, Shape};
use protection::probe::{Content, Crossing, Probe};
use protection::verbs::{Fault, Plaintext, Role, Slot};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use units::{Duration, Line, LineAddr, Time, ZERO_LINE};

/// A core that keeps no output.
struct Deaf;

impl Receiver for Deaf {
    fn released(&self, _: LineAddr, _: &Plaintext) {}

    fn fault(&self, fault: Fault) {
        panic!("nothing was tampered with, and yet: {fault:?}");
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

/// Observations of a timed run and of its pins.
pub struct Timeline {
    pub crossings: Vec<(Time, Crossing)>,
    counted: DramCounts,
    event_hash: u64,
    media: Media,
}

fn timed(parts: &Parts, requests: &[Request], with_bytes: Option<bool>) -> Timeline {
    timed_after(parts, &[], requests, with_bytes)
}

/// Like [`timed`], after a past that the probe does not see.
pub fn timed_after(parts: &Parts, past: &[Request], requests: &[Request], with_bytes: Option<bool>) -> Timeline {
    let mut machine = Machine::new(parts, 1, Deaf);
    let crossings = Rc::new(RefCell::new(Vec::new()));
    let verbs = Rc::new(Timed::new(&machine.memory));
    for (number, request) in past.iter().chain(requests).copied().enumerate() {
        if let Some(with_bytes) = with_bytes.filter(|_| number == past.len()) {
            let seen = crossings.clone();
            machine.memory.attach(Probe::new(with_bytes, move |at, crossing| seen.borrow_mut().push((at, crossing))));
        }
        let done = Rc::new(Cell::new(false));
        let (scheme, verbs, ended) = (machine.scheme.clone(), verbs.clone(), done.clone());
        machine.executor.clock().spawn(async move {
            perform(&scheme, &*verbs, request).await;
            ended.set(true);
        });
        assert!(machine.run(Duration::from_ns(1_000_000), || done.get()), "{request:?} does not end");
    }
    machine.memory.probe().into_iter().for_each(Probe::finish);
    Timeline {
        crossings: crossings.take(),
        counted: machine.channel.counts(),
        event_hash: machine.executor.clock().event_hash(),
        media: machine.memory.media().borrow().clone(),
    }
}

/// Groups the crossings by line, in order.
pub fn by_line(crossings: impl IntoIterator<Item = Crossing>) -> BTreeMap<u64, Vec<(Kind, Option<Content>)>> {
    let mut lines: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for Crossing { line, kind, content, .. } in crossings {
        lines.entry(line.0).or_default().push((kind, content));
    }
    lines
}

/// Returns true if two lists of a line's crossings have equal numbers of reads and writes, and the same bytes of each slot on
/// that line in the same order. In a timed run, slots that share a line are written concurrently, in another order.
fn alike_by_slot(shape: Shape, line: u64, one: &[(Kind, Option<Content>)], other: &[(Kind, Option<Content>)]) -> bool {
    let reads = |list: &[(Kind, _)]| list.iter().filter(|(kind, _)| *kind == Kind::Read).count();
    let bytes = |list: &[(Kind, Option<Content>)], part: Range<usize>| {
        let parts = list.iter().map(|(_, content)| content.map(|content| content.line[part.clone()].to_vec()));
        let mut parts: Vec<_> = parts.collect();
        parts.dedup();
        parts
    };
    let on_it = (0..shape.slots).map(Slot).filter(|slot| {
        let (first, second) = shape.lines(*slot);
        first.0 == line || second.is_some_and(|second| second.0 == line)
    });
    let start = line * 64;
    let mut parts = on_it.map(|slot| {
        let (from, end) =
            (shape.byte(slot), shape.byte(slot) + 64 + if slot.0 < shape.data { shape.behind } else { 0 });
        from.saturating_sub(start) as usize..(end - start).min(64) as usize
    });
    reads(one) == reads(other)
        && one.len() == other.len()
        && parts.all(|part| bytes(one, part.clone()) == bytes(other, part))
}

/// Returns the designs of the sweep, and one with 128 bits behind each line.
fn with_long_tags() -> Vec<Design> {
    let mut behind = catalogue::design("sc64-bmt-beside").unwrap();
    behind.parts.mac = behind.parts.mac.with_line_bits(128);
    designs_without_persistence().into_iter().chain([behind]).collect()
}

#[test]
fn functional_and_timed_runs_transfer_equal_bytes_of_each_line_in_equal_order() {
    for (number, design) in with_long_tags().into_iter().enumerate() {
        let (parts, requests) = (with_caches(&design.parts, number as u64), requests(5, false));
        let scheme = parts.build(crate::common::DATA_LINES, 1).unwrap();
        let tapped = Tapped::new(scheme.layout().total_lines(), None);
        tapped.tap().listen(scheme.layout().shape(), true);
        requests.iter().for_each(|request| run_now(perform(&scheme, &tapped.verbs(), *request)));
        let heard = by_line(tapped.tap().take_heard());
        let seen = by_line(timed(&parts, &requests, Some(true)).crossings.into_iter().map(|(_, crossing)| crossing));
        assert!(heard.values().flatten().any(|(_, content)| content.is_some()), "{}", design.name);
        assert!(heard.keys().eq(seen.keys()), "{}: the lines", design.name);
        let shape = scheme.layout().shape();
        for ((line, heard), seen) in heard.iter().zip(seen.values()) {
            let same = if shape.behind == 0 { heard == seen } else { alike_by_slot(shape, *line, heard, seen) };
            assert!(same, "{}: line {line:#x}", design.name);
        }
    }
}

#[test]
fn a_bus_probe_records_in_time_order_the_reads_and_writes_that_memory_counts() {
    let mut without_burst = [0, 0];
    for (number, design) in designs_without_persistence().into_iter().enumerate() {
        let Timeline { crossings, counted, .. } =
            timed(&with_caches(&design.parts, number as u64), &requests(7, false), Some(false));
        let count = |kind, bursts_alone: bool| {
            let of_kind = crossings.iter().filter(|(_, crossing)| crossing.kind == kind);
            of_kind.filter(|(_, crossing)| !(bursts_alone && crossing.burst)).count() as u64
        };
        assert_eq!([count(Kind::Read, false), count(Kind::Write, false)], [counted.reads, counted.writes]);
        let waiting = [count(Kind::Read, true), count(Kind::Write, true)];
        assert_eq!(waiting, [counted.forwarded, counted.merged], "{}", design.name);
        assert!(crossings.is_sorted_by_key(|(at, _)| *at), "{}: time runs backwards", design.name);
        assert!(crossings.iter().all(|(_, crossing)| crossing.content.is_none()), "{}", design.name);
        without_burst = [0, 1].map(|kind| without_burst[kind] + waiting[kind]);
    }
    assert!(without_burst.iter().all(|count| *count > 0), "{without_burst:?}");
}

#[test]
fn the_last_write_of_each_line_on_the_bus_is_its_content_in_memory() {
    for design in with_long_tags() {
        let Timeline { crossings, media, .. } = timed(&design.parts, &requests(9, false), Some(true));
        let shape = design.parts.build(crate::common::DATA_LINES, 1).unwrap().layout().shape();
        let writes = crossings.into_iter().filter(|(_, crossing)| crossing.kind == Kind::Write);
        let last: BTreeMap<u64, _> = writes.map(|(_, crossing)| (crossing.line.0, crossing.content)).collect();
        assert!(!last.is_empty(), "{}", design.name);
        for (line, content) in last {
            assert_eq!(content, shape.content(LineAddr(line), |slot| media.read(slot)), "{}: {line:#x}", design.name);
        }
    }
}

#[test]
fn a_bus_probe_changes_no_event_of_a_run() {
    let parts = &catalogue::design("sc64-bmt").unwrap().parts;
    let [without, with, with_bytes] =
        [None, Some(false), Some(true)].map(|probe| timed(parts, &requests(3, false), probe));
    assert_eq!(without.crossings.len(), 0);
    assert!(with.crossings.len() > 100 && with.crossings.len() == with_bytes.crossings.len());
    assert_eq!([with.event_hash, with_bytes.event_hash], [without.event_hash; 2]);
}

#[test]
fn a_bus_tap_records_the_chip_side_of_dropped_and_aliased_transfers() {
    let tapped = Tapped::new(8, None);
    tapped.tap().listen(8.into(), true);
    tapped.tap().meddle(Meddling::Drop, None);
    tapped.write(Slot(3), Role::Data, [1; 64].into());
    tapped.tap().meddle(Meddling::Pass, None);
    tapped.write(Slot(5), Role::Data, [2; 64].into());
    tapped.tap().connect(Alias::Crossed(Slot(3), Slot(5)));
    assert_eq!(tapped.read(Slot(3)), [2; 64].into());
    let content = |byte| Some(Content { line: [byte; 64], spare: 0 });
    let heard: Vec<_> = tapped.tap().take_heard().into_iter().map(|one| (one.line.0, one.kind, one.content)).collect();
    assert_eq!(heard, [(3, Kind::Write, content(1)), (5, Kind::Write, content(2)), (3, Kind::Read, content(2))]);
    assert!(tapped.tap().take_heard().is_empty());
}
