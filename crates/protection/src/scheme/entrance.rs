//! Entrance of reads and writes at the controller. Here software without the tenant's keys parts from all other
//! accesses.

use super::FixedScheme;
use super::access::DataAccess;
use super::owner::has_other_keys;
use super::read::early::PredictedFetch;
use crate::ownership::Asker;
use crate::verbs::Verbs;
use std::future::Future;
use units::{Line, LineAddr};

impl FixedScheme {
    /// Reads a line for this software: releases its plaintext, or reports a fault. In memory with owners, software
    /// other than the tenant reads ciphertext.
    pub fn read_as<'a, V: Verbs>(&'a self, verbs: &'a V, line: LineAddr, asker: Asker) -> impl Future<Output = ()> {
        read(DataAccess::new(self, verbs, line), asker)
    }

    /// Writes a line for an asker. In memory with owners, the controller stores the content as ciphertext if the software
    /// is not the tenant.
    pub async fn write_as<V: Verbs>(&self, verbs: &V, line: LineAddr, content: &Line, asker: Asker) {
        let access = DataAccess::new(self, verbs, line);
        let outcome = match has_other_keys(self, asker) {
            true => Box::pin(access.write_without_key(content, asker)).await,
            false => access.write(content, asker).await,
        };
        self.finish(verbs, outcome).await;
    }
}

/// Reads the line for this software, without any part of the read begun before.
pub(super) async fn read<V: Verbs>(access: DataAccess<'_, V>, asker: Asker) {
    if has_other_keys(access.scheme, asker) {
        let outcome = Box::pin(access.read_without_key(asker)).await;
        return access.scheme.finish(access.verbs, outcome).await;
    }
    let early = PredictedFetch::default();
    let outcome = access.read(asker, None, &early).await;
    access.scheme.finish(access.verbs, outcome).await;
}
