//! Is the machine still close to the public simulators? `casemate validate` compares all figures, and the tests of the package the brief
//! ones; this test compares the DRAM channel on every stream.

use casemate_runner::validate::{ValidationExtent, validate_dram};

#[test]
fn dram_figures_are_within_tolerance_of_the_nearer_reference_simulator() {
    let report = validate_dram(ValidationExtent::Full, |_| {}).unwrap();
    let off: Vec<_> = report.rows.iter().filter(|row| !row.ok).collect();
    assert!(off.is_empty(), "{off:#?}");
    for quantity in ["latency in clocks", "bandwidth in GB/s", "99th percentile of it", "row hits in percent"] {
        assert!(report.rows.iter().any(|row| row.quantity == quantity), "{quantity}");
    }
}
