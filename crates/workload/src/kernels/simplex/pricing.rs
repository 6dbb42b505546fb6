//! Pricing: the choice of the arc that enters the tree.
//!
//! Source: multiple partial pricing as in mcf's `primal_bea_mpp`. The arcs form groups; each group steps through memory
//! in equal strides. A basket keeps the best candidates of the last pivot. Pricing first recomputes the reduced costs
//! of these candidates. It then computes the reduced costs of one group of arcs after another until the basket has
//! enough candidates. A quicksort puts the best ones first; it sorts only the part that the next pivot uses.

use super::super::arena::{Array, ValueAddress};
use super::super::emitter::{ClosedStream, Emitter};
use super::code::pricing::{KeepCode, PartitionCode, PriceCode, SortCode};
use super::network::{ArcRecord, BASIC, NetworkRecords, NodeRecord};
use crate::stream::BlockId;
use units::LINE_BYTES;

/// Number of candidates that suffices for a pivot, and the maximum that pricing keeps for the next one.
const KEPT: u64 = 50;
/// Maximum number of arcs in a group.
const GROUP: u64 = 300;
/// Words of an entry of the basket: an arc, its reduced cost and the absolute value of the cost.
const ENTRY_WORDS: u64 = 3;
const ABSOLUTE: u64 = 16;
/// Words of the sort's stack frame: two saved registers and the return address.
const FRAME_WORDS: u64 = 3;

/// Arc that enters the tree.
#[derive(Clone, Copy)]
pub struct Entering {
    /// Record of the arc.
    pub arc: ArcRecord,
    /// Reduced cost of the arc. If it is negative, more flow on the arc lowers the total cost; if positive, less flow
    /// does.
    pub reduced: i64,
}

/// The basket, and the state of pricing from pivot to pivot.
pub struct Pricing {
    records: NetworkRecords,
    groups: u64,
    /// Pointers to entries; the first ones are the candidates.
    order: Array<u64>,
    /// Index of the next group, and number of candidates.
    kept: Array<u64>,
    /// Stack of the quicksort.
    stack: Array<u64>,
}

impl Pricing {
    /// Memory that [`Pricing::allocate`] takes, in bytes.
    pub fn bytes() -> u64 {
        let line_ends = 4 * 64;
        8 * (KEPT + GROUP) * (ENTRY_WORDS + 1 + FRAME_WORDS) + 8 * FRAME_WORDS + LINE_BYTES as u64 + line_ends
    }

    /// Allocates an empty basket.
    pub fn allocate(emit: &mut Emitter, records: NetworkRecords) -> Pricing {
        let entries: Array<u64> = emit.array(ENTRY_WORDS * (KEPT + GROUP));
        let order: Array<u64> = emit.array(KEPT + GROUP);
        for index in 0..KEPT + GROUP {
            emit.poke(order.at(index), entries.at(ENTRY_WORDS * index).addr);
        }
        let stack = emit.array(FRAME_WORDS * (KEPT + GROUP + 1));
        Pricing { records, groups: (records.arcs - 1) / GROUP + 1, order, kept: emit.array(8), stack }
    }

    /// Returns the candidate with the largest absolute reduced cost, or `None` if the tree is optimal.
    pub fn choose(
        &self,
        emit: &mut Emitter,
        code: &PriceCode,
        sort: &SortCode,
    ) -> Result<Option<Entering>, ClosedStream> {
        emit.block(code.keep.enter)?;
        let size = emit.load(self.kept.at(1));
        let mut size = if size > 1 { self.keep(emit, &code.keep, size.min(KEPT))? } else { 0 };
        emit.block(code.groups)?;
        let first = emit.load(self.kept.at(0));
        let mut group = first;
        loop {
            size = self.scan(emit, code, group, size)?;
            emit.block(code.group_end.next)?;
            group += 1;
            if group == self.groups {
                emit.block(code.group_end.wrap)?;
                group = 0;
            }
            emit.block(code.group_end.enough)?;
            if size >= KEPT {
                break;
            }
            emit.block(code.group_end.more)?;
            if group == first {
                break;
            }
        }
        emit.block(code.chosen)?;
        emit.store(self.kept.at(0), group);
        emit.store(self.kept.at(1), size);
        if size == 0 {
            return Ok(None);
        }
        emit.block(code.call_sort)?;
        let top = FRAME_WORDS * (KEPT + GROUP + 1) - 1;
        emit.store(self.stack.at(top), emit.end_of(code.call_sort));
        self.sort(emit, sort, [0, size - 1], top)?;
        emit.block(code.picked)?;
        let entry = emit.load(self.order.at(0));
        let arc = ArcRecord(emit.load(word(entry, 0)));
        Ok(Some(Entering { arc, reduced: emit.load(word(entry, 8)).cast_signed() }))
    }

    /// Prices the candidates of the last pivot again, without the one that entered. Keeps the candidates that still
    /// have a gain, and returns their number.
    fn keep(&self, emit: &mut Emitter, code: &KeepCode, size: u64) -> Result<u64, ClosedStream> {
        let mut kept = 0;
        for index in 1..size {
            emit.block(code.price)?;
            let entry = emit.load(self.order.at(index));
            let arc = ArcRecord(emit.load(word(entry, 0)));
            let reduced = reduced_cost(emit, arc);
            if -emit.load(arc.state()) * reduced > 0 {
                emit.block(code.take)?;
                self.put(emit, kept, Entering { arc, reduced });
                kept += 1;
            }
            emit.block(code.next)?;
        }
        Ok(kept)
    }

    /// Adds each arc of a group if a change of its flow has a gain; returns the number of candidates.
    fn scan(&self, emit: &mut Emitter, code: &PriceCode, group: u64, mut size: u64) -> Result<u64, ClosedStream> {
        emit.block(code.group)?;
        for position in (group..self.records.arcs).step_by(self.groups as usize) {
            let arc = self.records.arc(position);
            emit.block(code.arc)?;
            let state = emit.load(arc.state());
            if state != BASIC {
                emit.block(code.price)?;
                let reduced = reduced_cost(emit, arc);
                if -state * reduced > 0 {
                    emit.block(code.take)?;
                    self.put(emit, size, Entering { arc, reduced });
                    size += 1;
                }
            }
            emit.block(code.arc_next)?;
        }
        Ok(size)
    }

    fn put(&self, emit: &mut Emitter, index: u64, candidate: Entering) {
        let entry = emit.load(self.order.at(index));
        emit.store(word(entry, 0), candidate.arc.0);
        emit.store(word(entry, 8), candidate.reduced.cast_unsigned());
        emit.store(word(entry, ABSOLUTE), candidate.reduced.unsigned_abs());
    }

    /// Sorts the candidates from `low` to `high`, the largest first; `frame` is the slot of the return address.
    fn sort(
        &self,
        emit: &mut Emitter,
        code: &SortCode,
        [mut low, high]: [u64; 2],
        frame: u64,
    ) -> Result<(), ClosedStream> {
        loop {
            let [left, right] = self.partition(emit, &code.partition, low, high)?;
            emit.block(code.lower)?;
            if right > low as i64 {
                let callee = frame - FRAME_WORDS;
                emit.block(code.call_lower)?;
                emit.store(self.stack.at(frame - 1), high);
                emit.store(self.stack.at(frame - 2), left as u64);
                emit.store(self.stack.at(callee), emit.end_of(code.call_lower));
                self.sort(emit, code, [low, right as u64], callee)?;
                emit.block(code.back)?;
                emit.load(self.stack.at(frame - 2));
                emit.load(self.stack.at(frame - 1));
            }
            emit.block(code.upper)?;
            if left >= high as i64 {
                break;
            }
            emit.block(code.needed)?;
            if left > KEPT as i64 {
                break;
            }
            emit.block(code.again)?;
            low = left as u64;
        }
        emit.block(code.end)?;
        emit.load(self.stack.at(frame));
        Ok(())
    }

    /// Exchanges entries until every entry of the first part is at least as large as every entry of the second. Returns
    /// the first position of the second part, and the last position of the first.
    fn partition(
        &self,
        emit: &mut Emitter,
        code: &PartitionCode,
        low: u64,
        high: u64,
    ) -> Result<[i64; 2], ClosedStream> {
        emit.block(code.enter)?;
        let middle = emit.load(self.order.at(low.midpoint(high)));
        let cut: u64 = emit.load(word(middle, ABSOLUTE));
        let (mut left, mut right) = (low as i64, high as i64);
        loop {
            let (one, other);
            (left, one) = self.find(emit, code.left, [left, 1], |absolute| absolute <= cut)?;
            (right, other) = self.find(emit, code.right, [right, -1], |absolute| absolute >= cut)?;
            emit.block(code.apart)?;
            if left < right {
                emit.block(code.swap)?;
                emit.store(self.order.at(left as u64), other);
                emit.store(self.order.at(right as u64), one);
            }
            emit.block(code.met)?;
            if left <= right {
                (left, right) = (left + 1, right - 1);
            }
            if left > right {
                return Ok([left, right]);
            }
        }
    }
    /// Searches from `position` in steps of `step` for an absolute value that satisfies `stop`; returns the position
    /// and its entry.
    fn find(
        &self,
        emit: &mut Emitter,
        block: BlockId,
        [mut position, step]: [i64; 2],
        stop: impl Fn(u64) -> bool,
    ) -> Result<(i64, u64), ClosedStream> {
        loop {
            emit.block(block)?;
            let entry = emit.load(self.order.at(position as u64));
            if stop(emit.load(word(entry, ABSOLUTE))) {
                return Ok((position, entry));
            }
            position += step;
        }
    }
}

/// Returns the address of a word of the entry.
fn word(entry: u64, offset: u64) -> ValueAddress<u64> {
    ValueAddress::at(entry + offset)
}

/// Returns the cost of a unit of flow on `arc` under the potentials of its ends.
fn reduced_cost(emit: &mut Emitter, arc: ArcRecord) -> i64 {
    let tail = NodeRecord(emit.load(arc.tail()));
    let head = NodeRecord(emit.load(arc.head()));
    emit.load(arc.cost()) - emit.load(tail.potential()) + emit.load(head.potential())
}
