//! Is the machine still near the public simulators? `casemate validate` compares all of it; the DRAM channel is compared
//! here too, the whole machine on a small part.

use casemate_runner::validate::{Extent, validate, validate_dram};

#[test]
fn the_dram_channel_meets_the_nearer_reference_on_every_stream() {
    let report = validate_dram(Extent::Full, |_| {}).unwrap();
    let off: Vec<_> = report.rows.iter().filter(|row| !row.ok).collect();
    assert!(off.is_empty(), "{off:#?}");
    for quantity in ["latency in clocks", "bandwidth in GB/s", "99th percentile of it", "row hits in percent"] {
        assert!(report.rows.iter().any(|row| row.quantity == quantity), "{quantity}");
    }
}

#[test]
fn a_brief_validation_has_the_whole_machine_within_its_tolerances() {
    let report = validate(Extent::Brief, |_| {}).unwrap();
    let machine: Vec<_> = report.rows.iter().filter(|row| row.reference == "ChampSim").collect();
    assert!(machine.len() > 5 && machine.iter().all(|row| row.ok), "{machine:#?}");
}
