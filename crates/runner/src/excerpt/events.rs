//! Writes the file of the window: JSON in the trace-event format.
//!
//! Times are microseconds, exact to the femtosecond; a start time has half a femtosecond added. Some readers, such as
//! Perfetto, cut times to whole nanoseconds. The binary fraction of a start time is often slightly below the written
//! decimal. Without the addition, these readers would move this start to the previous nanosecond, and two adjacent
//! spans would overlap.

use super::tracks::{TrackGroup, TrackSpan, Tracks};
use crate::record::Configuration;
use crate::whole_file::{Unwritten, WholeFile};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Duration, Time};

/// Version of the content of the file.
const VERSION: u32 = 1;
const FS_PER_US: u64 = 1_000_000_000;

/// The run and the window that the file describes.
pub(super) struct TraceAbout<'a> {
    pub configuration: &'a Configuration,
    pub window: Range<Time>,
    pub ended: Time,
}

/// Track of an event: process and thread in the terms of the format.
#[derive(Clone, Copy)]
struct Track {
    process: usize,
    thread: u32,
}

/// Writes the header, the metadata of all tracks, all events and the arrows between them.
pub(super) fn write(file: &mut WholeFile, tracks: &Tracks, about: &TraceAbout<'_>) -> Result<(), Unwritten> {
    let Configuration { design, machine, .. } = about.configuration;
    let head = json!({
        "format": "casemate-excerpt",
        "version": VERSION,
        "casemate": about.configuration.version,
        "design": design.name,
        "machine": machine.name,
        "workload": about.configuration.workload.program,
        "configuration_hash": about.configuration.hash(),
        "window_from_fs": about.window.start.as_fs(),
        "window_length_fs": about.window.end.since(about.window.start).as_fs(),
        "ended_fs": about.ended.as_fs(),
    });
    file.put(format!("{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{head},\n\"traceEvents\":[\n").as_bytes())?;
    let mut lines = Vec::new();
    for part in TrackGroup::ALL {
        let name = format!("{} on {}: {}", design.name, machine.name, part.name());
        lines.push(named("process_name", part as usize + 1, 0, &json!({ "name": name })));
        lines.push(named("process_sort_index", part as usize + 1, 0, &json!({ "sort_index": part as usize })));
    }
    let mut accesses: BTreeMap<u64, Vec<(Track, &TrackSpan)>> = BTreeMap::new();
    let mut thread = 0;
    for ((part, _, unit), events) in &tracks.0 {
        let process = *part as usize + 1;
        let lanes = events.iter().map(|event| event.lane + 1).max().unwrap_or(0);
        for lane in 0..lanes {
            let name = if lane == 0 { unit.clone() } else { format!("{unit} (lane {})", lane + 1) };
            let number = thread + 1 + lane as u32;
            lines.push(named("thread_name", process, number, &json!({ "name": name })));
            lines.push(named("thread_sort_index", process, number, &json!({ "sort_index": number })));
        }
        for event in events {
            let track = Track { process, thread: thread + 1 + event.lane as u32 };
            lines.push(placed(track, event));
            if let (Some(access), false) = (event.about.access, event.is_moment()) {
                accesses.entry(access).or_default().push((track, event));
            }
        }
        thread += lanes as u32;
    }
    for (access, mut events) in accesses {
        events.sort_by_key(|(track, event)| (event.start, track.process, track.thread));
        lines.extend(tied(access, &events));
    }
    file.put(lines.join(",\n").as_bytes())?;
    file.put(b"\n]}\n")
}

/// A metadata event: a name or a sort position for a process or a thread.
fn named(what: &str, process: usize, thread: u32, args: &Value) -> String {
    format!("{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{process},\"tid\":{thread},\"args\":{args}}}")
}

/// The JSON of a span or of an instant event.
fn placed(Track { process, thread }: Track, event: &TrackSpan) -> String {
    let (kind, length) = match event.is_moment() {
        true => ("i\",\"s\":\"t", String::new()),
        false => ("X", format!(",\"dur\":{}", micros(event.end.since(event.start)))),
    };
    let (name, args) = (json!(event.name), json!(event.about));
    let (category, at) = (event.category, beginning(event));
    format!(
        "{{\"ph\":\"{kind}\",\"name\":{name},\"cat\":\"{category}\",\"pid\":{process},\"tid\":{thread},\"ts\":{at}{length},\"args\":{args}}}"
    )
}

/// The arrows from each span of an access to the next span of this access.
fn tied(access: u64, events: &[(Track, &TrackSpan)]) -> Vec<String> {
    let last = events.len() - 1;
    let arrow = |(position, (Track { process, thread }, event)): (usize, &(Track, &TrackSpan))| {
        let kind = match position {
            0 => "s",
            position if position == last => "f\",\"bp\":\"e",
            _ => "t",
        };
        let at = beginning(event);
        format!(
            "{{\"ph\":\"{kind}\",\"name\":\"access\",\"cat\":\"access\",\"id\":{access},\"pid\":{process},\"tid\":{thread},\"ts\":{at}}}"
        )
    };
    if last == 0 { Vec::new() } else { events.iter().enumerate().map(arrow).collect() }
}

fn beginning(event: &TrackSpan) -> String {
    micros(event.start.since(Time::ZERO)) + "5"
}

fn micros(time: Duration) -> String {
    format!("{}.{:09}", time.as_fs() / FS_PER_US, time.as_fs() % FS_PER_US)
}
