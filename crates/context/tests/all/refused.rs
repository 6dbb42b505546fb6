//! Contexts that an attacker changed, and operations at the wrong time.

use crate::common::{admit, initial, processor, start, unit};
use context::planted::PlantedContextBug;
use context::{
    ContextConfig, ContextError, ContextUnit, EXPORTED_BYTES, Location, ProcessNumber, ProcessorKey, RegisterFile,
};
use units::random::Random;

const IDENTITY: std::ops::Range<usize> = 0..8;
const NUMBER: std::ops::Range<usize> = 8..16;

/// Returns two exported processes, and the unit that they left.
fn two_outside() -> (ContextUnit, [Vec<u8>; 2]) {
    let mut random = Random::new(30);
    let mut unit = unit(2, 2, PlantedContextBug::NONE);
    let exported = std::array::from_fn(|_| {
        let buffer = admit(&mut unit, &initial(&mut random)).unwrap();
        unit.export(buffer, 0).unwrap()
    });
    (unit, exported)
}

#[test]
fn a_context_with_any_bit_modified_is_refused() {
    let (mut unit, [exported, _]) = two_outside();
    for bit in 0..8 * exported.len() {
        let mut modified = exported.clone();
        modified[bit / 8] ^= 1 << (bit % 8);
        let of_identity = IDENTITY.contains(&(bit / 8));
        let expected = if of_identity { ContextError::OtherProcessor } else { ContextError::NotAuthentic };
        assert_eq!(unit.import(&modified), Err(expected), "bit {bit}");
    }
    unit.import(&exported).unwrap();
}

#[test]
fn a_context_of_any_other_length_is_refused() {
    let (mut unit, [exported, _]) = two_outside();
    for given in (0..exported.len()).chain(exported.len() + 1..exported.len() + 64) {
        let mut cut = exported.clone();
        cut.resize(given, 0);
        let expected = ContextError::WrongLength { expected: EXPORTED_BYTES, given };
        assert_eq!(unit.import(&cut), Err(expected));
    }
    unit.import(&exported).unwrap();
}

#[test]
fn a_context_spliced_from_two_processes_is_refused() {
    let (mut unit, [first, second]) = two_outside();
    // All cuts, and then the number of one context in front of the content of the other.
    for cut in IDENTITY.end + 1..first.len() {
        let spliced = [&first[..cut], &second[cut..]].concat();
        if spliced != first && spliced != second {
            assert_eq!(unit.import(&spliced), Err(ContextError::NotAuthentic), "cut at {cut}");
        }
    }
    let mut renumbered = second.clone();
    renumbered[NUMBER].copy_from_slice(&first[NUMBER]);
    assert_eq!(unit.import(&renumbered), Err(ContextError::NotAuthentic));
}

#[test]
fn a_context_imported_out_of_order_keeps_its_process() {
    let (mut unit, [first, second]) = two_outside();
    let buffer = unit.import(&second).unwrap();
    assert_eq!(unit.context(Location::Buffer(buffer)).unwrap().process(), ProcessNumber(1));
    assert_eq!(unit.find(ProcessNumber(0)), Err(ContextError::NotOnChip { process: ProcessNumber(0) }));
    let buffer = unit.import(&first).unwrap();
    assert_eq!(unit.context(Location::Buffer(buffer)).unwrap().process(), ProcessNumber(0));
}

#[test]
fn an_old_context_renumbered_as_another_one_is_refused() {
    let (mut unit, [old, other]) = two_outside();
    let buffer = unit.import(&old).unwrap();
    unit.export(buffer, 0).unwrap();
    let mut renumbered = old.clone();
    renumbered[NUMBER].copy_from_slice(&other[NUMBER]);
    assert_eq!(unit.import(&renumbered), Err(ContextError::NotAuthentic));
    assert_eq!(unit.import(&old), Err(ContextError::NotOutside { number: 0 }));
}

#[test]
fn a_context_of_another_processor_is_refused() {
    let config = ContextConfig { buffers: 1, outside_entries: 1, planted: PlantedContextBug::NONE };
    let mut other = ContextUnit::boot(config, ProcessorKey::from_seed(2), 1).unwrap();
    let buffer = admit(&mut other, &initial(&mut Random::new(31))).unwrap();
    let mut exported = other.export(buffer, 0).unwrap();
    let (mut unit, [own, _]) = two_outside();
    assert_eq!(unit.import(&exported), Err(ContextError::OtherProcessor));
    // The boot seed is the same, so the envelope key is too: only the authenticated identity differs.
    exported[IDENTITY].copy_from_slice(&own[IDENTITY]);
    assert_eq!(unit.import(&exported), Err(ContextError::NotAuthentic));
}

#[test]
fn a_processor_without_buffers_is_refused() {
    let config = ContextConfig { buffers: 0, outside_entries: 1, planted: PlantedContextBug::NONE };
    assert_eq!(ContextUnit::boot(config, processor(), 1).err(), Some(ContextError::NoBuffers));
}

#[test]
fn context_operations_in_the_wrong_state_are_refused_with_a_specific_error() {
    let mut unit = unit(2, 0, PlantedContextBug::NONE);
    let none = RegisterFile::default();
    assert_eq!(unit.interrupt(), Err(ContextError::NothingRunning));
    assert_eq!(unit.end(), Err(ContextError::NothingRunning));
    assert_eq!(unit.running().err(), Some(ContextError::NothingRunning));
    for (buffer, expected) in
        [(0, ContextError::BufferEmpty { buffer: 0 }), (2, ContextError::NoSuchBuffer { buffer: 2, buffers: 2 })]
    {
        assert_eq!(unit.resume(buffer, &none), Err(expected));
        assert_eq!(unit.signal(buffer, &none), Err(expected));
        assert_eq!(unit.export(buffer, 0), Err(expected));
        assert_eq!(unit.discard(buffer), Err(expected));
        assert_eq!(unit.root_of(Location::Buffer(buffer)), Err(expected));
    }
    start(&mut unit, &initial(&mut Random::new(32))).unwrap();
    let buffer = admit(&mut unit, &initial(&mut Random::new(33))).unwrap();
    let running = ContextError::AlreadyRunning { process: ProcessNumber(0) };
    assert_eq!(unit.resume(buffer, &none), Err(running));
    assert_eq!(unit.signal(buffer, &none), Err(running));
    assert_eq!(unit.export(buffer, 0), Err(ContextError::TableFull { entries: 0 }));
}

#[test]
fn equal_seeds_give_equal_exported_contexts() {
    let (_, first) = two_outside();
    let (_, second) = two_outside();
    assert_eq!(first, second);
}

#[test]
fn errors_of_the_context_unit_are_readable_sentences() {
    let locked = ContextError::LockedLines { process: ProcessNumber(3), lines: 2 };
    let expected = "process 3 has 2 locked lines in a cache: its chunks must be permuted before its context leaves";
    assert_eq!(locked.to_string(), expected);
}
