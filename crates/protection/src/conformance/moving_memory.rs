//! A memory with permuted lines for the checks of the kit, which can read and replace slots like an attacker.

use super::{Checked, hold};
use crate::execution::{Functional, Untimed, run_now};
use crate::layout::{Layout, Needs, with_contexts, with_records};
use crate::moving::{ContextsDesign, LockingCache, MovingLines, MovingPolicy, PageChunkLines, SmallCache};
use crate::planted::PlantedBug;
use crate::record::{LEAF_LINES, Records, SLOTS, WalkDesign};
use crate::scheme::Release;
use crate::slot::{Kind, Slot, Untrusted};
use crate::verbs::Fault;
use crypto::{Key, PAGE_CHUNK_LINE_BYTES};
use std::rc::Rc;
use units::random::Random;
use units::{Line, LineAddr};

pub const CHUNKS: u64 = 4;
/// Contexts that memory has room for.
pub const CONTEXTS: u64 = 3;
pub const LINES: u64 = CHUNKS * SLOTS as u64;
const KEYS: [Key; 3] = [Key([1; 16]), Key([2; 16]), Key([3; 16])];

/// A memory of a few page chunks, on a machine with start-up content.
pub struct Moving {
    pub lines: MovingLines,
    pub functional: Functional,
    pub layout: Layout,
    /// Slots under one tag.
    pub slots_per_tag: usize,
}

/// A line of 32 bytes.
pub fn text(random: &mut Random) -> Line {
    let mut line = random.line();
    line[PAGE_CHUNK_LINE_BYTES..].fill(0);
    line
}

impl Moving {
    pub fn behind(cache: Rc<dyn LockingCache>, release: Release, slots_per_tag: usize, planted: PlantedBug) -> Moving {
        Moving::under(MovingPolicy { release, ..MovingPolicy::default() }, cache, slots_per_tag, planted)
    }

    pub fn under(
        policy: MovingPolicy,
        cache: Rc<dyn LockingCache>,
        slots_per_tag: usize,
        planted: PlantedBug,
    ) -> Moving {
        let nothing_else = Needs { lines_per_counter_line: None, tags: None, tree: None };
        let layout = Layout::new(LINES, nothing_else).unwrap_or_else(|rule| panic!("{rule}"));
        let layout = with_records(layout, SLOTS as u64, LEAF_LINES as u64);
        let layout = with_contexts(layout, CONTEXTS, ContextsDesign::LINES_PER_CONTEXT);
        let records = Records::new(&layout, &KEYS[0], Random::new(9), WalkDesign::default(), planted);
        let lines = MovingLines::new(
            records,
            PageChunkLines::sealed(&KEYS[1], &KEYS[2], slots_per_tag, planted),
            (cache, 2),
            policy,
            planted,
        );
        let functional = Functional::booting(layout.total_lines(), 5);
        // Other lines boot when they are read.
        lines.boot(&functional.verbs(), CHUNKS / 2);
        Moving { lines, functional, layout, slots_per_tag }
    }

    pub fn new(slots_per_tag: usize, planted: PlantedBug) -> Moving {
        Moving::behind(Rc::new(SmallCache::new(64, 2)), Release::Verified, slots_per_tag, planted)
    }

    /// Returns the slot that stores, behind its line, the tag over this slot.
    pub fn tag_slot(&self, Slot(at): Slot) -> Slot {
        Slot(at / self.slots_per_tag as u64 * self.slots_per_tag as u64 + self.slots_per_tag as u64 - 1)
    }

    /// Returns all slots that share the tag of this slot.
    pub fn under_tag(&self, at: Slot) -> Vec<Slot> {
        let Slot(last) = self.tag_slot(at);
        (last + 1 - self.slots_per_tag as u64..=last).map(Slot).collect()
    }

    /// Reads a line. Returns the released text or the reported fault.
    pub fn read(&self, line: u64) -> Result<Line, Fault> {
        run_now(self.lines.read(&self.functional.verbs(), LineAddr(line)));
        let released = self.functional.take_released();
        match (self.functional.take_fault(), released) {
            (None, Some((_, plaintext))) => Ok(plaintext.bytes),
            (fault, _) => Err(fault.unwrap_or(Fault::Root)),
        }
    }

    /// Stores to a line. Returns the reported fault, if any.
    pub fn write(&self, line: u64, text: &Line) -> Option<Fault> {
        run_now(self.lines.write(&self.functional.verbs(), LineAddr(line), text));
        self.functional.take_fault()
    }

    /// Requests the page of a line for a TLB. Returns the reported fault, if any.
    pub fn translate(&self, line: u64) -> Option<Fault> {
        run_now(self.lines.acquire_record(&self.functional.verbs(), LineAddr(line)));
        self.functional.take_fault()
    }

    /// Drops the page of a line from a TLB.
    pub fn give_up(&self, line: u64) {
        self.lines.release_record(LineAddr(line));
    }

    /// Permutes the page chunk of a line.
    pub fn permute_chunk_of(&self, line: u64) {
        run_now(self.lines.permute_chunk_of(&self.functional.verbs(), LineAddr(line)));
    }

    /// Number of records that walks have fetched.
    pub fn walks(&self) -> u64 {
        self.lines.counted().walks.records
    }

    pub fn flush(&self) -> Option<Fault> {
        run_now(self.lines.flush(&self.functional.verbs()));
        self.functional.take_fault()
    }

    /// Flushes, fills all ways of the cache with lines of other page chunks, and drops the records from the chip.
    pub fn push_out(&self, chunk: u64) {
        self.flush();
        for line in (0..LINES).filter(|line| line / SLOTS as u64 != chunk) {
            // A different check covers refused reads.
            let _ = self.read(line);
        }
        self.lines.forget_records();
    }

    pub fn slot_of(&self, line: u64) -> Result<Slot, String> {
        run_now(self.lines.slot_of(&self.functional.verbs(), LineAddr(line)))
            .map_err(|fault| format!("no record: {fault}"))
    }

    pub fn slots(&self, kind: Kind, of_chunk: u64) -> Vec<Slot> {
        let per_chunk = if kind == Kind::Records { LEAF_LINES } else { SLOTS } as u64;
        let base = self.layout.region(kind).map_or(0, |region| region.base) + of_chunk * per_chunk;
        (base..base + per_chunk).map(Slot).collect()
    }

    pub fn content(&self, slots: &[Slot]) -> Vec<(Slot, Untrusted)> {
        let media = self.functional.media.borrow();
        slots.iter().map(|slot| (*slot, media.read(*slot))).collect()
    }

    pub fn put(&self, content: &[(Slot, Untrusted)]) {
        let mut media = self.functional.media.borrow_mut();
        content.iter().for_each(|(slot, content)| media.store(*slot, *content));
    }

    /// Checks that a read of the line is refused while `forged` is in memory, and restores memory. The chip forgets its
    /// records before and after the read.
    pub fn refuses(&self, line: u64, forged: &[(Slot, Untrusted)], broken: impl FnOnce() -> String) -> Checked {
        let slots: Vec<Slot> = forged.iter().map(|(slot, _)| *slot).collect();
        let honest = self.content(&slots);
        self.lines.forget_records();
        self.put(forged);
        let is_refused = self.read(line).is_err();
        self.put(&honest);
        self.lines.forget_records();
        hold(is_refused, broken)
    }
}
