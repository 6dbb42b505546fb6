//! The guarantees of campaigns, tested from outside. All tests are one program, since linking one takes as long as
//! building its tests.

mod addresses;
mod aimed;
mod at_the_loss;
mod boots_among_tuples;
mod buffered;
mod cached;
mod campaigns;
mod common;
mod controller_load;
mod crowded;
mod dying;
mod every_bit;
mod forests;
mod grouped_slots;
mod locked;
mod logged;
mod losses;
mod losses_in_crowds;
mod maps;
mod meetings;
mod merged;
mod named;
mod one_text;
mod ordered_start;
mod over_sessions;
#[cfg(feature = "planted-bugs")]
mod planted;
mod probed;
mod programs;
mod reboots;
mod reordered;
mod strokes;
mod systems;
mod tuples;
mod twins;
mod values;
