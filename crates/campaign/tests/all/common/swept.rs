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
