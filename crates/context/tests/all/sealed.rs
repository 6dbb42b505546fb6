//! Initial contexts, sealed to a processor.

use crate::common::{initial, processor, unit};
use context::planted::PlantedContextBug;
use context::{
    ContextConfig, ContextError, ContextUnit, Location, ProcessorKey, PublicKey, SEALED_INITIAL_BYTES, seal_initial,
};
use units::random::Random;

const IDENTITY_BYTES: usize = 8;

#[test]
fn an_admitted_process_starts_as_its_vendor_wrote_it() {
    let mut unit = unit(1, 0, PlantedContextBug::NONE);
    let process = initial(&mut Random::new(40));
    let buffer = unit.admit(&seal_initial(&processor().public(), &process, 1).unwrap()).unwrap();
    let context = unit.context(Location::Buffer(buffer)).unwrap();
    assert_eq!((context.registers(), context.keys()), (&process.registers, &process.keys));
    assert_eq!((context.root(), context.handler()), (&process.root, process.handler));
    assert_eq!((context.visible().iter().count(), context.interrupted()), (0, None));
}

#[test]
fn an_initial_context_with_any_bit_modified_is_refused() {
    let mut unit = unit(1, 0, PlantedContextBug::NONE);
    let sealed = seal_initial(&unit.public_key(), &initial(&mut Random::new(41)), 1).unwrap();
    for bit in 0..8 * sealed.len() {
        let mut modified = sealed.clone();
        modified[bit / 8] ^= 1 << (bit % 8);
        let of_identity = bit / 8 < IDENTITY_BYTES;
        let expected = if of_identity { ContextError::OtherProcessor } else { ContextError::NotAuthentic };
        assert_eq!(unit.admit(&modified), Err(expected), "bit {bit}");
    }
    unit.admit(&sealed).unwrap();
}

#[test]
fn an_initial_context_of_any_other_length_is_refused() {
    let mut unit = unit(1, 0, PlantedContextBug::NONE);
    let sealed = seal_initial(&unit.public_key(), &initial(&mut Random::new(42)), 1).unwrap();
    assert_eq!(sealed.len(), SEALED_INITIAL_BYTES);
    for given in (0..sealed.len()).chain(sealed.len() + 1..sealed.len() + 64) {
        let mut cut = sealed.clone();
        cut.resize(given, 0);
        let expected = ContextError::WrongLength { expected: SEALED_INITIAL_BYTES, given };
        assert_eq!(unit.admit(&cut), Err(expected));
    }
}

#[test]
fn an_initial_context_for_another_processor_is_refused() {
    let process = initial(&mut Random::new(43));
    let other = ProcessorKey::from_seed(2).public();
    let mut sealed = seal_initial(&other, &process, 1).unwrap();
    let mut unit = unit(1, 0, PlantedContextBug::NONE);
    assert_eq!(unit.admit(&sealed), Err(ContextError::OtherProcessor));
    sealed[..IDENTITY_BYTES].copy_from_slice(&unit.public_key().0[..IDENTITY_BYTES]);
    assert_eq!(unit.admit(&sealed), Err(ContextError::NotAuthentic));
}

#[test]
fn a_key_pair_survives_resets_and_differs_between_processors() {
    let config = ContextConfig { buffers: 1, outside_entries: 0, planted: PlantedContextBug::NONE };
    let sealed = seal_initial(&processor().public(), &initial(&mut Random::new(44)), 1).unwrap();
    for boot in 0..3 {
        ContextUnit::boot(config, processor(), boot).unwrap().admit(&sealed).unwrap();
    }
    assert_ne!(ProcessorKey::from_seed(3).public(), ProcessorKey::from_seed(4).public());
}

#[test]
fn a_sealed_context_depends_only_on_its_seed_and_differs_between_seeds() {
    let process = initial(&mut Random::new(45));
    let seal = |seed| seal_initial(&processor().public(), &process, seed).unwrap();
    assert_eq!(seal(1), seal(1));
    let (first, second) = (seal(1), seal(2));
    let same = first.iter().zip(&second).skip(IDENTITY_BYTES).filter(|(first, second)| first == second).count();
    assert!(same < first.len() / 16, "{same} of {} bytes are the same under two seeds", first.len());
}

#[test]
fn sealing_a_context_to_an_invalid_public_key_is_refused() {
    let sealed = seal_initial(&PublicKey([0; 32]), &initial(&mut Random::new(46)), 1);
    assert_eq!(sealed, Err(ContextError::InvalidPublicKey));
}

#[test]
fn exported_and_initial_contexts_are_not_interchangeable() {
    let mut unit = unit(1, 1, PlantedContextBug::NONE);
    let sealed = seal_initial(&unit.public_key(), &initial(&mut Random::new(47)), 1).unwrap();
    let buffer = unit.admit(&sealed).unwrap();
    let mut exported = unit.export(buffer, 0).unwrap();
    assert!(matches!(unit.import(&sealed), Err(ContextError::WrongLength { .. })));
    assert!(matches!(unit.admit(&exported), Err(ContextError::WrongLength { .. })));
    exported.resize(SEALED_INITIAL_BYTES, 0);
    assert_eq!(unit.admit(&exported), Err(ContextError::NotAuthentic));
}
