//! Stores that caches have had: for each core a task that takes them, one after the other, at the time at which each left its store
//! queue. Only where power can fail.

use crate::chip::Chip;
use sim::Clock;
use std::rc::Rc;

/// Starts the tasks.
pub fn start(clock: &Clock, chip: &Rc<Chip>) {
    (0..chip.cores.nodes().len()).for_each(|core| clock.spawn(take_forever(chip.clone(), core)));
}

async fn take_forever(chip: Rc<Chip>, core: usize) {
    loop {
        let line = chip.next_written(core).await;
        chip.accept_in_caches(core, line);
    }
}
