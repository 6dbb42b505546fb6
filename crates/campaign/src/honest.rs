//! Honest runs, without an attacker: does a design return the values written, raise no alarm, and never use a pad twice?
//!
//! Many errors of memory protection appear without an attack: a parent that was not notified, a tag that was not written
//! back, a counter that was used again.

use crate::bus::Structure;
use crate::oracle::Wish;
use crate::victim::{DATA_LINES, Victim, with_tiny_caches};
use catalogue::Verdict;
use protection::counter::Age;
use protection::design::Parts;
use protection::ledger::Reuse;
use protection::planted::PlantedBug;
use protection::verbs::Fault;
use serde::Serialize;
use units::random::Random;
use units::{LINES_PER_PAGE, Line, LineAddr, WORD_BYTES};

/// Error that occurred without an attack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The chip reported a mismatch of the tag of a data line.
    FalseAlarmOfTag,
    /// The chip reported a mismatch between a counter line and its parent.
    FalseAlarmOfCounter,
    /// The chip reported a mismatch between a node at this tree level and its parent.
    FalseAlarmOfNode(usize),
    /// The chip reported a mismatch between the whole memory and the root register.
    FalseAlarmOfRoot,
    /// A read released another value than was written.
    WrongValue,
    /// One pad hid two texts.
    PadReuse,
    /// The mask of a tag hid two hashes.
    MaskReuse,
    /// The chip reported that a counter is exhausted.
    Exhausted,
    /// The chip refused the owner access to its page.
    Refused,
    /// The chip refused any further change to memory.
    Halted,
    /// The chip reported a write that depends on refused data.
    Tainted,
    /// The chip reported that a battery had lost stores to a line.
    Lost,
}

impl Finding {
    /// Returns the finding for a reuse of keystream.
    pub(crate) fn of(reuse: Reuse) -> Finding {
        match reuse {
            Reuse::Pad(_) | Reuse::OfPageChunk(_) => Finding::PadReuse,
            Reuse::Mask(_) => Finding::MaskReuse,
        }
    }
}

/// Report of an honest run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HonestReport {
    /// Number of reads, writes and flushes done.
    pub accesses: u64,
    /// First error of the run, if any.
    pub finding: Option<Finding>,
}

/// Pages in use, and lines in use of each page. They are few, so that counters overflow, and far apart, so that caches
/// overflow too. Some share a tag in designs with one tag for several lines.
const PAGES_IN_USE: u64 = 16;
const LINES_IN_USE: [u64; 6] = [0, 1, 3, 6, 9, 15];
/// Words that are written more often than random ones.
const FREQUENT: [u64; 5] = [0, u64::MAX, 1, 0x2020_2020_2020_2020, 0x7fff_1234_5678];
/// Number of cores that read.
const CORES: usize = 4;

/// Does random reads and writes, and sometimes a flush, until `accesses` are done or an error occurs. Every fourth access
/// goes to one hot line. The caches are so small that metadata leaves the chip all the time.
///
/// # Errors
/// The rule that the composition breaks.
pub fn honest(parts: &Parts, accesses: u64, seed: u64, planted: PlantedBug) -> Result<HonestReport, String> {
    let mut victim = Victim::booting(&with_tiny_caches(parts), &lines_in_use(), seed, planted)?;
    let mut random = Random::new(seed);
    for done in 1..=accesses {
        if let Some(finding) = one_access(&mut victim, &mut random) {
            return Ok(HonestReport { accesses: done, finding: Some(finding) });
        }
    }
    Ok(HonestReport { accesses, finding: None })
}

/// All lines that the program may access.
fn lines_in_use() -> Vec<LineAddr> {
    let pages = (0..PAGES_IN_USE).map(|page| page * (DATA_LINES / PAGES_IN_USE));
    pages.flat_map(|page| LINES_IN_USE.map(|line| LineAddr(page + line))).collect()
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
        0 => victim.machine().flush(),
        1..50 => {
            let content = content(random);
            victim.write(line, &content)
        }
        _ => {
            victim.learn(line);
            // Cores share counter lines, and each core has separate lines under them.
            let (answer, fault) = victim.read_from(line.0 as usize % CORES, line);
            let verdict = victim.oracle().judge(line, &answer, None);
            if fault.is_none() && verdict != Verdict::Harmless {
                return Some(Finding::WrongValue);
            }
            fault
        }
    };
    let reuse = victim.memory().keystream_reuse().map(Finding::of);
    fault.map(|fault| false_alarm(victim, fault)).or(reuse)
}

/// Draws a content: random words, and among them some that repeat often, as in programs.
fn content(random: &mut Random) -> Line {
    let mut line = random.line();
    for word in line.chunks_exact_mut(WORD_BYTES).filter(|word| word[0] < u8::MAX / 2) {
        let value = FREQUENT[usize::from(word[0]) % FREQUENT.len()];
        word.copy_from_slice(&value.to_le_bytes());
    }
    line
}

/// Returns the finding for a fault that was reported without an attack.
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

/// Effects on a page when one of its lines is written again and again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OverflowReport {
    /// Writes of the hot line, counted from one, at which its neighbour got new ciphertext.
    pub renewals: Vec<u64>,
    /// Write at which a pad was first used for a second text.
    pub pad_reuse: Option<u64>,
    /// True if every line of the page still read as written, without an alarm, at the end.
    pub readable: bool,
}

/// Line that overflows, and a neighbour that shows the re-encryption of the page by new ciphertext.
const HOT: LineAddr = LineAddr(5);
const NEIGHBOUR: LineAddr = LineAddr(9);

/// Fills a page, then writes one of its lines `writes` times.
///
/// # Errors
/// The rule that the composition breaks.
pub fn overflow(parts: &Parts, writes: u64, seed: u64, planted: PlantedBug) -> Result<OverflowReport, String> {
    let mut random = Random::new(seed);
    let mut victim = full_page(parts, None, seed, planted, &mut random)?;
    let ciphertext = |victim: &Victim| victim.attacked(|bus| bus.read_structure(Structure::Data, NEIGHBOUR));
    let mut report = OverflowReport { renewals: Vec::new(), pad_reuse: None, readable: true };
    for write in 1..=writes {
        let before = ciphertext(&victim);
        victim.write(HOT, &random.line());
        if ciphertext(&victim) != before {
            report.renewals.push(write);
        }
        report.pad_reuse = report.pad_reuse.or(victim.memory().keystream_reuse().map(|_| write));
    }
    let reads_right = |line| victim.oracle().judge(line, &victim.read(line).0, None) == Verdict::Harmless;
    report.readable = victim.oracle().lines().into_iter().all(reads_right);
    Ok(report)
}

/// Flips a bit of a line just before its page is re-encrypted: the changed line must not get a valid tag.
///
/// # Errors
/// The rule that the composition breaks.
pub fn tamper_before_overflow(parts: &Parts, writes: u64, seed: u64, planted: PlantedBug) -> Result<Verdict, String> {
    const BIT: usize = 77;
    let mut random = Random::new(seed);
    let mut victim = full_page(parts, Some(Age::BeforeRenewal), seed, planted, &mut random)?;
    victim.attacked(|bus| bus.flip_bit_of(Structure::Data, NEIGHBOUR, BIT));
    for _ in 0..writes {
        victim.write(HOT, &random.line());
    }
    let wished = victim.oracle().wished_bytes(NEIGHBOUR, Wish::Flipped(BIT));
    Ok(victim.oracle().judge(NEIGHBOUR, &victim.read(NEIGHBOUR).0, wished))
}

/// Returns a page with every line written once, after its counters were advanced to an age.
fn full_page(
    parts: &Parts,
    age: Option<Age>,
    seed: u64,
    planted: PlantedBug,
    random: &mut Random,
) -> Result<Victim, String> {
    let mut victim = Victim::blank(parts, seed, planted)?;
    if let Some(age) = age {
        victim.machine().age(HOT, age);
    }
    for line in 0..LINES_PER_PAGE as u64 {
        victim.write(LineAddr(line), &random.line());
    }
    victim.machine().flush();
    Ok(victim)
}
