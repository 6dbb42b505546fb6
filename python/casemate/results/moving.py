"""Lines that move: how a design permutes them, and what a run moved."""

from typing import Literal

from casemate.results.base import Result

SLOTS = 256
"""Slots of a chunk."""


class MerkleCache(Result):
    """The cache of verified nodes, where a walk to a record may stop."""

    entries: int
    """How many it has; none if there is no cache."""
    in_pairs: bool
    """Whether an entry has a node and its sibling."""


class ContextsDesign(Result):
    """Hardware contexts of secure processes."""

    buffers: int
    """Hardware context buffers."""
    outside: int
    """Encrypted contexts that may be outside the chip at the same time."""


class PermutationDesign(Result):
    """How lines are permuted within their chunks, so that addresses on the bus say nothing."""

    lines: Literal["sealed", "plain"]
    """Whether memory has the lines encrypted and with tags, or as they are."""
    time: Literal["charged", "free"]
    """Whether permutations take time."""
    record_buffer: int
    """How many records the chip holds besides those of the pages in its TLBs."""
    slots_per_tag: int
    """How many slots are under one tag; a line comes with all of them."""
    hash_charge: Literal["once", "by-blocks"]
    """What a hash takes of the unit for hashes: one passage, or one for each block of 64 bytes."""
    merkle_cache: MerkleCache
    """Where a walk to a record may stop."""
    verification_buffer: int | None = None
    """Lines of the verification buffer: with it the operating system walks, by LoadNode and HashCheck; nothing if the
    memory controller does."""
    contexts: ContextsDesign | None = None
    """Hardware contexts of secure processes, between which a switch empties what the chip has of records and nodes."""


class Moving(Result):
    """What permutations and fills of a run did."""

    fills: int
    """Lines that were brought from memory for a reader."""
    fetched: int
    """Slots that were read for them: all that are under their tags."""
    records: int
    """Records that were brought from memory, each by a walk."""
    permutations: int
    """Chunks that were permuted."""
    read: int
    """Slots that permutations read: those that no fill had read."""
    written: int
    """Slots that they wrote."""
    twice: int
    """Slots that were read or written a second time between two permutations; none in a right run. Where several are
    under one tag: lines brought twice, and groups that a permutation read twice or though it had all their lines."""
    incomplete: int
    """Permutations before which not every slot was read and written; none in a right run."""
    switches: int = 0
    """Switches from one secure process to another, clock interrupts included."""
    contexts_out: int = 0
    """Contexts that left the chip, since no context buffer was free."""
    contexts_back: int = 0
    """Contexts that were loaded from memory again."""
    chunks_for_contexts: int = 0
    """Permutations of chunks whose process had locked lines when its context left, among `permutations`."""

    @property
    def fills_per_permutation(self) -> float | None:
        """Lines brought for readers, for each permutation; nothing without one."""
        return self.fills / self.permutations if self.permutations else None

    @property
    def moved_per_fill(self) -> float | None:
        """Lines that crossed the bus for each fill, that of the fill included; nothing without one."""
        return (self.fetched + self.read + self.written) / self.fills if self.fills else None
