//! The session that follows a loss of power: a history continues from the memory that an earlier one left.

use super::history::History;
use super::revival::Revival;
use super::sessions::Session;
use super::states::{self, DeadMemory};
use std::rc::Rc;

impl History {
    /// Runs the same workload once more, with other contents, after a loss of power that left this memory. Returns `None` if recovery
    /// refuses the memory, or if memory may then hold one of several contents.
    pub fn goes_on_after(&self, left: &DeadMemory) -> Option<History> {
        let earlier = self.earlier.iter().cloned().chain([Rc::new(self.ended(left)?)]).collect();
        Some(History::after(earlier, self.parts.clone(), &self.workload, self.seed, self.planted))
    }

    /// Returns this session, up to that loss of power.
    fn ended(&self, left: &DeadMemory) -> Option<Session> {
        let contents = self.allowed(left).pop().filter(|_| left.accepted.is_some())?;
        if Revival::of(self, left).alarmed() {
            return None;
        }
        let changes = left.changes.as_ref().map_or(&[][..], |changes| &changes.operations);
        let mut memories = states::memories_between(changes, &self.start());
        memories.push(left.image.clone());
        memories.dedup();
        Some(Session { before: self.before.clone(), left: left.clone(), contents, memories })
    }
}
