//! The path into a persist buffer, scheduled in advance, against a naive model that steps by cycle and searches everything.

use super::*;
use crate::node::pipeline::persist::{PersistPath, StoreInL1d};
use crate::persist::PersistBufferConfig;
use proptest::prelude::*;

/// A store, and the latencies of the owner's replies to its requests.
#[derive(Clone, Copy, Debug)]
struct Store {
    line: u64,
    persistent: bool,
    in_l1d: u64,
    /// Number of cycles in advance at which the path learns of the store.
    known_before: u64,
    answer: u64,
    /// Latency of the drain with this number, not of this store's entry.
    drain: u64,
}

/// An access of another core to a line.
#[derive(Clone, Copy, Debug)]
struct Remote {
    cycle: u64,
    line: u64,
    writes: bool,
}

/// Acceptance cycles of the stores, all requests, and the statistics.
#[derive(PartialEq, Debug)]
struct Outcome {
    accepted: Vec<u64>,
    requested: Vec<(u64, u64, Option<bool>)>,
    counts: PersistCounts,
}

fn scheduled(config: &NodeConfig, persist: PersistConfig, stores: &[Store], remotes: &[Remote]) -> Outcome {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Event {
        Remote(usize),
        Known(usize),
        Answer,
        Drained(u64),
    }
    let mut path = PersistPath::new(config).unwrap();
    let mut outcome = Outcome { accepted: Vec::new(), requested: Vec::new(), counts: PersistCounts::default() };
    let known =
        |(number, store): (usize, &Store)| (store.in_l1d.saturating_sub(store.known_before), Event::Known(number));
    let mut events: Vec<(u64, Event)> = stores.iter().enumerate().map(known).collect();
    events.extend(remotes.iter().enumerate().map(|(number, remote)| (remote.cycle, Event::Remote(number))));
    let (mut answers, mut drains) = (stores.iter().filter(|store| store.persistent).map(|store| store.answer), 0);
    while let Some(first) = (0..events.len()).min_by_key(|&index| events[index]) {
        let (cycle, event) = events.swap_remove(first);
        let accepted = match event {
            Event::Remote(_) if outcome.accepted.len() == stores.len() => None,
            Event::Remote(number) if remotes[number].writes => path.give_up(LineAddr(remotes[number].line), cycle).1,
            Event::Remote(number) => {
                let at = config.clock_mhz.clock().start_of(Cycles(cycle));
                path.flush(LineAddr(remotes[number].line), at);
                None
            }
            Event::Known(number) => {
                let Store { line, persistent, in_l1d, .. } = stores[number];
                path.record_in_l1d(number as u64, StoreInL1d { line: LineAddr(line), persistent, cycle: in_l1d });
                None
            }
            Event::Answer => Some(path.persisted(cycle)),
            Event::Drained(line) => path.drained(LineAddr(line), cycle).1,
        };
        outcome.accepted.extend(accepted.map(|accepted| accepted.1));
        while let Some((store, cycle)) = path.go_on() {
            assert_eq!(store, outcome.accepted.len() as u64);
            outcome.accepted.push(cycle);
        }
        for request in path.take_requests() {
            let cycle = |at| config.clock_mhz.clock().cycle_at_or_after(at).0;
            match request {
                PersistRequest::Persist { at, line, allocates } => {
                    let answer = answers.next().unwrap();
                    if persist.waits.hold(allocates) {
                        events.push((cycle(at) + answer, Event::Answer));
                    }
                    outcome.requested.push((cycle(at), line.0, Some(allocates)));
                }
                PersistRequest::Drain { at, line } => {
                    events.push((cycle(at) + stores[drains % stores.len()].drain, Event::Drained(line.0)));
                    drains += 1;
                    outcome.requested.push((cycle(at), line.0, None));
                }
            }
        }
    }
    Outcome { counts: path.counts(), ..outcome }
}

/// An entry, in order of age, and the cycle at which it will have left.
struct Entry {
    line: u64,
    leaves: Option<u64>,
}

/// Applies another core's request to the entry of a line, which is removed or leaves at `leaves`. Returns whether the core
/// writes, if the line has an entry that is not leaving.
fn meets(remote: Remote, entries: &mut Vec<Entry>, leaves: u64, counts: &mut PersistCounts) -> Option<bool> {
    let found = entries.iter().position(|entry| entry.line == remote.line && entry.leaves.is_none())?;
    if remote.writes {
        entries.remove(found);
        counts.given_up += 1;
    } else {
        entries[found].leaves = Some(leaves);
        counts.flushed += 1;
    }
    Some(remote.writes)
}

fn awaits_answer(waits: StoreHold, allocates: bool) -> bool {
    match waits {
        StoreHold::Never => false,
        StoreHold::NewEntries => allocates,
        StoreHold::EveryStore => true,
    }
}

fn ticking(persist: PersistConfig, stores: &[Store], remotes: &[Remote]) -> Outcome {
    let PersistBufferConfig { entries: room, drain_from, drain_to } = persist.buffer;
    let mut outcome = Outcome { accepted: Vec::new(), requested: Vec::new(), counts: PersistCounts::default() };
    let counts = &mut outcome.counts;
    let mut entries: Vec<Entry> = Vec::new();
    let (mut answer, mut draining) = (None, false);
    let resident = |entries: &[Entry]| entries.iter().filter(|entry| entry.leaves.is_none()).count() as u32;
    for cycle in 0.. {
        entries.retain(|entry| entry.leaves != Some(cycle));
        for remote in remotes.iter().filter(|remote| remote.cycle == cycle) {
            let leaves = cycle + stores[(counts.drains + counts.flushed) as usize % stores.len()].drain;
            if meets(*remote, &mut entries, leaves, counts) == Some(false) {
                outcome.requested.push((cycle, remote.line, None));
            }
        }
        while let Some(store) = stores.get(outcome.accepted.len()) {
            let before = outcome.accepted.last().map_or(0, |accepted| *accepted);
            if cycle < store.in_l1d.max(before) + if store.persistent { persist.latency_cycles } else { 0 } {
                break;
            }
            if !store.persistent {
                outcome.accepted.push(cycle);
                continue;
            }
            let until = if let Some(until) = answer {
                until
            } else {
                let found = entries.iter().find(|entry| entry.line == store.line);
                if found.is_some_and(|entry| entry.leaves.is_some()) {
                    counts.leaving_cycles += 1;
                    break;
                }
                let allocates = found.is_none();
                if allocates && entries.len() as u32 == room {
                    counts.full_cycles += 1;
                    break;
                }
                if allocates {
                    entries.push(Entry { line: store.line, leaves: None });
                    // The mark is reached now, though draining begins when the store is accepted and some entries may
                    // have left by then.
                    draining |= resident(&entries) >= drain_from;
                    counts.allocations += 1;
                }
                counts.stores += 1;
                outcome.requested.push((cycle, store.line, Some(allocates)));
                if awaits_answer(persist.waits, allocates) { cycle + store.answer } else { cycle }
            };
            answer = Some(until);
            if cycle < until {
                counts.answer_cycles += 1;
                break;
            }
            answer = None;
            outcome.accepted.push(cycle);
            while draining && resident(&entries) > drain_to {
                let Some(oldest) = entries.iter_mut().find(|entry| entry.leaves.is_none()) else { break };
                let drains = counts.drains + counts.flushed;
                oldest.leaves = Some(cycle + stores[drains as usize % stores.len()].drain);
                counts.drains += 1;
                outcome.requested.push((cycle, oldest.line, None));
            }
            draining = false;
        }
        if outcome.accepted.len() == stores.len() {
            return outcome;
        }
    }
    unreachable!("cycles do not end")
}

fn some_stores() -> impl Strategy<Value = Vec<Store>> {
    let line = (0..7u64, prop::bool::weighted(0.8));
    let one = (line, (0..12u64, 0..40u64), 0..60u64, 1..50u64, 1..120u64);
    proptest::collection::vec(one, 1..80).prop_map(|ones| {
        let mut base = 0;
        let store = |((line, persistent), (gap, later), known_before, answer, drain)| {
            base += gap;
            Store { line, persistent, in_l1d: base + later, known_before, answer, drain }
        };
        ones.into_iter().map(store).collect()
    })
}

fn some_buffer() -> impl Strategy<Value = PersistConfig> {
    let waits = prop_oneof![Just(StoreHold::Never), Just(StoreHold::NewEntries), Just(StoreHold::EveryStore)];
    (1..7u32, any::<u32>(), any::<u32>(), 0..4u64, waits).prop_map(|(entries, from, to, latency_cycles, waits)| {
        let drain_from = 1 + from % entries;
        let buffer = PersistBufferConfig { entries, drain_from, drain_to: to % drain_from };
        PersistConfig { buffer, latency_cycles, waits }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn stores_enter_the_persist_buffer_in_the_cycles_of_a_cycle_by_cycle_model(
        persist in some_buffer(),
        stores in some_stores(),
    ) {
        let config = NodeConfig { persist_buffer: Some(persist), ..small() };
        prop_assert_eq!(scheduled(&config, persist, &stores, &[]), ticking(persist, &stores, &[]));
    }

    /// If stores enter the buffer in no time and are not known in advance, the path schedules no event ahead. Remote accesses then
    /// meet the entries of their own cycle.
    #[test]
    fn remote_accesses_to_persist_buffer_entries_match_a_cycle_by_cycle_model(
        persist in some_buffer(),
        stores in some_stores(),
        remotes in proptest::collection::btree_map(0..900u64, (0..7u64, any::<bool>()), 0..60),
    ) {
        let persist = PersistConfig { latency_cycles: 0, ..persist };
        let mut last = 0;
        let stores: Vec<Store> = stores.into_iter().map(|store| {
            last = store.in_l1d.max(last);
            Store { in_l1d: last, known_before: 0, ..store }
        }).collect();
        let remotes: Vec<Remote> =
            remotes.into_iter().map(|(cycle, (line, writes))| Remote { cycle, line, writes }).collect();
        let config = NodeConfig { persist_buffer: Some(persist), ..small() };
        prop_assert_eq!(scheduled(&config, persist, &stores, &remotes), ticking(persist, &stores, &remotes));
    }
}
