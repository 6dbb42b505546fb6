"""What `casemate champsim` gives: one part of a trace, in ChampSim's terms."""

from casemate.results.base import Result


class Accesses(Result):
    """Accesses to a cache or a TLB."""

    accesses: int
    """All of them, but what a level above wrote back."""
    misses: int
    """Those that found nothing, with those that joined a miss under way."""


class Window(Result):
    """The figures of a part of a trace: those at its end less those at its beginning."""

    warmup_instructions: int
    """Instructions before it."""
    instructions: int
    """Its instructions."""
    restarts: int
    """How often the trace started again at its end, up to the window's end: it is shorter than warm-up and window."""
    cycles: int
    """Its core cycles."""
    ipc: float
    """Instructions per cycle."""
    branch_mpki: float
    """Branches predicted wrongly, per thousand instructions."""
    l1i: Accesses
    """The first-level instruction cache; one access per change of line."""
    l1d: Accesses
    """The first-level data cache."""
    l2: Accesses
    """The second-level cache."""
    llc: Accesses
    """The last-level cache."""
    dtlb: Accesses
    """First-level translations of data."""
    stlb: Accesses
    """Second-level translations."""
    llc_miss_latency_cycles: float | None
    """From a miss of the last-level cache to the line's arrival there, in core cycles; nothing without a miss."""
    row_hit_rate: float | None
    """The share of DRAM accesses, reads and writes, that found their row open."""
