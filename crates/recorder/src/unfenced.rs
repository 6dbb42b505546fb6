//! Lines that a thread has sent towards memory since its last fence.

/// Flushes of a thread that no fence has waited for, and its combined stores past the caches.
#[derive(Default)]
pub struct Unfenced {
    /// True if the thread has flushed a line since its last fence.
    pub is_flushed: bool,
    /// Line of the combined stores past the caches, not flushed yet.
    pub combined: Option<u64>,
    /// Instructions to execute until QEMU makes no more steps.
    pub steps: u16,
}
