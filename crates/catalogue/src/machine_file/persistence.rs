//! A machine whose cores make stores durable as a design says: in persist buffers, one by one at the memory controller, or as
//! their programs flush and fence.
//!
//! What each store goes through on its way to the controller is a persist buffer without a battery, whose entries take one store
//! and leave at once: as many are under way as the controller has buffers for what is written back, and a store that finds none
//! waits in the store queue, and those behind it with it.

use super::Machine;
use machine::node::{PersistConfig, Waits};
use machine::persist::PersistBufferConfig;
use protection::design::{Parts, Step};

impl Machine {
    /// The machine with the persist buffers of a design beside its cores, if it has any, or with what each of their stores goes
    /// to the controller through. If it has neither, nor caches that are durable, its cores flush lines where the program does.
    ///
    /// # Errors
    /// Watermarks that no buffer can have, which [`Parts::check`] rules out.
    pub fn with_persistence_of(&self, parts: &Parts) -> Result<Machine, String> {
        let mut machine = self.clone();
        let persistence = &parts.persistence;
        machine.node.flushes = !persistence.has_battery() && !persistence.takes_each_store();
        if persistence.takes_each_store() {
            let entries = self.llc.writeback_buffers as u32;
            let buffer = PersistBufferConfig::leaving_at_once(entries);
            machine.node.persist_buffer = Some(PersistConfig { buffer, latency_cycles: 0, waits: Waits::Never });
        }
        if persistence.has_buffer() {
            let (from, to) = (persistence.drain_from.into(), persistence.drain_to.into());
            let buffer = PersistBufferConfig::of_fractions(persistence.entries, from, to)?;
            let early = persistence.early;
            let waits = match (early.has(Step::Counter), early.follows_values()) {
                (false, _) => Waits::Never,
                (true, false) => Waits::NewEntries,
                (true, true) => Waits::EveryStore,
            };
            machine.node.persist_buffer =
                Some(PersistConfig { buffer, latency_cycles: persistence.latency_cycles, waits });
        }
        Ok(machine)
    }

    /// Whether stores can be durable beside its cores, if a design has them be.
    pub(super) fn takes_buffers_of(&self, parts: &Parts) -> Result<(), String> {
        if !parts.persistence.has_buffer() {
            return Ok(());
        }
        if self.pcm.is_none() {
            return Err(format!(
                "persistence.point = \"buffer\" drains into a write-pending queue that outlives power, and machine '{}' has \
                 none: give it a table [pcm], or take 'secpb-pcm'",
                self.name
            ));
        }
        Ok(())
    }
}
