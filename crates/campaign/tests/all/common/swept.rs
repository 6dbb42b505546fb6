//! Designs of a sweep: all, or one of each class for a quick check of a change (`make check`). The tests of `runner` include this
//! file as well.

use catalogue::{Design, designs};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Variable that selects the designs, and its values for all designs at any cost and for one of each class.
pub const SWEEPS: &str = "CASEMATE_SWEEPS";
pub const ALL: &str = "all";
const ONE_OF_EACH_CLASS: &str = "one-of-each-class";

/// Returns the designs to sweep over.
pub fn swept() -> Vec<Design> {
    match std::env::var(SWEEPS) {
        Err(std::env::VarError::NotPresent) => designs(),
        Ok(value) if value == ALL => designs(),
        Ok(value) if value == ONE_OF_EACH_CLASS => one_of_each_class(),
        other => panic!("{SWEEPS} is {other:?}: expected \"{ONE_OF_EACH_CLASS}\", \"{ALL}\", or that it is not set"),
    }
}

/// Returns true if sweeps must cover every design, at any cost.
pub fn every_one() -> bool {
    std::env::var(SWEEPS).is_ok_and(|value| value == ALL)
}

/// Returns every eighth design, with an offset for each number: eight consecutive numbers cover all. `CASEMATE_SWEEPS=all` returns
/// all.
pub fn an_eighth<T>(designs: Vec<T>, number: u64) -> Vec<T> {
    let few = if every_one() { 1 } else { 8 };
    designs.into_iter().skip((number % few) as usize).step_by(few as usize).collect()
}

/// Returns the number by which tests without random seeds choose their eighth. This is `CASEMATE_SHARE`, which `.ci/run`
/// increments from commit to commit, else the seed of `make test SEED=7`, else 1.
pub fn share_of_tests() -> u64 {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    number("CASEMATE_SHARE").or_else(|| number("PROPTEST_RNG_SEED")).unwrap_or(1)
}

/// Runs `work` on each of these items, as many at a time as the machine has processors. A sweep takes longer than the remaining
/// tests when it begins, so that other cores would be idle.
///
/// # Panics
/// If the work on any item panics.
pub fn side_by_side<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let items = Mutex::new(items.into_iter());
    let next = || items.lock().ok()?.next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| std::iter::from_fn(next).for_each(&work));
        }
    });
}

/// Returns the first design of each class.
fn one_of_each_class() -> Vec<Design> {
    let mut classes = BTreeSet::new();
    designs().into_iter().filter(|design| classes.insert(design.design_class.clone())).collect()
}

#[test]
fn the_list_of_one_design_per_class_covers_every_class() {
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
