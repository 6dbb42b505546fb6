//! Contract of designs in which L2s begin reads. An L2 does not decrypt with outdated counters, whatever the reason of
//! the change, and wherever the copy is at that time.

use super::design::SchemeMemory;
use super::paused::{Booted, PausedText, pause, start_up_content};
use super::{Checked, hold};
use crate::counter::{Age, WRITES_LEFT};
use crate::design::Parts;
use crate::execution::{Untimed, run_now};
use crate::mac::TagLocation;
use crate::planted::PlantedBug;
use crate::scheme::Demand;
use std::future::{Ready, ready};
use units::random::Random;
use units::{Line, LineAddr};

/// Two lines that share a counter line.
const WRITTEN: LineAddr = LineAddr(5);
const NEIGHBOUR: LineAddr = LineAddr(6);
/// Upper bound on the pauses of a read.
const PAUSES_MAX: usize = 20;

/// Checks a composition against the contract of copies.
pub fn check(parts: &Parts, planted: PlantedBug) -> Checked {
    a_write(&SchemeMemory::new(parts, planted)?)?;
    an_overflow(&SchemeMemory::new(parts, planted)?)?;
    for pauses in 0..PAUSES_MAX {
        a_copy_on_its_way(&SchemeMemory::new(parts, planted)?, pauses)?;
    }
    a_read_that_has_begun(&SchemeMemory::new(parts, planted)?)?;
    a_read_that_is_refused(&SchemeMemory::new(parts, planted)?)
}

fn read_by(memory: &SchemeMemory, core: usize, line: LineAddr) -> Option<Line> {
    run_now(memory.scheme.read_by(&memory.functional.verbs(), line, core));
    let released = memory.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
    released.filter(|_| memory.functional.take_fault().is_none())
}

fn a_write(memory: &SchemeMemory) -> Checked {
    for byte in 0..3 {
        memory.write(WRITTEN, &[byte; 64])?;
        for core in [0, 1, 0] {
            hold(read_by(memory, core, WRITTEN) == Some([byte; 64]), || {
                format!("the L2 of core {core} goes on with counters from before a write")
            })?;
        }
    }
    Ok(())
}

/// A line has its start-up content and an L2 has its counters. Writes of a neighbour make the counters overflow.
fn an_overflow(memory: &SchemeMemory) -> Checked {
    run_now(memory.scheme.age(&memory.functional.verbs(), WRITTEN, Age::BeforeRenewal));
    let booted = Booted { memory: &memory.functional, pauses: false };
    let mut random = Random::new(1);
    for _ in 0..=WRITES_LEFT {
        for _ in 0..2 {
            run_now(memory.scheme.read_by(&booted.verbs(), NEIGHBOUR, 0));
            let released = memory.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
            let alarmed = memory.functional.take_fault().is_some();
            hold(!alarmed && released == Some(start_up_content(NEIGHBOUR)), || {
                "an L2 goes on with counters from before an overflow".into()
            })?;
        }
        run_now(memory.scheme.write(&booted.verbs(), WRITTEN, &random.line()));
        hold(memory.functional.take_fault().is_none(), || "a false alarm at a write".into())?;
    }
    hold(memory.scheme.counted().renewals.groups > 0, || "the scene is not set: no counter overflows".into())
}

/// The last-level cache has the counters of a line. A core's request finds the line itself on the chip, so the counters
/// travel to its L2 without use. The line is written after `pauses` pauses.
fn a_copy_on_its_way(memory: &SchemeMemory, pauses: usize) -> Checked {
    memory.write(WRITTEN, &[1; 64])?;
    if let Some(slot) = memory.fixed().counter_slot(WRITTEN) {
        memory.fixed().on_chip(|chip| chip.caches.hand_on_counters(slot));
    }
    let booted = Booted { memory: &memory.functional, pauses: true };
    let verbs = booted.verbs();
    let found = memory.scheme.read_from(&verbs, Demand::of(WRITTEN, 0), ready(()), ready(false), None::<Ready<()>>);
    let mut found = PausedText::new(found);
    let over = (0..pauses).any(|_| found.ends());
    memory.write(WRITTEN, &[2; 64])?;
    while !over && !found.ends() {}
    hold(read_by(memory, 0, WRITTEN) == Some([2; 64]), || "an outdated copy of counters entered an L2".into())
}

/// A core's L2 begins a read with its copy, and the line is written before the request arrives at the controller.
fn a_read_that_has_begun(memory: &SchemeMemory) -> Checked {
    memory.write(WRITTEN, &[1; 64])?;
    for core in [0, 0] {
        hold(read_by(memory, core, WRITTEN) == Some([1; 64]), || "a line does not read as it was written".into())?;
    }
    let request = async {
        pause(true).await;
        true
    };
    let verbs = memory.functional.verbs();
    let read = memory.scheme.read_from(&verbs, Demand::of(WRITTEN, 0), ready(()), request, None::<Ready<()>>);
    let mut read = PausedText::new(read);
    hold(!read.ends(), || "a read ends before its request is there".into())?;
    memory.write(WRITTEN, &[2; 64])?;
    while !read.ends() {}
    let released = memory.functional.take_released().map(|(_, plaintext)| plaintext.bytes);
    let alarmed = memory.functional.take_fault().is_some();
    hold(!alarmed && released == Some([2; 64]), || {
        "the controller lets an L2 go on with counters that have changed".into()
    })
}

/// A refused read that an L2 has begun must end as well: between two accesses, the chip has no read under way.
fn a_read_that_is_refused(memory: &SchemeMemory) -> Checked {
    memory.write(WRITTEN, &[1; 64])?;
    memory.put(memory.scheme.layout().data_slot(WRITTEN).slot(), &[7; 64]);
    for core in [0, 0, 1] {
        hold(read_by(memory, core, WRITTEN).is_none(), || "a forged line is released".into())?;
        let under_way = memory.fixed().metadata.on_copies(|copies| copies.are_in_use());
        hold(under_way == Some(false), || "a read that was refused counts as under way".into())?;
    }
    Ok(())
}

#[test]
fn no_l2_decrypts_with_a_copy_of_changed_counters() {
    let mut wide = super::eager();
    wide.mac = wide.mac.with_line_bits(128);
    wide.mac.place = TagLocation::Region;
    for parts in [super::eager(), wide] {
        assert_eq!(check(&parts, PlantedBug::NONE), Ok(()), "{parts:?}");
    }
}
