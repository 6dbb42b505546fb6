//! Types for addresses, time and sizes, and parsers of their text forms.
//!
//! Quantities that could be confused have different types. A virtual address is not a physical one, and a line number
//! is not a byte address. A cycle count has no meaning without its clock, and a duration is not an instant. This crate
//! depends on no other crate of Casemate.

mod address;
mod byte_order_mark;
mod frequency;
mod line_length;
mod names;
pub mod random;
mod size;
mod time;
mod word;

pub use address::{LINE_BYTES, LINES_PER_PAGE, Line, LineAddr, PAGE_BYTES, PhysAddr, VirtAddr, ZERO_LINE};
pub use byte_order_mark::{wide_text, without_mark};
pub use frequency::{Frequency, ParseFrequencyError};
pub use line_length::LineLength;
pub use names::nearest;
pub use size::{Bytes, ParseBytesError};
pub use time::{Clock, Cycles, Duration, Time};
pub use word::{WORD_BYTES, WORDS_PER_LINE, Word, Words};

/// Name of this build: the cargo profile, and `-by-profile` if the compiler had counts of training runs. `release` is the
/// released program, `demo` takes half its time to build and runs more slowly, `debug` is for tests.
pub const BUILT_AS: &str = env!("BUILT_AS");
