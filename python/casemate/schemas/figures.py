"""Figures derived from statistics, for records and for intervals; no other file repeats these formulas."""

from typing import Protocol

from casemate import _core
from casemate.schemas.counters import Hits, Llc, MetadataCache, Node

LEVELS = ("l1i", "l1d", "l2", "llc")
"""Caches of instructions and data, from the core outwards."""

METADATA = tuple(_core.METADATA_CACHES)
"""Names of the metadata caches of a record, in its order."""


class Counted(Protocol):
    """A record or an interval."""

    @property
    def instructions(self) -> int:
        """Number of simulated instructions."""

    @property
    def time_fs(self) -> int:
        """Simulated time in femtoseconds."""

    @property
    def dram_bytes(self) -> int:
        """All DRAM reads and writes, in bytes."""

    @property
    def node(self) -> Node:
        """All cores and their private caches together."""

    @property
    def llc(self) -> Llc:
        """Counts of the last-level cache."""

    @property
    def metadata_caches(self) -> tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]:
        """The counter, tag, node and bitmap caches."""


def hit_rate(cache: Hits) -> float | None:
    """Returns the share of hits among the look-ups, without look-ups that joined a miss under way; `None` without a
    look-up.
    """
    looked_up = cache.hits + cache.misses
    return cache.hits / looked_up if looked_up else None


def per_kilo(events: int, counted: Counted) -> float:
    """Returns the number of events per 1000 instructions. In a sampled run, the instructions are those of the measured
    units.
    """
    return 1000 * events / max(counted.node.instructions, 1)


def mpki(counted: Counted) -> dict[str, float]:
    """Returns misses per 1000 instructions at each level, without accesses that joined a miss under way."""
    node = counted.node
    found = (node.l1i, node.l1d, node.l2, counted.llc)
    return {level: per_kilo(cache.misses, counted) for level, cache in zip(LEVELS, found, strict=True)}


def bandwidth_gb_per_s(counted: Counted) -> float:
    """Returns memory traffic per second of simulated time, in units of 10^9 bytes."""
    return counted.dram_bytes / max(counted.time_fs, 1) * 1e6
