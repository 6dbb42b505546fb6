//! Checks that the schemes have a single implementation: functional, timed and explained runs of the same requests have
//! the same results.
//!
//! With one request in flight, functional, timed and explained runs must have the same results except for time:
//! releases, reports, the content of memory, and the operations of each request. Operations are compared as sorted
//! lists, request by request. Joined branches run in sequence without time and interleaved with it, so the order of
//! operations may differ, but not their set.

use crate::common::shares::designs_without_persistence;
use crate::common::swept::an_eighth;
use crate::common::{DATA_LINES, Machine, cases, with_caches};
use casemate_campaign::bus::flip;
use proptest::prelude::*;
use protection::design::{CipherChoice, Covered, MacChoice, MacDesign, Over, Parts, TagLocation, TreeKind};
use protection::execution::{Explained, Functional, Operation, Receiver, RecordedMemory, Timed, Untimed, run_now};
use protection::media::Media;
use protection::scheme::Scheme;
use protection::verbs::{Blocks, Cache, Fault, Plaintext, Purpose, Slot, Untrusted, Verbs};
use sim::span::Verb;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::random::Random;
use units::{Duration, Line, LineAddr, ZERO_LINE};

/// One step of a run.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    Read(LineAddr),
    Write(LineAddr, Line),
    Flush,
    /// The attacker flips this bit of the n-th slot that is not blank, between two requests.
    Tamper(u64, usize),
}

/// Output of the checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Released(LineAddr, Line, bool),
    Reported(Fault),
}

/// Results of a run.
#[derive(Debug, Default)]
struct Run {
    /// Events of each request; a functional memory keeps only the last of each kind.
    events: Vec<Vec<Event>>,
    /// Operations of each request, sorted; empty lists if the run was not explained.
    operations: Vec<Vec<Operation>>,
    /// Content of memory at the end.
    image: Vec<(Slot, Untrusted)>,
    pad_reuse: bool,
}

impl Run {
    /// The last release and the last report of each request.
    fn last_events(&self) -> Vec<[Option<Event>; 2]> {
        let last = |events: &Vec<Event>, released: bool| {
            events.iter().rfind(|event| matches!(event, Event::Released(..)) == released).copied()
        };
        self.events.iter().map(|events| [last(events, true), last(events, false)]).collect()
    }
}

/// Returns requests over a few pages. All lines are written first, because only a timed machine boots with a content.
pub fn requests(seed: u64, tampering: bool) -> Vec<Request> {
    const PAGES: [u64; 5] = [0, 1, 8, 64, 1023];
    let mut random = Random::new(seed);
    let lines: Vec<LineAddr> =
        PAGES.iter().flat_map(|page| [0, 1, 9, 63].map(|line| LineAddr(page * 64 + line))).collect();
    let mut requests: Vec<Request> = lines.iter().map(|line| Request::Write(*line, random.line())).collect();
    for _ in 0..600 {
        let line = random.pick(&lines).unwrap_or(LineAddr(0));
        requests.push(match random.below(40) {
            0 => Request::Flush,
            1 if tampering => Request::Tamper(random.word(), random.below(512) as usize),
            2..15 => Request::Read(line),
            // Most writes go to one line, so that its counter overflows.
            15..28 => Request::Write(LineAddr(9), random.line()),
            _ => Request::Write(line, random.line()),
        });
    }
    requests.push(Request::Flush);
    requests
}

pub async fn perform<V: Verbs>(scheme: &Scheme, verbs: &V, request: Request) {
    match request {
        Request::Read(line) => scheme.read(verbs, line).await,
        Request::Write(line, content) => scheme.write(verbs, line, &content).await,
        Request::Flush => scheme.flush(verbs).await,
        Request::Tamper(..) => unreachable!("no access does this"),
    }
}

fn tamper(media: &mut Media, which: u64, bit: usize) {
    let written = media.written_slots().count() as u64;
    let Some((slot, line)) = media.written_slots().nth((which % written) as usize) else {
        return;
    };
    let mut content = line;
    flip(&mut content, bit);
    media.write(slot, &content);
}

fn image(media: &Media) -> Vec<(Slot, Untrusted)> {
    media.written_slots().map(|(slot, _)| (slot, media.read(slot))).collect()
}

/// Time decides which chunks of a line a candidate wins, and which are verified before that.
fn is_timely(operation: &Operation) -> bool {
    let of_tag = |blocks: &Blocks| blocks.purpose == Purpose::Tag;
    matches!(operation, Operation::LookUp(Cache::Candidates))
        || matches!(operation, Operation::Pad(_, blocks) if of_tag(blocks))
}

fn sorted(parts: &Parts, mut operations: Vec<Operation>) -> Vec<Operation> {
    operations.retain(|operation| !(parts.speculation.exists() && is_timely(operation)));
    operations.sort_unstable();
    operations
}

fn functional(parts: &Parts, seed: u64, requests: &[Request], explained: bool) -> Run {
    let scheme = parts.build(DATA_LINES, seed).unwrap();
    let plain = Functional::new(scheme.layout().total_lines());
    let recorded = RecordedMemory::new(plain);
    let memory = recorded.memory();
    let mut run = Run::default();
    for request in requests {
        match *request {
            Request::Tamper(which, bit) => tamper(&mut memory.media.borrow_mut(), which, bit),
            request if explained => run_now(perform(&scheme, &recorded.verbs(), request)),
            request => run_now(perform(&scheme, &memory.verbs(), request)),
        }
        let released = memory
            .take_released()
            .or(memory.take_refused())
            .map(|(line, text)| Event::Released(line, text.bytes, text.verified));
        run.events.push(released.into_iter().chain(memory.take_fault().map(Event::Reported)).collect());
        run.operations.push(sorted(parts, recorded.take_operations()));
    }
    run.image = image(&memory.media.borrow());
    run.pad_reuse = memory.ledger().reuse().is_some();
    run
}

/// A core that records its releases and faults.
#[derive(Default)]
struct Notes(RefCell<Vec<Event>>);

impl Receiver for Notes {
    fn released(&self, line: LineAddr, text: &Plaintext) {
        self.0.borrow_mut().push(Event::Released(line, text.bytes, text.verified));
    }

    fn fault(&self, fault: Fault) {
        self.0.borrow_mut().push(Event::Reported(fault));
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        ZERO_LINE
    }
}

fn timed(parts: &Parts, seed: u64, requests: &[Request], explained: bool) -> (Run, u64) {
    let mut machine = Machine::new(parts, seed, Notes::default());
    let (explained_verbs, records) = Explained::recording(Timed::new(&machine.memory));
    let explained_verbs = Rc::new(explained_verbs);
    let mut run = Run::default();
    for request in requests {
        match *request {
            Request::Tamper(which, bit) => tamper(&mut machine.memory.media().borrow_mut(), which, bit),
            request => {
                let done = Rc::new(Cell::new(false));
                let (scheme, verbs, ended) = (machine.scheme.clone(), explained_verbs.clone(), done.clone());
                machine.executor.clock().spawn(async move {
                    if explained {
                        perform(&scheme, &*verbs, request).await;
                    } else {
                        perform(&scheme, verbs.inside(), request).await;
                    }
                    ended.set(true);
                });
                assert!(machine.run(Duration::from_ns(1_000_000), || done.get()), "{request:?} does not end");
            }
        }
        run.events.push(machine.core.0.take());
        run.operations.push(sorted(parts, records.take_operations()));
    }
    run.pad_reuse = machine.memory.keystream_reuse().is_some();
    run.image = image(&machine.memory.media().borrow());
    (run, machine.executor.clock().event_hash())
}

fn all_ways_agree(parts: &Parts, seed: u64, tampering: bool) -> Result<(), TestCaseError> {
    let requests = requests(seed, tampering);
    let reference = functional(parts, seed, &requests, true);
    let (timed_run, _) = timed(parts, seed, &requests, true);
    // Reports and releases are operations too, so this also compares all events.
    for (index, request) in requests.iter().enumerate() {
        let (here, there) = (&reference.operations[index], &timed_run.operations[index]);
        prop_assert_eq!(here, there, "request {}: {:?}", index, request);
    }
    let others = [functional(parts, seed, &requests, false), timed(parts, seed, &requests, false).0, timed_run];
    for (name, other) in ["functional", "timed", "timed and explained"].into_iter().zip(others) {
        prop_assert_eq!(reference.last_events(), other.last_events(), "{}", name);
        prop_assert_eq!(&reference.image, &other.image, "{}", name);
        prop_assert_eq!(reference.pad_reuse, other.pad_reuse, "{}", name);
    }
    // An attacker that puts counters back can make a design without a tree reuse its pads, but not a design with one.
    let may_reuse = tampering && parts.tree.kind == TreeKind::None;
    prop_assert!(may_reuse || !reference.pad_reuse, "a pad was reused");
    Ok(())
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn functional_timed_and_explained_runs_perform_equal_operations_for_every_design(seed in any::<u64>(), tampering in any::<bool>()) {
        for design in an_eighth(designs_without_persistence(), seed) {
            all_ways_agree(&with_caches(&design.parts, seed), seed, tampering)?;
        }
    }
}

/// The strongest design with tags longer than a word, at each place and over each kind of text.
fn with_long_tags() -> impl Iterator<Item = Parts> {
    use {CipherChoice as C, MacChoice as M, Over as O, TagLocation as P};
    let base = catalogue::design("sc64-bmt").unwrap().parts;
    let mac = |code, over, place| MacDesign { code, over, place, ..MacDesign::default() };
    let hmac = MacDesign { covers: vec![Covered::Address], ..mac(M::HmacSha256, O::Plaintext, P::Region) };
    let four = MacDesign { lines: 4, ..mac(M::Gmac, O::Ciphertext, P::Region) };
    [
        (C::Aes128Counter, mac(M::Gmac, O::Ciphertext, P::Inline).with_line_bits(128)),
        (C::Aes128Counter, hmac.with_line_bits(256)),
        (C::Aes128Counter, four.with_line_bits(128)),
        (C::TdesOcbChunks, mac(M::OcbChunks, O::Ciphertext, P::Region).with_chunk_bits(64)),
        (C::Aes256OcbChunks, mac(M::OcbChunks, O::Plaintext, P::Region).with_chunk_bits(128)),
    ]
    .into_iter()
    .map(move |(cipher, mac)| Parts { cipher, mac, ..base.clone() })
}

/// The strongest design with other ciphers and codes.
fn with_others() -> Vec<Parts> {
    use {CipherChoice as C, MacChoice as M, Over as O};
    let base = catalogue::design("sc64-bmt").unwrap().parts;
    [
        (C::Aes128Gcm, M::Gmac, O::Ciphertext),
        (C::Aes128Ocb, M::Ocb, O::Plaintext),
        (C::TdesOcbChunks, M::OcbChunks, O::Plaintext),
        (C::Aes128Cbc, M::HmacSha256, O::Plaintext),
        (C::Aes256Counter, M::SgxCw, O::Plaintext),
    ]
    .into_iter()
    .map(|(cipher, code, over)| {
        let covers = if code == M::HmacSha256 { vec![Covered::Address, Covered::Counter] } else { vec![] };
        Parts {
            cipher,
            mac: MacDesign { code, tag_bits: Some(64), over, covers, ..MacDesign::default() },
            ..base.clone()
        }
    })
    .chain(with_long_tags())
    .collect()
}

proptest! {
    #![proptest_config(cases(12))]
    #[test]
    fn functional_timed_and_explained_runs_perform_equal_operations_with_other_ciphers(seed in any::<u64>(), tampering in any::<bool>()) {
        for parts in with_others() {
            all_ways_agree(&with_caches(&parts, seed), seed, tampering)?;
        }
    }
}

#[test]
fn plaintext_tags_are_checked_after_decryption_and_ciphertext_tags_in_parallel() {
    let base = catalogue::design("sc64-bmt").unwrap().parts;
    for (over, together) in [(Over::Ciphertext, true), (Over::Plaintext, false)] {
        let mac = MacDesign { code: MacChoice::Gmac, over, ..base.mac.clone() };
        let parts = Parts { cipher: CipherChoice::Aes128Ocb, mac, ..base.clone() };
        let mut machine = Machine::new(&parts, 1, Notes::default());
        let (verbs, records) = Explained::recording(Timed::new(&machine.memory));
        let done = Rc::new(Cell::new(false));
        let (scheme, ended) = (machine.scheme.clone(), done.clone());
        machine.executor.clock().spawn(async move {
            scheme.read(&verbs, LineAddr(5)).await;
            ended.set(true);
        });
        assert!(machine.run(Duration::from_ns(1_000_000), || done.get()));
        let spans = records.take_spans();
        // The offset and the mask of the tag are computed earlier; the blocks of the line are the last.
        let last = |verb| spans.iter().rfind(|span| span.verb == verb).unwrap();
        assert_eq!(last(Verb::Mac).start == last(Verb::Decrypt).start, together, "{over:?}");
        assert_eq!(last(Verb::Mac).start >= last(Verb::Decrypt).end, !together, "{over:?}");
    }
}

#[test]
fn the_request_streams_of_these_tests_cause_counter_overflows_and_detected_tampering() {
    let parts = with_caches(&catalogue::design("sc64-bmt").unwrap().parts, 1);
    let scheme = parts.build(DATA_LINES, 1).unwrap();
    let honest = functional(&parts, 1, &requests(1, false), true);
    let stores_of_neighbour = |operations: &Vec<Operation>| {
        let neighbour = scheme.layout().data_slot(LineAddr(1)).slot();
        operations.iter().any(|operation| matches!(operation, Operation::Store(_, slot, _) if *slot == neighbour))
    };
    let hot = |request: &Request| matches!(request, Request::Write(line, _) if line.0 == 9);
    let renewals = requests(1, false)
        .iter()
        .zip(&honest.operations)
        .filter(|(request, operations)| hot(request) && stores_of_neighbour(operations))
        .count();
    assert!(renewals > 0, "no write of the hot line re-encrypted its neighbour");
    let reported = |run: &Run| run.events.iter().flatten().filter(|event| matches!(event, Event::Reported(_))).count();
    assert_eq!(reported(&honest), 0);
    assert!(reported(&functional(&parts, 1, &requests(1, true), true)) > 0);
}

#[test]
fn timed_runs_have_equal_event_hashes_only_for_equal_seeds() {
    for design in designs_without_persistence() {
        let hash = |seed| timed(&design.parts, seed, &requests(seed, false), false).1;
        assert_eq!(hash(3), hash(3), "{}", design.name);
        assert_ne!(hash(3), hash(4), "{}", design.name);
    }
}
