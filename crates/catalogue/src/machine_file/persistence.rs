//! Configures the cores of a machine to persist stores as a design requires. The cores use persist buffers, or pass
//! each store to the memory controller, or flush and fence as their programs request.
//!
//! If cores pass each store to the controller, the store passes through a buffer without a battery. Each entry of this
//! buffer holds one store and leaves at once: at most `llc.writeback_buffers` stores are under way. A store that finds
//! no free buffer waits in the store queue, and delays the later stores.

use super::Machine;
use machine::node::{PersistConfig, StoreHold};
use machine::persist::PersistBufferConfig;
use protection::design::{Parts, Step};

impl Machine {
    /// Returns the machine with the persist buffers of a design at its cores, or with the buffers through which each
    /// store passes to the controller. If the design has neither kind of buffer nor durable caches, the cores flush
    /// lines as their programs request.
    ///
    /// # Errors
    /// A sentence on invalid watermarks, which [`Parts::check`] excludes.
    pub fn with_persistence_of(&self, parts: &Parts) -> Result<Machine, String> {
        let mut machine = self.clone();
        let persistence = &parts.persistence;
        machine.node.flushes = !persistence.has_battery() && !persistence.takes_each_store();
        if persistence.takes_each_store() {
            let entries = self.llc.writeback_buffers as u32;
            let buffer = PersistBufferConfig::leaving_at_once(entries);
            machine.node.persist_buffer = Some(PersistConfig { buffer, latency_cycles: 0, waits: StoreHold::Never });
        }
        if persistence.has_buffer() {
            let (from, to) = (persistence.drain_from.into(), persistence.drain_to.into());
            let buffer = PersistBufferConfig::of_fractions(persistence.entries, from, to)?;
            let early = persistence.early;
            let waits = match (early.has(Step::Counter), early.follows_values()) {
                (false, _) => StoreHold::Never,
                (true, false) => StoreHold::NewEntries,
                (true, true) => StoreHold::EveryStore,
            };
            machine.node.persist_buffer =
                Some(PersistConfig { buffer, latency_cycles: persistence.latency_cycles, waits });
        }
        Ok(machine)
    }

    /// Checks that the machine supports the persist buffers of a design.
    pub(super) fn takes_buffers_of(&self, parts: &Parts) -> Result<(), String> {
        if !parts.persistence.has_buffer() {
            return Ok(());
        }
        if self.pcm.is_none() {
            return Err(format!(
                "persistence.point = \"buffer\" drains into a write-pending queue that survives a loss of power, and \
                 machine '{}' has none: give it a table [pcm], or take 'secpb-pcm'",
                self.name
            ));
        }
        Ok(())
    }
}
