//! Fetch of a group of lines: the lines under one tag arrive one after the other, and the authentication code processes
//! each block as it arrives. All slots arrive in the order of the code, or the requested slot arrives before the others.
//!
//! Each memory channel keeps the order. Its controller transfers no slot before an earlier one of the group, also if a
//! DRAM row ends in the group ([`ReadGroup`]).

use super::page_chunk::{Group, SLOTS_PER_TAG_MAX, in_chunk, narrowed, widened};
use super::slot_access::SlotAccess;
use crate::record::Record;
use crate::slot::{Role, Untrusted};
use crate::verbs::{AesUnits, Arriving, Blocks, Known, Passing, Purpose, Verbs, Wanted};
use arrayvec::ArrayVec;
use crypto::{BLOCK_BYTES, BlockCipher, PAGE_CHUNK_LINE_BLOCKS, PAGE_CHUNK_LINE_BYTES, PageChunkCipher};
use machine::dram::ReadGroup;
use serde::{Deserialize, Serialize};
use sim::join_all;
use std::cell::Cell;
use std::future::poll_fn;
use std::iter;
use std::task::Poll;
use strum::VariantArray;
use units::{Line, Word, Words};

/// Bytes of a line with the tag behind it.
const BURST_BYTES: usize = PAGE_CHUNK_LINE_BYTES + BLOCK_BYTES;

/// Slot that the controller fetches first from a group of slots under one tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum FirstSlot {
    /// The first slot of the group. All arrive in the order of the code.
    #[default]
    GroupOrder,
    /// The slot of the requested line, then the others in the order of the code.
    Requested,
}

/// Order in which the slots of a group are fetched.
#[derive(Clone, Copy)]
pub(super) struct FetchOrder {
    /// Number of the fetch, for the memory controller.
    pub number: ReadGroup,
    /// Position in the group of the slot that is fetched first; the others follow in order.
    pub first: usize,
}

impl FetchOrder {
    /// Returns the positions of a group of `slots` slots.
    fn positions(self, slots: usize) -> impl Iterator<Item = usize> {
        let first = self.first;
        iter::once(first).chain((0..slots).filter(move |position| *position != first))
    }
}

/// Contents of the slots of a group.
pub(super) type Contents = ArrayVec<Untrusted, SLOTS_PER_TAG_MAX>;

/// Begins the work that needs only the record: the pads of `lines` lines and the first block of a code.
pub(super) fn begin<V: Verbs>(verbs: &V, lines: usize) -> Passing {
    let blocks = Blocks::parallel(BlockCipher::Aes, Purpose::Nonce, (lines * PAGE_CHUNK_LINE_BLOCKS + 1) as u32);
    verbs.pad(AesUnits::Controller, blocks, Known::default())
}

/// Computes and awaits one block of a chained authentication code, which begins when the block before it is known.
pub(super) async fn link<V: Verbs>(verbs: &V, before: Known) {
    let link = Blocks::chained(BlockCipher::Aes, Purpose::Tag, 1);
    verbs.await_blocks(verbs.pad(AesUnits::Controller, link, before)).await;
}

/// A group of slots that is fetched.
pub(super) struct GroupOpening<'a, V> {
    verbs: &'a V,
    group: &'a Group,
    record: &'a Record,
    /// Cipher of the group, with pads and H(0) on their way; `None` for lines that are stored as plaintext.
    cipher: Option<(&'a PageChunkCipher, Passing)>,
    /// Access of a permutation; `None` for a fill.
    permutation: Option<SlotAccess<'a>>,
    /// Arrival of each slot, set when its first block has arrived.
    arrivals: [Cell<Option<Arriving>>; SLOTS_PER_TAG_MAX],
}

impl<'a, V: Verbs> GroupOpening<'a, V> {
    /// Begins the work that needs only the record, to decrypt `decrypted` lines.
    pub fn begin(
        verbs: &'a V,
        (group, record): (&'a Group, &'a Record),
        cipher: Option<&'a PageChunkCipher>,
        decrypted: usize,
    ) -> GroupOpening<'a, V> {
        let cipher = cipher.map(|cipher| (cipher, begin(verbs, decrypted)));
        GroupOpening { verbs, group, record, cipher, permutation: None, arrivals: Default::default() }
    }

    /// Returns the opening as a part of a permutation, with this access to the slots.
    pub fn by(self, permutation: SlotAccess<'a>) -> GroupOpening<'a, V> {
        GroupOpening { permutation: Some(permutation), ..self }
    }

    /// Fetches all slots in this order, until the first block of each has arrived.
    pub async fn fetch(&self, order: FetchOrder) {
        let first_block = Wanted::piece(Word::FIRST, BLOCK_BYTES);
        let fetch = async |position: usize, wanted: Wanted| {
            let slot = self.group[position].slot();
            let fetch = self.verbs.fetch(slot, Role::Data, wanted);
            let arriving = match self.permutation {
                Some(access) => access.transfer(self.verbs, slot, fetch).await,
                None => fetch.await,
            };
            self.arrivals[position].set(Some(arriving));
        };
        match self.group.len() {
            1 => fetch(0, first_block).await,
            slots => {
                let in_order = first_block.in_group(order.number);
                drop(join_all(order.positions(slots).map(|position| fetch(position, in_order))).await);
            }
        }
    }

    /// Waits for the first block of a slot.
    async fn arrival(&self, position: usize) -> Arriving {
        poll_fn(|_| self.arrivals[position].get().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Waits for bytes of a slot.
    async fn bytes(&self, position: usize, from: usize, bytes: usize) -> Untrusted {
        let Arriving { content, beats } = self.arrival(position).await;
        self.verbs.await_words(beats, Words::with_bytes(from, bytes)).await;
        content
    }

    /// Returns a line of the group, when it has arrived and is decrypted.
    pub async fn text(&self, position: usize) -> Line {
        let Some((cipher, begun)) = self.cipher else {
            return widened(&narrowed(&self.bytes(position, 0, PAGE_CHUNK_LINE_BYTES).await.examine()));
        };
        self.arrival(position).await;
        self.verbs.await_blocks(begun).await;
        let mut text = narrowed(&self.bytes(position, 0, PAGE_CHUNK_LINE_BYTES).await.examine());
        cipher.apply_pad(self.record.pad_number(), in_chunk(self.group[position]), &mut text);
        self.verbs.xor().await;
        widened(&text)
    }

    /// Returns whether the tag equals the code of the fetched content, once that is computed; `code` computes it. Lines that are stored
    /// as plaintext have no tag and are always genuine.
    pub async fn is_genuine(&self, code: impl FnOnce(&PageChunkCipher, &Contents) -> u128) -> bool {
        let Some((cipher, begun)) = self.cipher else { return true };
        for position in 0..self.group.len() {
            for block in 0..PAGE_CHUNK_LINE_BLOCKS {
                self.bytes(position, block * BLOCK_BYTES, BLOCK_BYTES).await;
                link(self.verbs, begun.known()).await;
            }
        }
        let last = self.group.len() - 1;
        let tag = self.bytes(last, PAGE_CHUNK_LINE_BYTES, BURST_BYTES - PAGE_CHUNK_LINE_BYTES).await.spare_bits();
        tag == code(cipher, &self.contents())
    }

    /// Returns the contents that have arrived.
    pub fn contents(&self) -> Contents {
        let arrivals = self.arrivals.iter().take(self.group.len());
        arrivals.map(|arrival| arrival.get().map_or(Untrusted::BLANK, |arriving| arriving.content)).collect()
    }
}
