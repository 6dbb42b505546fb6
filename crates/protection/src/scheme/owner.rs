//! Access by somebody: the owner table is asked before memory is.
//!
//! A processor asks it when it walks the page tables, so it is asked first here too, and not while the line is on its way.
//! Its lines share the cache of counters, which are per page as well.

use super::Scheme;
use super::early::Early;
use crate::ownership::{Asker, Entry, LINES_PER_TABLE_LINE, Owner, Ownership};
use crate::planted::Bug;
use crate::slot::Kind;
use crate::verbs::{Exit, Fault, Plaintext, Role, Verbs, Wanted};
use units::{Line, LineAddr};

impl Scheme {
    /// Reads a line as somebody: releases its plaintext, or reports why not. What other software than the tenant reads of
    /// memory with owners is ciphertext.
    pub async fn read_as<V: Verbs>(&self, verbs: &V, line: LineAddr, asker: Asker) {
        let outcome = match self.has_other_keys(asker) {
            true => self.read_without_key(verbs, line, asker).await,
            false => self.try_read(verbs, line, asker, None, &Early::default()).await,
        };
        self.finish(verbs, outcome).await;
    }

    /// Writes a line as somebody. What other software than the tenant writes to memory with owners is taken as ciphertext.
    pub async fn write_as<V: Verbs>(&self, verbs: &V, line: LineAddr, content: &Line, asker: Asker) {
        let outcome = match self.has_other_keys(asker) {
            true => self.write_without_key(verbs, line, content, asker).await,
            false => self.try_write(verbs, line, content, asker).await,
        };
        self.finish(verbs, outcome).await;
    }

    /// Whether somebody does without the tenant's keys.
    fn has_other_keys(&self, asker: Asker) -> bool {
        self.layout.region(Kind::Owners).is_some() && asker.owner != Owner::TENANT
    }

    async fn read_without_key<V: Verbs>(&self, verbs: &V, line: LineAddr, asker: Asker) -> Result<(), Fault> {
        let _line = self.lock_line(verbs, line).await;
        if self.ownership == Ownership::PagesHidden {
            self.admit(verbs, line, asker).await?;
        }
        let bytes = verbs.fetch(self.layout.data_slot(line).slot(), Role::Data, Wanted::Line).await.examine();
        verbs.release(line, Plaintext { bytes, verified: false }, Exit::Controller);
        Ok(())
    }

    async fn write_without_key<V: Verbs>(
        &self,
        verbs: &V,
        line: LineAddr,
        content: &Line,
        asker: Asker,
    ) -> Result<(), Fault> {
        let _line = self.lock_line(verbs, line).await;
        self.admit(verbs, line, asker).await?;
        verbs.store(self.layout.data_slot(line).slot(), Role::Data, (*content).into()).await;
        Ok(())
    }

    /// The hypervisor gives the page of a line to an owner, as one of its pages. Whoever gets one must accept it before it is
    /// of any use, and tenants here never accept another page than those that they have since the machine started.
    pub async fn assign<V: Verbs>(&self, verbs: &V, line: LineAddr, to: Asker) {
        let Some(table) = self.layout.region(Kind::Owners) else { return };
        let entry = Entry { owner: to.owner, guest_page: to.guest_page, validated: false };
        let slot = table.slot(line.0 / LINES_PER_TABLE_LINE);
        let outcome = self.metadata.edit(verbs, slot, Role::Owner, |table| entry.write(table, line)).await;
        self.finish(verbs, outcome).await;
    }

    /// Whether somebody may ask for a line. The line's lock must be held, so that accesses stay in their order.
    pub(super) async fn admit<V: Verbs>(&self, verbs: &V, line: LineAddr, asker: Asker) -> Result<(), Fault> {
        let Some(table) = self.layout.region(Kind::Owners) else { return Ok(()) };
        let slot = table.slot(line.0 / LINES_PER_TABLE_LINE);
        let entry = Entry::read(&self.metadata.get(verbs, slot, Role::Owner).await?, line);
        let unchecked = self.planted.has(Bug::GuestPageUnchecked);
        let asker = if unchecked { Asker { guest_page: entry.guest_page, ..asker } } else { asker };
        if entry.admits(asker) { Ok(()) } else { Err(Fault::Refused(line)) }
    }

    /// The machine's own tenant, asking for what it has since the machine started.
    pub(super) fn tenant(line: LineAddr) -> Asker {
        Asker::of(Owner::TENANT, line)
    }
}
