//! Tests of the files of machines and designs and of their rules, through the public interface, as one program.

mod cores;
mod engine_rules;
mod machine_rules;
mod memories;
mod permutation;
mod persistence;
mod speculation;
mod tag_lengths;
