//! Records of page chunks: the slot of each line of a page chunk, and the numbers under which the page chunk is
//! encrypted. Records are stored in memory, and a walk up a tree fetches and verifies them (the page information of
//! CryptoPage, Duc and Keryell, ACSAC 2006, sections 2.3 and 2.4).
//!
//! ```text
//! bring:   in the Merkle cache ─ decrypt the record
//!          else fetch the record, its sibling and the pairs of nodes above ─┬ hash each ─ compare from the root down ─ the record
//!                                                                           └ decrypt the record
//! renew:   draw everything anew ─ encrypt ─ bring the path ─ hash it again ─ store record and path ─ the root
//! ```
//! The content of a record is defined in [`content`], its bytes in memory in [`leaf`], and the tree that vouches for it in
//! [`tree`]. This folder does not depend on lines of data, counters or caches.

mod content;
mod hashes;
mod instructions;
mod leaf;
mod merkle_cache;
mod node;
mod operating_system;
mod path;
mod tree;
mod tree_slots;
mod verification;
mod vouched;

pub use content::{Record, SLOTS};
pub use hashes::HashCharge;
pub use leaf::LEAF_LINES;
pub use merkle_cache::MerkleCacheDesign;
pub use tree::WalkDesign;
pub use verification::{HashCheck, LoadNode, NodeName};
pub use vouched::MerkleHits;

use crate::layout::Layout;
use crate::planted::{PageChunkBug, PlantedBug};
use crate::slot::Slot;
use crate::verbs::{AesUnits, Blocks, Fault, Known, Purpose, Verbs};
use crypto::{BLOCK_BYTES, BlockCipher, Key};
use instructions::RecordInstructions;
use leaf::{Leaf, RecordCipher};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tree::PairTree;
use units::random::Random;

/// The blocks of a record that is decrypted.
const OPENING: Blocks = Blocks::parallel(BlockCipher::Aes, Purpose::Opening, RecordCipher::BLOCKS);

/// All records of a memory, with the state on the chip that vouches for them.
pub struct Records {
    tree: PairTree,
    instructions: RecordInstructions,
    cipher: Rc<RecordCipher>,
    /// The chip's random numbers.
    draws: RefCell<Random>,
    /// Seed that first records are drawn from.
    first: u64,
    planted: PlantedBug,
}

/// The records in the Merkle cache, for other parts of the chip.
pub struct CachedRecords<'a>(&'a Records);

impl CachedRecords<'_> {
    /// Walks that the Merkle cache made unnecessary or shorter so far.
    pub fn hits(&self) -> MerkleHits {
        self.0.tree.vouched().hits()
    }

    /// Walks so far to records that the cache did not have.
    pub fn walks(&self) -> u64 {
        self.0.tree.vouched().walks()
    }

    /// Number of entries of the cache in use.
    pub fn used_entries(&self) -> usize {
        self.0.tree.vouched().used_entries()
    }

    /// Returns the record of a page chunk, if the cache has it. Takes no time, and does not update replacement state.
    pub fn peek(&self, chunk: u64) -> Option<Record> {
        let leaf = self.0.tree.vouched().peek(chunk)?;
        if leaf.is_blank() { Some(self.0.first(chunk)) } else { self.0.opened(chunk, &leaf).ok() }
    }

    /// Drops all records, and keeps the nodes.
    pub fn drop_all(&self) {
        self.0.tree.vouched().forget_records();
    }
}

/// A record that is drawn and not stored.
pub struct FreshRecord {
    /// Content of the record.
    pub record: Record,
    vector: [u8; BLOCK_BYTES],
}

impl Records {
    /// Returns the records of `layout`, in a blank memory, encrypted under `key`.
    ///
    /// # Panics
    /// If the layout has no records.
    pub fn new(layout: &Layout, key: &Key, draws: Random, walks: WalkDesign, planted: PlantedBug) -> Records {
        let tree = PairTree::new(layout, walks, planted);
        let instructions = RecordInstructions::new(walks.verification_buffer, planted);
        let first = u128::from_le_bytes(key.0) as u64;
        Records {
            tree,
            instructions,
            cipher: Rc::new(RecordCipher::new(key)),
            draws: RefCell::new(draws),
            first,
            planted,
        }
    }

    /// Returns the interface to the records in the Merkle cache.
    pub fn merkle_cache(&self) -> CachedRecords<'_> {
        CachedRecords(self)
    }

    /// Number of hashes of the tree computed so far.
    pub fn hashed(&self) -> u64 {
        self.tree.hashed()
    }

    /// Fetches the record of a page chunk, by its number, and checks it up to the root. Returns `None` if the record was never
    /// written.
    ///
    /// # Errors
    /// [`Fault::Tree`] if the record or the path above it is not as it was written.
    pub async fn bring<V: Verbs>(&self, verbs: &V, chunk: u64) -> Result<Option<Record>, Fault> {
        let opened = Cell::new(None);
        let begin = |_: &Leaf| opened.set(Some(verbs.pad(AesUnits::Controller, OPENING, Known::default())));
        let leaf = self.tree.read(verbs, chunk, begin).await?;
        if leaf.is_blank() {
            return Ok(None);
        }
        if let Some(passing) = opened.take() {
            verbs.await_blocks(passing).await;
        }
        self.opened(chunk, &leaf).map(Some)
    }

    /// Decrypts a leaf that was checked.
    fn opened(&self, chunk: u64, leaf: &Leaf) -> Result<Record, Fault> {
        self.cipher.open(leaf).ok_or(Fault::Tree(self.tree.slot_of(chunk)))
    }

    /// Returns a copy of the records, between two accesses.
    pub fn twin(&self) -> Records {
        Records {
            tree: self.tree.clone(),
            instructions: self.instructions.clone(),
            cipher: Rc::clone(&self.cipher),
            draws: self.draws.clone(),
            ..*self
        }
    }

    /// Waits until all walks have ended, and blocks new walks until the returned guard is dropped.
    pub async fn alone<'a, V: Verbs>(&self, verbs: &'a V) -> V::Guard<'a> {
        self.tree.alone(verbs).await
    }

    /// Calls `name` with each slot that a walk to the record of a page chunk would fetch now.
    pub fn name_fetched(&self, chunk: u64, name: impl FnMut(Slot)) {
        self.tree.name_fetched(chunk, name);
    }

    /// Empties the Merkle cache and the verification buffer, as for another process.
    pub fn forget_nodes(&self) {
        if !self.planted.has(PageChunkBug::MerkleCacheKept) {
            self.tree.vouched().forget();
        }
        if !self.planted.has(PageChunkBug::VerificationBufferKept) {
            self.instructions.forget();
        }
    }

    /// Returns the record of a page chunk that was never written, which the chip derives from its key.
    pub fn first(&self, chunk: u64) -> Record {
        Record::draw(&mut Random::for_purpose(self.first, chunk))
    }

    /// Draws a completely new record for a page chunk, and stores it with the path above it. `before` is the record of the page
    /// chunk until now.
    ///
    /// # Errors
    /// Same errors as [`Records::store`].
    pub async fn renew<V: Verbs>(&self, verbs: &V, chunk: u64, before: Option<&Record>) -> Result<Record, Fault> {
        let drawn = self.draw(before);
        self.store(verbs, chunk, &drawn, || Ok(())).await?;
        Ok(drawn.record)
    }

    /// Stores the record of a page chunk with the path above it, unless `may_commit` refuses when both are computed.
    ///
    /// # Errors
    /// [`Fault::Tree`] if the path above it is not as it was written, and the errors of `may_commit`; then the record stays.
    pub async fn store<V: Verbs>(
        &self,
        verbs: &V,
        chunk: u64,
        drawn: &FreshRecord,
        may_commit: impl Fn() -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let sealing = Blocks::chained(BlockCipher::Aes, Purpose::Sealing, RecordCipher::BLOCKS);
        verbs.await_blocks(verbs.pad(AesUnits::Controller, sealing, Known::default())).await;
        let early = self.planted.has(PageChunkBug::VerificationBufferEmptiedEarly);
        if early {
            self.instructions.forget();
        }
        self.tree.write(verbs, chunk, self.cipher.seal(&drawn.record, &drawn.vector), may_commit).await?;
        if !early && !self.planted.has(PageChunkBug::VerificationBufferStale) {
            // The buffer is emptied at the moment of the write, and completely: a missing parent would raise the exception for its
            // children in the buffer.
            self.instructions.forget();
        }
        Ok(())
    }

    /// Draws a record and an initial vector. `before` is the record of the page chunk until now.
    pub fn draw(&self, before: Option<&Record>) -> FreshRecord {
        let mut draws = self.draws.borrow_mut();
        let mut record = Record::draw(&mut draws);
        let mut vector = [0; BLOCK_BYTES];
        vector.chunks_exact_mut(8).for_each(|half| half.copy_from_slice(&draws.word().to_le_bytes()));
        if self.planted.has(PageChunkBug::RecordVectorRepeats) {
            vector = [7; BLOCK_BYTES];
        }
        if let Some(before) = before {
            record = record.weakened(before, self.planted);
        }
        FreshRecord { record, vector }
    }
}
