//! Looking ahead on the host: what the simulator is about to touch is asked for before it is needed.
//!
//! A simulated miss is a chain of look-ups in tables that are far larger than the host's caches, each at a place that has
//! not been touched for long; the host waits for its own memory at nearly every one. But which line a miss is of is known
//! long before its last look-up. Each table has a `look_ahead` for that: a hint, which changes nothing that is simulated,
//! and costs some instructions if what it asks for is near already.

use prefetch_index::prefetch_index;

/// Asks the host for the element with this index, if there is one.
#[inline]
pub fn look_ahead<T>(data: &[T], index: usize) {
    prefetch_index(data, index);
}
