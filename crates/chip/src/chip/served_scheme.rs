//! Protection scheme that the memory controller runs, as the chip knows it: the chip notifies the scheme of displaced
//! metadata, and the scheme reports tampering.

use protection::planted::ChipBug;
use protection::scheme::Scheme;
use protection::verbs::{Fault, Slot};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// Scheme of the memory controller, and the tampering that it has reported.
#[derive(Default)]
pub struct ServedScheme {
    scheme: RefCell<Weak<Scheme>>,
    fault: Cell<Option<Fault>>,
}

impl ServedScheme {
    /// Names the scheme to notify when data displaces a metadata line.
    pub fn serve(&self, scheme: &Rc<Scheme>) {
        self.scheme.replace(Rc::downgrade(scheme));
    }

    fn scheme(&self) -> Option<Rc<Scheme>> {
        self.scheme.borrow().upgrade()
    }

    /// Notifies the scheme of displaced metadata, if there is any.
    pub(super) fn displaced(&self, metadata: Option<Slot>) {
        let Some(slot) = metadata else { return };
        if let Some(served) = self.scheme()
            && let Some(scheme) = served.fixed()
        {
            scheme.on_chip(|chip| chip.caches.displaced(slot));
        }
    }

    /// Returns true if the chip has this weakness. Without the feature `planted-bugs`, the result is false.
    pub(crate) fn has_planted(&self, bug: ChipBug) -> bool {
        self.scheme().is_some_and(|scheme| scheme.planted.has(bug))
    }

    /// Notes tampering that the scheme reports.
    pub(super) fn report(&self, fault: Fault) {
        self.fault.set(self.fault.get().or(Some(fault)));
    }

    /// First tampering that was reported, if any.
    pub fn fault_reported(&self) -> Option<Fault> {
        self.fault.get()
    }
}
