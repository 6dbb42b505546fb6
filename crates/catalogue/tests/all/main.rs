//! The machine files and their rules, from outside, as one program.

mod cores;
mod engine_rules;
mod machine_rules;
mod memories;
