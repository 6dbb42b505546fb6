//! Parts of the chip between the cores and protected memory that have no timing: tags of the last-level cache, lines on
//! their way out, and the shadow.
//!
//! Each part has its own file and borrows its state only during a call. [`Chip`] contains the steps that join several
//! parts, in an order that results depend on.
//!
//! The chip is the [`Receiver`](protection::execution::Receiver) of the timed memory. When the timed memory releases a
//! line, the shadow checks the line, the last-level cache may keep it, and its core receives it (`chip/receiver.rs`,
//! `chip/upward.rs`).

mod account;
pub(crate) mod buffers;
mod counts;
mod direct;
mod flushes;
mod in_flight;
mod latencies;
mod left_behind;
mod lines_out;
mod llc;
mod past_caches;
mod permutations;
mod ports;
mod power;
mod receiver;
mod room;
mod served_scheme;
mod shadow_handle;
#[cfg(test)]
mod tests;
mod upward;

pub use counts::LlcCounts;
pub use in_flight::Miss;

use crate::shadow::Shadow;
use account::RunAccount;
use buffers::Buffers;
use catalogue::Machine;
use in_flight::LinesInFlight;
use latencies::ChipLatencies;
use lines_out::LinesOut;
use llc::LastLevelCache;
use machine::coherence::CoherenceDomain;
use machine::llc::Inclusion;
use ports::CorePorts;
use power::PowerSupply;
use protection::planted::ChipBug;
use rustc_hash::FxHashSet;
use served_scheme::ServedScheme;
use shadow_handle::ShadowHandle;
use sim::Clock;
use std::cell::RefCell;
use std::rc::Rc;
use units::LineAddr;

/// State of the chip.
pub struct Chip {
    pub(crate) clock: Clock,
    /// The cores and their private caches.
    pub cores: CoherenceDomain,
    /// Latencies between the components of the chip.
    pub latencies: ChipLatencies,
    /// Interfaces of the cores to the chip.
    pub ports: CorePorts,
    /// Last-level cache, with its statistics.
    pub llc: LastLevelCache,
    /// Misses, and lines on their way up to a core.
    pub under_way: LinesInFlight,
    /// Lines on their way to memory.
    pub out: LinesOut,
    /// Content of the lines on the chip.
    pub shadow: ShadowHandle,
    /// Persist buffers of the cores, if the machine has them.
    pub buffers: Buffers,
    /// State of the power supply, and the data that a simulated loss of power needs.
    pub power: PowerSupply,
    /// Scheme that the controller runs; the chip notifies it of metadata lines that data displaces.
    pub scheme: ServedScheme,
    /// Account of the run.
    pub account: RunAccount,
}

impl Chip {
    /// Creates a chip at power-on.
    pub fn new(clock: &Clock, machine: &Machine, shadow: Rc<RefCell<Shadow>>) -> Rc<Chip> {
        let cores = CoherenceDomain::new(&machine.node, machine.cores, machine.data_lines().count);
        let sends_clean = machine.llc.inclusion == Inclusion::Victim;
        Rc::new_cyclic(|chip| Chip {
            clock: clock.clone(),
            cores: if sends_clean { cores.sending_clean_victims() } else { cores },
            latencies: ChipLatencies::of(clock, machine),
            ports: CorePorts::new(clock, machine.cores),
            llc: LastLevelCache::new(machine),
            under_way: LinesInFlight::new(clock, chip.clone()),
            out: LinesOut::new(clock),
            shadow: ShadowHandle::new(shadow),
            buffers: Buffers::new(clock, machine),
            power: PowerSupply::of(clock, machine),
            scheme: ServedScheme::default(),
            account: RunAccount::default(),
        })
    }

    /// Looks a line up in the last-level cache and among the lines on their way out of it. A line that is present only
    /// as ciphertext does not count as a hit: memory has the same ciphertext, and the controller decrypts the line.
    pub fn look_up(&self, line: LineAddr) -> bool {
        let stranded = self.llc.is_unverified(line);
        let hit = self.llc.look_up(line) && !stranded;
        // In a cache that locks lines, a line on its way in waits for room in the cache, and its requester waits too.
        let on_the_way_out = !hit && !self.llc.locks_lines() && self.is_leaving(line);
        self.llc.count(|counts| {
            counts.hits += u64::from(hit);
            counts.hits_on_the_way_out += u64::from(on_the_way_out);
            counts.misses += u64::from(!hit && !on_the_way_out);
            counts.stranded += u64::from(stranded);
        });
        if on_the_way_out {
            self.pass_by(line);
        }
        hit || on_the_way_out
    }

    /// Enters a line that a core's private caches evict into the last-level cache.
    pub fn take_back(&self, line: LineAddr, dirty: bool) {
        let metadata = self.take_down(line, dirty);
        self.scheme.displaced(metadata);
    }

    /// Passes a fill through the last-level cache on its way up.
    pub fn pass_by(&self, line: LineAddr) {
        let displaced = self.llc.fetched(line);
        self.make_room(displaced);
    }

    /// Handles a line that the kernel changed: the caches drop their copies, and memory receives the new content if it
    /// had the old content. If the line is on its way up to a core, it arrives first.
    pub fn changed_from_outside(&self, line: LineAddr, in_memory: bool) {
        if self.under_way.mark_changed(line) {
            return;
        }
        let dirty = self.give_up(line);
        if !self.scheme.has_planted(ChipBug::DroppedLinesForgotten) {
            self.power.dropped(line, dirty, &self.cores);
        }
        // Changes that wait for a persist buffer enter it in program order.
        if in_memory && !self.shadow.keeps(line) {
            self.llc.count(|counts| counts.foreign_writes += 1);
            self.out.send(line);
        }
    }

    /// Removes a line from all caches. Returns true if one of them had the line dirty.
    fn give_up(&self, line: LineAddr) -> bool {
        self.cores.recall(line).is_some() | self.llc.invalidate(line)
    }

    fn send_out(&self, line: LineAddr) {
        self.power.leaves_caches(line, &self.cores);
        self.out.send(line);
    }

    /// Passes the oldest waiting line to a writer, which carries it to memory. The combining buffers of cores that
    /// stored the line past the caches are free again.
    pub fn next_victim(&self) -> Option<LineAddr> {
        let line = self.out.next()?;
        for core in self.out.past_caches.take(line) {
            let at = self.clock.now() + self.latencies.of_reply(core, line);
            self.ports.collect(core, |out| self.cores.nodes()[core].borrow_mut().taken_past_caches(at, out));
            self.power.settle_written(core, &self.cores, &self.shadow);
            self.ports.wake(core);
        }
        Some(line)
    }

    /// Returns the plaintext of a line that a writer carried to memory or to a last-level cache that locks it. Memory
    /// must return this content from here on.
    pub fn put(&self, line: LineAddr) -> units::Line {
        self.out.accepted(line);
        if self.llc.locks_lines() { self.shadow.text_of(line) } else { self.to_memory(line) }
    }

    /// Returns the content of a line that goes to memory; memory must return it from here on.
    pub(crate) fn to_memory(&self, line: LineAddr) -> units::Line {
        self.power.goes_to_memory(line);
        self.shadow.put(line)
    }

    /// Notes that a line has arrived in memory, and answers its flushes when no other write of the line is under way.
    pub fn written(&self, line: LineAddr) {
        if self.out.arrived(line) {
            for flush in self.out.flushes.end(line) {
                self.flushed(&flush, line, self.latencies.distances.path);
            }
        }
    }

    /// Counts lost writes: the latest content of a line is neither in memory nor dirty on the chip. Call it when every
    /// store has been written.
    pub fn lost_lines(&self) -> u64 {
        let mut dirty = FxHashSet::default();
        dirty.extend(self.cores.dirty_lines());
        dirty.extend(self.llc.dirty_lines());
        dirty.retain(|line| !self.buffers.receive_stores_to(*line, &self.shadow));
        dirty.extend(self.out.not_accepted());
        self.shadow.lines_lost(|line| dirty.contains(&line))
    }

    /// Lets the shadow drop lines that are not on the chip, if the shadow has grown large.
    pub fn forget_what_left(&self) {
        if self.shadow.is_crowded() {
            self.take_back_everything();
            let mut lines = self.shadow.written_lines();
            lines.retain(|line| !self.holds(*line));
            self.shadow.forget(&lines);
        }
    }

    /// True if a line is in a cache or between the caches and memory.
    fn holds(&self, line: LineAddr) -> bool {
        self.llc.holds(line)
            || self.cores.nodes().iter().any(|node| node.borrow().caches().holds(line))
            || self.is_leaving(line)
            || self.under_way.has(line)
            || self.under_way.direct.has(line)
    }
}
