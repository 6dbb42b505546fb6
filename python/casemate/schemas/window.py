"""Results of `casemate champsim`: one part of a trace, in ChampSim's terms."""

from casemate.schemas.base import Result


class Accesses(Result):
    """Accesses to a cache or a TLB."""

    accesses: int
    """All accesses, without write-backs from a higher level."""
    misses: int
    """Accesses that missed, including those that joined a miss under way."""


class Window(Result):
    """Figures of a window of a trace: statistics at its end minus those at its beginning."""

    warmup_instructions: int
    """Number of instructions before the window."""
    instructions: int
    """Number of instructions in the window."""
    restarts: int
    """Number of times that the trace started again before the end of the window, because it was too short."""
    cycles: int
    """Core cycles of the window."""
    ipc: float
    """Instructions per cycle in the window."""
    branch_mpki: float
    """Mispredicted branches per thousand instructions."""
    l1i: Accesses
    """The first-level instruction cache; one access per change of line."""
    l1d: Accesses
    """The first-level data cache."""
    l2: Accesses
    """Second-level cache of the core."""
    llc: Accesses
    """Last-level cache of the machine."""
    dtlb: Accesses
    """First-level TLB for data."""
    stlb: Accesses
    """Second-level TLB for data."""
    llc_miss_latency_cycles: float | None
    """Mean time from a miss of the last-level cache to the line's arrival in it, in core cycles; null without a miss.
    """
    row_hit_rate: float | None
    """Share of DRAM accesses, reads and writes, that found their row open."""
