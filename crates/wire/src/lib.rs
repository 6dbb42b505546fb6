//! What the recorder and the simulator must agree on, written once.
//!
//! The recorder lives inside QEMU and must stay small: no decoder, no simulation, no dependency but libc. The simulator
//! lives outside. Between them are the [words](word) that describe an execution, the [ring] in shared memory that
//! carries them, and the answer to which [programs](program) can be recorded at all.

pub mod encoding;
pub mod host;
pub mod launch;
pub mod process;
pub mod program;
pub mod ring;
pub mod segment;
pub mod word;
