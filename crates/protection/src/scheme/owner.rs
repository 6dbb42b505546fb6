//! Access rights of software: the controller checks the owner table before it fetches a line.
//!
//! A processor reads the owner table when it walks the page tables. So the scheme also reads the table before the line,
//! and not in parallel with it. Lines of the table share the counter cache, because counters are looked up by page
//! as well.

use super::FixedScheme;
use super::access::DataAccess;
use crate::ownership::{Asker, Owner, Ownership, OwnershipEntry};
use crate::planted::Bug;
use crate::slot::{Kind, Slot};
use crate::verbs::{Exit, Fault, Plaintext, Role, Verbs, Wanted};
use units::{Line, LineAddr};

impl FixedScheme {
    /// Assigns the page of a line, in the name of the hypervisor, to a new owner, at an address of that owner. The new
    /// owner must accept the page before it can use it. Tenants here accept only the pages that they have had since the
    /// machine started.
    pub async fn assign<V: Verbs>(&self, verbs: &V, line: LineAddr, to: Asker) {
        let Some(slot) = self.layout.owner_slot(line) else { return };
        let entry = OwnershipEntry { owner: to.owner, guest_page: to.guest_page, validated: false };
        let outcome = self.metadata.edit(verbs, slot, Role::Owner, |table| entry.write(table, line)).await;
        self.finish(verbs, outcome).await;
    }
}

impl<V: Verbs> DataAccess<'_, V> {
    /// Refuses software that may not access the line. The caller must hold the line's lock, so that accesses stay in
    /// order.
    pub(super) async fn admit(&self, asker: Asker) -> Result<(), Fault> {
        match self.scheme.layout.owner_slot(self.line()) {
            Some(slot) => Box::pin(self.admit_by(slot, asker)).await,
            None => Ok(()),
        }
    }

    async fn admit_by(&self, slot: Slot, asker: Asker) -> Result<(), Fault> {
        let (scheme, line) = (self.scheme, self.line());
        let entry = OwnershipEntry::read(&scheme.metadata.get(self.verbs, slot, Role::Owner).await?, line);
        let unchecked = scheme.planted.has(Bug::GuestPageUnchecked);
        let asker = if unchecked { Asker { guest_page: entry.guest_page, ..asker } } else { asker };
        if entry.admits(asker) { Ok(()) } else { Err(Fault::Refused(line)) }
    }

    pub(super) async fn read_without_key(&self, asker: Asker) -> Result<(), Fault> {
        let _line = self.lock_line().await;
        if self.scheme.ownership == Ownership::PagesHidden {
            self.admit(asker).await?;
        }
        let bytes = self.fetch(Wanted::LINE).await.content.examine();
        self.verbs.release(self.line(), Plaintext { bytes, verified: false }, Exit::Controller);
        Ok(())
    }

    pub(super) async fn write_without_key(&self, content: &Line, asker: Asker) -> Result<(), Fault> {
        let _line = self.lock_line().await;
        self.admit(asker).await?;
        self.verbs.store(self.at.slot(), Role::Data, (*content).into()).await;
        Ok(())
    }
}

/// Returns true if this software accesses memory without the tenant's keys.
pub(super) fn has_other_keys(scheme: &FixedScheme, asker: Asker) -> bool {
    scheme.layout.region(Kind::Owners).is_some() && asker.owner != Owner::TENANT
}
