//! A machine whose cores make stores durable as a design says: in persist buffers, or as their programs flush and fence.

use super::Machine;
use machine::node::{PersistConfig, Waits};
use machine::persist::PersistBufferConfig;
use protection::design::{Parts, Step};

impl Machine {
    /// The machine with the persist buffers of a design beside its cores, if it has any. If stores are durable no earlier than at
    /// the memory controller, or never, its cores flush lines where the program does.
    ///
    /// # Errors
    /// Watermarks that no buffer can have, which [`Parts::check`] rules out.
    pub fn with_persistence_of(&self, parts: &Parts) -> Result<Machine, String> {
        let mut machine = self.clone();
        let persistence = &parts.persistence;
        machine.node.flushes = !persistence.has_battery();
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
