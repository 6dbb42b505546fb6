//! Programs as the machine sees them: what was executed, where it touched memory, and with which bytes.
//!
//! Every source of work speaks one language, the [`Chunk`](stream::Chunk): a live recording, a stored trace and a
//! built-in kernel cannot be told apart by the machine that runs them.

pub mod instruction;
pub mod stream;
