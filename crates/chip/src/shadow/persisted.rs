//! What persist buffers have accepted: the stores of each core in program order, and the lines as those accepted have made them.
//!
//! The shadow is ahead of the clock: it knows all stores that the feeds have given. An entry of a buffer must hold exactly those
//! that were accepted. So the feeds' stores wait here in their order, and a line is kept from the first that waits for it until
//! nothing of it waits and its entry has left: as it was before them, and then store by store. Bytes of it that the shadow did
//! not know come from memory, with the line, before any store to it can be accepted.
//!
//! Stores of several cores reach the shadow in the order in which the cores execute, which says what the program computes, and
//! are accepted in an order of their own. Where two cores store to the same bytes, the later one by execution has the
//! last word, whichever is accepted first.
//!
//! Where only what a program maps shared from files is persistent, stores to all other lines pass the buffers by, and nothing of
//! them is kept here. The same holds for a program's heap. Where a recording shows no pages, a line that was once mapped so stays
//! persistent, whatever its address is used for later.

use super::{Shadow, WHOLE, mask};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::ops::Range;
use units::{LINE_BYTES, Line, LineAddr, ZERO_LINE};
use workload::Persistent;
use workload::stream::PageDetail;

/// One touch of a line by a store that was not accepted yet, or a change from outside.
struct Waiting {
    /// How many the feeds have given before it.
    number: u64,
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
    /// The numbers and the bytes of those accepted that came after one that still waits.
    overtaking: Vec<(u64, u64)>,
}

/// All of them.
pub(crate) struct Persisted {
    /// By core, in the order of its program.
    waiting: Box<[VecDeque<Waiting>]>,
    lines: FxHashMap<LineAddr, Kept>,
    /// The lines that stores go through a buffer to, and by what they are chosen, unless those are all.
    chosen: Option<(Persistent, FxHashSet<LineAddr>)>,
    /// Whether caches accept stores, and no persist buffers: then what was accepted leaves when its line is written back.
    in_caches: bool,
    /// The number of the next.
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

    /// Keeps a line as it is before a store of the feed, unless it is kept.
    fn keep(&mut self, line: LineAddr, before: (Line, u64)) {
        let (bytes, known) = before;
        self.lines.entry(line).or_insert_with(|| Kept {
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
            self.waiting[core].push_back(Waiting { number: self.next, line, range, bytes, from_outside });
            self.next += 1;
        }
    }

    /// What the stores so far have made of a line that is kept, if all of it is known.
    pub(super) fn content(&self, line: LineAddr) -> Option<Line> {
        self.lines.get(&line).filter(|kept| kept.known == WHOLE).map(|kept| kept.bytes)
    }

    /// A line that is kept goes to memory from the caches, where those accept stores: what these have made of it.
    pub(super) fn written_back(&mut self, line: LineAddr) -> Option<Line> {
        let content = self.lines.get(&line).filter(|_| self.in_caches)?.bytes;
        self.left(line);
        Some(content)
    }

    /// Memory returned a line.
    pub(super) fn filled(&mut self, line: LineAddr, content: &Line) {
        if let Some(kept) = self.lines.get_mut(&line) {
            let unknown = (0..LINE_BYTES).filter(|byte| kept.known >> byte & 1 == 0);
            unknown.for_each(|byte| kept.bytes[byte] = content[byte]);
            kept.known = WHOLE;
        }
    }

    /// The next store of a core is accepted, which is to this line. What that then holds.
    fn accept(&mut self, core: usize, line: LineAddr) -> Line {
        let next = self.waiting[core].pop_front();
        let is_next = |next: &Waiting| next.line == line && !next.from_outside;
        assert!(next.as_ref().is_some_and(is_next), "stores are accepted in the order of the program");
        next.map_or(ZERO_LINE, |next| self.take_effect(&next))
    }

    /// The line of a change from outside that comes next in the order of a core's program, after its stores that were accepted.
    pub fn next_from_outside(&self, core: usize) -> Option<LineAddr> {
        self.waiting[core].front().filter(|next| next.from_outside).map(|next| next.line)
    }

    /// It comes: the line, and what that holds then.
    fn changes_from_outside(&mut self, core: usize) -> (LineAddr, Line) {
        let next = self.waiting[core].pop_front().filter(|next| next.from_outside);
        let Some(next) = next else { panic!("no change from outside comes next for core {core}") };
        let content = self.take_effect(&next);
        self.forget_unused(next.line);
        (next.line, content)
    }

    fn take_effect(&mut self, waiting: &Waiting) -> Line {
        let oldest = self.waiting.iter().filter_map(|of_core| of_core.front()).map(|next| next.number).min();
        let Some(kept) = self.lines.get_mut(&waiting.line) else { return waiting.bytes };
        let overtaking = kept.overtaking.iter().filter(|(number, _)| *number > waiting.number);
        let newer = overtaking.fold(0, |newer, (_, bytes)| newer | bytes);
        for (byte, place) in waiting.range.clone().enumerate().filter(|(_, place)| newer >> place & 1 == 0) {
            kept.bytes[place] = waiting.bytes[byte];
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

/// The program of a core is about to see this content ([`Shadow::tell`]). What changes a line from outside that memory has comes to
/// its persist buffer in the order of that program.
#[cold]
pub(crate) fn about_to_tell(shadow: &mut Shadow, core: usize, line: LineAddr, content: &Line) {
    let known = shadow.known.place(line).map(|place| &shadow.entries[place]);
    let changes = known.is_none_or(|entry| entry.known != WHOLE || entry.bytes != *content);
    let Some(persisted) = shadow.persisted.as_mut().filter(|_| changes) else { return };
    let is_guess = shadow.guessed.contains(&line);
    if persisted.has(line) && !is_guess && shadow.known.went_down_as(line, content) == Some(false) {
        persisted.keep(line, known.map_or((ZERO_LINE, 0), |entry| (entry.bytes, entry.known)));
    }
    persisted.wait(core, line, 0..LINE_BYTES, *content, true);
}

/// A line is of a file that is mapped shared: as [`becomes_persistent`], if such lines are chosen.
#[cold]
pub(crate) fn becomes_mapped(shadow: &mut Shadow, line: LineAddr) -> bool {
    let chosen = shadow.persisted.as_ref().and_then(|persisted| persisted.chosen.as_ref());
    chosen.is_some_and(|(persistent, _)| *persistent == Persistent::Mapped) && becomes_persistent(shadow, line)
}

/// A line has to outlive a loss of power. Whether that is new and stores have gone to it that memory lacks: those came by no
/// buffer, and have to be written now.
fn becomes_persistent(shadow: &mut Shadow, line: LineAddr) -> bool {
    let ahead = shadow.known.place(line).is_some_and(|place| shadow.entries[place].ahead);
    let chosen = shadow.persisted.as_mut().and_then(|persisted| persisted.chosen.as_mut());
    chosen.is_some_and(|(_, lines)| lines.insert(line)) && ahead
}

/// A line is of a page that a recording shows. Whether it is one of those that have to outlive a loss of power, where that is not all
/// of memory; and whether that is new and stores have gone to it that memory lacks, which then have to be written now.
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
    (false, false)
}

/// Whether what a core stores to a line comes by a persist buffer.
#[inline]
pub(crate) fn is_persistent(shadow: &Shadow, line: LineAddr) -> bool {
    shadow.persisted.as_ref().is_some_and(|persisted| persisted.has(line))
}

/// Keeps a line as it is before a store.
#[cold]
pub(super) fn remember_before(shadow: &mut Shadow, line: LineAddr) {
    let before = shadow.known.place(line).map_or((ZERO_LINE, 0), |place| {
        let entry = &shadow.entries[place];
        (entry.bytes, entry.known)
    });
    if let Some(persisted) = shadow.persisted.as_mut().filter(|persisted| persisted.has(line)) {
        persisted.keep(line, before);
    }
}

/// Whether stores to a line wait for a persist buffer, or it has an entry: then changes from outside wait as well.
pub(crate) fn keeps(shadow: &Shadow, line: LineAddr) -> bool {
    shadow.persisted.as_ref().is_some_and(|persisted| persisted.lines.contains_key(&line))
}

/// The change from outside that comes next for a core comes: the line, and what it holds then.
///
/// # Panics
/// If none comes next.
pub(crate) fn changes_from_outside(shadow: &mut Shadow, core: usize) -> (LineAddr, Line) {
    let persisted = shadow.persisted.as_mut().unwrap_or_else(|| panic!("there is no persist buffer"));
    persisted.changes_from_outside(core)
}

/// The entry of a line has left the persist buffer for memory.
pub(crate) fn left_buffer(shadow: &mut Shadow, line: LineAddr) {
    if let Some(persisted) = &mut shadow.persisted {
        persisted.left(line);
    }
}

impl Shadow {
    /// The same for so many cores with persist buffers, which take stores to this of memory.
    #[must_use]
    pub fn persisted(self, cores: usize, persistent: Persistent) -> Shadow {
        Shadow { persisted: Some(Persisted::of(cores, persistent)), ..self }
    }

    /// The same for so many cores whose caches accept stores to all of memory, where a loss of power has to find what they had.
    #[must_use]
    pub fn accepted_by_caches(self, cores: usize) -> Shadow {
        let persisted = Persisted { in_caches: true, ..Persisted::of(cores, Persistent::All) };
        Shadow { persisted: Some(persisted), ..self }
    }

    /// A touch of a line by a store of a core is complete, which a persist buffer accepts by itself.
    pub fn stored(&mut self, core: usize, line: LineAddr, range: Range<usize>) {
        // Of a store without a value nothing has happened yet.
        remember_before(self, line);
        let mut bytes = ZERO_LINE;
        if let Some(place) = self.known.place(line) {
            bytes[..range.len()].copy_from_slice(&self.entries[place].bytes[range.clone()]);
        }
        if let Some(persisted) = &mut self.persisted {
            persisted.wait(core, line, range, bytes, false);
        }
    }

    /// A persist buffer accepts the next store of its core, which is to this line: what that holds then.
    pub fn accept(&mut self, core: usize, line: LineAddr) -> Line {
        self.persisted.as_mut().map_or(ZERO_LINE, |persisted| persisted.accept(core, line))
    }

    /// The buffer has a line as this. From here on memory has to return it.
    pub fn taken(&mut self, line: LineAddr, content: &Line) {
        self.known.goes_down(line, content);
        if let Some(place) = self.known.place(line) {
            let entry = &mut self.entries[place];
            entry.ahead &= entry.known != WHOLE || entry.bytes != *content;
        }
    }
}
