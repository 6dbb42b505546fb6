//! Handles the stores that caches have accepted: one task per core accepts each store at the time at which the store
//! left the store queue. The tasks run only in simulations with a loss of power.

use crate::chip::Chip;
use sim::Clock;
use std::rc::Rc;

/// Starts the tasks of all cores.
pub fn start(clock: &Clock, chip: &Rc<Chip>) {
    (0..chip.cores.nodes().len()).for_each(|core| clock.spawn(take_forever(chip.clone(), core)));
}

async fn take_forever(chip: Rc<Chip>, core: usize) {
    loop {
        let line = chip.power.next_written(core).await;
        chip.let_changes_in(core);
        chip.shadow.next_store(core, line);
        chip.power.taken_up(line);
        chip.let_changes_in(core);
    }
}
