"""Metadata caches of a design."""

from casemate.schemas.base import Result


class CacheDesign(Result):
    """Sizes and policies of a design's metadata caches; sizes are text, as in "64 KB"."""

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
    """True if a miss on a bitmap line also prefetches the next bitmap line."""
    ways: int
    """Associativity: number of lines in a set of each cache."""
    counters_in_llc: bool
    """True if the machine's last-level cache receives evicted lines of encryption counters."""
    nodes_in_llc: bool
    """True if the last-level cache receives evicted tree nodes as well."""
    offsets: bool = False
    """True if the counter cache keeps the first offset of the line with each counter, in designs with offsets."""
    counters_in_l2: str | None
    """Maximum size of the copies of encryption counters in each L2, which then decrypts lines itself; null if L2s keep
    no copies.
    """
