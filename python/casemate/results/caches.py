"""The caches of metadata that a design has."""

from casemate.results.base import Result


class CacheDesign(Result):
    """The metadata caches of a design; sizes as text, as in "64 KB"."""

    unified: str | None
    """One cache of everything, instead of one of each kind."""
    counters: str | None
    """Of counters; 64 KB if nothing is said."""
    tags: str | None
    """Of tags, likewise."""
    nodes: str | None
    """Of tree nodes, likewise."""
    bitmaps: str | None = None
    """Of bitmaps, where lines are re-ordered; 8 KB if nothing is said."""
    bitmaps_ahead: bool = False
    """Whether a line of bitmaps that was missed is followed by the next one."""
    ways: int
    """Lines in a set, in each."""
    counters_in_llc: bool
    """Whether lines of counters that lose their place go on to the machine's last-level cache."""
    nodes_in_llc: bool
    """Whether nodes of the tree go on there as well."""
    offsets: bool = False
    """Whether the cache of counters keeps with each counter the first offset of its line, where there are such."""
    counters_in_l2: str | None
    """Copies of counters that each L2 may keep, to begin reads with."""
