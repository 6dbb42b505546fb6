//! Memories after a loss of power on a machine with persist buffers or durable caches. The battery continues from the
//! state of the chip.
//!
//! The result depends on the content of the chip at the loss, which a list of changes to memory does not record. So the
//! workload runs again for each point of failure, up to an event, and from this event on battery. Memory must then hold
//! exactly the stores that the buffers have accepted or the caches have received.

use super::bench::{Bench, Meddling, Power};
use super::history::History;
use super::sessions::Beginning;
use super::shown::{Changes, changes_memory};
use super::states::{DeadMemory, WritesInMemory};
use super::storing;
use super::workload::{CORES, Workload};
use crate::bus::Recording;
use protection::domain::WritePendingQueue;
use protection::media::Media;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use units::{Line, LineAddr};

/// Returns the memories that losses of power leave of a history, at no more than `events` of its events.
pub fn left(history: &History, events: usize) -> Vec<DeadMemory> {
    let all = Rerun::to(history, u64::MAX, None).events;
    let step = all.div_ceil(events as u64).max(1);
    let events = (0..all).step_by(step as usize).chain([all]);
    events.map(|event| Rerun::to(history, event, None).left(history, event as usize)).collect()
}

/// A second run of a history, until power failed and its battery had done its work.
pub(super) struct Rerun {
    bench: Bench,
    /// Operations issued to memory before power failed.
    issued: usize,
    /// Events before power failed.
    events: u64,
    /// Durable stores, in order.
    accepted: Vec<(LineAddr, Line)>,
    /// Lines that memory did not have when power failed.
    resident: Vec<LineAddr>,
}

impl Rerun {
    /// Runs a history for this many events, or to its end, and then on battery. `on_battery` replaces the machine and meddles
    /// with memory during the drain.
    pub fn to(history: &History, events: u64, on_battery: Option<(Power, Meddling)>) -> Rerun {
        let (power_on, meddling) =
            on_battery.map_or((Bench::new as Power, None), |(on, meddling)| (on, Some(meddling)));
        let Beginning { mut bench, mut random, .. } = history.begin(power_on);
        let contents = history.workload.contents(&mut random);
        let crowding = history.workload.is_crowded().then_some(&mut random);
        let point = history.parts.persistence.point;
        let holder = storing::begin(&bench, point, &history.workload, &contents, crowding);
        let (happened, done) = (Cell::new(0), contents.len());
        let is_idle = || holder.is_idle_after(done);
        // Called before the first event and after each.
        let is_over = || {
            let over = happened.get() == events || is_idle();
            happened.set(happened.get() + u64::from(!over));
            over
        };
        bench.run_until(is_over);
        let events = happened.get();
        let went_on = holder.went_on();
        let resident = holder.resident();
        let issued = bench.records.operations();
        bench.meddling = meddling;
        holder.die(&mut bench);
        bench.meddling = None;
        let taken = holder.taken();
        let accepted = taken.len();
        // A store is durable if its core has continued, and each core may have one more store that is entering.
        assert!(
            (went_on..=went_on + CORES).contains(&accepted),
            "{accepted} stores are accepted, and the cores continued after {went_on}"
        );
        assert!(keeps_order(&history.workload, &taken), "{taken:?}: expected the first stores of each core, in order");
        let accepted = taken.into_iter().map(|number| contents[number]).collect();
        Rerun { bench, issued, events, accepted, resident }
    }

    /// Number of events before power failed.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the current memory of the machine.
    pub fn media(&self) -> &RefCell<Media> {
        self.bench.memory.media()
    }

    /// Returns the memory that is left, and the number of changes issued to it before power failed.
    pub fn left_with_drain(self, history: &History, point: usize) -> (DeadMemory, usize) {
        let issued = self.bench.records.take_operations();
        let before = issued[..self.issued].iter().filter(|operation| changes_memory(operation)).count();
        let changes = Changes::among(issued);
        let shown = changes.shown(&history.shown, WritePendingQueue::Inside).pop().unwrap_or_default();
        let image = Recording::of(&self.bench.memory.media().borrow());
        let registers = self.bench.memory.registers();
        let progress = WritesInMemory::exactly(self.accepted.len());
        let dead = DeadMemory {
            point,
            progress,
            in_order: true,
            image,
            registers,
            shown,
            changes: Some(Rc::new(changes)),
            accepted: Some(self.accepted),
            resident: self.resident,
        };
        (dead, before)
    }

    /// Returns the memory that is left.
    pub fn left(self, history: &History, point: usize) -> DeadMemory {
        self.left_with_drain(history, point).0
    }
}

/// Returns true if the durable stores of each core are its first ones, in its order.
fn keeps_order(workload: &Workload, taken: &[usize]) -> bool {
    (0..CORES).all(|core| {
        let of_core = (0..workload.writes.len()).filter(|write| workload.core(*write) == core);
        let taken: Vec<usize> = taken.iter().copied().filter(|write| workload.core(*write) == core).collect();
        of_core.take(taken.len()).eq(taken)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::workload::LINES;

    #[test]
    fn stores_after_a_loss_are_valid_only_as_a_program_order_prefix_for_each_core() {
        let workload = Workload { turns_from: Some(1), ..Workload::of_one_core(LINES.repeat(2), true, false) };
        let [of_one, of_other] = [[1, 3, 5], [0, 2, 4]];
        assert!((0..6).all(|number| workload.core(number) == usize::from(of_other.contains(&number))));
        let keeps = |taken: &[usize]| keeps_order(&workload, taken);
        assert!(keeps(&[]) && keeps(&of_one) && keeps(&of_other[..2]) && keeps(&[0, 1, 2, 3]) && keeps(&[1, 3, 0]));
        for wrong in [&[2][..], &[3], &[0, 4], &[2, 0], &[1, 0, 5], &[0, 0], &[0, 1, 1]] {
            assert!(!keeps(wrong), "{wrong:?}");
        }
    }
}
