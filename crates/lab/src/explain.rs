//! The timeline of one read: what was done, from when to when, and what it waited for.
//!
//! The machine is put into a stated condition (which metadata is on the chip, how the DRAM row stands) by accesses of its
//! own, then one line is read through [`Explained`]. It is the same text and the same resources as in any run.

use machine::dram::{Dram, DramConfig, Kind, RowOutcome, Wanted};
use machine::memory::{DeviceConfig, MemoryConfig, MemorySystem};
use protection::verbs::{Fault, Plaintext, Slot};
use protection::ways::{Explained, Receiver, Timed, TimedMemory};
use serde::{Deserialize, Serialize};
use sim::span::Span;
use sim::{Clock, Executor};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use systems::{Design, Machine};
use units::{Clock as Frequency, Cycles, Duration, LINE_BYTES, Line, LineAddr, Time};

/// Which metadata of the line is on the chip when the line is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnChip {
    /// Nothing: the walk goes up to the root.
    #[default]
    Nothing,
    /// The nodes of the tree above the line's counter.
    Tree,
    /// The counter as well.
    Counter,
    /// The counter and the tag.
    All,
}

/// How the line's DRAM row stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Row {
    /// Open.
    Hit,
    /// Closed, as after a refresh.
    #[default]
    Closed,
    /// Another row of its bank is open.
    Conflict,
}

/// The condition in which the line is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Scenario {
    /// What is on the chip.
    pub on_chip: OnChip,
    /// How the row stands.
    pub row: Row,
}

/// The timeline of one read under one design.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// The design's name.
    pub design: String,
    /// The machine's name.
    pub machine: String,
    /// The condition.
    pub scenario: Scenario,
    /// From the controller's start to the released line, in femtoseconds.
    pub latency_fs: u64,
    /// What was done; times are in femtoseconds from the start of the read.
    pub spans: Vec<Span>,
}

/// Takes the place of the chip: hands out one content for all lines and notes when a line is released.
struct Witness {
    clock: Clock,
    last_level_look_up: Duration,
    released: Cell<Option<Time>>,
}

/// The time in which a bank comes to rest, so that nothing of the preparation is left but the row.
const REST: Duration = Duration::from_ns(200);

const CONTENT: Line = [0x5a; LINE_BYTES];

impl Receiver for Witness {
    fn released(&self, _: LineAddr, plaintext: &Plaintext) {
        assert_eq!(plaintext.bytes, CONTENT, "an explained read returns what was written");
        self.released.set(Some(self.clock.now()));
    }

    fn fault(&self, fault: Fault) {
        panic!("an explained read reports tampering: {fault}");
    }

    fn last_level_look_up(&self, _: Slot) -> Duration {
        self.last_level_look_up
    }

    fn start_up_content(&self, _: LineAddr) -> Line {
        CONTENT
    }
}

/// Reads one line of a protected memory in the stated condition.
///
/// # Errors
/// The rule that the design's composition breaks.
pub fn explain(machine: &Machine, design: &Design, scenario: Scenario) -> Result<Explanation, String> {
    let mut executor = Executor::new();
    let clock = executor.clock().clone();
    let lines = machine.memory.size.0 / LINE_BYTES as u64;
    let scheme = Rc::new(design.parts.build(lines, 1)?);
    let config = machine.memory_config();
    let channels = MemorySystem::start(&clock, config.clone());
    let last_level_look_up = machine.last_level_look_up();
    let witness = Witness { clock: clock.clone(), last_level_look_up, released: Cell::new(None) };
    let shape = scheme.layout().shape();
    let memory = TimedMemory::new(&clock, channels.clone(), shape, &machine.engines, true, witness);
    let memory = Rc::new(memory.with_one_port(design.parts.caches.unified.is_some()));
    let result = Rc::new(RefCell::new(None));

    let (outcome, seen) = (result.clone(), memory.clone());
    clock.clone().spawn(async move {
        let target = LineAddr(lines / 2 + 64 * 5 + 3);
        let ordinary = Timed::new(&seen);
        for warm in before(target, scenario.on_chip) {
            scheme.read(&ordinary, warm).await;
        }
        clock.sleep_until(at_rest(&config.device, clock.now())).await;
        channels.close_rows();
        if let Some(opening) = that_opens_a_row(&config, target, scenario.row) {
            channels.read(opening, Wanted::Line).await;
        }
        clock.sleep(REST).await;
        let start = clock.now();
        seen.receiver().released.set(None);
        let explained = Explained::new(Timed::new(&seen));
        scheme.read(&explained, target).await;
        let released = seen.receiver().released.get();
        *outcome.borrow_mut() = released.map(|end| (start, end, explained.take_spans()));
    });
    executor.run_until(|| result.borrow().is_some());

    let Some((start, end, mut spans)) = result.take() else { unreachable!("a read without an attacker is released") };
    for span in &mut spans {
        (span.start, span.end) = (since(start, span.start), since(start, span.end));
    }
    spans.sort_by_key(|span| (span.start, span.end));
    Ok(Explanation {
        design: design.name.clone(),
        machine: machine.name.clone(),
        scenario,
        latency_fs: end.since(start).as_fs(),
        spans,
    })
}

fn since(start: Time, time: Time) -> Time {
    Time::ZERO + time.since(start)
}

/// Reads that bring what is wanted on the chip, and no more: of a line whose counter has the same parents, of one with
/// the same line of counters, of one with the same line of tags.
fn before(target: LineAddr, on_chip: OnChip) -> Vec<LineAddr> {
    match on_chip {
        OnChip::Nothing => vec![],
        OnChip::Tree => vec![LineAddr(target.0 ^ 64)],
        OnChip::Counter => vec![LineAddr(target.0 ^ 32)],
        OnChip::All => vec![LineAddr(target.0 ^ 2)],
    }
}

/// A moment when the memory is idle and, if it is refreshed, has just been, so that the next refresh is far.
fn at_rest(device: &DeviceConfig, now: Time) -> Time {
    let settled = now + Duration::from_ns(1_000);
    match device {
        DeviceConfig::Dram(dram) if dram.timing.trefi > 0 => {
            let clock = Frequency::from_mhz(dram.clock_mhz);
            let period = clock.span(Cycles(dram.timing.trefi)).as_fs();
            let refresh = settled.as_fs().div_ceil(period) * period;
            Time::from_fs(refresh) + clock.span(Cycles(2 * dram.timing.trfc))
        }
        DeviceConfig::Dram(_) | DeviceConfig::Pcm(_) => settled,
    }
}

/// A line whose read, on an idle memory with closed rows, leaves the row of `target` as it is wanted: found by trying.
fn that_opens_a_row(config: &MemoryConfig, target: LineAddr, wanted: Row) -> Option<LineAddr> {
    let DeviceConfig::Dram(dram) = &config.device else { return None };
    let (stride, wanted) = match wanted {
        Row::Closed => return None,
        Row::Hit => (1, RowOutcome::Hit),
        Row::Conflict => (dram.organisation.lines_per_row, RowOutcome::Conflict),
    };
    let (channel, local) = config.place(target);
    let mut candidates = (1..1 << 12).map(|step| LineAddr(target.0.wrapping_sub(step * stride)));
    candidates.find(|candidate| {
        let (its_channel, its_local) = config.place(*candidate);
        its_channel == channel && outcome_after(dram, its_local, local) == Some(wanted)
    })
}

/// How a read of `second` finds its bank when the channel has come to rest after a read of `first`.
fn outcome_after(dram: &DramConfig, first: LineAddr, second: LineAddr) -> Option<RowOutcome> {
    let mut channel = Dram::new(dram.clone());
    let mut answers = Vec::new();
    for (token, line) in (0..).zip([first, second]) {
        let mut now = Time::from_fs(u64::from(token) * REST.as_fs());
        channel.submit(now, line, Kind::Read, token);
        while let Some(next) = channel.advance(now, &mut answers) {
            now = next;
        }
    }
    answers.last().map(|answer| answer.outcome)
}
