"""Sample of a sampled run."""

import json
from collections.abc import Sequence
from typing import Literal

from casemate import _core
from casemate.schemas.base import Result


class SamplingOptions(Result):
    """Options of a sampled run. All lengths are numbers of instructions."""

    unit: int
    """Instructions that are measured in each window."""
    lead_in: int
    """Instructions in detail before each unit, not measured."""
    period: int
    """Instructions from one unit to the next at the beginning of the run; the period doubles as long as the sample
    stays accurate.
    """
    aim: Literal["ipc", "traffic", "latency"]
    """Figure that must be accurate: instructions per cycle, bytes read and written per instruction, or the mean time
    from the last-level cache's miss to the released line.
    """
    error: float
    """Required accuracy: half of the 95 % interval of the figure `aim`, as a part of its value."""
    start: int | None
    """Seed of the units' start positions; null for the run's seed."""


class Sampled(Result):
    """The run simulates only some units in detail."""

    sampled: SamplingOptions
    """Options of the sample."""


Detail = Literal["all"] | Sampled
"""Part of a run that is simulated in detail."""


class Estimate(Result):
    """A figure and the ends of its 95 % confidence interval."""

    value: float
    """Most likely value of the figure."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""

    @property
    def relative_error(self) -> float:
        """Half the width of the interval, as a part of the value."""
        return (self.high - self.low) / 2 / self.value if self.value else 0.0


class Series(Result):
    """One value for each measured unit, in order."""

    start: tuple[int, ...]
    """Instructions before the start of each unit."""
    time_fs: tuple[int, ...]
    """Duration of each unit, in femtoseconds."""
    dram_bytes: tuple[int, ...]
    """Bytes that each unit read from and wrote to memory."""


class Sampling(Result):
    """Sample that a run's figures are derived from. Intervals are 95 % confidence intervals."""

    units: int
    """Number of measured units that the figures are derived from."""
    distance: int
    """Instructions from one unit to the next at the end of the run."""
    detailed: int
    """Instructions simulated in detail, including lead-ins and units that the sample discarded later."""
    warmed: int
    """Instructions simulated only for warming."""
    ipc: Estimate
    """Instructions per cycle of all cores."""
    accurate: bool
    """True if the interval of the figure `aim` is as narrow as requested."""
    dram_bytes: Estimate
    """All reads and writes of memory in the whole run, in bytes."""
    read_latency_ns: Estimate | None
    """Mean time from the last-level cache's miss to the released line, in nanoseconds; null without a miss."""
    l1d_mpki: Estimate
    """Misses of the first-level data cache in 1000 instructions, without those that joined earlier misses."""
    l2_mpki: Estimate
    """Misses of the second-level cache in 1000 instructions."""
    llc_mpki: Estimate
    """Misses of the last-level cache in 1000 instructions."""
    mispredicts_mpki: Estimate
    """Mispredicted branches in 1000 instructions."""
    series: Series
    """Values of each unit, to compare two designs unit by unit."""


def ratio(above: Sampling, below: Sampling, figure: Literal["time_fs", "dram_bytes"]) -> Estimate | None:
    """Returns the figure of `above` as a multiple of that of `below`, from the units that both runs measured; `None` if
    the common units are too few.

    Units are matched: both runs executed the same instructions, so that differences between units do not widen the
    interval.
    """
    common = set(above.series.start) & set(below.series.start)

    def values(sampling: Sampling) -> Sequence[float]:
        pairs = zip(sampling.series.start, getattr(sampling.series, figure), strict=True)
        return [float(value) for start, value in pairs if start in common]

    found = json.loads(_core.ratio(values(above), values(below)))
    return Estimate.model_validate(found) if found else None
