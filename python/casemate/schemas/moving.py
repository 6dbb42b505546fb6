"""Permutation of lines: its configuration in a design, and its work in a run."""

from typing import Literal

from casemate.schemas.base import Result

SLOTS = 256
"""Number of slots in a page chunk."""


class MerkleCache(Result):
    """Cache of verified nodes, at which a walk to a record may stop."""

    entries: int
    """Number of entries of the Merkle cache; 0 if the design has no Merkle cache."""
    in_pairs: bool
    """True if an entry holds a node and its sibling."""


class ContextsDesign(Result):
    """Contexts of secure processes in hardware."""

    buffers: int
    """Number of hardware context buffers."""
    outside: int
    """Encrypted contexts that may be outside the chip at the same time."""


class PermutationDesign(Result):
    """Permutation of lines within their page chunks, so that addresses on the bus reveal no information."""

    lines: Literal["sealed", "plain"]
    """Form of lines in memory: encrypted with tags, or plain."""
    time: Literal["charged", "free"]
    """Time of permutations: simulated, or free."""
    record_buffer: int
    """Number of page records that the chip can hold in addition to those of the pages in its TLBs."""
    slots_per_tag: int
    """Number of slots that share one tag; a fetch of a line reads all these slots."""
    hash_charge: Literal["once", "by-blocks"]
    """Passages through the hash unit for one hash: a single passage, or one for each block of 64 bytes."""
    merkle_cache: MerkleCache
    """Merkle cache: verified nodes, at which a walk to a record may stop."""
    verification_buffer: int | None = None
    """Number of lines of the verification buffer, with which the operating system walks the tree, by LoadNode and
    HashCheck; null if the memory controller walks.
    """
    contexts: ContextsDesign | None = None
    """Contexts of secure processes in hardware. A switch between secure processes removes all records and nodes from
    the chip.
    """


class Moving(Result):
    """Work of a run's permutations and fills."""

    fills: int
    """Fills: lines that the controller fetched from memory for a reader."""
    fetched: int
    """Slots that these fills read: all slots that share the line's tag."""
    records: int
    """Page records that walks fetched from memory."""
    permutations: int
    """Number of permutations of page chunks."""
    read: int
    """Slots that permutations read, since no fill had read them."""
    written: int
    """Slots that permutations wrote."""
    twice: int
    """Slots that were read or written a second time between two permutations; 0 in a correct run. If several slots
    share a tag, it counts lines fetched twice, and tag groups that a permutation read twice, or read although the chip
    had all their lines.
    """
    incomplete: int
    """Permutations after epochs in which not every slot was read and written; 0 in a correct run."""
    switches: int = 0
    """Switches from one secure process to another, those by clock interrupts included."""
    contexts_out: int = 0
    """Contexts that left the chip, since no context buffer was free."""
    contexts_back: int = 0
    """Contexts that the chip loaded from memory again."""
    chunks_for_contexts: int = 0
    """Permutations, among `permutations`, of page chunks with lines that a process had locked when its context
    left the chip.
    """

    @property
    def fills_per_permutation(self) -> float | None:
        """Fills per permutation; `None` without a permutation."""
        return self.fills / self.permutations if self.permutations else None

    @property
    def moved_per_fill(self) -> float | None:
        """Lines that crossed the memory bus per fill, including the filled line; `None` without a fill."""
        return (self.fetched + self.read + self.written) / self.fills if self.fills else None
