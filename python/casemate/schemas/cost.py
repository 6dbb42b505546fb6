"""Results of `casemate cost`: the cost of a design apart from time."""

from typing import Literal

from casemate._core import CasemateError
from casemate.schemas.base import Result
from casemate.text.nearest import missing

EarlyStep = Literal["counter", "pad", "root", "ciphertext", "tag"]
"""A step of securing a store; each step needs the results of the steps before it in this list."""


Counting = Literal["nothing", "buffers", "all"]
"""Drains that are carried out to count their operations: no drain; drains of full buffers; or drains of full caches as
well.
"""


class Moved(Result):
    """Data that a drain transfers to memory, by source."""

    from_secpb_bits: int
    """Number of bits from the secure persist buffer."""
    from_l1_bits: int
    """Number of bits from the first-level cache."""
    from_l2_bits: int
    """Number of bits from the second-level cache."""
    from_l3_bits: int
    """Number of bits from the last-level cache."""
    from_controller_bits: int
    """Number of bits from the memory controller with its metadata caches."""


class Operations(Result):
    """Numbers of the operations of a drain that consume energy."""

    moved: Moved
    """Data transferred to memory."""
    fetched_lines: int
    """Number of metadata lines fetched from memory."""
    hashed_lines: int
    """Number of lines that are hashed, for a tag or a tree node."""
    pads: int
    """Number of encryption pads that are computed, one for each line."""


class StorageSize(Result):
    """Size of a capacitor or battery that stores the energy of a drain."""

    storage: str
    """Kind of storage, by its name in the profile."""
    volume_mm3: float
    """Volume in cubic millimetres."""
    footprint_mm2: float
    """Footprint of the storage as a cube, in square millimetres."""
    core_percent: float
    """Footprint in percent of the area of the CPU core."""
    printed_mm3: float | None
    """Volume that the SecPB paper prints, in cubic millimetres; null if a parameter differs from the paper's."""
    is_as_printed: bool | None
    """True if our volume, rounded or cut off, equals the printed one."""
    difference_percent: float | None
    """Excess of our volume over the printed volume, in percent of the printed volume."""
    printed_core_percent: float | None
    """Footprint that the SecPB paper prints, in percent of the area of the CPU core."""


class DrainDifference(Result):
    """One difference between the operations of a drain that was carried out and those of the account that it is
    compared with.
    """

    name: str
    """Name of the difference."""
    why: str
    """Reason for the difference, in a sentence."""
    is_less: bool
    """True if the drain needs fewer operations because of this difference, not more."""
    operations: Operations
    """Operations by which the two accounts differ."""
    energy_nj: float
    """Energy of these operations, in nanojoules; negative if the drain needs fewer operations."""


class DrainAccount(Result):
    """Operations and energy of drains that were carried out."""

    operations: Operations
    """Operations of the drains."""
    energy_nj: float
    """Energy of these operations, in nanojoules."""
    sizes: tuple[StorageSize, ...]
    """Sizes of each kind of storage for this energy, in the profile's order. The paper does not print these sizes."""
    differences: tuple[DrainDifference, ...]
    """Complete list of the differences from the preceding account."""


class CountedDrain(Result):
    """A worst-case drain that was carried out to count its operations: of a full buffer with the store in flight, or of
    caches with only dirty lines.
    """

    alone: DrainAccount
    """Each entry or line in a separate drain, from cold metadata caches. The differences are from the closed form."""
    together: DrainAccount
    """All entries or lines in one drain, from metadata caches that were cold at its start. The differences are from
    `alone`.
    """
    overflowing: DrainAccount | None
    """The drain `together`, with an overflow of each encryption counter that the drain increments. The differences are
    from `together`. Null for caches.
    """


class BatteryRow(Result):
    """Battery of one scheme or system."""

    system: str
    """A scheme of SecPB, or a system that it is compared with."""
    formula: str
    """Formula for the operations, in words."""
    early: tuple[EarlyStep, ...]
    """Early steps, which the system completes before a loss of power, as each store enters the buffer."""
    entries: int | None
    """Number of entries of the buffer; null for a system that drains caches."""
    operations: Operations
    """Operations of the worst-case drain, by the closed form."""
    energy_nj: float
    """Energy of these operations, in nanojoules."""
    sizes: tuple[StorageSize, ...]
    """Sizes of each kind of storage for this energy, in the profile's order."""
    remark: str | None
    """Contradiction in the paper about this system, if any."""
    counted: CountedDrain | None
    """Operations of a drain that was carried out; null if no design models the system, or if the user did not request
    the drain.
    """
    not_counted: str | None
    """Reason that the requested drain cannot be carried out."""


class BatteryCost(Result):
    """Batteries of several systems."""

    profile: str
    """Name of the profile that the estimates use."""
    summary: str
    """Description of the profile in a sentence."""
    core_mm2: float
    """Area of the CPU core that footprints are compared with, in square millimetres."""
    levels: int
    """Number of levels of the tree, from the counter lines to the root, both included."""
    rows: tuple[BatteryRow, ...]
    """A row for each system with a buffer and each number of entries, then rows of systems without a buffer."""

    def of(self, system: str, entries: int | None = None) -> BatteryRow:
        """Returns the row of a system; the one with this number of entries, if the user requested several.

        Raises `CasemateError` if there is no row of it.
        """
        for row in self.rows:
            if row.system == system and entries in (None, row.entries):
                return row
        rows = ((row.system, f"{row.system} with {row.entries} entries") for row in self.rows)
        known = [name if entries is None else with_entries for name, with_entries in rows]
        raise CasemateError(missing("row of", system if entries is None else f"{system} with {entries} entries", known))

    def brief(self) -> str:
        """Returns the smallest and the largest volume."""
        volumes = sorted((size.volume_mm3, row.system, size.storage) for row in self.rows for size in row.sizes)
        if not volumes:
            return "no systems"
        texts = (f"{volume:.3g} mm3 ({system}, {storage})" for volume, system, storage in (volumes[0], volumes[-1]))
        return " to ".join(texts)
