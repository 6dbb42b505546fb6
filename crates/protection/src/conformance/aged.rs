//! Contract of designs with counters that begin in the middle of a long life. A read returns the start-up content of a
//! line. The chip accepts the blank counters of a group only if the group was never written.

use super::design::SchemeMemory;
use super::paused::{Booted, start_up_content};
use super::{Checked, HANDLINGS, boot, composition, gmac, hold};
use crate::counter::{Counters, Steady};
use crate::design::{CipherChoice, CounterChoice, Parts};
use crate::design::{TreeDesign, TreeKind};
use crate::execution::{Untimed, run_now};
use crate::planted::PlantedBug;
use crate::slot::Role;
use crate::tree::Update;
use crate::verbs::{Slot, Untrusted};
use std::rc::Rc;
use strum::VariantArray;
use units::random::Random;
use units::{LineAddr, ZERO_LINE};

/// A line that is only read, and one of the next group, under the same nodes.
const READ: LineAddr = LineAddr(5);
const WRITTEN: LineAddr = LineAddr(5 + 128);

/// Initial counter lines of an organisation, or `None` if its counters begin new.
fn library(choice: CounterChoice) -> Option<Rc<Steady>> {
    let counters = Counters::new(choice.organisation(), PlantedBug::NONE);
    Steady::new(&counters, Random::new(1)).map(Rc::new)
}

fn aged(parts: &Parts, steady: Option<Rc<Steady>>, planted: PlantedBug) -> Result<SchemeMemory, String> {
    let mut memory = SchemeMemory::new(parts, planted)?;
    memory.scheme.fixed_mut().unwrap().metadata.begin_with(steady);
    Ok(memory)
}

fn reads_as_started(memory: &SchemeMemory, line: LineAddr, what: &str) -> Checked {
    let booted = Booted { memory: &memory.functional, pauses: false };
    run_now(memory.scheme.read(&booted.verbs(), line));
    let released = memory.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
    let fault = memory.functional.take_fault();
    run_now(memory.scheme.flush(&booted.verbs()));
    hold(fault.is_none() && released == Some(start_up_content(line)), || {
        format!("an aged line does not read right {what}: {fault:?}")
    })
}

fn counters_of(memory: &SchemeMemory, line: LineAddr) -> Slot {
    memory.fixed().counter_slot(line).expect("the design has counters")
}

/// Content of the slots that memory has for a line: data, tag and counters. Blank slots read as zeros.
fn stored(memory: &SchemeMemory, line: LineAddr) -> Vec<(Slot, Untrusted)> {
    let slots = [
        Some(memory.scheme.layout().data_slot(line).slot()),
        memory.fixed().tag_slot(line),
        memory.fixed().counter_slot(line),
    ];
    let media = memory.functional.media.borrow();
    let read = |slot| (slot, Untrusted::with(media.read(slot).examine(), media.read(slot).spare_bits()));
    slots.into_iter().flatten().map(read).collect()
}

/// Designs with counters under each kind of tree, with eager and with lazy update of nodes.
fn trees() -> Vec<Parts> {
    let with = |counters, tree: &TreeDesign| composition(CipherChoice::Aes128Counter, counters, &gmac(), tree);
    let versions = TreeDesign { levels: vec![CounterChoice::Sc128], ..TreeKind::Counters.into() };
    let lazy = [
        with(CounterChoice::Sc64, &TreeKind::Bonsai.into()),
        with(CounterChoice::Morphable, &TreeKind::Bonsai.into()),
        with(CounterChoice::PageRecord, &TreeKind::Bonsai.into()),
        with(CounterChoice::Morphable, &versions),
        with(CounterChoice::Vault16, &versions),
    ];
    let eager =
        |parts: &Parts| Parts { tree: TreeDesign { update: Update::Eager, ..parts.tree.clone() }, ..parts.clone() };
    lazy.iter().map(eager).chain(lazy.clone()).collect()
}

/// Checks a composition with a tree against the contract of aged groups.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    let memory = aged(parts, library(parts.counters), planted)?;
    reads_as_started(&memory, READ, "at first")?;
    refuses_what_is_not_blank(&memory)?;
    reads_as_started(&memory, WRITTEN, "before it is written")?;
    let unwritten = stored(&memory, WRITTEN);
    write_next_to(&memory)?;
    reads_as_started(&memory, READ, "after its neighbour was written often")?;
    // Restores the line as it was before its group was written, with its tag and the blank counter line.
    hold(stored(&memory, WRITTEN) != unwritten, || "what was written is not in memory".into())?;
    unwritten.iter().for_each(|(slot, content)| memory.functional.media.borrow_mut().store(*slot, *content));
    hold(memory.read(WRITTEN).is_none(), || "a written group passes for one that was never written".into())
}

/// Writes the line and flushes it ten times, which overflows the nodes with the shortest counters.
fn write_next_to(memory: &SchemeMemory) -> Checked {
    (0..10).try_for_each(|version| {
        memory.write(WRITTEN, &[version; 64])?;
        run_now(memory.scheme.flush(&memory.functional.verbs()));
        Ok(())
    })
}

/// Forges the blank counters of a group that was never written. The chip must refuse the forgery.
fn refuses_what_is_not_blank(memory: &SchemeMemory) -> Checked {
    let slot = counters_of(memory, READ);
    let begun = memory.fixed().metadata.begun(slot, Role::Counter, &ZERO_LINE);
    let begun = if begun == ZERO_LINE { [0x22; 64] } else { begun };
    let forgeries = [("what it stands for", begun), ("what nobody wrote", Random::new(3).line())];
    for (what, forged) in forgeries {
        memory.functional.media.borrow_mut().write(slot, &forged);
        hold(memory.read(READ).is_none(), || format!("{what} passes for a blank counter line"))?;
        memory.functional.media.borrow_mut().write(slot, &ZERO_LINE);
        reads_as_started(memory, READ, "when the forgery is gone")?;
    }
    Ok(())
}

/// The designs with trees and one without, under each way to handle them, with one line under a tag or two.
fn handled() -> impl Iterator<Item = Parts> {
    let plain = composition(CipherChoice::Aes128Counter, CounterChoice::Sc64, &gmac(), &TreeKind::None.into());
    trees().into_iter().chain([plain]).flat_map(|parts| {
        let each = HANDLINGS.iter().flat_map(move |handle| {
            [1, 2].map(|lines| {
                let mut handled = parts.clone();
                handle(&mut handled);
                handled.mac.lines = lines;
                handled
            })
        });
        each.filter(|parts| parts.check().is_ok())
    })
}

#[test]
fn initial_content_reads_right_under_aged_counters_in_every_composition() {
    let libraries: Vec<_> = CounterChoice::VARIANTS.iter().map(|choice| (*choice, library(*choice))).collect();
    let mut checked = 0;
    for parts in handled() {
        let (_, steady) = libraries.iter().find(|(choice, _)| *choice == parts.counters).unwrap();
        let memory = aged(&parts, steady.clone(), PlantedBug::NONE).unwrap();
        assert_eq!(boot::holds(&memory), Ok(()), "{parts:?}");
        checked += 1;
    }
    assert!(checked > 80, "only {checked} make sense");
}

#[test]
fn forged_or_blanked_counters_of_an_aged_group_are_detected() {
    for parts in trees() {
        assert_eq!(check(&parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}

/// The node above both groups overflows. This gives the group that was only read a version, and so a MAC, in memory.
#[test]
fn a_read_only_counter_group_keeps_its_initial_counters_when_its_tree_parent_overflows() {
    let versions = TreeDesign { levels: vec![CounterChoice::Sc128], ..TreeKind::Counters.into() };
    let parts = composition(CipherChoice::Aes128Counter, CounterChoice::Vault32, &gmac(), &versions);
    let memory = aged(&parts, library(parts.counters), PlantedBug::NONE).unwrap();
    assert_eq!(reads_as_started(&memory, READ, "at first"), Ok(()));
    let slot = counters_of(&memory, READ);
    let stored = || memory.functional.media.borrow().read(slot).examine();
    assert_eq!(stored(), ZERO_LINE, "a group that was only read is written back");
    assert_eq!(write_next_to(&memory), Ok(()));
    assert!(memory.scheme.counted().renewals.nodes > 0 && stored() != ZERO_LINE, "the node has not renewed it");
    assert_eq!(reads_as_started(&memory, READ, "after its node has overflowed"), Ok(()));
}

#[test]
fn a_cloned_memory_keeps_the_initial_aged_counters_of_its_original() {
    let parts = composition(CipherChoice::Aes128Counter, CounterChoice::Sc64, &gmac(), &TreeKind::Bonsai.into());
    let memory = aged(&parts, library(parts.counters), PlantedBug::NONE).unwrap();
    assert_eq!(reads_as_started(&memory, READ, "at first"), Ok(()));
    let twin = SchemeMemory { scheme: memory.scheme.twin(), functional: memory.functional.clone() };
    assert_eq!(reads_as_started(&twin, READ, "by a twin"), Ok(()));
}
