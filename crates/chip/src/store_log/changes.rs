//! Changes of lines by the kernel, which writes past the caches as a device does: the acceptance of each, and its arrival
//! in memory.

use super::{Certain, Store, StoreLog};
use units::LineAddr;

impl StoreLog {
    /// Accepts the next change from outside to a line, and the changes to other lines before it. They precede every
    /// pending store of the core.
    pub(crate) fn change_accepted(&mut self, core: usize, line: LineAddr) {
        let pending = self.cores[core].waiting.iter().take_while(|next| next.from_outside);
        let Some(index) = pending.map(|next| next.line).position(|next| next == line) else { return };
        let accepted: Vec<Store> = self.cores[core].waiting.drain(..=index).collect();
        accepted.into_iter().for_each(|change| self.goes_on(change));
        match self.certain {
            Certain::Accepted => {
                self.in_memory.changed(line);
            }
            Certain::Arrived => {
                let stores = self.accepted_of(line);
                self.cores[core].changes.push((line, stores));
            }
            Certain::Fenced => {}
        }
    }

    /// Notes that a write of a line has ended, with its first `count` accepted stores. If a change from outside is among
    /// those, all of them have arrived in memory.
    pub(crate) fn change_arrived(&mut self, line: LineAddr, count: u64) {
        let Some(way) = self.under_way.get(&line) else { return };
        let mut arrived = way.stores.iter().take(count.saturating_sub(way.arrived) as usize);
        if arrived.any(|store| store.from_outside) {
            self.arrived(line, count);
            self.in_memory.changed(line);
        }
    }
}
