//! Durations that are equal for every line: transfers on the chip, look-ups in an L2, and an exception.

use catalogue::Machine;
use protection::verbs::Role;
use units::Duration;

/// Durations of one machine that do not depend on the line.
pub struct Distances {
    /// Time from the last-level cache to the memory controller, or back.
    pub path: Duration,
    /// Time from the beginning of an L2's look-up, when its prediction leaves (EMCC, figure 14), to the arrival of the
    /// prediction at the controller.
    pub prediction: Duration,
    /// Time of a look-up in the last-level cache by the memory controller, including the transfers to the cache and
    /// back.
    pub last_level_look_up: Duration,
    /// Time of the operating system's exception handler for a missing page record, without its instructions that load
    /// and verify tree nodes.
    pub exception: Duration,
    data_in_l2: Duration,
    counter_in_l2: Duration,
}

impl Distances {
    /// Returns the durations of a machine.
    pub fn of(machine: &Machine) -> Distances {
        Distances {
            path: machine.path(),
            prediction: machine.mean_hop(),
            last_level_look_up: machine.last_level_look_up(),
            exception: machine.os_walk(),
            data_in_l2: machine.l2_look_up(),
            counter_in_l2: Duration::from_ns_f64(machine.at_l2.map_or(0.0, |at_l2| at_l2.counter_look_up_ns)),
        }
    }

    /// Returns the time by which a prediction arrives before the L2's look-up ends. A read that its L2 predicts begins
    /// this much before the miss.
    pub fn prediction_lead(&self) -> Duration {
        self.data_in_l2.saturating_sub(self.prediction)
    }

    /// Returns the time from the beginning of a read to the arrival of its prediction.
    pub fn prediction_in_read(&self) -> Duration {
        self.prediction.saturating_sub(self.data_in_l2)
    }

    /// Returns the duration of an L2's look-up of a line in this role.
    pub fn private_look_up(&self, role: Role) -> Duration {
        if role == Role::Data { self.data_in_l2 } else { self.counter_in_l2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_arrives_a_hop_after_the_look_up_began_that_may_end_earlier_or_later() {
        let of_look_up = |cycles| {
            let mut machine = catalogue::machine("emcc-4core").unwrap();
            machine.node.l2.latency_cycles = cycles;
            (Distances::of(&machine), machine.l2_look_up(), machine.mean_hop())
        };
        let (short, look_up, hop) = of_look_up(13);
        assert_eq!((look_up + short.prediction_in_read(), short.prediction_lead()), (hop, Duration::ZERO));
        let (long, look_up, hop) = of_look_up(40);
        assert_eq!((hop + long.prediction_lead(), long.prediction_in_read()), (look_up, Duration::ZERO));
        assert!(short.prediction_in_read() > Duration::ZERO && long.prediction_lead() > Duration::ZERO);
    }
}
