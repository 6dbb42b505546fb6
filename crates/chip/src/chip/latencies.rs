//! Latencies between the components of the chip.

use crate::distances::Distances;
use catalogue::Machine;
use machine::noc::Network;
use protection::verbs::Leg;
use sim::Clock;
use units::{Duration, LineAddr};

/// Latencies between the components of one chip.
pub struct ChipLatencies {
    clock: Clock,
    /// Links between the cores and the last-level cache.
    pub network: Network,
    /// Durations that do not depend on the line.
    pub(crate) distances: Distances,
}

impl ChipLatencies {
    /// Returns the latencies of a machine.
    pub(super) fn of(clock: &Clock, machine: &Machine) -> ChipLatencies {
        ChipLatencies { clock: clock.clone(), network: machine.network(), distances: Distances::of(machine) }
    }

    /// Time of a transfer that begins now.
    pub(super) fn of_leg(&self, leg: Leg) -> Duration {
        match leg {
            Leg::Request(core, line) => self.network.request(core, line),
            Leg::Answer(core, line) => self.network.to_last_stretch(core, line, self.clock.now()),
            Leg::ToController | Leg::FromController => self.distances.path,
            Leg::Predicted => self.distances.prediction_in_read(),
        }
    }

    /// Time of the last stretch of an answer over links that begins the stretch now.
    pub(super) fn of_last_stretch(&self, leg: Leg) -> Option<Duration> {
        let Leg::Answer(core, _) = leg else { return None };
        self.network.has_links().then(|| self.network.last_stretch(core, self.clock.now()))
    }

    /// Time of a request that the last-level cache answers.
    pub(super) fn of_hit(&self, core: usize, line: LineAddr) -> Duration {
        self.network.request(core, line) + self.network.way(core, line)
    }

    /// Time of a reply of the memory controller to a core.
    pub(super) fn of_reply(&self, core: usize, line: LineAddr) -> Duration {
        self.distances.path + self.network.way(core, line)
    }
}
