//! What a machine is under a design with persist buffers: which stores wait for an answer of what protects memory.

use casemate_catalogue::{design, designs, machine};
use machine::node::Waits::{self, EveryStore, Never, NewEntries};
use protection::design::Parts;

/// What is early of each scheme (SecPB, HPCA 2023, section IV), and so what its stores wait for: nothing, what is made once for an
/// entry, or what follows from the data.
const WAITS: [(&str, Waits); 10] = [
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
fn stores_wait_for_each_of_their_early_steps_and_the_table_names_every_design_with_a_buffer() {
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
