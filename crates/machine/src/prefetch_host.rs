//! Host prefetch: the simulator requests the host memory that it is about to touch.
//!
//! A simulated miss is a chain of look-ups in tables that are far larger than the host's caches, each at an address
//! that was not touched for a long time. Without prefetches, the host waits for its memory at nearly every look-up. But
//! the line of a simulated miss is known long before its last look-up. So each table has a `prefetch_host`: a hint that
//! does not change the simulation, and that costs only some instructions if the host caches already hold the data.

use prefetch_index::prefetch_index;

/// Prefetches the element with this index into the host caches, if it exists.
#[inline]
pub fn prefetch_host<T>(data: &[T], index: usize) {
    prefetch_index(data, index);
}
