//! The designs that a sweep goes over: all, or one of each class where a change is tried out (`make check`). The tests of `runner`
//! have this file as well.

use catalogue::{Design, designs};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The variable that says which, and the values that ask for all of them whatever it takes, and for one of each class.
pub const SWEEPS: &str = "CASEMATE_SWEEPS";
pub const ALL: &str = "all";
const ONE_OF_EACH_CLASS: &str = "one-of-each-class";

/// The designs to sweep over.
pub fn swept() -> Vec<Design> {
    match std::env::var(SWEEPS) {
        Err(std::env::VarError::NotPresent) => designs(),
        Ok(value) if value == ALL => designs(),
        Ok(value) if value == ONE_OF_EACH_CLASS => one_of_each_class(),
        other => panic!("{SWEEPS} is {other:?}: expected \"{ONE_OF_EACH_CLASS}\", \"{ALL}\", or that it is not set"),
    }
}

/// Whether no sweep leaves a design out, whatever it takes.
pub fn every_one() -> bool {
    std::env::var(SWEEPS).is_ok_and(|value| value == ALL)
}

/// Of these, every eighth, from another one for each number: eight in a row meet all. All with `CASEMATE_SWEEPS=all`.
pub fn an_eighth<T>(designs: Vec<T>, number: u64) -> Vec<T> {
    let few = if every_one() { 1 } else { 8 };
    designs.into_iter().skip((number % few) as usize).step_by(few as usize).collect()
}

/// The number by which tests that draw nothing choose their eighth: `CASEMATE_SHARE`, which `.ci/run` counts up from commit to
/// commit, else the seed of `make test SEED=7`, else 1.
pub fn share_of_tests() -> u64 {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    number("CASEMATE_SHARE").or_else(|| number("PROPTEST_RNG_SEED")).unwrap_or(1)
}

/// Works on each of these, as many at a time as there are processors: a sweep is longer than what is left when it begins.
///
/// # Panics
/// If the work on any does.
pub fn side_by_side<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().ok()?.next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| std::iter::from_fn(next).for_each(&work));
        }
    });
}

/// The first design of each class.
fn one_of_each_class() -> Vec<Design> {
    let mut classes = BTreeSet::new();
    designs().into_iter().filter(|design| classes.insert(design.design_class.clone())).collect()
}

#[test]
fn one_of_each_class_leaves_no_class_out() {
    let classes = |designs: Vec<Design>| -> Vec<String> {
        let mut classes: Vec<_> = designs.into_iter().map(|design| design.design_class).collect();
        classes.sort_unstable();
        classes
    };
    let mut all = classes(designs());
    all.dedup();
    assert_eq!(classes(one_of_each_class()), all);
    assert!(all.len() >= 7, "{all:?}");
}
