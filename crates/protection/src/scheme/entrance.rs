//! Entrance of reads and writes at the controller. Here they part: moving lines, software without the tenant's keys, and
//! all other accesses.

use super::Scheme;
use super::access::DataAccess;
use super::owner::has_other_keys;
use super::read::early::PredictedFetch;
use crate::ownership::Asker;
use crate::verbs::Verbs;
use units::{Line, LineAddr, Word};

impl Scheme {
    /// Like [`Scheme::read`], for a reader that requests this word first. No L2 has begun any part of the read when the
    /// request arrives at the controller.
    pub async fn read_at_controller<V: Verbs>(&self, verbs: &V, line: LineAddr, word: Word) {
        read(DataAccess { word, ..DataAccess::new(self, verbs, line) }, Asker::tenant(line)).await;
    }

    /// Writes a line as its tenant.
    pub async fn write<V: Verbs>(&self, verbs: &V, line: LineAddr, plaintext: &Line) {
        self.write_as(verbs, line, plaintext, Asker::tenant(line)).await;
    }

    /// Reads a line for this software: releases its plaintext, or reports a fault. In memory with owners, software
    /// other than the tenant reads ciphertext.
    pub async fn read_as<V: Verbs>(&self, verbs: &V, line: LineAddr, asker: Asker) {
        read(DataAccess::new(self, verbs, line), asker).await;
    }

    /// Writes a line for an asker. In memory with owners, the controller stores the content as ciphertext if the software
    /// is not the tenant.
    pub async fn write_as<V: Verbs>(&self, verbs: &V, line: LineAddr, content: &Line, asker: Asker) {
        if let Some(moving) = &self.moving {
            return Box::pin(moving.write(verbs, line, content)).await;
        }
        let access = DataAccess::new(self, verbs, line);
        let outcome = match has_other_keys(self, asker) {
            true => Box::pin(access.write_without_key(content, asker)).await,
            false => access.write(content, asker).await,
        };
        self.finish(verbs, outcome).await;
    }
}

async fn read<V: Verbs>(access: DataAccess<'_, V>, asker: Asker) {
    if let Some(moving) = &access.scheme.moving {
        return Box::pin(moving.read(access.verbs, access.line())).await;
    }
    if has_other_keys(access.scheme, asker) {
        let outcome = Box::pin(access.read_without_key(asker)).await;
        return access.scheme.finish(access.verbs, outcome).await;
    }
    let early = PredictedFetch::default();
    let outcome = access.read(asker, None, &early).await;
    access.scheme.finish(access.verbs, outcome).await;
}
