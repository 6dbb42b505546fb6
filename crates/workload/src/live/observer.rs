//! Observes QEMU's work on the host from another thread, while the simulation waits for the program.

use std::io;
use std::sync::Arc;
use wire::host::HostWork;
use wire::ring::Ring;

/// Observer of the QEMU process of a program.
#[derive(Clone)]
pub struct QemuObserver(Arc<Ring>);

impl QemuObserver {
    /// Opens the ring that the program writes to.
    pub fn of(ring: &Ring) -> io::Result<QemuObserver> {
        let path = ring.path().unwrap_or_default();
        Ok(QemuObserver(Arc::new(Ring::open(path.as_os_str())?)))
    }

    /// Returns the long operation during which QEMU executes no instruction, and the bytes of the program's memory that
    /// it covers.
    pub fn busy(&self) -> Option<(HostWork, u64)> {
        self.0.host().busy()
    }

    /// Returns the bytes that the host could not reserve, if the recorder ended the program for this reason.
    pub fn refused(&self) -> Option<u64> {
        self.0.host().refused()
    }
}
