//! Is the machine still near the public simulators? A small part of the comparison; `casemate validate` does it all.

use casemate_lab::validate::{Extent, validate};

#[test]
fn a_brief_validation_has_bandwidths_and_speeds_near_the_references() {
    let report = validate(Extent::Brief, |_| {}).unwrap();
    assert!(report.rows.iter().any(|row| row.reference == "ChampSim"));
    let near = report.rows.iter().filter(|row| row.quantity.starts_with("bandwidth") || row.reference == "ChampSim");
    for row in near {
        assert!(row.difference_percent.abs() < 20.0, "{row:?}");
    }
}
