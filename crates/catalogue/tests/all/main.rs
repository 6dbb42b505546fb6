//! The machine files and their rules, from outside, as one program.

mod cores;
mod machine_rules;
mod memories;
