//! What a persist buffer has accepted: the stores of a core in program order, and the lines as those accepted have made them.
//!
//! The shadow is ahead of the clock: it knows all stores that the feed has given. An entry of the buffer must hold exactly those
//! that were accepted. So the feed's stores wait here in their order, and a line is kept from the first that waits for it until
//! nothing of it waits and its entry has left: as it was before them, and then store by store. Bytes of it that the shadow did
//! not know come from memory, with the line, before any store to it can be accepted.

use super::{Shadow, WHOLE, mask};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};

/// One touch of a line by a store that was not accepted yet, or a change from outside.
struct Waiting {
    line: LineAddr,
    /// Where the bytes go; the whole line of a change from outside.
    range: Range<usize>,
    bytes: Line,
    from_outside: bool,
}

/// A line of which something waits, or which has an entry.
struct Kept {
    bytes: Line,
    /// For each byte, whether it is known.
    known: u64,
    /// How many touches of it wait.
    waiting: u32,
    /// Whether it has an entry.
    resident: bool,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Persisted {
    waiting: VecDeque<Waiting>,
    lines: FxHashMap<LineAddr, Kept>,
}

impl Persisted {
    /// Keeps a line as it is before a store of the feed, unless it is kept.
    fn keep(&mut self, line: LineAddr, before: (Line, u64)) {
        let (bytes, known) = before;
        self.lines.entry(line).or_insert(Kept { bytes, known, waiting: 0, resident: false });
    }

    fn wait(&mut self, waiting: Waiting) {
        if let Some(kept) = self.lines.get_mut(&waiting.line) {
            kept.waiting += 1;
            self.waiting.push_back(waiting);
        }
    }

    /// What the stores so far have made of a line that is kept, if all of it is known.
    pub(super) fn content(&self, line: LineAddr) -> Option<Line> {
        self.lines.get(&line).filter(|kept| kept.known == WHOLE).map(|kept| kept.bytes)
    }

    /// A line has this content from here on, in the order of the program.
    pub(super) fn changed_from_outside(&mut self, line: LineAddr, content: &Line) {
        self.wait(Waiting { line, range: 0..LINE_BYTES, bytes: *content, from_outside: true });
    }

    /// Memory returned a line.
    pub(super) fn filled(&mut self, line: LineAddr, content: &Line) {
        if let Some(kept) = self.lines.get_mut(&line) {
            let unknown = (0..LINE_BYTES).filter(|byte| kept.known >> byte & 1 == 0);
            unknown.for_each(|byte| kept.bytes[byte] = content[byte]);
            kept.known = WHOLE;
        }
    }

    /// The next store is accepted, which is to this line. What that then holds.
    fn accept(&mut self, line: LineAddr) -> Line {
        let next = self.waiting.pop_front();
        let is_next = |next: &Waiting| next.line == line && !next.from_outside;
        assert!(next.as_ref().is_some_and(is_next), "stores are accepted in the order of the program");
        next.map_or(ZERO_LINE, |next| self.take_effect(&next))
    }

    /// A change from outside that comes next in the order of the program: the line, and what it holds then.
    fn next_from_outside(&mut self) -> Option<(LineAddr, Line)> {
        if !self.waiting.front()?.from_outside {
            return None;
        }
        let next = self.waiting.pop_front()?;
        let content = self.take_effect(&next);
        self.forget_unused(next.line);
        Some((next.line, content))
    }

    fn take_effect(&mut self, waiting: &Waiting) -> Line {
        let Some(kept) = self.lines.get_mut(&waiting.line) else { return waiting.bytes };
        let range = waiting.range.clone();
        kept.bytes[range.clone()].copy_from_slice(&waiting.bytes[..range.len()]);
        kept.known |= mask(&range);
        kept.waiting -= 1;
        kept.resident |= !waiting.from_outside;
        kept.bytes
    }

    /// The entry of a line has left the buffer.
    fn left(&mut self, line: LineAddr) {
        if let Some(kept) = self.lines.get_mut(&line) {
            kept.resident = false;
        }
        self.forget_unused(line);
    }

    /// Keeps a line no longer of which nothing waits, and that has no entry.
    fn forget_unused(&mut self, line: LineAddr) {
        if self.lines.get(&line).is_some_and(|kept| kept.waiting == 0 && !kept.resident) {
            self.lines.remove(&line);
        }
    }
}

/// Whether a line has been otherwise in the order of the program, as far as that is known.
pub(super) fn changes(shadow: &Shadow, line: LineAddr, content: &Line) -> bool {
    let known = shadow.place(line).map(|place| &shadow.entries[place]);
    known.is_none_or(|entry| entry.known != WHOLE || entry.bytes != *content)
}

/// Keeps a line as it is before a store.
pub(super) fn remember_before(shadow: &mut Shadow, line: LineAddr) {
    let before = shadow.place(line).map_or((ZERO_LINE, 0), |place| {
        let entry = &shadow.entries[place];
        (entry.bytes, entry.known)
    });
    if let Some(persisted) = &mut shadow.persisted {
        persisted.keep(line, before);
    }
}

impl Shadow {
    /// The same for a core with a persist buffer.
    #[must_use]
    pub fn persisted(self) -> Shadow {
        Shadow { persisted: Some(Persisted::default()), ..self }
    }

    /// Whether stores to a line wait for a persist buffer, or it has an entry: then changes from outside wait as well.
    pub fn keeps(&self, line: LineAddr) -> bool {
        self.persisted.as_ref().is_some_and(|persisted| persisted.lines.contains_key(&line))
    }

    /// A touch of a line by a store is complete, which a persist buffer accepts by itself.
    pub fn stored(&mut self, line: LineAddr, range: Range<usize>) {
        // Of a store without a value nothing has happened yet.
        remember_before(self, line);
        let mut bytes = ZERO_LINE;
        if let Some(place) = self.place(line) {
            bytes[..range.len()].copy_from_slice(&self.entries[place].bytes[range.clone()]);
        }
        if let Some(persisted) = &mut self.persisted {
            persisted.wait(Waiting { line, range, bytes, from_outside: false });
        }
    }

    /// A persist buffer accepts the next store, which is to this line: what that holds then.
    pub fn accept(&mut self, line: LineAddr) -> Line {
        self.persisted.as_mut().map_or(ZERO_LINE, |persisted| persisted.accept(line))
    }

    /// A change from outside that comes next, after the stores that were accepted: the line, and what it holds then.
    pub fn next_from_outside(&mut self) -> Option<(LineAddr, Line)> {
        self.persisted.as_mut()?.next_from_outside()
    }

    /// The buffer has a line as this. From here on memory has to return it.
    pub fn taken(&mut self, line: LineAddr, content: &Line) {
        self.observer.put(line, content);
        if let Some(place) = self.place(line) {
            let entry = &mut self.entries[place];
            entry.ahead &= entry.known != WHOLE || entry.bytes != *content;
        }
    }

    /// The entry of a line has left the persist buffer for memory.
    pub fn left_buffer(&mut self, line: LineAddr) {
        if let Some(persisted) = &mut self.persisted {
            persisted.left(line);
        }
    }
}
