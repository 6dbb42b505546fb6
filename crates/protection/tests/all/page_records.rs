//! Checks that a page record consists of a number and 64 marks, and that each line is written only once under a number.

use casemate_protection::counter::{CounterOrganisation, Counters, Overflow};
use casemate_protection::planted::PlantedBug;
use units::random::Random;
use units::{Line, ZERO_LINE};

const POSITIONS: usize = 64;

/// A naive model of the record.
struct Plain {
    number: u64,
    written: [bool; POSITIONS],
}

impl Plain {
    fn value(&self, position: usize) -> u128 {
        2 * u128::from(self.number) + u128::from(self.written[position])
    }
}

fn records() -> Counters {
    Counters::new(CounterOrganisation::Page, PlantedBug::NONE)
}

fn values(line: &Line) -> Vec<u128> {
    (0..POSITIONS).map(|position| records().read(line, position).0).collect()
}

#[test]
fn page_records_equal_a_naive_model_of_a_number_and_written_marks() {
    let mut random = Random::new(1);
    let mut line = ZERO_LINE;
    let mut plain = Plain { number: 0, written: [false; POSITIONS] };
    let mut renewals = 0;
    for _ in 0..100_000 {
        let position = random.below(POSITIONS as u64) as usize;
        let before = line;
        match records().advance(&mut line, position) {
            Ok(counter) => {
                assert!(!plain.written[position]);
                plain.written[position] = true;
                assert_eq!(counter.0, plain.value(position));
            }
            Err(overflow) => {
                assert!(plain.written[position] && line == before);
                assert_eq!(overflow, Overflow::Renew { positions: 0..POSITIONS });
                let drawn = random.word();
                line = records().renew(&line, position, &overflow, drawn);
                plain = Plain { number: drawn, written: [false; POSITIONS] };
                renewals += 1;
            }
        }
        assert_eq!(values(&line), (0..POSITIONS).map(|position| plain.value(position)).collect::<Vec<_>>());
    }
    // By the birthday paradox, a second write of a line follows after about eleven other writes.
    assert!(renewals > 100_000 / 20, "{renewals} renewals");
}

#[test]
fn a_renewed_page_record_is_never_blank() {
    let mut line = ZERO_LINE;
    assert!(records().advance(&mut line, 3).is_ok());
    let overflow = records().advance(&mut line, 3).unwrap_err();
    assert_ne!(records().renew(&line, 3, &overflow, 0), ZERO_LINE);
}

#[test]
fn page_records_keep_placement_and_reject_inline_macs() {
    let mut random = Random::new(2);
    for _ in 0..10_000 {
        let before = random.line();
        let mut line = before;
        let position = random.below(POSITIONS as u64) as usize;
        match records().advance(&mut line, position) {
            Ok(counter) => {
                assert_eq!(counter, records().read(&line, position));
                assert_eq!(line[..8], before[..8]);
            }
            Err(overflow) => line = records().renew(&line, position, &overflow, 7),
        }
        assert_eq!(line[8..56], before[8..56]);
        assert!(values(&line).into_iter().all(|value| value < 1 << 72));
        assert_eq!(records().embedded_mac_bits(), 0);
    }
}
