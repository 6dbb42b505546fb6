"""Permutation of lines: its configuration in a design, and its work in a run."""

from typing import Literal

from casemate.schemas.base import Result

SLOTS = 256
"""Number of slots in a page chunk."""


class MerkleCache(Result):
    """Cache of verified nodes and records, at which a walk to a record may stop."""

    entries: int
    """Number of entries of the Merkle cache; 0 if the design has no Merkle cache."""
    in_pairs: bool
    """True if an entry holds a node and its sibling, or a record and its sibling."""


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
    time: Literal["charged", "idle-bus", "free"]
    """Time of permutations: simulated, or free. With "idle-bus", transfers of slots use the bus only while no other
    request waits, until an access waits for the permutation.
    """
    ahead: int | float | Literal["never"] = 1
    """Moment at which a permutation begins in the background: a number of unlocked ways that an access leaves in its
    set, a share of the cache's lines that is locked, or "never".
    """
    at_once: int = 4
    """Maximum number of permutations under way at which another one begins in the background."""
    record_buffer: int
    """Number of page records that the chip can hold in addition to those of the pages in its TLBs."""
    slots_per_tag: int
    """Number of slots that share one tag; a fetch of a line reads all these slots."""
    first: Literal["group-order", "requested"] = "group-order"
    """Order in which the slots under one tag arrive: in the order of the code, or the requested slot first."""
    hash_charge: Literal["once", "by-blocks"]
    """Passages through the hash unit for one hash: a single passage, or one for each block of 64 bytes."""
    merkle_cache: MerkleCache
    """Merkle cache: verified nodes and records, at which a walk to a record may stop."""
    verification_buffer: int | None = None
    """Number of lines of the verification buffer, with which the operating system walks the tree, by LoadNode and
    HashCheck; null if the memory controller walks.
    """
    contexts: ContextsDesign | None = None
    """Contexts of secure processes in hardware. A switch between secure processes removes all records and nodes from
    the chip.
    """


class MerkleHits(Result):
    """Walks that the Merkle cache made unnecessary or shorter."""

    records: int
    """Page records that the Merkle cache had, so that no walk was necessary."""
    nodes: int
    """Walks that ended at a node in the Merkle cache."""


class ContextCounts(Result):
    """Contexts of secure processes that left the chip and returned."""

    out: int
    """Contexts that left the chip, since no context buffer was free."""
    back: int
    """Contexts that the chip loaded from memory again."""
    chunks_permuted: int
    """Permutations, among all permutations, of page chunks with lines that a process had locked when its context left
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
    merkle_cache: MerkleHits
    """Walks that the Merkle cache made unnecessary or shorter."""
    permutations: int
    """Number of permutations of page chunks."""
    permutations_awaited: int
    """Permutations, among `permutations`, that made an access wait: for a way of the cache, or for the page chunk."""
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
    switches: int
    """Switches from one secure process to another, those by clock interrupts included."""
    contexts: ContextCounts
    """Contexts of secure processes that left the chip and returned."""

    @property
    def fills_per_permutation(self) -> float | None:
        """Fills per permutation; `None` without a permutation."""
        return self.fills / self.permutations if self.permutations else None

    @property
    def moved_per_fill(self) -> float | None:
        """Lines that crossed the memory bus per fill, including the filled line; `None` without a fill."""
        return (self.fetched + self.read + self.written) / self.fills if self.fills else None
