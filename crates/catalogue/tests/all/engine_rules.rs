//! Machines with units for a design's cipher, and the message for machines without them.

use casemate_catalogue::{design, machine, machine_with};
use protection::design::CipherChoice;

#[test]
fn a_machine_without_triple_des_refuses_it_and_names_the_key_to_add() {
    let mut parts = design("xts").unwrap().parts;
    parts.cipher = CipherChoice::TdesEcb;
    let modern = machine("modern").unwrap();
    let refusal = modern.admits(&parts).unwrap_err();
    assert!(
        refusal.contains("machine 'modern' has no units for it") && refusal.contains("engines.tdes = {"),
        "{refusal}"
    );
    // A machine accepts the key that the message suggests.
    let (_, value) = refusal.split_once("engines.tdes = ").unwrap();
    let value = &value[..=value.find('}').unwrap()];
    let mended = machine_with("modern", &[("engines.tdes".to_owned(), value.to_owned())]).unwrap();
    assert_eq!(mended.admits(&parts), Ok(()));
    assert_eq!(mended.engines.tdes, machine("simplescalar-2005").unwrap().engines.tdes);
    let negative = machine_with("modern", &[("engines.aes.decrypt_latency_ns".to_owned(), "-1".to_owned())]);
    assert!(negative.unwrap_err().to_string().contains("engines.aes.decrypt_latency_ns is -1: expected 0 to 1000000"));
}

#[test]
fn decryption_in_l2s_is_refused_for_triple_des() {
    let mut parts = design("emcc").unwrap().parts;
    let mut machine = machine("emcc-4core").unwrap();
    machine.engines.tdes = Some(machine.engines.aes);
    assert_eq!(machine.admits(&parts), Ok(()));
    parts.cipher = CipherChoice::TdesCounter;
    assert!(machine.admits(&parts).unwrap_err().contains("the AES units of L2s"));
}
