# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Computes the exact number of cycles of a lane from its parameters.

A block leaves AES in each slot. In the first four slots it enters GHASH, for which it may have to wait. If GHASH is
slow, the first block of a line also waits for the response of an earlier line. The cycles in which the blocks leave
determine all other cycles.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from points import LanePoint, rounds

SLOTS = 5
# Goals of the engine's design, as upper limits in cycles: from a line to the next, and from a line's entry to its
# response.
WANTED_PACE = {
    "aes128-w16": Fraction(50),
    "aes128-pipelined-w128": Fraction(5),
    "aes256-pipelined-w128-tower": Fraction(5),
    "router-2-aes128-pipelined-w128": Fraction(5, 2),
}
WANTED_LATENCY = {"aes128-w16": 54}


def _block(point: LanePoint) -> int:
    """Cycles from a block's entry into AES to its exit."""
    return rounds(point.key_bits) // max(point.rounds_per_cycle, 1)


def _between(point: LanePoint) -> int:
    """Cycles from a block's exit to the next block's exit, without stalls."""
    return _block(point) if point.rounds_per_cycle else 1


def _product(point: LanePoint) -> int:
    """Cycles of one GHASH product."""
    return 128 // point.mul_bits


def _between_products(point: LanePoint) -> int:
    """Cycles from the start of a product to the start of the next product.

    A pipelined lane reads a product of one cycle during that cycle, so it needs no cycle in between.
    """
    back_to_back = point.rounds_per_cycle == 0 and point.mul_bits == 128
    return _product(point) + (0 if back_to_back else 1)


def _flow(point: LanePoint, lines: int) -> tuple[list[int], list[int]]:
    """Returns the cycles in which blocks leave AES, and the cycles of the responses, from the first line's entry.

    Lines follow each other without a gap, and no response waits.
    """
    exits: list[int] = []
    answers: list[int] = []
    # The cycle in which the multiplier may start, and the cycle in which AES has its next block.
    free, there = 0, _block(point)
    for line in range(lines):
        for slot in range(SLOTS):
            leaves = there
            # The first block of a line needs a free output entry: it waits for the response of the line before in it.
            if slot == 0 and line >= _lines_out(point):
                leaves = max(leaves, answers[line - _lines_out(point)] + 1)
            if slot < SLOTS - 1:
                leaves = max(leaves, free)
                free = leaves + _between_products(point)
            exits.append(leaves)
            there = leaves + _between(point)
        # The last block is the mask or a pad. The verdict is valid two cycles after it, or three after the last product
        # if that is later. In these cycles, the lane adds the hash to the tag, and the rails compare the tag.
        answers.append(max(exits[-1] + 2, exits[-2] + _product(point) + 3))
    return exits, answers


def _lines_out(point: LanePoint) -> int:
    """Number of lines that can be between their first block and their response."""
    return 1 if point.rounds_per_cycle else 2


def latency(point: LanePoint) -> int:
    """Cycles from the acceptance of a line to its response, without any other line in the lane."""
    return _flow(point, 1)[1][0]


def pace(point: LanePoint) -> Fraction:
    """Mean cycles from a line to the next, over all lanes of a router."""
    exits, _ = _flow(point, 6)
    steady = {late - early for early, late in pairwise(exits[SLOTS - 1 :: SLOTS])}
    assert len(steady) == 1, f"{point.name}: {steady}"
    return Fraction(steady.pop(), point.lanes or 1)


def key_setup(point: LanePoint) -> int:
    """Cycles from the acceptance of a key to the acceptance of its first line."""
    # A pipelined core computes one round key a cycle; the first ones are part of the key.
    made = 0 if point.rounds_per_cycle else rounds(point.key_bits) + 1 - point.key_bits // 128
    # Two cycles to load the key; then the lane encrypts zero, and computes H^2 and the product of the length and H.
    return 2 + made + (_block(point) + 1) + 2 * (_product(point) + 2) + 1
