//! The memories of the machine files have the latencies of their papers.

use machine::dram::{Completion, Dram, DramConfig, Kind, RowOutcome};
use machine::memory::{DeviceConfig, MemoryConfig};
use machine::pcm::{Pcm, PcmConfig};
use units::{LineAddr, Time};

fn memory(name: &str) -> MemoryConfig {
    casemate_catalogue::machine(name).unwrap().memory_config()
}

fn dram(name: &str) -> DramConfig {
    match memory(name).device {
        DeviceConfig::Dram(dram) => dram,
        DeviceConfig::Pcm(_) => panic!("{name} has no DRAM"),
    }
}

/// Reads lines one after the other, `gap_ns` nanoseconds apart.
fn reads(config: &DramConfig, gap_ns: u64, lines: &[u64]) -> Vec<Completion> {
    let mut dram = Dram::new(config.clone());
    let mut answers = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut now = Time::from_fs(number as u64 * gap_ns * 1_000_000);
        dram.submit(now, LineAddr(*line), Kind::Read, number as u32);
        while let Some(next) = dram.advance(now, &mut answers) {
            now = next;
        }
    }
    answers
}

/// Femtoseconds from the request to the first word and to the last.
fn latency(answer: &Completion) -> (u64, u64) {
    (answer.first_at.since(answer.arrived).as_fs(), answer.at.since(answer.arrived).as_fs())
}

/// The same in nanoseconds, which are the core's cycles in the machines of 1 GHz.
fn cycles(answer: &Completion) -> (u64, u64) {
    let (first, last) = latency(answer);
    assert!(first % 1_000_000 == 0 && last % 1_000_000 == 0, "whole cycles");
    (first / 1_000_000, last / 1_000_000)
}

#[test]
fn fvs_rule_9_sdram_of_2005_answers_in_x_5_5_5_with_x_of_100_135_and_170_cycles() {
    let config = dram("simplescalar-2005");
    // Another row of the same bank: the bits of its number are above those of column, bank and rank.
    let another_row =
        config.organisation.lines_per_row * config.organisation.banks_per_group * config.organisation.ranks;
    let answers = reads(&config, 1_000, &[0, 1, another_row]);
    let seen: Vec<_> = answers.iter().map(|answer| (answer.outcome, cycles(answer))).collect();
    let expected = [
        (RowOutcome::Closed, (135, 135 + 7 * 5)),
        (RowOutcome::Hit, (100, 100 + 7 * 5)),
        (RowOutcome::Conflict, (170, 170 + 7 * 5)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn bursts_of_an_open_sdram_row_follow_each_other_without_a_gap() {
    let answers = reads(&dram("simplescalar-2005"), 0, &[0, 1, 2, 3]);
    let ends: Vec<u64> = answers.iter().map(|answer| cycles(answer).1).collect();
    assert_eq!(ends, [170, 210, 250, 290]);
}

#[test]
fn cryptopages_memory_takes_80_cycles_for_the_first_word_and_5_for_each_later_one() {
    let config = dram("cryptopage-2006");
    let rows = config.organisation.lines_per_row * 16;
    for answer in reads(&config, 1_000, &[0, 0, 1, rows, 5 * rows]) {
        assert_eq!(cycles(&answer), (80, 80 + 7 * 5));
    }
    assert_eq!(memory("cryptopage-2006").capacity(), 4 << 30);
}

#[test]
fn emccs_memory_takes_16_30_and_44_nanoseconds_and_closes_its_rows_after_500() {
    let config = dram("emcc-4core");
    assert_eq!(memory("emcc-4core").capacity(), 128 << 30);
    let after = |gap_ns, line| latency(&reads(&config, gap_ns, &[0, line])[1]).1;
    assert_eq!(after(400, 1), 16_250_000);
    assert_eq!(after(600, 1), 30_000_000);
    // Bank 0 of another row under the XOR map: the bank's bits cancel all bank bits set by the row.
    let organisation = config.organisation;
    let banks = organisation.ranks * organisation.bank_groups * organisation.banks_per_group;
    assert_eq!(after(400, organisation.lines_per_row * banks * banks), 43_750_000);
}

#[test]
fn a_closed_bank_of_ddr5_returns_a_line_after_87_clocks_the_last_8_for_the_burst() {
    let config = dram("modern-ddr5");
    assert_eq!((memory("modern-ddr5").channels, memory("modern-ddr5").capacity()), (2, 16 << 30));
    let period = 416_000; // JEDEC's tCK
    let (first, last) = latency(&reads(&config, 0, &[0])[0]);
    assert_eq!(last, (39 + 40 + 8) * period);
    assert_eq!(last - first, 7 * period, "a word of 8 bytes takes one clock on 32 bits");
    let module = DramConfig { address_map: config.address_map, ..DramConfig::ddr5_4800_subchannel() };
    assert_eq!(config, module);
}

#[test]
fn the_phase_change_memory_of_secpb_reads_in_55_ns_and_a_burst() {
    let DeviceConfig::Pcm(config) = memory("secpb-pcm").device else { panic!("no phase-change memory") };
    assert_eq!(config, PcmConfig::secpb());
    let mut pcm = Pcm::new(config);
    let mut answers = Vec::new();
    pcm.submit(Time::ZERO, LineAddr(9), Kind::Read, 0);
    let mut now = Time::ZERO;
    while let Some(next) = pcm.advance(now, &mut answers) {
        now = next;
    }
    assert_eq!(latency(&answers[0]).1, 55_000_000 + 4 * 833_000);
}
