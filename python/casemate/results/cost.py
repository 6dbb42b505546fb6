"""What `casemate cost` gives: what a design costs beside time."""

from typing import Literal

from casemate.results.base import Result

EarlyStep = Literal["counter", "pad", "root", "ciphertext", "tag"]
"""A step of securing a store, in the order in which each needs those before it."""


Counting = Literal["nothing", "buffers", "all"]
"""Which drains are carried out, so that what they do is counted: none; those of full buffers; or those of full caches
as well."""


class Moved(Result):
    """What goes to memory, by where it comes from."""

    from_secpb_bits: int
    """Bits from the secure persist buffer."""
    from_l1_bits: int
    """Bits from the first-level cache."""
    from_l2_bits: int
    """Bits from the second-level cache."""
    from_l3_bits: int
    """Bits from the last-level cache."""
    from_controller_bits: int
    """Bits from the memory controller with its metadata caches."""


class Operations(Result):
    """What a drain does that takes energy."""

    moved: Moved
    """What goes to memory."""
    fetched_lines: int
    """Lines of metadata that come from memory."""
    hashed_lines: int
    """Lines that are hashed, for a tag or a node of the tree."""
    pads: int
    """Pads that are computed, each for a line."""


class StorageSize(Result):
    """How large a capacitor or battery must be to hold the energy of a drain."""

    storage: str
    """Which kind, by its name in the profile."""
    volume_mm3: float
    """Its volume in cubic millimetres."""
    footprint_mm2: float
    """The area that it covers as a cube, in square millimetres."""
    core_percent: float
    """That area in percent of the core's."""
    printed_mm3: float | None
    """The volume that the SecPB paper prints; only where its parameters are asked for."""
    is_as_printed: bool | None
    """Whether ours is printed so, rounded or cut off."""
    difference_percent: float | None
    """By how much ours is larger, in percent of the printed one."""
    printed_core_percent: float | None
    """The area in percent of the core's that the SecPB paper prints."""


class DrainDifference(Result):
    """By what a drain that was carried out differs from what it is compared with."""

    name: str
    """What it is called."""
    why: str
    """Why it is there, in a sentence."""
    is_less: bool
    """Whether the drain does less by this, not more."""
    operations: Operations
    """What it is."""
    energy_nj: float
    """What that takes, in nanojoules; negative if it is less."""


class DrainAccount(Result):
    """What drains did that were carried out."""

    operations: Operations
    """What they did."""
    energy_nj: float
    """What that takes, in nanojoules."""
    sizes: tuple[StorageSize, ...]
    """What holds that, in the profile's order; the paper prints nothing of it."""
    differences: tuple[DrainDifference, ...]
    """By what it differs from the account before it, all of it."""


class CountedDrain(Result):
    """The drain of a full buffer at the worst, and of the store in flight, or of caches all of whose lines are dirty:
    carried out, and counted."""

    alone: DrainAccount
    """Each entry or line alone, from cold caches of metadata. Its differences are from the closed form."""
    together: DrainAccount
    """All entries or lines, from caches that were cold once. Its differences are from each alone."""
    overflowing: DrainAccount | None
    """The same where each counter overflows that the battery moves on. Its differences are from all together. Nothing
    of caches."""


class BatteryRow(Result):
    """What one system needs."""

    system: str
    """A scheme of SecPB, or what it is compared with."""
    formula: str
    """From what its operations follow, in words."""
    early: tuple[EarlyStep, ...]
    """The steps that are done before a loss of power, as each store enters the buffer."""
    entries: int | None
    """Entries of its buffer; nothing if it drains caches."""
    operations: Operations
    """What its drain does at the worst, by the closed form."""
    energy_nj: float
    """What that takes, in nanojoules."""
    sizes: tuple[StorageSize, ...]
    """What holds that, in the profile's order."""
    remark: str | None
    """Where the paper contradicts itself about it, if it prints anything."""
    counted: CountedDrain | None
    """What its drain does where that is carried out; nothing if no design does it, or if that was not asked for."""
    not_counted: str | None
    """Why its drain cannot be carried out, if it was asked for."""


class BatteryCost(Result):
    """The batteries of several systems."""

    profile: str
    """The name of what they are estimated from."""
    summary: str
    """What that is, in a sentence."""
    core_mm2: float
    """The area of the core that footprints are compared with, in square millimetres."""
    levels: int
    """Levels of the tree, from the lines of counters to the root, both included."""
    rows: tuple[BatteryRow, ...]
    """For each number of entries the buffers, then what has no entries."""

    def of(self, system: str, entries: int | None = None) -> BatteryRow:
        """The row of a system; of that with so many entries, if several are asked for.

        Raises `KeyError` if it is not there.
        """
        for row in self.rows:
            if row.system == system and entries in (None, row.entries):
                return row
        raise KeyError(system if entries is None else f"{system} with {entries} entries")

    def brief(self) -> str:
        """The smallest and the largest volume."""
        volumes = sorted((size.volume_mm3, row.system, size.storage) for row in self.rows for size in row.sizes)
        if not volumes:
            return "no systems"
        told = (f"{volume:.3g} mm3 ({system}, {storage})" for volume, system, storage in (volumes[0], volumes[-1]))
        return " to ".join(told)
