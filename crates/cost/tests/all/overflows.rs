//! Counters that overflow on battery: the drain renews a whole group for one line, which the paper does not consider.

use crate::{battery, papers};
use cost::counted::{drains_of, worst};
use cost::overflowing::drain;
use cost::{DrainSelection, Operations, Question, SecPbScheme, Step};

/// Lines of a group without the line that causes the renewal. The drain fetches, verifies, decrypts and rewrites each
/// of them.
const OTHERS: u64 = 63;

/// With early counters, the battery increments only the counter of the store in flight, otherwise those of all entries.
#[test]
fn a_counter_overflow_on_battery_re_encrypts_the_other_lines_of_its_group() {
    for (scheme, (entries, levels)) in
        SecPbScheme::all().flat_map(|scheme| [(scheme, (1, 4)), (scheme, (8, 4)), (scheme, (32, 8))])
    {
        let profile = papers();
        let (geometry, lines) = worst(scheme, &profile, (entries, levels)).unwrap();
        let found = drain(scheme, &profile, &geometry, &lines).unwrap();
        let together = drains_of(scheme, &profile, &geometry, &lines, &mut || ()).unwrap().together;
        let counted = if scheme.early().contains(&Step::Counter) { 1 } else { u64::from(entries) + 1 };
        assert_eq!(found.groups, counted, "{scheme}, {entries} entries");
        let more = found.operations.beyond(together);
        assert_eq!(together.beyond(found.operations), Operations::default(), "{scheme}");
        assert_eq!((more.pads, more.hashed_lines), (2 * OTHERS * counted, 2 * OTHERS * counted), "{scheme}");
        // One of eight tag lines is on the chip.
        assert_eq!(more.fetched_lines, (OTHERS + 7) * counted, "{scheme}");
        assert_eq!(more.moved.from_secpb_bits, 0, "{scheme}: the buffer had none of these lines");
        let differs = found.differs(scheme, &profile, &geometry, together);
        let names: Vec<_> = differs.iter().map(|difference| (difference.name, difference.operations)).collect();
        assert_eq!(names, [("renewed", more)], "{scheme}, {entries} entries");
    }
}

/// In a memory of 512 lines, 32 entries belong to eight groups.
#[test]
fn entries_of_one_counter_group_overflow_once_and_the_listed_differences_include_that() {
    for scheme in SecPbScheme::all() {
        let profile = papers();
        let (geometry, lines) = worst(scheme, &profile, (32, 2)).unwrap();
        let found = drain(scheme, &profile, &geometry, &lines).unwrap();
        let together = drains_of(scheme, &profile, &geometry, &lines, &mut || ()).unwrap().together;
        assert_eq!(found.groups, if scheme.early().contains(&Step::Counter) { 1 } else { 8 }, "{scheme}");
        let differs = found.differs(scheme, &profile, &geometry, together);
        let sum = |is_less| {
            let of = differs.iter().filter(|difference| difference.is_less == is_less);
            of.fold(Operations::default(), |sum, difference| sum + difference.operations)
        };
        assert_eq!(found.operations + sum(true), together + sum(false), "{scheme}");
    }
}

/// COBCM needs a battery for overflows, or early counters.
#[test]
fn counting_on_battery_needs_over_ten_times_the_energy_if_all_counters_overflow() {
    let question = Question { entries: vec![32], counted: DrainSelection::Buffers, ..Question::default() };
    let rows = battery(&papers(), &question).unwrap().rows;
    let times = |name: &str| {
        let counted = rows.iter().find(|row| row.system == name).and_then(|row| row.counted.as_ref()).unwrap();
        counted.overflowing.as_ref().unwrap().energy_nj / counted.together.energy_nj
    };
    assert_eq!(
        ["cobcm", "obcm", "cm", "nogap"].map(|name| format!("{:.1}", times(name))),
        ["13.0", "1.4", "3.9", "6.4"]
    );
}
