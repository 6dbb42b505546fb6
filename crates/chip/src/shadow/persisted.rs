//! Keeps the stores that persist buffers have not accepted yet, per core in program order, and the content of each line
//! after the accepted stores.
//!
//! The shadow runs in advance of the clock: it knows all stores that the feeds have passed. An entry of a buffer must
//! contain exactly the accepted stores. The stores of the feeds therefore wait in this part in program order. It keeps
//! a line from the first waiting store until no store to the line waits and the entry of the line has left the buffer.
//! The kept content starts as the content before those stores, and each accepted store updates it. Bytes that the
//! shadow did not know arrive with the line from memory, before a buffer can accept a store to the line.
//!
//! Stores of several cores reach the shadow in the order in which the cores execute; this order determines the results
//! of the program. The buffers may accept these stores in another order. If two cores store to the same bytes, the
//! store that was executed later determines the content, in whatever order the buffers accept the two.
//!
//! If only the pages of shared file mappings are persistent, stores to all other lines bypass the buffers, and this
//! part does not keep these lines. The same applies if only a program's heap is persistent. If a recording shows no
//! pages, a line that was once in a shared file mapping stays persistent, whatever its address is used for later.

use super::{Shadow, WHOLE, mask};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};
use workload::Persistent;
use workload::stream::PageDetail;

/// A store to one line, or a change from outside, that was not accepted yet.
struct UnacceptedStore {
    /// Number of stores and changes that the feeds passed before this one.
    number: u64,
    line: LineAddr,
    /// Bytes of the line that change; the whole line for a change from outside.
    range: Range<usize>,
    bytes: Line,
    from_outside: bool,
}

/// A line that has waiting stores or an entry in a buffer.
struct BufferedLine {
    bytes: Line,
    /// Mask of the known bytes, one bit per byte.
    known: u64,
    /// Number of stores and changes that wait for the line.
    waiting: u32,
    /// True if the line has an entry in a buffer.
    resident: bool,
    /// Numbers and byte masks of accepted stores that overtook an earlier store that still waits.
    overtaking: Vec<(u64, u64)>,
}

/// Waiting stores and kept lines of all cores.
pub(crate) struct Persisted {
    /// Waiting stores and changes per core, in program order.
    waiting: Box<[VecDeque<UnacceptedStore>]>,
    lines: FxHashMap<LineAddr, BufferedLine>,
    /// Persistent lines and the rule that selects them; `None` if all lines are persistent.
    chosen: Option<(Persistent, FxHashSet<LineAddr>)>,
    /// True if caches accept the stores instead of persist buffers. This part then keeps a line until the line is
    /// written back.
    in_caches: bool,
    /// Number of the next store or change.
    next: u64,
}

impl Persisted {
    fn of(cores: usize, persistent: Persistent) -> Persisted {
        let chosen = (!persistent.is_all()).then(|| (persistent, FxHashSet::default()));
        let waiting = (0..cores).map(|_| VecDeque::new()).collect();
        Persisted { waiting, lines: FxHashMap::default(), chosen, in_caches: false, next: 0 }
    }

    fn has(&self, line: LineAddr) -> bool {
        self.chosen.as_ref().is_none_or(|(_, lines)| lines.contains(&line))
    }

    /// Keeps the content of a line before a store of the feed, unless the line is kept already.
    fn keep(&mut self, line: LineAddr, before: (Line, u64)) {
        let (bytes, known) = before;
        self.lines.entry(line).or_insert_with(|| BufferedLine {
            bytes,
            known,
            waiting: 0,
            resident: false,
            overtaking: Vec::new(),
        });
    }

    fn wait(&mut self, core: usize, line: LineAddr, range: Range<usize>, bytes: Line, from_outside: bool) {
        if let Some(kept) = self.lines.get_mut(&line) {
            kept.waiting += 1;
            self.waiting[core].push_back(UnacceptedStore { number: self.next, line, range, bytes, from_outside });
            self.next += 1;
        }
    }

    /// Content of a kept line after the accepted stores, if all its bytes are known.
    pub(super) fn content(&self, line: LineAddr) -> Option<Line> {
        self.lines.get(&line).filter(|kept| kept.known == WHOLE).map(|kept| kept.bytes)
    }

    /// Returns the content of a kept line that the caches write back to memory, if the caches accept stores.
    pub(super) fn written_back(&mut self, line: LineAddr) -> Option<Line> {
        let content = self.lines.get(&line).filter(|_| self.in_caches)?.bytes;
        self.left(line);
        Some(content)
    }

    /// Fills the unknown bytes of a kept line from memory.
    pub(super) fn filled(&mut self, line: LineAddr, content: &Line) {
        if let Some(kept) = self.lines.get_mut(&line) {
            let unknown = (0..LINE_BYTES).filter(|byte| kept.known >> byte & 1 == 0);
            unknown.for_each(|byte| kept.bytes[byte] = content[byte]);
            kept.known = WHOLE;
        }
    }

    /// Accepts the next store of a core, which must be to this line. Returns the new content of the line. Only an
    /// account of stores can report a store that overtakes an earlier one; `reported` is true if there is an account.
    fn accept(&mut self, core: usize, line: LineAddr, reported: bool) -> Line {
        let is_of_line = |next: &UnacceptedStore| next.line == line && !next.from_outside;
        let index = self.waiting[core].iter().position(is_of_line);
        assert!(reported || index == Some(0), "stores are accepted in the order of the program");
        let next = index.and_then(|index| self.waiting[core].remove(index));
        next.map_or(ZERO_LINE, |next| self.take_effect(&next))
    }

    /// Line of the next change from outside in a core's program order, once all stores before it are accepted.
    pub fn next_from_outside(&self, core: usize) -> Option<LineAddr> {
        self.waiting[core].front().filter(|next| next.from_outside).map(|next| next.line)
    }

    /// Applies this change and returns the line and its new content.
    fn changes_from_outside(&mut self, core: usize) -> (LineAddr, Line) {
        let next = self.waiting[core].pop_front().filter(|next| next.from_outside);
        let Some(next) = next else { panic!("the next change of core {core} is not from outside") };
        let content = self.take_effect(&next);
        self.forget_unused(next.line);
        (next.line, content)
    }

    fn take_effect(&mut self, waiting: &UnacceptedStore) -> Line {
        let oldest = self.waiting.iter().filter_map(|of_core| of_core.front()).map(|next| next.number).min();
        let Some(kept) = self.lines.get_mut(&waiting.line) else { return waiting.bytes };
        let overtaking = kept.overtaking.iter().filter(|(number, _)| *number > waiting.number);
        let newer = overtaking.fold(0, |newer, (_, bytes)| newer | bytes);
        for (byte, index) in waiting.range.clone().enumerate().filter(|(_, index)| newer >> index & 1 == 0) {
            kept.bytes[index] = waiting.bytes[byte];
        }
        kept.known |= mask(&waiting.range);
        kept.waiting -= 1;
        kept.resident |= !waiting.from_outside;
        let is_overtaken = |number: u64| oldest.is_some_and(|oldest| oldest < number);
        kept.overtaking.retain(|(number, _)| is_overtaken(*number));
        if is_overtaken(waiting.number) {
            kept.overtaking.push((waiting.number, mask(&waiting.range)));
        }
        kept.bytes
    }

    /// Notes that the entry of a line has left the buffer.
    fn left(&mut self, line: LineAddr) {
        if let Some(kept) = self.lines.get_mut(&line) {
            kept.resident = false;
        }
        self.forget_unused(line);
    }

    /// Removes a line that has neither waiting stores nor an entry.
    fn forget_unused(&mut self, line: LineAddr) {
        if self.lines.get(&line).is_some_and(|kept| kept.waiting == 0 && !kept.resident) {
            self.lines.remove(&line);
        }
    }
}

/// Queues a change from outside before the program of a core sees this content ([`Shadow::show`]). If memory has the
/// line, the change reaches the core's persist buffer in program order.
#[cold]
pub(crate) fn before_show(shadow: &mut Shadow, core: usize, line: LineAddr, content: &Line) {
    let known = shadow.known.index(line).map(|index| &shadow.entries[index]);
    let changes = known.is_none_or(|entry| entry.known != WHOLE || entry.bytes != *content);
    let Some(persisted) = shadow.persisted.as_mut().filter(|_| changes) else { return };
    let is_guess = shadow.guessed.contains(&line);
    if persisted.has(line) && !is_guess && shadow.known.went_down_as(line, content) == Some(false) {
        persisted.keep(line, known.map_or((ZERO_LINE, 0), |entry| (entry.bytes, entry.known)));
    }
    persisted.wait(core, line, 0..LINE_BYTES, *content, true);
}

/// Makes a line of a file that is mapped shared persistent, like [`becomes_persistent`], if mapped lines are selected.
#[cold]
pub(crate) fn becomes_mapped(shadow: &mut Shadow, line: LineAddr) -> bool {
    let chosen = shadow.persisted.as_ref().and_then(|persisted| persisted.chosen.as_ref());
    chosen.is_some_and(|(persistent, _)| *persistent == Persistent::Mapped) && becomes_persistent(shadow, line)
}

/// Makes a line persistent. Returns true if the line was not persistent before and memory lacks stores to it. These
/// stores bypassed the buffers and must be written now.
fn becomes_persistent(shadow: &mut Shadow, line: LineAddr) -> bool {
    let unwritten = shadow.known.index(line).is_some_and(|index| shadow.entries[index].unwritten);
    let chosen = shadow.persisted.as_mut().and_then(|persisted| persisted.chosen.as_mut());
    chosen.is_some_and(|(_, lines)| lines.insert(line)) && unwritten
}

/// Selects or deselects a line of a page that a recording shows. The first result is true if the line is persistent by
/// selection. The second is true if the line was not persistent before and memory lacks stores to it, which must be
/// written now.
#[cold]
pub(crate) fn set_persistent(shadow: &mut Shadow, line: LineAddr, page: PageDetail) -> (bool, bool) {
    let Some((persistent, lines)) = shadow.persisted.as_mut().and_then(|persisted| persisted.chosen.as_mut()) else {
        return (page.mapped, false);
    };
    let is_chosen = match persistent {
        Persistent::All => false,
        Persistent::Mapped => page.mapped,
        Persistent::Heap => page.heap,
    };
    if is_chosen {
        return (true, becomes_persistent(shadow, line));
    }
    lines.remove(&line);
    shadow.log.iter_mut().for_each(|log| log.in_memory.no_longer_persistent(line));
    (false, false)
}

/// True if stores to the line go through a persist buffer.
#[inline]
pub(crate) fn is_persistent(shadow: &Shadow, line: LineAddr) -> bool {
    shadow.persisted.as_ref().is_some_and(|persisted| persisted.has(line))
}

/// Keeps the content of a line before a store.
#[cold]
pub(super) fn remember_before(shadow: &mut Shadow, line: LineAddr) {
    let before = shadow.known.index(line).map_or((ZERO_LINE, 0), |index| {
        let entry = &shadow.entries[index];
        (entry.bytes, entry.known)
    });
    if let Some(persisted) = shadow.persisted.as_mut().filter(|persisted| persisted.has(line)) {
        persisted.keep(line, before);
    }
}

/// True if stores to a line wait for a persist buffer or the line has an entry: changes from outside then wait as well.
pub(crate) fn keeps(shadow: &Shadow, line: LineAddr) -> bool {
    shadow.persisted.as_ref().is_some_and(|persisted| persisted.lines.contains_key(&line))
}

/// Applies the next change from outside of a core and returns the line and its new content.
///
/// # Panics
/// If the next item of the core is not a change from outside.
pub(crate) fn changes_from_outside(shadow: &mut Shadow, core: usize) -> (LineAddr, Line) {
    let persisted = shadow.persisted.as_mut().unwrap_or_else(|| panic!("there is no persist buffer"));
    persisted.changes_from_outside(core)
}

/// Notes that the entry of a line has left the persist buffer for memory.
pub(crate) fn left_buffer(shadow: &mut Shadow, line: LineAddr) {
    if let Some(persisted) = &mut shadow.persisted {
        persisted.left(line);
    }
}

impl Shadow {
    /// Adds persist buffers for `cores` cores; they accept stores to the `persistent` part of memory.
    #[must_use]
    pub fn persisted(self, cores: usize, persistent: Persistent) -> Shadow {
        Shadow { persisted: Some(Persisted::of(cores, persistent)), ..self }
    }

    /// Adds `cores` cores with caches that accept stores to all of memory, so that the accepted content is known at a
    /// loss of power.
    #[must_use]
    pub fn accepted_by_caches(self, cores: usize) -> Shadow {
        let persisted = Persisted { in_caches: true, ..Persisted::of(cores, Persistent::All) };
        Shadow { persisted: Some(persisted), ..self }
    }

    /// Queues a complete store of a core to one line; a persist buffer accepts each store separately.
    pub fn stored(&mut self, core: usize, line: LineAddr, range: Range<usize>) {
        // A store without a value did not change the shadow, so the line may not be kept yet.
        remember_before(self, line);
        let mut bytes = ZERO_LINE;
        if let Some(index) = self.known.index(line) {
            bytes[..range.len()].copy_from_slice(&self.entries[index].bytes[range.clone()]);
        }
        if let Some(persisted) = &mut self.persisted {
            persisted.wait(core, line, range, bytes, false);
        }
    }

    /// Accepts the next store of a core, which must be to this line, and returns the new content of the line.
    pub fn accept(&mut self, core: usize, line: LineAddr) -> Line {
        let reported = self.log.is_some();
        self.persisted.as_mut().map_or(ZERO_LINE, |persisted| persisted.accept(core, line, reported))
    }

    /// Notes the content of a line in its persist buffer. From here on, memory must return this content.
    pub fn taken(&mut self, line: LineAddr, content: &Line) {
        self.known.goes_down(line, content);
        if let Some(index) = self.known.index(line) {
            let entry = &mut self.entries[index];
            entry.unwritten &= entry.known != WHOLE || entry.bytes != *content;
        }
    }
}
