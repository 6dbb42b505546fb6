//! The files of machines and designs and their rules, from outside, as one program.

mod cores;
mod engine_rules;
mod machine_rules;
mod memories;
mod permutation;
mod persistence;
mod speculation;
mod tag_lengths;
