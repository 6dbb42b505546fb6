"""Metadata caches of a design."""

from casemate.results.base import Result


class CacheDesign(Result):
    """Metadata caches of a design; sizes are text, as in "64 KB"."""

    unified: str | None
    """Size of one cache for all metadata, instead of one for each kind."""
    counters: str | None
    """Size of the counter cache; the default is 64 KB."""
    tags: str | None
    """Size of the tag cache; the default is 64 KB."""
    nodes: str | None
    """Size of the cache of tree nodes; the default is 64 KB."""
    bitmaps: str | None = None
    """Size of the bitmap cache, if lines are re-ordered; the default is 8 KB."""
    bitmaps_ahead: bool = False
    """True if a missed line of bitmaps also prefetches the next one."""
    ways: int
    """Lines in a set, in each cache."""
    counters_in_llc: bool
    """True if evicted lines of counters move to the machine's last-level cache."""
    nodes_in_llc: bool
    """True if evicted tree nodes move to the last-level cache as well."""
    offsets: bool = False
    """True if the counter cache keeps the first offset of the line with each counter, in designs with offsets."""
    counters_in_l2: str | None
    """Copies of counters that each L2 may keep, to begin reads with."""
