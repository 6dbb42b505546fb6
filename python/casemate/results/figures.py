"""Figures that follow from what was counted, of a record as of an interval: each formula stands here, once."""

from typing import Protocol

from casemate.results.counters import Hits, Llc, MetadataCache, Node

LEVELS = ("l1i", "l1d", "l2", "llc")
"""The caches of instructions and data, from the core on."""

METADATA = ("counters", "tags", "tree", "bitmaps")
"""What the metadata caches of a record keep, in its order."""


class Counted(Protocol):
    """A record or an interval."""

    @property
    def instructions(self) -> int:
        """Simulated instructions."""

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
        """The last-level cache."""

    @property
    def metadata_caches(self) -> tuple[MetadataCache, MetadataCache, MetadataCache, MetadataCache]:
        """The counter, tag, node and bitmap caches."""


def hit_rate(cache: Hits) -> float | None:
    """The part of the look-ups that found their line, without those that joined another; nothing without a look-up."""
    looked_up = cache.hits + cache.misses
    return cache.hits / looked_up if looked_up else None


def per_kilo(events: int, counted: Counted) -> float:
    """So many events, in 1000 instructions. Of a sampled run, those of the units."""
    return 1000 * events / max(counted.node.instructions, 1)


def mpki(counted: Counted) -> dict[str, float]:
    """Misses in 1000 instructions of each level, without those that joined a miss under way."""
    node = counted.node
    found = (node.l1i, node.l1d, node.l2, counted.llc)
    return {level: per_kilo(cache.misses, counted) for level, cache in zip(LEVELS, found, strict=True)}


def bandwidth_gb_per_s(counted: Counted) -> float:
    """What memory moved in a second of simulated time, in units of 10^9 bytes."""
    return counted.dram_bytes / max(counted.time_fs, 1) * 1e6
