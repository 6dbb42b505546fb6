//! Parameters of an estimate, and their error messages.

use crate::{battery, papers};
use cost::Question;

fn refused(question: Question) -> String {
    battery(&papers(), &question).unwrap_err().to_string()
}

#[test]
fn battery_sizes_have_one_row_per_system_and_number_of_entries() {
    let answer = battery(&papers(), &Question { entries: vec![8, 16], ..Question::default() }).unwrap();
    let of = |entries| answer.rows.iter().filter(|row| row.entries == entries).count();
    assert_eq!((of(Some(8)), of(Some(16)), of(None), answer.rows.len()), (8, 8, 3, 19));
}

#[test]
fn battery_sizes_of_selected_systems_have_the_order_of_the_full_table() {
    let systems = ["bbb", "cm", "bbb"].map(str::to_owned).to_vec();
    let answer = battery(&papers(), &Question { entries: vec![32], systems, ..Question::default() }).unwrap();
    assert_eq!(answer.rows.iter().map(|row| row.system.as_str()).collect::<Vec<_>>(), ["cm", "bbb"]);
}

#[test]
fn unknown_systems_are_refused_with_the_nearest_name_and_numbers_with_their_range() {
    let unknown = refused(Question { systems: vec!["cobmc".to_owned()], ..Question::default() });
    assert!(unknown.starts_with("unknown scheme 'cobmc' (did you mean 'cobcm'?); there are: cobcm, obcm"), "{unknown}");
    for (entries, said) in [(0, "0"), (-3, "-3"), (1 << 40, "1099511627776")] {
        let message = refused(Question { entries: vec![entries], ..Question::default() });
        assert_eq!(message, format!("entries is {said}: expected 1 to 1048576"));
    }
    assert_eq!(refused(Question { levels: Some(1), ..Question::default() }), "height is 1: expected 2 to 64");
    assert_eq!(refused(Question { levels: Some(65), ..Question::default() }), "height is 65: expected 2 to 64");
}

#[test]
fn battery_energies_are_finite_for_the_largest_parameters() {
    let mut large = papers();
    large.caches.l3 = "1024 GB".parse().unwrap();
    large.energy.pad_bytes = u16::MAX;
    large.energy.pad_pj_per_byte = u32::MAX;
    large.entry.data_bits = u32::MAX;
    let answer =
        battery(&large, &Question { entries: vec![1 << 20], levels: Some(64), ..Question::default() }).unwrap();
    assert!(answer.rows.iter().all(|row| row.energy_nj.is_finite() && row.energy_nj > 0.0));
}
