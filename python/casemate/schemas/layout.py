"""Placement of a design's data and metadata, in memory and on the chip."""

from casemate.schemas.base import Result
from casemate.text import amounts


class Region(Result):
    """A contiguous region of memory with one purpose."""

    role: str
    """Content of the region: data, counter, tag, or a level of the tree."""
    level: int | None
    """Level in the tree; level 0 is directly above the leaves. Null for other regions."""
    start: int
    """Physical address of the first byte."""
    lines: int
    """Number of lines of 64 bytes."""
    bytes: int
    """Size of the region in bytes."""
    serves: int
    """Number of data lines that one line of the region covers; for tree nodes the number of children."""
    percent: float
    """Size in percent of the data."""


class OnChip(Result):
    """A structure that the chip keeps."""

    what: str
    """Kind of structure: a cache, or the root of the tree."""
    bytes: int
    """Size of the structure in bytes."""
    ways: int | None
    """Associativity: number of lines in a set, for a cache."""
    serves: int | None
    """Number of children of each line of the root."""


class Layout(Result):
    """Placement of data and metadata of a design."""

    design: str
    """Name of the design."""
    memory: int
    """Bytes of protected data."""
    regions: tuple[Region, ...]
    """Regions of memory, from the lowest address up."""
    on_chip: tuple[OnChip, ...]
    """Structures on the chip: caches, then the root."""
    overhead_percent: float
    """All metadata in memory in percent of the data."""
    pad_number_bits: int | None
    """Bits of the random number R' that a permutation draws for the pads of its page chunk; null without such pads."""

    def brief(self) -> str:
        """Returns the design and the share of its metadata in memory."""
        return f"{self.design}: metadata takes {self.overhead_percent:.3f} % of {amounts.size(self.memory)} of data"
