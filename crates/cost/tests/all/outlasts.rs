//! A battery of the counted size loses no store, and a battery with the energy of one operation less loses a store.

use crate::papers;
use catalogue::Design;
use cost::counted::drains;
use cost::tally::work;
use cost::{
    CacheSizes, DrainTraffic, Energy, MemoryGeometry, Operations, Profile, SecPbScheme, caches, closed_form, design,
};
use protection::domain::{PersistenceDomain, Registers, WritePendingQueue};
use protection::execution::{Functional, Operation, RecordedMemory, Untimed, run_now};
use protection::media::Media;
use protection::scheme::{DurableCaches, PersistBufferHandle};
use units::{Bytes, LINE_BYTES, Line, LineAddr};

const ENTRIES: u32 = 12;
const LEVELS: u32 = 4;
const SEED: u64 = 1;

/// A full buffer, or full caches, in the worst case when power fails, and the work of the battery.
struct Loss {
    design: Design,
    /// Transfer of a line of data.
    moved: Operations,
    geometry: MemoryGeometry,
    stores: Vec<LineAddr>,
    before: (Media, Registers),
    drain: Vec<Operation>,
}

fn text(line: LineAddr) -> Line {
    [1 + (line.0 % 251) as u8; 64]
}

impl Loss {
    fn of(scheme: SecPbScheme) -> Loss {
        let geometry = MemoryGeometry::of(scheme, &papers(), LEVELS).unwrap();
        let stores = geometry.far_apart(ENTRIES as usize + 1);
        let built = design(scheme).parts.build(geometry.lines, SEED).unwrap();
        let recorded = RecordedMemory::new(Functional::new(built.layout().total_lines()));
        let buffer = PersistBufferHandle::of(&built);
        let accept = |line: LineAddr| run_now(buffer.accept(&recorded.verbs(), line, &text(line)));
        let (in_flight, resident) = stores.split_last().unwrap();
        resident.iter().for_each(|line| accept(*line));
        run_now(built.flush(&recorded.verbs()));
        recorded.take_operations();
        let before = (recorded.memory().media.borrow().clone(), recorded.memory().registers());
        accept(*in_flight);
        run_now(buffer.drain_on_battery(&recorded.verbs()));
        assert_eq!(recorded.memory().take_fault(), None);
        let (design, moved) = (design(scheme), closed_form::moved(scheme, &papers().entry));
        Loss { design, moved, geometry, stores, before, drain: recorded.take_operations() }
    }

    /// The loss of a machine with only a first-level cache, full of dirty lines.
    fn of_caches() -> Loss {
        let design = catalogue::design("secure-eadr").unwrap();
        let geometry = MemoryGeometry::of_design(&design, &papers(), LEVELS).unwrap();
        let mut stores = geometry.far_apart(ENTRIES as usize);
        stores.sort_unstable();
        let built = design.parts.build(geometry.lines, SEED).unwrap();
        let recorded = RecordedMemory::new(Functional::new(built.layout().total_lines()));
        let before = (recorded.memory().media.borrow().clone(), recorded.memory().registers());
        let dirty = stores.iter().map(|line| (*line, text(*line))).collect();
        run_now(DurableCaches::of(&built).drain_on_battery(&recorded.verbs(), dirty));
        assert_eq!(recorded.memory().take_fault(), None);
        let from_l1 = DrainTraffic { from_l1_bits: 8 * LINE_BYTES as u64, ..DrainTraffic::default() };
        let moved = Operations { moved: from_l1, ..Operations::default() };
        Loss { design, moved, geometry, stores, before, drain: recorded.take_operations() }
    }

    fn price(&self, operation: &Operation) -> Energy {
        papers().energy(&work(operation, self.moved))
    }

    /// The memory that a battery with this energy leaves: it stops before the first operation that exceeds the energy.
    fn left_by(&self, battery: Energy) -> (Media, Registers) {
        let (media, registers) = self.before.clone();
        let (mut domain, mut spent) =
            (PersistenceDomain::new(WritePendingQueue::Inside, media, registers), Energy::default());
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

    /// The stores that a fresh chip does not find in memory after recovery; all stores if recovery fails.
    fn lost(&self, (media, registers): (Media, Registers)) -> Vec<LineAddr> {
        let built = self.design.parts.build(self.geometry.lines, SEED).unwrap();
        let memory = Functional::new(built.layout().total_lines());
        memory.media.replace(media);
        run_now(built.recover(&memory.verbs(), &registers));
        if memory.take_fault().is_some() {
            return self.stores.clone();
        }
        let is_lost = |line: &&LineAddr| {
            run_now(built.read(&memory.verbs(), **line));
            let released = memory.take_released().map(|(_, plaintext)| plaintext.bytes);
            memory.take_fault().is_some() || released != Some(text(**line))
        };
        self.stores.iter().filter(is_lost).copied().collect()
    }
}

/// Number of operations before the end of a drain at which a battery stops: more than the last tuple has.
const LAST: usize = 60;

#[test]
fn a_battery_of_the_counted_energy_loses_no_store_and_a_smaller_one_does() {
    let profile = papers();
    for scheme in SecPbScheme::all() {
        let counted = drains(scheme, &profile, (ENTRIES, LEVELS), &mut || ()).unwrap();
        let loss = Loss::of(scheme);
        let (alone, together) = (profile.energy(&counted.alone), profile.energy(&counted.together));
        assert_eq!(loss.lost(loss.left_by(together)), [], "{scheme}");
        assert_eq!(loss.lost(loss.left_by(alone)), [], "{scheme}");
        assert_every_smaller_battery_loses(&loss, together, &scheme.to_string());
    }
}

fn assert_every_smaller_battery_loses(loss: &Loss, counted: Energy, about: &str) {
    let mut spent = Energy::default();
    let mut smaller = Vec::new();
    for price in loss.drain.iter().map(|operation| loss.price(operation)).filter(|price| *price > Energy::default()) {
        smaller.push(spent);
        spent += price;
    }
    assert_eq!(spent, counted, "{about}");
    for battery in smaller.into_iter().rev().take(LAST) {
        assert_ne!(loss.lost(loss.left_by(battery)), [], "{about}, {} nJ", battery.nanojoules());
    }
}

#[test]
fn a_battery_for_full_caches_that_is_one_operation_too_small_loses_memory() {
    let l1 = Bytes(u64::from(ENTRIES) * LINE_BYTES as u64);
    let profile = Profile { caches: CacheSizes { l1, l2: Bytes(0), l3: Bytes(0) }, ..papers() };
    let counted = caches::drain(&profile, LEVELS, &mut || ()).unwrap();
    let loss = Loss::of_caches();
    let (alone, together) = (profile.energy(&counted.alone), profile.energy(&counted.together));
    assert_eq!(loss.lost(loss.left_by(together)), []);
    assert_eq!(loss.lost(loss.left_by(alone)), []);
    assert_every_smaller_battery_loses(&loss, together, "secure-eadr");
}

#[test]
fn a_battery_of_the_closed_form_energy_loses_stores() {
    let profile = papers();
    for scheme in SecPbScheme::all() {
        let closed = closed_form::operations(cost::System::Buffer(scheme), &profile, ENTRIES, LEVELS);
        let loss = Loss::of(scheme);
        assert_ne!(loss.lost(loss.left_by(profile.energy(&closed))), [], "{scheme}");
    }
}
