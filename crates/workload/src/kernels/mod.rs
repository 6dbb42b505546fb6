//! Built-in workloads, for machines that cannot record a program.
//!
//! A kernel is a real algorithm on real data. While it computes, it emits the instruction stream that its compiled form
//! would execute: instructions with their registers, addresses, values of stores, and lines at their first touch.
//! Compared with a recording, the stream lacks the code around the algorithm: a C library, system calls, other threads.

mod anneal;
mod arena;
mod bfs;
mod btree;
mod chase;
mod coloring;
mod components;
pub mod durable;
mod emitter;
mod graph;
mod gups;
mod hashjoin;
mod listing;
mod log;
mod pagerank;
mod parameters;
mod program;
mod resident;
mod simplex;
mod stores;
mod stream;
#[cfg(test)]
mod testing;

pub use parameters::{KernelError, Parameter, ParameterKind};

use crate::{Source, WorkloadError};
use arena::Arena;
use parameters::Settings;
use program::{KernelSource, Program};
use std::collections::BTreeMap;
use std::ops::Range;
use units::nearest;
use units::random::Random;

/// Description of a built-in workload.
pub struct KernelInfo {
    /// Name of the kernel.
    pub name: &'static str,
    /// Algorithm and bottleneck, in one line.
    pub summary: &'static str,
    /// Parameters, with defaults and units.
    pub parameters: &'static [Parameter],
    prepare: fn(&Settings) -> Box<dyn Program>,
}

static KERNELS: [KernelInfo; 14] = [
    chase::INFO,
    stream::INFO,
    gups::INFO,
    bfs::INFO,
    pagerank::INFO,
    components::INFO,
    coloring::INFO,
    btree::INFO,
    hashjoin::INFO,
    anneal::INFO,
    simplex::INFO,
    resident::INFO,
    stores::INFO,
    log::INFO,
];

/// Returns all built-in workloads.
pub fn list() -> &'static [KernelInfo] {
    &KERNELS
}

impl KernelInfo {
    fn settings(&self, given: &BTreeMap<String, String>) -> Result<Settings, KernelError> {
        Settings::resolve(self.name, self.parameters, given)
    }
}

/// Starts the kernel `name`. Missing parameters get their defaults; the seed determines the data and its addresses. The
/// kernel runs until it has finished or the source is dropped.
///
/// # Errors
/// [`WorkloadError::Kernel`] if no kernel or parameter has this name, or if a parameter does not accept its value.
pub fn open(name: &str, parameters: &BTreeMap<String, String>, seed: u64) -> Result<Box<dyn Source>, WorkloadError> {
    let kernel = named(name)?;
    let settings = kernel.settings(parameters)?;
    Ok(Box::new(KernelSource::new(name, (kernel.prepare)(&settings), &settings, seed)))
}

/// A kernel that survives a loss of power.
pub struct DurableKernel {
    /// Source of the kernel's execution, from its beginning.
    pub source: Box<dyn Source>,
    /// Addresses of the kernel's memory.
    pub arena: Range<u64>,
    /// Recovery of the kernel after a loss of power.
    pub recovery: Box<dyn durable::Recovery>,
}

/// Opens a kernel that survives a loss of power, like [`open`], with its recovery.
///
/// # Errors
/// Errors of [`open`]; and an error if the kernel has no recovery.
pub fn open_durable(
    name: &str,
    parameters: &BTreeMap<String, String>,
    seed: u64,
) -> Result<DurableKernel, WorkloadError> {
    let kernel = named(name)?;
    let settings = kernel.settings(parameters)?;
    let program = (kernel.prepare)(&settings);
    let arena = Arena::addresses(program.arena_bytes(), seed);
    let recovery = program.recovery(arena.start, &mut Random::new(seed));
    let recovery = recovery.ok_or(KernelError::Forgetful { kernel: kernel.name })?;
    Ok(DurableKernel { source: Box::new(KernelSource::new(name, program, &settings, seed)), arena, recovery })
}

/// Returns the kernel with this name.
fn named(name: &str) -> Result<&'static KernelInfo, KernelError> {
    KERNELS.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
        let known: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
        KernelError::UnknownKernel { name: name.to_owned(), nearest: nearest(name, known.iter().copied()), known }
    })
}

#[cfg(test)]
mod tests {
    use super::testing::{given, record, run};
    use super::*;
    use crate::Finish;
    use crate::walker::{Event, Walker};
    use wire::word;

    /// Settings that make every kernel small enough to be run to its end.
    const SMALL: [(&str, &[(&str, &str)]); 14] = [
        ("chase", &[("footprint", "64 KB"), ("chains", "2"), ("steps", "20000")]),
        ("stream", &[("footprint", "64 KB"), ("passes", "2")]),
        ("gups", &[("footprint", "64 KB"), ("updates", "20000")]),
        ("bfs", &[("scale", "9"), ("searches", "2"), ("record", "all")]),
        ("pagerank", &[("scale", "8"), ("iterations", "2"), ("record", "all")]),
        ("components", &[("scale", "8"), ("degree", "1"), ("passes", "2"), ("record", "all")]),
        ("coloring", &[("scale", "8"), ("passes", "2"), ("record", "all")]),
        ("btree", &[("preload", "1000"), ("operations", "2000")]),
        ("hashjoin", &[("build", "16 KB"), ("probe", "64 KB")]),
        ("anneal", &[("elements", "500"), ("swaps", "300"), ("temperatures", "3")]),
        ("simplex", &[("nodes", "60"), ("arcs", "6"), ("record", "all")]),
        ("resident", &[("rounds", "2")]),
        ("stores", &[("footprint", "4 KB"), ("stores", "20000")]),
        ("log", &[("footprint", "16 KB"), ("records", "2000")]),
    ];

    fn kernel(name: &str) -> &'static KernelInfo {
        list().iter().find(|kernel| kernel.name == name).unwrap()
    }

    #[test]
    fn the_list_of_small_test_settings_covers_every_kernel() {
        assert!(list().iter().map(|kernel| kernel.name).eq(SMALL.iter().map(|(name, _)| *name)));
    }

    #[test]
    fn the_same_seed_gives_the_same_batches_and_another_seed_different_ones() {
        for (name, settings) in SMALL {
            let words = |seed| record(kernel(name), settings, seed, false);
            assert!(words(1) == words(1), "{name}");
            assert!(words(1).1.iter().zip(words(2).1).all(|(one, other)| one.words != other.words), "{name}");
        }
    }

    #[test]
    fn a_kernel_source_returns_all_batches_of_its_kernel_and_then_ends() {
        for (name, settings) in SMALL {
            let mut source = open(name, &given(settings), 3).unwrap();
            let mut batches = Vec::new();
            while let Some(batch) = source.next_batch().unwrap() {
                batches.push(batch);
            }
            assert!(batches == record(kernel(name), settings, 3, false).1, "{name}");
            assert_eq!(source.next_batch().unwrap(), None, "{name}");
        }
    }

    #[test]
    fn the_next_address_of_every_kernel_step_is_that_of_the_next_instruction() {
        for (name, settings) in SMALL {
            let mut walker = Walker::new(open(name, &given(settings), 3).unwrap());
            let (mut steps, mut announced) = (0, None);
            while let Some(event) = walker.next().unwrap() {
                if let Event::Instruction(step) = event {
                    assert!(announced.is_none_or(|pc| pc == step.instruction.pc), "{name}, step {steps}");
                    (steps, announced) = (steps + 1, step.next);
                }
            }
            assert_eq!(steps, run(kernel(name), settings, 3).instructions, "{name}");
            assert_eq!(walker.origin().finish, Finish::Exited(0), "{name}");
        }
    }

    /// Returns all blocks and accesses of a kernel's stream.
    fn executed(name: &str, settings: &[(&str, &str)]) -> Vec<u64> {
        let mut found = Vec::new();
        for batch in record(kernel(name), settings, 3, false).1 {
            let mut rest = &batch.words[..];
            while let Some(count) = word::record_words(rest) {
                if !matches!(word::parse(rest[0]), word::TraceWord::Control { .. }) {
                    found.extend_from_slice(&rest[..count]);
                }
                rest = &rest[count..];
            }
        }
        found
    }

    #[test]
    fn a_kernel_that_skips_instructions_emits_the_same_end_of_the_stream() {
        for (name, settings) in SMALL {
            let all = run(kernel(name), settings, 3);
            let skip = (all.instructions / 2).to_string();
            let later = [settings, &[("skip", skip.as_str())]].concat();
            let half = run(kernel(name), &later, 3);
            assert_eq!(half.answer, all.answer, "{name}");
            let skipped = all.instructions - half.instructions;
            // The stream begins with the block in which the count of instructions reaches `skip`.
            assert!(skipped.abs_diff(all.instructions / 2) < 64, "{name} skipped {skipped} of {}", all.instructions);
            assert!(executed(name, settings).ends_with(&executed(name, &later)), "{name}");
        }
    }

    #[test]
    fn load_values_are_recorded_only_on_request() {
        let loads_with_value = |load_values| {
            let (_, batches) = record(kernel("resident"), &[("rounds", "1")], 1, load_values);
            // Sent lines and stored values of this kernel never look like a valued load: its numbers are in [0, 26).
            let valued_load = word::access(false, 3, true, 0, 0) >> 58;
            batches.iter().flat_map(|batch| &batch.words).filter(|word| **word >> 58 == valued_load).count()
        };
        assert_eq!(loads_with_value(false), 0);
        assert!(loads_with_value(true) > 26 * 26 * 26);
    }

    #[test]
    fn dropping_a_source_ends_its_endless_kernel() {
        let mut source = open("resident", &given(&[("rounds", "18446744073709551615")]), 1).unwrap();
        assert!(source.next_batch().unwrap().is_some());
        drop(source);
    }

    fn refusal(name: &str, settings: &[(&str, &str)]) -> String {
        open(name, &given(settings), 1).err().unwrap().to_string()
    }

    #[test]
    fn an_unknown_kernel_is_refused_with_the_nearest_name_and_the_list() {
        let known = "there are chase, stream, gups, bfs, pagerank, components, coloring, btree, hashjoin, anneal, simplex, resident, stores, log";
        let expected = format!("there is no built-in kernel 'steam' (did you mean stream?); {known}");
        assert_eq!(refusal("steam", &[]), expected);
        assert_eq!(refusal("xyz", &[]), format!("there is no built-in kernel 'xyz'; {known}"));
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_nearest_name_and_the_list() {
        assert_eq!(
            refusal("chase", &[("foot-print", "1 MB")]),
            "kernel chase has no parameter 'foot-print' (did you mean footprint?); it has footprint, chains, steps, \
             work, skip, load_values"
        );
    }

    #[test]
    fn a_bad_value_is_refused_with_the_expected_values() {
        for (settings, expected) in [
            (("footprint", "big"), "footprint = 'big' is not a size from 4 KB to 64 GB, as in \"64 MB\""),
            (("footprint", "1 KB"), "footprint = '1 KB' is not a size from 4 KB to 64 GB, as in \"64 MB\""),
            (("chains", "13"), "chains = '13' is not a whole number of chains from 1 to 12"),
            (("load_values", "perhaps"), "load_values = 'perhaps' is not one of no, yes"),
        ] {
            assert_eq!(refusal("chase", &[settings]), format!("kernel chase: {expected}"));
        }
    }

    #[test]
    fn every_default_is_accepted() {
        for kernel in list() {
            assert!(kernel.settings(&BTreeMap::new()).is_ok(), "{}", kernel.name);
        }
    }
}
