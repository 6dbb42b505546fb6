//! What a program costs the host, seen from elsewhere while the simulation waits for it.

use std::io;
use std::sync::Arc;
use wire::host::Work;
use wire::ring::Ring;

/// Looks at what QEMU does for a program.
#[derive(Clone)]
pub struct Observer(Arc<Ring>);

impl Observer {
    /// Looks at the ring that a program writes to.
    pub fn of(ring: &Ring) -> io::Result<Observer> {
        let path = ring.path().unwrap_or_default();
        Ok(Observer(Arc::new(Ring::open(path.as_os_str())?)))
    }

    /// What QEMU is busy with for long, while it executes nothing, and for how many bytes of the program's memory.
    pub fn busy(&self) -> Option<(Work, u64)> {
        self.0.host().busy()
    }

    /// The bytes that the program was ended for, since the host has no memory to reserve them.
    pub fn refused(&self) -> Option<u64> {
        self.0.host().refused()
    }
}
