//! Requests of the scheme for metadata lines: read a line, change a line, write all lines back to memory.

use super::Metadata;
use super::walk::{FoundIn, Sought};
use crate::on_chip::ChipState;
use crate::slot::{Kind, Role, Slot};
use crate::verbs::{Fault, Verbs};
use units::Line;

impl Metadata {
    /// Returns the verified content of a line, and fetches the line if the chip does not hold it.
    pub async fn get<V: Verbs>(&self, verbs: &V, slot: Slot, role: Role) -> Result<Line, Fault> {
        let found = self.get_for(verbs, slot, role, Sought::Nowhere, |_| ()).await;
        found.map(|(content, _)| content)
    }

    /// Like [`Metadata::get`], but calls `arrived` as soon as the content is on the chip, or has arrived from memory and
    /// is not yet verified. The caller must not use the result of `arrived` before this function returns, and must drop
    /// the result if the function fails. Returns the content, and the location where the first look-up found the line.
    pub async fn get_for<V: Verbs>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        sought: Sought,
        arrived: impl Fn(&Line),
    ) -> Result<(Line, FoundIn), Fault> {
        let found = self.bring_sought(verbs, slot, role, sought, &arrived).await?;
        loop {
            if let Some(content) = self.on_chip(|chip| chip.get(role, slot).copied()) {
                return Ok((content, found));
            }
            self.bring_sought(verbs, slot, role, Sought::Nowhere, &arrived).await?;
        }
    }

    /// Changes a line on the chip.
    pub async fn edit<V: Verbs, R>(
        &self,
        verbs: &V,
        slot: Slot,
        role: Role,
        change: impl Fn(&mut Line) -> R,
    ) -> Result<R, Fault> {
        loop {
            self.bring(verbs, slot, role).await?;
            if let Some(result) = self.on_chip(|chip| chip.edit(role, slot).map(&change)) {
                return Ok(result);
            }
        }
    }

    /// Writes all dirty lines back and drops the clean ones, as if other lines had taken all entries of the caches.
    pub async fn flush<V: Verbs>(&self, verbs: &V) {
        for role in Kind::roles_to_flush(self.layout.levels().len()) {
            self.on_chip(|chip| chip.caches.dismiss_dirty(role, |slot| self.layout.role_and_index(slot).0 == role));
            self.write_back_leaving(verbs).await;
        }
        self.on_chip(ChipState::forget_clean);
    }
}
