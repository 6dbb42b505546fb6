//! Persist buffers of a machine under a design: which stores wait for early steps of protection.

use casemate_catalogue::{design, designs, machine};
use machine::node::StoreHold::{self, EveryStore, Never, NewEntries};
use protection::design::Parts;

/// The stores that wait under each scheme (SecPB, HPCA 2023, section IV). Without early steps no store waits. Otherwise
/// only those that allocate an entry wait, or every store if a step depends on the data.
const WAITS: [(&str, StoreHold); 10] = [
    ("bbb", Never),
    ("bbb-gap", Never),
    ("secpb-cobcm", Never),
    ("secpb-obcm", NewEntries),
    ("secpb-bcm", NewEntries),
    ("secpb-cm", NewEntries),
    ("secpb-cm-sbmf", NewEntries),
    ("secpb-cm-dbmf", NewEntries),
    ("secpb-m", EveryStore),
    ("secpb-nogap", EveryStore),
];

#[test]
fn stores_wait_for_the_early_steps_of_their_persist_buffer_design() {
    let machine = machine("secpb-pcm").unwrap();
    let waits = |parts: &Parts| machine.with_persistence_of(parts).unwrap().node.persist_buffer.unwrap().waits;
    let buffered: Vec<Parts> =
        designs().into_iter().map(|design| design.parts).filter(|parts| parts.persistence.has_buffer()).collect();
    assert_eq!(buffered.len(), WAITS.len(), "a design with a buffer is missing above");
    for (name, expected) in WAITS {
        let parts = design(name).unwrap().parts;
        assert!(buffered.contains(&parts) && waits(&parts) == expected, "{name}: {:?}", waits(&parts));
    }
}
