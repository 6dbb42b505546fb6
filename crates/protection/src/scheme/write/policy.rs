//! Choice of the write policy: in place, in a tuple, or through the persist buffer.

use super::cached::outdate_root;
use super::reshape::reshape;
use super::tuple::Tuple;
use super::{Write, await_verdicts};
use crate::ownership::Asker;
use crate::scheme::FixedScheme;
use crate::scheme::access::DataAccess;
use crate::verbs::{Fault, Verbs};
use units::{Line, LineAddr};

impl<V: Verbs> DataAccess<'_, V> {
    /// Writes the line, in place or in a tuple.
    pub(in crate::scheme) async fn write(self, plaintext: &Line, asker: Asker) -> Result<(), Fault> {
        let DataAccess { scheme, verbs, .. } = self;
        verbs.come_in().await;
        if scheme.persistence.has_buffer() {
            return Box::pin(through_buffer(scheme, verbs, self.line(), plaintext)).await;
        }
        if scheme.persistence.is_in_tuples() {
            Box::pin(Tuple::new(scheme, verbs).write(self.line(), plaintext)).await?;
            return reshape(scheme, verbs).await;
        }
        let _line = self.lock_line().await;
        self.admit(asker).await?;
        await_verdicts(scheme, verbs, self.line()).await?;
        outdate_root(scheme, verbs);
        Write::new(self, plaintext).write_immediately().await
    }
}

/// Writes a line into the persist buffer, and drains its entry at once.
async fn through_buffer<V: Verbs>(
    scheme: &FixedScheme,
    verbs: &V,
    line: LineAddr,
    plaintext: &Line,
) -> Result<(), Fault> {
    Tuple::new(scheme, verbs).accept(line, || *plaintext).await?;
    Tuple::new(scheme, verbs).drain(line).await?;
    reshape(scheme, verbs).await
}
