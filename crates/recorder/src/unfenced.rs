//! What a thread has done to lines on their way to memory since its last fence.

/// What a thread has flushed that no fence has waited for, and what is on its way there.
#[derive(Default)]
pub struct Unfenced {
    /// Whether a line was flushed since the last fence.
    pub is_flushed: bool,
    /// The line that is stored to past the caches.
    pub combined: Option<u64>,
    /// Instructions to go until QEMU makes no steps any more.
    pub steps: u16,
}
