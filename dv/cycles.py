# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The cycles of a lane, from its parameters alone: what it must take, no more and no less.

A block leaves AES in each slot and, in the first four, goes to GHASH, for which it may have to wait; where GHASH is
slow, the first one of a line also waits for the response of the line before. The cycles in which they leave decide all
else.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from points import LanePoint, rounds

SLOTS = 5
# What the engine was built for: at most so many cycles from a line to the next, and from a line's entry to its tag.
WANTED_PACE = {
    "aes128-w16": Fraction(50),
    "aes128-pipelined-w128": Fraction(5),
    "aes256-pipelined-w128-tower": Fraction(5),
    "router-2-aes128-pipelined-w128": Fraction(5, 2),
}
WANTED_LATENCY = {"aes128-w16": 54}


def _block(point: LanePoint) -> int:
    """From a block's entry into AES to its exit."""
    return rounds(point.key_bits) // max(point.rounds_per_cycle, 1)


def _between(point: LanePoint) -> int:
    """From a block's exit to the next one's, if nothing waits."""
    return _block(point) if point.rounds_per_cycle else 1


def _product(point: LanePoint) -> int:
    """The cycles that a product takes."""
    return 128 // point.mul_bits


def _between_products(point: LanePoint) -> int:
    """From the start of a product to that of the next: one of a cycle is read while it is made, by a pipelined lane."""
    back_to_back = point.rounds_per_cycle == 0 and point.mul_bits == 128
    return _product(point) + (0 if back_to_back else 1)


def _flow(point: LanePoint, lines: int) -> tuple[list[int], list[int]]:
    """The cycles, after the entry of the first line, in which blocks leave AES and in which lines are answered, while
    lines follow each other and no response waits.
    """
    exits: list[int] = []
    answers: list[int] = []
    # The cycle in which the multiplier may start, and that in which AES has its next block.
    free, there = 0, _block(point)
    for line in range(lines):
        for slot in range(SLOTS):
            leaves = there
            # A line's first block has a register to go to when the line that was in it is answered.
            if slot == 0 and line >= _lines_out(point):
                leaves = max(leaves, answers[line - _lines_out(point)] + 1)
            if slot < SLOTS - 1:
                leaves = max(leaves, free)
                free = leaves + _between_products(point)
            exits.append(leaves)
            there = leaves + _between(point)
        # The tag has its mask or its pads two cycles after the last block, and its hash three after the last product:
        # it is added, it is looked at, and the verdict is there.
        answers.append(max(exits[-1] + 2, exits[-2] + _product(point) + 3))
    return exits, answers


def _lines_out(point: LanePoint) -> int:
    """Lines between their first block and their response."""
    return 1 if point.rounds_per_cycle else 2


def latency(point: LanePoint) -> int:
    """From the acceptance of a line that is alone to its response."""
    return _flow(point, 1)[1][0]


def pace(point: LanePoint) -> Fraction:
    """From a line to the next, on average."""
    exits, _ = _flow(point, 6)
    steady = {late - early for early, late in pairwise(exits[SLOTS - 1 :: SLOTS])}
    assert len(steady) == 1, f"{point.name}: {steady}"
    return Fraction(steady.pop(), point.lanes or 1)


def key_setup(point: LanePoint) -> int:
    """From the acceptance of a key to that of its first line."""
    # A pipelined core makes the round keys that are not the key itself, one a cycle.
    made = 0 if point.rounds_per_cycle else rounds(point.key_bits) + 1 - point.key_bits // 128
    # Two cycles until the key is there; zero is encrypted; H^2 and the product of the length and H are made.
    return 2 + made + (_block(point) + 1) + 2 * (_product(point) + 2) + 1
