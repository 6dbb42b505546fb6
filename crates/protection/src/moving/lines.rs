//! The lines of page chunks in memory: decryption and verification of fetched lines, encryption and tags of stored
//! lines. Lines of HIDE are stored as plaintext.
//!
//! ```text
//! open:   pads and H(0) ─┬─ words ─ XOR ─ line
//!                        └─ first block ─ link ─ second block ─ link ─ ... ─ tag ─ compare
//! ```
//! One tag covers one slot, or two or four adjacent slots, and is stored behind the last of them. So a line is fetched together
//! with all lines under its tag, one after the other ([`opening`](super::opening)).

use super::entered::Entered;
use super::free::Free;
use super::opening::{Contents, FetchOrder, FirstSlot, GroupOpening, begin, link};
use super::page_chunk::{Group, SLOTS_PER_TAG_MAX, in_chunk, narrowed, widened};
use super::slot_access::SlotAccess;
use crate::placement::DataSlot;
use crate::planted::{PageChunkBug, PlantedBug};
use crate::record::{Record, SLOTS};
use crate::slot::{Role, Untrusted};
use crate::untimed::Untimed;
use crate::verbs::{Fault, Keystream, Known, Verbs};
use arrayvec::ArrayVec;
use crypto::{Key, PAGE_CHUNK_LINE_BLOCKS, PAGE_CHUNK_LINE_BYTES, PageChunkCipher};
use machine::dram::ReadGroup;
use sim::{join, join_all};
use std::cell::{Cell, RefCell};
use units::{Line, LineAddr, ZERO_LINE};

/// Text of each line of a group, `None` if memory does not have the line.
pub(super) type Texts = ArrayVec<Option<Line>, SLOTS_PER_TAG_MAX>;

/// Encryption and authentication of permuted lines, with their times.
pub struct PageChunkLines {
    /// Cipher of the lines; `None` for lines that are stored as plaintext.
    cipher: Option<PageChunkCipher>,
    /// Slots under one tag.
    slots_per_tag: usize,
    /// Slot that a fetch of a line reads first from a group.
    first: FirstSlot,
    /// Number of the next fetch of a group.
    fetches: Cell<ReadGroup>,
    /// Numbers of lines encrypted or decrypted so far, and of tags computed; a tag over several lines counts once for
    /// each line.
    computed: Cell<(u64, u64)>,
    planted: PlantedBug,
}

impl PageChunkLines {
    /// Returns lines that are encrypted and authenticated under the keys Ke and Km, with `slots_per_tag` slots under one tag.
    ///
    /// # Panics
    /// If these are neither one, two nor four.
    pub fn sealed(pads: &Key, codes: &Key, slots_per_tag: usize, planted: PlantedBug) -> PageChunkLines {
        assert!(matches!(slots_per_tag, 1 | 2 | SLOTS_PER_TAG_MAX), "a tag over {slots_per_tag} slots");
        PageChunkLines {
            cipher: Some(PageChunkCipher::new(pads, codes)),
            slots_per_tag,
            ..PageChunkLines::plain(planted)
        }
    }

    /// Returns lines of which a fetch reads this slot first from the slots under one tag.
    #[must_use]
    pub fn fetching(self, first: FirstSlot) -> PageChunkLines {
        PageChunkLines { first, ..self }
    }

    /// Returns lines that are stored as plaintext and are not checked.
    pub fn plain(planted: PlantedBug) -> PageChunkLines {
        let (first, fetches) = (FirstSlot::default(), Cell::new(ReadGroup::FIRST));
        PageChunkLines { cipher: None, slots_per_tag: 1, first, fetches, computed: Cell::default(), planted }
    }

    /// Returns a copy of the lines' state.
    pub fn twin(&self) -> PageChunkLines {
        let (fetches, computed) = (self.fetches.clone(), self.computed.clone());
        PageChunkLines { cipher: self.cipher.clone(), fetches, computed, ..*self }
    }

    /// Returns the numbers of lines encrypted or decrypted so far, and of tags computed.
    pub(super) fn computed(&self) -> (u64, u64) {
        self.computed.get()
    }

    fn count(&self, lines: usize, tags: usize) {
        let (lines_before, tags_before) = self.computed.get();
        if self.cipher.is_some() {
            self.computed.set((lines_before + lines as u64, tags_before + tags as u64));
        }
    }

    /// Returns whether lines are checked when they arrive.
    pub(super) fn are_checked(&self) -> bool {
        self.cipher.is_some()
    }

    /// Returns the order of the next fetch of a group, for the line at the position `requested`.
    fn next_order(&self, requested: usize) -> FetchOrder {
        let number = self.fetches.get();
        self.fetches.set(number.next());
        let first = if self.first == FirstSlot::Requested { requested } else { 0 };
        FetchOrder { number, first }
    }

    /// Number of slots under one tag.
    pub(super) fn slots_per_tag(&self) -> usize {
        self.slots_per_tag
    }

    /// Puts the start-up content of a line of a group into memory, if memory does not have the line yet. Does not overwrite forged
    /// content, which the next fetch detects.
    pub(super) fn boot<V: Verbs>(
        &self,
        verbs: &V,
        (group, record): (&Group, &Record),
        line: LineAddr,
        entered: &RefCell<Entered>,
    ) {
        let again = entered.borrow_mut().takes_again(line);
        if entered.borrow().has(line) && !again {
            return;
        }
        let mut contents: Contents = group.iter().map(|at| Free(verbs).read(at.slot())).collect();
        let nothing_is_there = contents.iter().all(Untrusted::is_blank);
        let is_genuine = || contents.last().map(Untrusted::spare_bits) == self.code((group, record), &contents);
        let Some(position) = group.iter().position(|at| at.line() == line) else { return };
        let at = group[position];
        let may_boot = again
            || nothing_is_there && !group.iter().any(|at| entered.borrow().has(at.line()))
            || self.cipher.is_some() && contents[position].examine() == ZERO_LINE && is_genuine();
        let Some(text) = may_boot.then(|| verbs.start_up(at)).flatten() else { return };
        self.spend(verbs, at, record, &text);
        contents[position] = self.encrypted(at, record, &text).into();
        self.tag((group, record), &mut contents);
        for (at, content) in group.iter().zip(contents) {
            verbs.boot(at.slot(), Role::Data, |_| content);
        }
        entered.borrow_mut().note(line);
    }

    /// Opens a line from its slot, fetched with the lines under its tag. Calls `release` when it is decrypted, before the code is
    /// compared.
    ///
    /// # Errors
    /// [`Fault::Tag`] if the fetched content differs from the content that was written under this record.
    pub(super) async fn open_line<V: Verbs>(
        &self,
        verbs: &V,
        (group, record): (&Group, &Record),
        (line, entered): (LineAddr, &RefCell<Entered>),
        release: impl FnOnce(&Line),
    ) -> Result<Line, Fault> {
        let opening = GroupOpening::begin(verbs, (group, record), self.cipher.as_ref(), 1);
        let position = group.iter().position(|at| at.line() == line).unwrap_or(0);
        let decrypt = async {
            let text = opening.text(position).await;
            release(&text);
            text
        };
        let check = opening.is_genuine(|_, contents| self.code((group, record), contents).unwrap_or(0));
        let (_, text, is_genuine) = join!(opening.fetch(self.next_order(position)), decrypt, check);
        self.count(1, 0);
        // A tag over several lines also covers blanks, for lines that memory does not have.
        let is_there = entered.borrow().has(line) && self.has_all(group, &opening.contents(), entered);
        if is_genuine && (is_there || self.cipher.is_none()) { Ok(text) } else { Err(Fault::Tag(line)) }
    }

    /// Opens all lines of a group from their slots, except for those that memory does not have yet.
    ///
    /// # Errors
    /// Same errors as [`PageChunkLines::open_line`].
    pub(super) async fn open_group<V: Verbs>(
        &self,
        verbs: &V,
        group: &Group,
        record: &Record,
        access: SlotAccess<'_>,
    ) -> Result<Texts, Fault> {
        let entered = access.entered;
        let opening = GroupOpening::begin(verbs, (group, record), self.cipher.as_ref(), group.len()).by(access);
        let decrypt = async {
            let mut texts = Texts::new();
            for position in 0..group.len() {
                texts.push(Some(opening.text(position).await));
            }
            texts
        };
        let check = opening.is_genuine(|_, contents| self.code((group, record), contents).unwrap_or(0));
        let (_, mut texts, is_genuine) = join!(opening.fetch(self.next_order(0)), decrypt, check);
        self.count(group.len(), 0);
        let has = |at: &DataSlot| entered.borrow().has(at.line());
        let contents = opening.contents();
        let nothing_is_there = contents.iter().all(Untrusted::is_blank) && !group.iter().any(has);
        let is_whole = is_genuine && self.has_all(group, &contents, entered);
        if !(nothing_is_there || is_whole) {
            return Err(Fault::Tag(group[0].line()));
        }
        for ((at, text), content) in group.iter().zip(&mut texts).zip(&contents) {
            if !has(at) && (self.cipher.is_some() || content.is_blank()) {
                *text = None;
            }
        }
        Ok(texts)
    }

    /// Returns whether the fetched content includes every line of the group that memory holds. A replayed copy from
    /// before the boot of a line lacks this line.
    fn has_all(&self, group: &Group, contents: &Contents, entered: &RefCell<Entered>) -> bool {
        let lacks = |(at, content): (&DataSlot, &Untrusted)| {
            entered.borrow().has(at.line()) && narrowed(&content.examine()) == [0; PAGE_CHUNK_LINE_BYTES]
        };
        self.cipher.is_none() || !group.iter().zip(contents).any(lacks)
    }

    /// Returns the code over the slots of a group, if lines have codes.
    fn code(&self, (group, record): (&Group, &Record), contents: &Contents) -> Option<u128> {
        let cipher = self.cipher.as_ref()?;
        self.count(0, group.len());
        let mut stored = ArrayVec::<u8, { SLOTS_PER_TAG_MAX * PAGE_CHUNK_LINE_BYTES }>::new();
        contents.iter().for_each(|content| stored.extend(narrowed(&content.examine())));
        let number = if self.planted.has(PageChunkBug::CodeWithoutRecord) { 0 } else { record.tag_number() };
        let slot = if self.planted.has(PageChunkBug::CodeWithoutSlot) { 0 } else { in_chunk(group[0]) };
        let covered =
            if self.planted.has(PageChunkBug::CodeOfFirstLine) { PAGE_CHUNK_LINE_BYTES } else { stored.len() };
        Some(cipher.code(number, slot, &stored[..covered]))
    }

    /// Returns the content for memory of a line, without its tag.
    fn encrypted(&self, at: DataSlot, record: &Record, text: &Line) -> Line {
        self.count(1, 0);
        let mut bytes = narrowed(text);
        self.cipher.iter().for_each(|cipher| cipher.apply_pad(record.pad_number(), in_chunk(at), &mut bytes));
        widened(&bytes)
    }

    /// Puts the tag behind the lines of a group, if lines have tags.
    fn tag(&self, bound: (&Group, &Record), contents: &mut Contents) {
        let tag = self.code(bound, contents);
        if let (Some(last), Some(tag)) = (contents.last_mut(), tag) {
            *last = Untrusted::with(last.examine(), tag);
        }
    }

    fn spend<V: Verbs>(&self, verbs: &V, at: DataSlot, record: &Record, text: &Line) {
        let (chunk, slot) = (at.slot().0 / SLOTS as u64, in_chunk(at));
        let pad = || Keystream::OfPageChunk { chunk, number: record.pad_number(), slot, text: *text };
        verbs.spend(at.slot(), || self.cipher.as_ref().map(|_| pad()));
    }

    /// Writes the lines of a group to their slots.
    pub(super) async fn store<V: Verbs>(
        &self,
        verbs: &V,
        group: &Group,
        record: &Record,
        texts: &[Line],
        access: SlotAccess<'_>,
    ) {
        if self.cipher.is_some() {
            verbs.await_blocks(begin(verbs, group.len())).await;
            for _ in 0..group.len() * PAGE_CHUNK_LINE_BLOCKS {
                link(verbs, Known::default()).await;
            }
        }
        let seal = |(at, text): (&DataSlot, &Line)| {
            if self.planted.has(PageChunkBug::UnusedLinesBlank) && !access.entered.borrow().has(at.line()) {
                return Untrusted::BLANK;
            }
            self.spend(verbs, *at, record, text);
            self.encrypted(*at, record, text).into()
        };
        let mut contents: Contents = group.iter().zip(texts).map(seal).collect();
        self.tag((group, record), &mut contents);
        let store =
            |at: &DataSlot, content| access.transfer(verbs, at.slot(), verbs.store(at.slot(), Role::Data, content));
        match (&group[..], &contents[..]) {
            ([at], [content]) => store(at, *content).await,
            _ => drop(join_all(group.iter().zip(contents).map(|(at, content)| store(at, content))).await),
        }
    }
}
