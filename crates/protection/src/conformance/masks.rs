//! Contract of every tag over several lines: the ledger records the masks of all its lines at each update of the tag.
//! The sum of the masks hides the hash.

use super::design::DATA_LINES;
use super::{Checked, hold};
use crate::design::Parts;
use crate::execution::{Functional, Operation, RecordedMemory, run_now};
use crate::verbs::Keystream;
use units::LineAddr;

/// Checks a composition against the contract of masks.
fn check(parts: &Parts) -> Checked {
    let scheme = parts.build(DATA_LINES, 1)?;
    let recorded = RecordedMemory::new(Functional::new(scheme.layout().total_lines()));
    let Some(mac) = &scheme.fixed().unwrap().codec.mac else { return Ok(()) };
    let masked = mac.masks(&[]).is_some();
    for there in 0..parts.mac.lines {
        run_now(scheme.write(&recorded.verbs(), LineAddr(there), &[there as u8; 64]));
        let spent = |operation: &Operation| match operation {
            Operation::Spend(_, Keystream::Masks(lines)) => Some(lines.len() as u64),
            _ => None,
        };
        let spent: Vec<u64> = recorded.take_operations().iter().filter_map(spent).collect();
        let expected = if masked { vec![there + 1] } else { vec![] };
        hold(spent == expected, || format!("a tag over {} lines notes masks of {spent:?}", there + 1))?;
    }
    Ok(())
}

#[test]
fn the_ledger_records_the_masks_of_all_lines_under_a_tag() {
    let mut of_several = 0;
    for parts in super::pairs() {
        assert_eq!(check(parts), Ok(()), "{parts:?}");
        of_several += u64::from(parts.mac.lines > 1);
    }
    assert!(of_several > 10, "{of_several}");
}
