//! A battery of the size that is counted, and one that is an operation smaller.

use crate::papers;
use cost::counted::drains;
use cost::tally::work;
use cost::{Energy, Geometry, Scheme, closed_form, design};
use protection::domain::{Domain, Queue, Registers};
use protection::execution::{Explained, Functional, Operation, run_now};
use protection::media::Media;
use protection::scheme::PersistBuffer;
use units::{Line, LineAddr};

const ENTRIES: u32 = 12;
const LEVELS: u32 = 4;
const SEED: u64 = 1;

/// A full buffer at the worst, when power fails, and what its battery then does.
struct Loss {
    scheme: Scheme,
    geometry: Geometry,
    stores: Vec<LineAddr>,
    before: (Media, Registers),
    drain: Vec<Operation>,
}

fn text(line: LineAddr) -> Line {
    [1 + (line.0 % 251) as u8; 64]
}

impl Loss {
    fn of(scheme: Scheme) -> Loss {
        let geometry = Geometry::of(scheme, &papers(), LEVELS).unwrap();
        let stores = geometry.far_apart(ENTRIES as usize + 1);
        let built = design(scheme).parts.build(geometry.lines, SEED).unwrap();
        let verbs = Explained::new(Functional::new(built.layout().total_lines()));
        let buffer = PersistBuffer::of(&built);
        let accept = |line: LineAddr| run_now(buffer.accept(&verbs, line, &text(line)));
        let (in_flight, resident) = stores.split_last().unwrap();
        resident.iter().for_each(|line| accept(*line));
        run_now(built.flush(&verbs));
        verbs.take_operations();
        let before = (verbs.inside().media.borrow().clone(), verbs.inside().registers());
        accept(*in_flight);
        run_now(buffer.drain_on_battery(&verbs));
        assert_eq!(verbs.inside().take_fault(), None);
        Loss { scheme, geometry, stores, before, drain: verbs.take_operations() }
    }

    fn price(&self, operation: &Operation) -> Energy {
        let profile = papers();
        profile.energy(&work(operation, closed_form::moved(self.scheme, &profile.entry)))
    }

    /// What a battery leaves that holds this much: it stops where an operation takes more than is left.
    fn left_by(&self, battery: Energy) -> (Media, Registers) {
        let (media, registers) = self.before.clone();
        let (mut domain, mut spent) = (Domain::new(Queue::Inside, media, registers), Energy::default());
        for operation in &self.drain {
            spent += self.price(operation);
            if spent > battery {
                break;
            }
            match operation {
                Operation::Store(_, slot, content) => domain.store(*slot, *content),
                Operation::PersistPart(_, slot, content, _) | Operation::Persist(_, slot, content) => {
                    domain.persist(*slot, *content)
                }
                Operation::Complete(registers) => domain.complete(registers),
                _ => {}
            }
        }
        domain.lose_power()
    }

    /// The stores that are not in memory when a fresh chip has recovered from that; all of them if it does not.
    fn lost(&self, (media, registers): (Media, Registers)) -> Vec<LineAddr> {
        let built = design(self.scheme).parts.build(self.geometry.lines, SEED).unwrap();
        let memory = Functional::new(built.layout().total_lines());
        memory.media.replace(media);
        run_now(built.recover(&memory, &registers));
        if memory.take_fault().is_some() {
            return self.stores.clone();
        }
        let is_lost = |line: &&LineAddr| {
            run_now(built.read(&memory, **line));
            let released = memory.take_released().map(|(_, plaintext)| plaintext.bytes);
            memory.take_fault().is_some() || released != Some(text(**line))
        };
        self.stores.iter().filter(is_lost).copied().collect()
    }
}

/// Operations from the end of a drain at each of which a battery is let stop: more than the last tuple has.
const LAST: usize = 60;

#[test]
fn a_battery_of_the_size_that_is_counted_loses_nothing_and_one_an_operation_smaller_does() {
    let profile = papers();
    for scheme in Scheme::all() {
        let counted = drains(scheme, &profile, (ENTRIES, LEVELS), &mut || ()).unwrap();
        let loss = Loss::of(scheme);
        let (alone, together) = (profile.energy(&counted.alone), profile.energy(&counted.together));
        assert_eq!(loss.lost(loss.left_by(together)), [], "{scheme}");
        assert_eq!(loss.lost(loss.left_by(alone)), [], "{scheme}");
        let mut spent = Energy::default();
        let mut smaller = Vec::new();
        for price in loss.drain.iter().map(|operation| loss.price(operation)).filter(|price| *price > Energy::default())
        {
            smaller.push(spent);
            spent += price;
        }
        assert_eq!(spent, together, "{scheme}");
        for battery in smaller.into_iter().rev().take(LAST) {
            assert_ne!(loss.lost(loss.left_by(battery)), [], "{scheme}, {} nJ", battery.nanojoules());
        }
    }
}

#[test]
fn a_battery_of_the_closed_form_loses_stores_since_that_leaves_out_what_is_named() {
    let profile = papers();
    for scheme in Scheme::all() {
        let closed = closed_form::operations(cost::System::Buffer(scheme), &profile, ENTRIES, LEVELS);
        let loss = Loss::of(scheme);
        assert_ne!(loss.lost(loss.left_by(profile.energy(&closed))), [], "{scheme}");
    }
}
