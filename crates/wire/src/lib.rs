//! The interface of the recorder and the simulator, defined once.
//!
//! The recorder runs inside QEMU and must stay small: it contains no decoder, no simulation, and no dependency other
//! than libc. The simulator is a separate process. Recorder and simulator share the [words](word) that describe an
//! execution, the [ring] in shared memory that transfers the words, and the rule for [programs](program) that can be
//! recorded at all.

pub mod encoding;
pub mod host;
pub mod launch;
pub mod process;
pub mod program;
pub mod ring;
pub mod segment;
pub mod word;
