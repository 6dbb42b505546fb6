//! Encryption counters near their maximum: the run writes in turn to two groups of lines with counters just before an
//! overflow, as after a long life.
//!
//! The run has no attacker. The design must use no pad twice, every line must still read as written, and a write with
//! an exhausted counter must change no line.

use crate::bus::Structure;
use crate::honest::{Finding, false_alarm};
use crate::victim::{Victim, with_tiny_caches};
use catalogue::Verdict;
use protection::counter::Age;
use protection::design::Parts;
use protection::planted::PlantedBug;
use protection::verbs::Fault;
use serde::Serialize;
use std::ops::Range;
use units::random::Random;
use units::{Line, LineAddr};

/// Results of writes to two old groups.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AgeingReport {
    /// Number of writes attempted.
    pub writes: u64,
    /// Writes that were refused because a counter was at its full width.
    pub refused: u64,
    /// Writes that gave other lines of the group new ciphertext.
    pub renewals: u64,
    /// First error of the run, if any.
    pub finding: Option<Finding>,
}

/// Writes two neighbouring groups `writes` times, in turn. The caches are so small that counters leave the chip all the
/// time. The run reads the written line after each write, and the whole group after each renewal and sometimes in
/// between.
///
/// # Errors
/// The rule that the composition breaks.
pub fn ageing(parts: &Parts, age: Age, writes: u64, seed: u64, planted: PlantedBug) -> Result<AgeingReport, String> {
    let mut victim = Victim::blank(&with_tiny_caches(parts), seed, planted)?;
    let mut random = Random::new(seed);
    let lines = group_of(&victim, 0).end;
    let groups = [0..lines, lines..2 * lines];
    for group in &groups {
        victim.machine().age(LineAddr(group.start), age);
    }
    let mut report = AgeingReport { writes: 0, refused: 0, renewals: 0, finding: None };
    while report.writes < writes && report.finding.is_none() {
        let group = &groups[report.writes as usize % 2];
        let line = LineAddr(group.start + position(report.writes / 2, lines));
        report.finding = one_write(&mut victim, group, line, &mut random, &mut report);
        report.writes += 1;
    }
    let all_read_right = || groups.iter().cloned().flatten().find_map(|line| misread(&victim, LineAddr(line)));
    report.finding = report.finding.or_else(all_read_right);
    Ok(report)
}

/// Returns the position to write in this turn. The positions are written in order, again and again, except that every
/// eighth write of the first quarter of a round goes to one hot position. So its counter is ahead at first, and then all
/// counters stay about equal for long.
fn position(turn: u64, lines: u64) -> u64 {
    const ROUND: u64 = 2_048;
    let hot_turns = turn / ROUND * (ROUND / 4) + (turn % ROUND).min(ROUND / 4);
    if turn % ROUND < ROUND / 4 && turn % 8 == 7 { lines / 2 } else { (turn - hot_turns / 8) % lines }
}

/// Returns the lines that share a counter line with this one.
fn group_of(victim: &Victim, line: u64) -> Range<u64> {
    let counters = victim.map().slot_bytes(Structure::Counter, LineAddr(line));
    counters.map_or(line..line + 1, |(slot, _)| victim.map().lines_served(slot))
}

fn one_write(
    victim: &mut Victim,
    group: &Range<u64>,
    line: LineAddr,
    random: &mut Random,
    report: &mut AgeingReport,
) -> Option<Finding> {
    let before = ciphertexts(victim, group);
    let fault = victim.write(line, &random.line());
    let after = ciphertexts(victim, group);
    let changed = |number: u64| before[(number - group.start) as usize] != after[(number - group.start) as usize];
    let renewed = group.clone().any(|number| number != line.0 && changed(number));
    report.renewals += u64::from(renewed);
    match fault {
        Some(Fault::Exhausted(refused)) if refused == line && before == after => report.refused += 1,
        Some(fault) => return Some(false_alarm(victim, fault)),
        None => {}
    }
    if random.below(50) == 0
        && let Some(fault) = victim.machine().flush()
    {
        return Some(false_alarm(victim, fault));
    }
    let reuse = victim.memory().keystream_reuse().map(Finding::of);
    let read = if renewed || random.below(16) == 0 { group.clone() } else { line.0..line.0 + 1 };
    reuse.or_else(|| read.into_iter().find_map(|line| misread(victim, LineAddr(line))))
}

fn ciphertexts(victim: &Victim, group: &Range<u64>) -> Vec<Option<Line>> {
    victim.attacked(|bus| group.clone().map(|line| bus.read_structure(Structure::Data, LineAddr(line))).collect())
}

/// Returns the error in reading a line; `None` if the line was never written.
fn misread(victim: &Victim, line: LineAddr) -> Option<Finding> {
    victim.oracle().current(line)?;
    let (answer, fault) = victim.read(line);
    let wrong = victim.oracle().judge(line, &answer, None) != Verdict::Harmless;
    fault.map(|fault| false_alarm(victim, fault)).or(wrong.then_some(Finding::WrongValue))
}
