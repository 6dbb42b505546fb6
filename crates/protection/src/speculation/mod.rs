//! Frequent values: what lines hold most often (Shi and Lee, Computing Frontiers 2007).

mod values;

pub use values::{ValueTable, WORDS_MAX};
