//! Without an attacker: does a design return what was written, raise no alarm, and never use a pad twice?
//!
//! Much of what goes wrong in memory protection goes wrong here: a parent that was not notified, a tag that was not
//! written back, a counter that came back.

use crate::bus::Structure;
use crate::oracle::Wish;
use crate::victim::{DATA_LINES, Victim, with_tiny_caches};
use catalogue::Verdict;
use protection::counter::Age;
use protection::design::Parts;
use protection::ledger::Reuse;
use protection::planted::Planted;
use protection::verbs::Fault;
use serde::Serialize;
use units::random::Random;
use units::{LINES_PER_PAGE, Line, LineAddr, WORD_BYTES};

/// What went wrong although there was no attack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The tag of a data line was said not to fit.
    FalseAlarmOfTag,
    /// A line of counters was said not to fit its parent.
    FalseAlarmOfCounter,
    /// A node of the tree, at this level, was said not to fit its parent.
    FalseAlarmOfNode(usize),
    /// The whole memory was said not to fit the root register.
    FalseAlarmOfRoot,
    /// Something else came out than was written.
    WrongValue,
    /// One pad hid two texts.
    PadReuse,
    /// The mask of a tag hid two hashes.
    MaskReuse,
    /// A counter was said to be at its end.
    Exhausted,
    /// The owner was refused its own page.
    Refused,
    /// Memory was not to be changed any more.
    Halted,
    /// A write was said to come from what was refused.
    Tainted,
    /// A battery had lost stores to a line.
    Lost,
}

impl Finding {
    /// The finding that keystream served twice.
    pub(crate) fn of(reuse: Reuse) -> Finding {
        match reuse {
            Reuse::Pad(_) | Reuse::OfChunk(_) => Finding::PadReuse,
            Reuse::Mask(_) => Finding::MaskReuse,
        }
    }
}

/// An honest run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HonestReport {
    /// Reads, writes and flushes done.
    pub accesses: u64,
    /// The first thing that went wrong, if anything did.
    pub finding: Option<Finding>,
}

/// Pages in use, and lines in use of each: few enough that counters overflow, far enough apart that caches do too, and some
/// of them under one tag where a tag is over several.
const PAGES_IN_USE: u64 = 16;
const LINES_IN_USE: [u64; 6] = [0, 1, 3, 6, 9, 15];
/// Words that are written more often than others.
const FREQUENT: [u64; 5] = [0, u64::MAX, 1, 0x2020_2020_2020_2020, 0x7fff_1234_5678];
/// Cores that read.
const CORES: usize = 4;

/// Does random reads and writes, with a flush now and then, until `accesses` are done or something goes wrong. Every
/// fourth access goes to one hot line. Runs with caches so small that metadata leaves the chip all the time.
///
/// # Errors
/// The rule that the composition breaks.
pub fn honest(parts: &Parts, accesses: u64, seed: u64, planted: Planted) -> Result<HonestReport, String> {
    let mut victim = Victim::booting(&with_tiny_caches(parts), &[], seed, planted)?;
    let mut random = Random::new(seed);
    for done in 1..=accesses {
        if let Some(finding) = one_access(&mut victim, &mut random) {
            return Ok(HonestReport { accesses: done, finding: Some(finding) });
        }
    }
    Ok(HonestReport { accesses, finding: None })
}

fn one_access(victim: &mut Victim, random: &mut Random) -> Option<Finding> {
    let stride = DATA_LINES / PAGES_IN_USE;
    let line = match random.below(4) {
        0 => LineAddr(0),
        _ => {
            let line = LINES_IN_USE[random.below(LINES_IN_USE.len() as u64) as usize];
            LineAddr(random.below(PAGES_IN_USE) * stride + line)
        }
    };
    let fault = match random.below(100) {
        0 => victim.flush(),
        1..50 => {
            let content = content(random);
            victim.write(line, &content)
        }
        _ => {
            victim.learn(line);
            // Cores share lines of counters, and each has lines of its own under them.
            let (answer, fault) = victim.read_from(line.0 as usize % CORES, line);
            let verdict = victim.oracle().judge(line, &answer, None);
            if fault.is_none() && verdict != Verdict::Harmless {
                return Some(Finding::WrongValue);
            }
            fault
        }
    };
    let reuse = victim.keystream_reuse().map(Finding::of);
    fault.map(|fault| false_alarm(victim, fault)).or(reuse)
}

/// What is written: random words, and among them some that are written again and again, as programs do.
fn content(random: &mut Random) -> Line {
    let mut line = random.line();
    for word in line.chunks_exact_mut(WORD_BYTES).filter(|word| word[0] < u8::MAX / 2) {
        let value = FREQUENT[usize::from(word[0]) % FREQUENT.len()];
        word.copy_from_slice(&value.to_le_bytes());
    }
    line
}

/// The finding that a fault is when there was no attack.
pub(crate) fn false_alarm(victim: &Victim, fault: Fault) -> Finding {
    match fault {
        Fault::Tag(_) => Finding::FalseAlarmOfTag,
        Fault::Exhausted(_) => Finding::Exhausted,
        Fault::Root => Finding::FalseAlarmOfRoot,
        Fault::Refused(_) => Finding::Refused,
        Fault::Halted(_) => Finding::Halted,
        Fault::Tainted(_) => Finding::Tainted,
        Fault::Lost(_) => Finding::Lost,
        Fault::Tree(slot) => match victim.map().structure(slot) {
            Structure::Node(level) => Finding::FalseAlarmOfNode(level),
            _ => Finding::FalseAlarmOfCounter,
        },
    }
}

/// What happens to a page when one of its lines is written again and again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OverflowReport {
    /// The writes of the hot line, counted from one, at which its neighbours got new ciphertext.
    pub renewals: Vec<u64>,
    /// The write at which a pad was first used for a second text.
    pub pad_reuse: Option<u64>,
    /// Whether every line of the page still read as written, without an alarm, at the end.
    pub readable: bool,
}

/// The line that overflows, and one whose ciphertext shows when the page is re-encrypted.
const HOT: LineAddr = LineAddr(5);
const NEIGHBOUR: LineAddr = LineAddr(9);

/// Fills a page, then writes one of its lines `writes` times.
///
/// # Errors
/// The rule that the composition breaks.
pub fn overflow(parts: &Parts, writes: u64, seed: u64, planted: Planted) -> Result<OverflowReport, String> {
    let mut random = Random::new(seed);
    let mut victim = full_page(parts, None, seed, planted, &mut random)?;
    let ciphertext = |victim: &Victim| victim.attacked(|bus| bus.read_place(Structure::Data, NEIGHBOUR));
    let mut report = OverflowReport { renewals: Vec::new(), pad_reuse: None, readable: true };
    for write in 1..=writes {
        let before = ciphertext(&victim);
        victim.write(HOT, &random.line());
        if ciphertext(&victim) != before {
            report.renewals.push(write);
        }
        report.pad_reuse = report.pad_reuse.or(victim.keystream_reuse().map(|_| write));
    }
    let reads_right = |line| victim.oracle().judge(line, &victim.read(line).0, None) == Verdict::Harmless;
    report.readable = victim.oracle().lines().into_iter().all(reads_right);
    Ok(report)
}

/// Flips a bit of a line just before its page is re-encrypted: must not come out with a valid tag.
///
/// # Errors
/// The rule that the composition breaks.
pub fn tamper_before_overflow(parts: &Parts, writes: u64, seed: u64, planted: Planted) -> Result<Verdict, String> {
    const BIT: usize = 77;
    let mut random = Random::new(seed);
    let mut victim = full_page(parts, Some(Age::BeforeRenewal), seed, planted, &mut random)?;
    victim.attacked(|bus| bus.flip_place(Structure::Data, NEIGHBOUR, BIT));
    for _ in 0..writes {
        victim.write(HOT, &random.line());
    }
    let wished = victim.oracle().wished_bytes(NEIGHBOUR, Wish::Flipped(BIT));
    Ok(victim.oracle().judge(NEIGHBOUR, &victim.read(NEIGHBOUR).0, wished))
}

/// A page whose lines were all written, after its counters had come to an age.
fn full_page(
    parts: &Parts,
    age: Option<Age>,
    seed: u64,
    planted: Planted,
    random: &mut Random,
) -> Result<Victim, String> {
    let mut victim = Victim::blank(parts, seed, planted)?;
    if let Some(age) = age {
        victim.age(HOT, age);
    }
    for line in 0..LINES_PER_PAGE as u64 {
        victim.write(LineAddr(line), &random.line());
    }
    victim.flush();
    Ok(victim)
}
