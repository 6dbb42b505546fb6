//! Compares packed counters with a plain implementation of the published rules over wide integers, bit for bit, over
//! many streams of writes.

mod plain;
mod plain_morphable;
mod streams;

use casemate_protection::counter::{Age, Counter, CounterOrganisation, Counters, Overflow, Split};
use casemate_protection::planted::PlantedBug;
use plain::{Cases, Outcome, Rule};
use plain_morphable::{Format, Morphable};
use streams::Writes;
use units::Line;
use units::random::Random;

const WRITES: usize = 2_000_000;
const NEAR_THE_END: usize = 200_000;
const COUNTER_END: u128 = 1 << 72;

const SC64: (Split, usize, usize, usize) = (Split::SC64, 64, 7, 0);
const SC64_MAC: (Split, usize, usize, usize) = (Split::SC64_MAC, 64, 6, 64);
const SC128: (Split, usize, usize, usize) = (Split::SC128, 128, 3, 64);
const VAULT32: (Split, usize, usize, usize) = (Split::VAULT32, 32, 12, 64);
const VAULT16: (Split, usize, usize, usize) = (Split::VAULT16, 16, 24, 64);
const SPLITS: [(Split, usize, usize, usize); 5] = [SC64, SC64_MAC, SC128, VAULT32, VAULT16];

fn counters(organisation: CounterOrganisation) -> Counters {
    Counters::new(organisation, PlantedBug::NONE)
}

fn organisations() -> Vec<Counters> {
    let splits = SPLITS.map(|split| CounterOrganisation::Split(split.0));
    [CounterOrganisation::None, CounterOrganisation::Monolithic, CounterOrganisation::Morphable]
        .into_iter()
        .chain(splits)
        .map(counters)
        .collect()
}

/// The MAC that a line of this organisation carries in these tests: a fixed pattern over all its bits.
fn some_mac(counters: &Counters) -> u64 {
    match counters.embedded_mac_bits() {
        0 => 0,
        bits => 0x9e37_79b9_7f4a_7c15 >> (64 - bits),
    }
}

/// Writes to the packed line and to the plain one, and compares outcome and written counter each time. At every
/// renewal, change of the first word and sixteenth write, it also compares all counters, all 512 bits and the changes.
fn run(counters: &Counters, rule: &mut dyn Rule, writes: usize, seed: u64) {
    let mac = some_mac(counters);
    let mut line = rule.picture(mac);
    assert_eq!(counters.lines_per_group(), rule.positions() as u64);
    for (number, position) in Writes::new(seed, rule.positions()).take(writes).enumerate() {
        let before = line;
        let old = counters.read(&before, position);
        assert_eq!(old.0, rule.value(position), "write {number} of {position}");
        let outcome = rule.write(position);
        match (counters.advance(&mut line, position), &outcome) {
            (Ok(counter), Outcome::Grows) => assert_eq!(counter, counters.read(&line, position)),
            (Err(overflow), expected) => {
                assert_eq!(line, before, "an overflow changes nothing by itself");
                line = counters.renew(&line, position, &overflow, 0);
                assert_eq!(overflow, overflow_of(expected).unwrap(), "write {number} of {position}");
            }
            (advanced, expected) => panic!("write {number} of {position}: {advanced:?}, expected {expected:?}"),
        }
        let new = counters.read(&line, position);
        assert_eq!(new.0, rule.value(position), "write {number} of {position}");
        assert_eq!(new > old, outcome != Outcome::Exhausted, "a written counter grows, unless it is exhausted");
        if number % 16 == 0 || line[..8] != before[..8] || outcome != Outcome::Grows {
            compare_all(counters, rule, (&before, &line), position, &outcome);
            assert_eq!(line, rule.picture(mac), "write {number} of {position}");
        }
    }
}

fn overflow_of(outcome: &Outcome) -> Option<Overflow> {
    match outcome {
        Outcome::Grows => None,
        Outcome::Renews(positions) => Some(Overflow::Renew { positions: positions.clone() }),
        Outcome::Exhausted => Some(Overflow::Exhausted),
    }
}

fn compare_all(counters: &Counters, rule: &dyn Rule, lines: (&Line, &Line), written: usize, outcome: &Outcome) {
    for position in 0..rule.positions() {
        let (old, new) = (counters.read(lines.0, position), counters.read(lines.1, position));
        assert_eq!(new.0, rule.value(position), "position {position}");
        assert!(new.0 < COUNTER_END);
        match outcome {
            _ if position == written => {}
            Outcome::Renews(positions) if positions.contains(&position) => assert!(new >= old, "position {position}"),
            _ => assert_eq!(new, old, "position {position} was not asked for"),
        }
    }
}

/// Checks that all these cases occurred, and no other case.
fn assert_cases(cases: &Cases, expected: &[&str]) {
    assert_eq!(cases.keys().copied().collect::<Vec<_>>(), expected, "{cases:?}");
}

fn monolithic(counters: [u128; 8]) -> plain::Monolithic {
    plain::Monolithic { counters, cases: Cases::new() }
}

#[test]
fn monolithic_counters_count_independently_up_to_2_to_the_56() {
    let organisation = counters(CounterOrganisation::Monolithic);
    let mut rule = monolithic([0; 8]);
    run(&organisation, &mut rule, WRITES, 1);
    assert_cases(rule.cases(), &["grows"]);
    let mut rule = monolithic(std::array::from_fn(|position| (1 << 56) - 2 - 1_000 * position as u128));
    run(&organisation, &mut rule, NEAR_THE_END, 2);
    assert_cases(rule.cases(), &["exhausted", "grows"]);
}

fn plain_split((_, positions, minor_bits, mac_bits): (Split, usize, usize, usize), major: u128) -> plain::Split {
    plain::Split { major, minors: vec![0; positions], minor_bits, mac_bits, cases: Cases::new() }
}

fn split(shape: (Split, usize, usize, usize)) {
    let organisation = counters(CounterOrganisation::Split(shape.0));
    let mut rule = plain_split(shape, 0);
    // Minors of 24 bits do not reach their end in this number of writes, so they start just before it.
    rule.minors.fill((1 << shape.2) - (1 << shape.2.min(12)));
    run(&organisation, &mut rule, WRITES, 1);
    assert_cases(rule.cases(), &["grows", "minor overflow"]);
    let major_end = 1 << 64.min(72 - shape.2);
    let mut rule = plain_split(shape, major_end - 3);
    rule.minors.fill((1 << shape.2) - 4);
    for step in 1..=2 {
        run(&organisation, &mut rule, NEAR_THE_END, 2 + step);
        // In the next round, minors start just before their end again, under the last major.
        if rule.major < major_end - 1 {
            rule.major = major_end - 1;
        }
        rule.minors.fill((1 << shape.2) - 4);
    }
    assert_cases(rule.cases(), &["exhausted", "grows", "minor overflow"]);
}

#[test]
fn sc64_counters_equal_a_naive_model_of_wide_counters() {
    split(SC64);
}

#[test]
fn sc64_counters_with_an_embedded_mac_equal_a_naive_model_of_wide_counters() {
    split(SC64_MAC);
}

#[test]
fn sc128_counters_equal_a_naive_model_of_wide_counters() {
    split(SC128);
}

#[test]
fn vault_counters_of_32_per_line_equal_a_naive_model_of_wide_counters() {
    split(VAULT32);
}

#[test]
fn vault_counters_of_16_per_line_equal_a_naive_model_of_wide_counters() {
    split(VAULT16);
}

fn plain_morphable(format: Format) -> Morphable {
    Morphable { format, minors: [0; 128], cases: Cases::new() }
}

#[test]
fn morphable_counters_equal_a_naive_model_of_wide_counters_in_every_format_change() {
    let mut rule = plain_morphable(Format::Zcc { size: 0, major: 0 });
    run(&counters(CounterOrganisation::Morphable), &mut rule, WRITES, 1);
    assert_cases(
        rule.cases(),
        &[
            "MCR: base overflow by rebase",
            "MCR: base overflow by set overflow",
            "MCR: grows",
            "MCR: rebase",
            "MCR: set overflow",
            "ZCC: becomes MCR",
            "ZCC: grows",
            "ZCC: overflow",
            "ZCC: overflow at a step",
            "ZCC: overflow, then MCR",
            "ZCC: size steps",
        ],
    );
}

#[test]
fn morphable_counters_at_full_width_are_exhausted_in_either_format() {
    let organisation = counters(CounterOrganisation::Morphable);
    let mut rule = plain_morphable(Format::Zcc { size: 16, major: (1 << 57) - 65_533 });
    rule.minors[5] = 65_530;
    run(&organisation, &mut rule, NEAR_THE_END, 2);
    assert!(rule.cases().contains_key("exhausted"), "{:?}", rule.cases());
    // The last block of MCR overflows into a ZCC that cannot become MCR again.
    let mut rule = plain_morphable(Format::Mcr { top: (1 << 49) - 1, bases: [100, 20] });
    run(&organisation, &mut rule, NEAR_THE_END, 3);
    assert!(rule.cases().contains_key("MCR: base overflow by set overflow"), "{:?}", rule.cases());
    assert!(rule.cases().contains_key("exhausted on the way to MCR"), "{:?}", rule.cases());
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn all_packed_counters_equal_naive_models_of_wide_counters_for_ten_more_seeds() {
    for seed in 100..110 {
        run(&counters(CounterOrganisation::Monolithic), &mut monolithic([0; 8]), WRITES, seed);
        for shape in SPLITS {
            run(&counters(CounterOrganisation::Split(shape.0)), &mut plain_split(shape, 0), WRITES, seed);
        }
        let mut rule = plain_morphable(Format::Zcc { size: 0, major: 0 });
        run(&counters(CounterOrganisation::Morphable), &mut rule, WRITES, seed);
    }
}

fn random_line(random: &mut Random) -> Line {
    let mut line = random.line();
    // Includes lines that resemble honest ones: few bits set, or few bits clear.
    match random.below(3) {
        0 => line.iter_mut().for_each(|byte| *byte &= random.word() as u8 & random.word() as u8),
        1 => line.iter_mut().for_each(|byte| *byte |= random.word() as u8 | random.word() as u8),
        _ => {}
    }
    line
}

#[test]
fn counter_operations_on_random_512_bit_lines_do_not_panic() {
    let mut random = Random::new(1);
    for counters in organisations() {
        for _ in 0..20_000 {
            let mut line = random_line(&mut random);
            let position = random.below(counters.lines_per_group()) as usize;
            for position in 0..counters.lines_per_group() as usize {
                assert!(counters.read(&line, position).0 < COUNTER_END);
            }
            let mac = counters.embedded_mac(&line);
            match counters.advance(&mut line, position) {
                Ok(counter) => assert_eq!(counter, counters.read(&line, position)),
                Err(overflow) => line = counters.renew(&line, position, &overflow, 0),
            }
            let renewed = counters.renew(&line, position, &Overflow::Renew { positions: 0..position }, 0);
            assert!(counters.read(&renewed, position).0 < COUNTER_END);
            assert_eq!(
                [counters.embedded_mac(&line), counters.embedded_mac(&renewed)],
                [mac; 2],
                "the MAC was touched"
            );
        }
    }
}

#[test]
fn an_aged_counter_line_is_a_few_writes_before_its_overflow_or_exhaustion() {
    for counters in organisations().into_iter().filter(Counters::exist) {
        let ends = |age| {
            let (mut line, mut writes) = (counters.aged(age), 0);
            while writes < 100 {
                writes += 1;
                if let Err(overflow) = counters.advance(&mut line, 0) {
                    return (writes, Some(overflow));
                }
            }
            (writes, None)
        };
        let positions = 0..counters.lines_per_group() as usize;
        match ends(Age::BeforeRenewal) {
            (100, None) => {
                assert_eq!(counters.lines_per_group(), 8, "only counters that count alone are never renewed")
            }
            (writes, overflow) => assert_eq!((writes <= 9, overflow), (true, Some(Overflow::Renew { positions }))),
        }
        let (writes, overflow) = ends(Age::BeforeExhaustion);
        assert_eq!((writes <= 9, overflow), (true, Some(Overflow::Exhausted)), "{counters:?}");
    }
}

#[test]
fn setting_the_embedded_mac_of_a_counter_line_changes_no_counter() {
    let mut random = Random::new(1);
    for counters in organisations() {
        for _ in 0..2_000 {
            let before = random_line(&mut random);
            let mut line = before;
            let mac = random.word();
            counters.set_embedded_mac(&mut line, mac);
            let bits = counters.embedded_mac_bits();
            assert_eq!(counters.embedded_mac(&line), mac & u64::MAX.checked_shr(64 - bits).unwrap_or(0));
            for position in 0..counters.lines_per_group() as usize {
                assert_eq!(counters.read(&line, position), counters.read(&before, position));
            }
            // The spare bits are unchanged, so only counters and MACs are ever written.
            counters.set_embedded_mac(&mut line, counters.embedded_mac(&before));
            assert_eq!(line, before);
        }
    }
}

#[test]
fn the_lengths_of_embedded_macs_are_those_of_the_papers() {
    let bits = |organisation| counters(organisation).embedded_mac_bits();
    assert_eq!(bits(CounterOrganisation::Monolithic), 56);
    assert_eq!(bits(CounterOrganisation::Morphable), 64);
    assert_eq!(SPLITS.map(|split| bits(CounterOrganisation::Split(split.0))), [0, 64, 64, 64, 64]);
}

#[test]
fn split_counters_of_unusual_widths_that_fill_a_line_equal_a_naive_model() {
    // A major of 64 bits, and minors with MAC: 16 * 28 (the root of VAULT), 7 * 63 + 7, 112 * 4, 49 * 8 + 56.
    for (positions, minor_bits, mac_bits) in [(16, 28, 0), (7, 63, 7), (112, 4, 0), (49, 8, 56)] {
        let split = Split::new(positions, minor_bits, mac_bits);
        let shape = (split, positions, minor_bits as usize, mac_bits as usize);
        run(&counters(CounterOrganisation::Split(split)), &mut plain_split(shape, 0), 50_000, 4);
    }
}

#[test]
#[should_panic(expected = "fill a line exactly")]
fn split_counters_that_do_not_fill_a_line_are_refused() {
    Split::new(64, 6, 0);
}

#[test]
fn without_counters_a_group_has_one_line_and_writes_change_no_counter() {
    let none = counters(CounterOrganisation::None);
    let mut line = [7; 64];
    assert_eq!(none.advance(&mut line, 0), Ok(Counter(0)));
    assert_eq!((line, none.lines_per_group()), ([7; 64], 1));
}
