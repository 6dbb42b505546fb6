"""What a sampled run says about its sample."""

import json
from collections.abc import Sequence
from typing import Literal

from casemate import _core
from casemate.results.base import Result


class SamplingOptions(Result):
    """How a run is sampled. All lengths are numbers of instructions."""

    unit: int
    """Measured in each window."""
    lead_in: int
    """In detail before each unit, not measured."""
    period: int
    """From one unit to the next to begin with; it doubles as long as the sample stays accurate."""
    aim: Literal["ipc", "traffic", "latency"]
    """The figure whose accuracy is aimed at: instructions per cycle, bytes read and written per instruction, or the
    mean time from the last-level cache's miss to the released line."""
    error: float
    """The accuracy aimed at: half of the 95 % interval of that figure, as a part of its value."""
    start: int | None
    """Seeds where units start, if not the run's own seed does."""


class Sampled(Result):
    """Some units are in detail."""

    sampled: SamplingOptions
    """Which."""


Detail = Literal["all"] | Sampled
"""How much of a run is in detail."""


class Estimate(Result):
    """A figure and the ends of its 95 % confidence interval."""

    value: float
    """The most likely value."""
    low: float
    """The lower end."""
    high: float
    """The upper end."""

    @property
    def relative_error(self) -> float:
        """Half of the interval, as a part of the value."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


class Series(Result):
    """One value for each measured unit, in order."""

    start: tuple[int, ...]
    """After how many instructions it started."""
    time_fs: tuple[int, ...]
    """How long it took, in femtoseconds."""
    dram_bytes: tuple[int, ...]
    """Reads and writes of memory, in bytes."""


class Sampling(Result):
    """The sample that a run's figures come from. Intervals are 95 % confidence intervals."""

    units: int
    """Units that the figures come from."""
    distance: int
    """From one unit to the next, in instructions."""
    detailed: int
    """Instructions in detail, with lead-ins and with units that were given up later."""
    warmed: int
    """Instructions that were only warmed."""
    ipc: Estimate
    """Instructions per cycle."""
    accurate: bool
    """Whether the interval of the figure that was aimed at is as narrow as was asked for."""
    dram_bytes: Estimate
    """All reads and writes of memory of the whole run, in bytes."""
    read_latency_ns: Estimate | None
    """Mean time from the last-level cache's miss to the released line; nothing if there was no miss."""
    l1d_mpki: Estimate
    """Misses of the first-level data cache in 1000 instructions, without those merged into others."""
    l2_mpki: Estimate
    """Misses of the second-level cache in 1000 instructions."""
    llc_mpki: Estimate
    """Misses of the last-level cache in 1000 instructions."""
    mispredicts_mpki: Estimate
    """Mispredicted branches in 1000 instructions."""
    series: Series
    """The units themselves, to compare two designs unit by unit."""


def ratio(above: Sampling, below: Sampling, figure: Literal["time_fs", "dram_bytes"]) -> Estimate | None:
    """How many times `below`'s figure is `above`'s, by the units that both measured; `None` if those are too few.

    Units are matched: both ran the same instructions, so what these have of their own does not widen the interval.
    """
    common = set(above.series.start) & set(below.series.start)

    def values(sampling: Sampling) -> Sequence[float]:
        pairs = zip(sampling.series.start, getattr(sampling.series, figure), strict=True)
        return [float(value) for start, value in pairs if start in common]

    found = json.loads(_core.ratio(values(above), values(below)))
    return Estimate.model_validate(found) if found else None
