//! How long the ways on the chip are that are the same for every line, the look-ups in an L2, and an exception.

use catalogue::Machine;
use protection::verbs::Role;
use units::Duration;

/// The ways of one machine that do not depend on the line.
pub struct Distances {
    /// From the last-level cache to the controller, or back.
    pub path: Duration,
    /// From the end of an L2's look-up to the arrival at the controller of a prediction that left when the look-up began.
    pub prediction: Duration,
    /// From the controller to the last-level cache, through its look-up and back.
    pub last_level_look_up: Duration,
    /// What the operating system's handler of a missing record takes besides its instructions for the tree.
    pub exception: Duration,
    data_in_l2: Duration,
    counter_in_l2: Duration,
}

impl Distances {
    /// Those of a machine.
    pub fn of(machine: &Machine) -> Distances {
        Distances {
            path: machine.path(),
            prediction: machine.prediction_after_look_up(),
            last_level_look_up: machine.last_level_look_up(),
            exception: machine.os_walk(),
            data_in_l2: machine.l2_look_up(),
            counter_in_l2: Duration::from_ns_f64(machine.at_l2.map_or(0.0, |at_l2| at_l2.counter_look_up_ns)),
        }
    }

    /// How long an L2 looks for a line of this role.
    pub fn private_look_up(&self, role: Role) -> Duration {
        if role == Role::Data { self.data_in_l2 } else { self.counter_in_l2 }
    }
}
