"""Movement of lines: how a design permutes them, and the lines that a run moved."""

from typing import Literal

from casemate.results.base import Result

SLOTS = 256
"""Slots of a chunk."""


class MerkleCache(Result):
    """Cache of verified nodes, at which a walk to a record may stop."""

    entries: int
    """Number of entries; 0 if the design has no Merkle cache."""
    in_pairs: bool
    """True if an entry holds a node and its sibling."""


class ContextsDesign(Result):
    """Hardware contexts of secure processes."""

    buffers: int
    """Number of hardware context buffers."""
    outside: int
    """Encrypted contexts that may be outside the chip at the same time."""


class PermutationDesign(Result):
    """Permutation of lines within their chunks, so that addresses on the bus reveal no information."""

    lines: Literal["sealed", "plain"]
    """Form of lines in memory: encrypted and with tags, or plain."""
    time: Literal["charged", "free"]
    """Cost of permutations: charged with their time, or free."""
    record_buffer: int
    """Records that the chip holds in addition to those of the pages in its TLBs."""
    slots_per_tag: int
    """Slots under one tag; a fetch of a line reads all of them."""
    hash_charge: Literal["once", "by-blocks"]
    """Use of the hash unit by one hash: one passage, or one for each block of 64 bytes."""
    merkle_cache: MerkleCache
    """Cache at which a walk to a record may stop."""
    verification_buffer: int | None = None
    """Lines of the verification buffer. With this buffer the operating system walks, by LoadNode and HashCheck; null if
    the memory controller walks.
    """
    contexts: ContextsDesign | None = None
    """Hardware contexts of secure processes. A switch between them empties the chip's records and nodes."""


class Moving(Result):
    """Work of a run's permutations and fills."""

    fills: int
    """Lines that were fetched from memory for a reader."""
    fetched: int
    """Slots that were read for these lines: all under their tags."""
    records: int
    """Records that were fetched from memory, each by a walk."""
    permutations: int
    """Chunks that were permuted."""
    read: int
    """Slots that permutations read: those that no fill had read."""
    written: int
    """Slots that they wrote."""
    twice: int
    """Slots that were read or written a second time between two permutations; 0 in a correct run. With several slots
    under a tag, these are lines fetched twice, and groups that a permutation read twice or although it had all their
    lines.
    """
    incomplete: int
    """Permutations before which not every slot was read and written; 0 in a correct run."""
    switches: int = 0
    """Switches from one secure process to another, clock interrupts included."""
    contexts_out: int = 0
    """Contexts that left the chip, since no context buffer was free."""
    contexts_back: int = 0
    """Contexts that were loaded from memory again."""
    chunks_for_contexts: int = 0
    """Permutations, among `permutations`, of chunks with lines that a process had locked when its context left the
    chip.
    """

    @property
    def fills_per_permutation(self) -> float | None:
        """Fills for each permutation; `None` without a permutation."""
        return self.fills / self.permutations if self.permutations else None

    @property
    def moved_per_fill(self) -> float | None:
        """Lines that crossed the bus for each fill, including the filled line; `None` without a fill."""
        return (self.fetched + self.read + self.written) / self.fills if self.fills else None
