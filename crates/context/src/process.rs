//! Number of a secure process.

use std::fmt;

/// Number that the processor gives to a process when it admits it. It is never given again, until the processor is reset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessNumber(pub u64);

impl fmt::Display for ProcessNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.0)
    }
}
