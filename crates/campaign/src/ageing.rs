//! Counters at their ends: two groups that a long life has brought just before an overflow, written in turn.
//!
//! There is no attacker. What must hold is that no pad is used twice, that every line still reads as written, and that
//! a write whose counter is at its full width changes nothing.

use crate::bus::Structure;
use crate::honest::{Finding, false_alarm};
use crate::victim::{Victim, with_tiny_caches};
use catalogue::Verdict;
use protection::counter::Age;
use protection::design::Parts;
use protection::planted::Planted;
use protection::verbs::Fault;
use serde::Serialize;
use std::ops::Range;
use units::random::Random;
use units::{Line, LineAddr};

/// What became of two old groups.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AgeingReport {
    /// Writes asked for.
    pub writes: u64,
    /// Writes that were refused, since a counter was at its full width.
    pub refused: u64,
    /// Writes that gave other lines of the group new ciphertext.
    pub renewals: u64,
    /// The first thing that went wrong, if anything did.
    pub finding: Option<Finding>,
}

/// Writes two neighbouring groups `writes` times, in turn. Runs with caches so small that counters leave the chip all the
/// time. The written line is read after each write, the whole group after each renewal and now and then.
///
/// # Errors
/// The rule that the composition breaks.
pub fn ageing(parts: &Parts, age: Age, writes: u64, seed: u64, planted: Planted) -> Result<AgeingReport, String> {
    let mut victim = Victim::blank(&with_tiny_caches(parts), seed, planted)?;
    let mut random = Random::new(seed);
    let lines = group_of(&victim, 0).end;
    let groups = [0..lines, lines..2 * lines];
    for group in &groups {
        victim.age(LineAddr(group.start), age);
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

/// The position that is written in this turn: each in order, again and again; but one hot one with every eighth write of
/// the first quarter of a round. So counters run ahead of others at first, and then stay about equal for long.
fn position(turn: u64, lines: u64) -> u64 {
    const ROUND: u64 = 2_048;
    let hot_turns = turn / ROUND * (ROUND / 4) + (turn % ROUND).min(ROUND / 4);
    if turn % ROUND < ROUND / 4 && turn % 8 == 7 { lines / 2 } else { (turn - hot_turns / 8) % lines }
}

/// The lines that share a line of counters with this one.
fn group_of(victim: &Victim, line: u64) -> Range<u64> {
    let counters = victim.map().place(Structure::Counter, LineAddr(line));
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
        && let Some(fault) = victim.flush()
    {
        return Some(false_alarm(victim, fault));
    }
    let reuse = victim.keystream_reuse().map(Finding::of);
    let read = if renewed || random.below(16) == 0 { group.clone() } else { line.0..line.0 + 1 };
    reuse.or_else(|| read.into_iter().find_map(|line| misread(victim, LineAddr(line))))
}

fn ciphertexts(victim: &Victim, group: &Range<u64>) -> Vec<Option<Line>> {
    victim.attacked(|bus| group.clone().map(|line| bus.read_place(Structure::Data, LineAddr(line))).collect())
}

/// What is wrong with a line when it is read; nothing if it was never written.
fn misread(victim: &Victim, line: LineAddr) -> Option<Finding> {
    victim.oracle().current(line)?;
    let (answer, fault) = victim.read(line);
    let wrong = victim.oracle().judge(line, &answer, None) != Verdict::Harmless;
    fault.map(|fault| false_alarm(victim, fault)).or(wrong.then_some(Finding::WrongValue))
}
