"""Results of `casemate bench crypto`: how fast one core of this computer seals and opens lines."""

from typing import Literal

from casemate._core import CasemateError
from casemate.schemas.base import Result
from casemate.text.nearest import missing

PowerSource = Literal["rapl", "given", "assumed", "unknown"]
"""Origin of the watts: measured by RAPL, the processor's energy counters; given by the user as a TDP; assumed from a
list; or not known.
"""

Operation = Literal["seal", "open"]
"""Direction: `seal` (encrypt and tag), or `open` (verify and decrypt)."""


class CryptoPower(Result):
    """Power that the benchmark charges to one CPU core."""

    source: PowerSource
    """Origin of the watts."""
    package_w: float | None
    """Power of the whole processor, in watts; null if it was measured, since each row then has its value, or if it is
    unknown.
    """
    cores: int | None
    """Number of CPU cores that share this power; null if the power was measured or is unknown."""
    told: str
    """Origin of the watts and the share that a core is charged with, as text."""

    @property
    def core_w(self) -> float | None:
        """Returns one CPU core's share of the processor's power, in watts."""
        return self.package_w / self.cores if self.package_w is not None and self.cores else None


class CryptoRow(Result):
    """Speed of one engine in one direction at one size."""

    engine: str
    """Name of the engine."""
    operation: Operation
    """Direction: `seal` (encrypt and tag), or `open` (verify and decrypt)."""
    message_bytes: int
    """Number of bytes in each call."""
    seconds: float
    """Seconds of a call: the median of all turns; for OpenSSL the mean over a second."""
    clock_hz: float
    """Clock of the core during the measurement, in hertz."""
    cycles_per_byte: float
    """Core cycles per byte."""
    gbps: float
    """Throughput in gigabits (10^9) a second."""
    watts: float | None
    """Watts charged to this core; null if unknown."""
    gbps_per_watt: float | None
    """Efficiency in gigabits a second per watt."""


class CryptoEngine(Result):
    """An engine that was measured."""

    name: str
    """Name of the engine."""
    summary: str
    """Description of the engine, and of the message that it processes in a call."""
    unit_bytes: int | None
    """Bytes under one nonce and one tag; null if that is the whole message."""


class Implementation(Result):
    """One row of Table 6.1: a figure of the thesis, or a measurement of this computer."""

    name: str
    """Name of the implementation."""
    is_today: bool
    """True if the row was measured on this computer, false if it is printed in the thesis or derived from it."""
    clock_mhz: float
    """Clock of the core or module, in megahertz."""
    cycles_per_byte: float
    """Cycles per byte of a line, the mean of both directions."""
    mbps: float
    """Throughput of one core or module, in megabits a second."""
    power_w: float | None
    """Watts charged to one core or module."""
    mbps_per_mw: float | None
    """Efficiency in megabits a second per milliwatt."""
    instances: int
    """Number of cores or modules that carry the requested bandwidth."""
    total_w: float | None
    """Total power of these cores or modules, in watts."""


class CryptoBench(Result):
    """A measurement of this computer's processor, next to the thesis's Table 6.1."""

    processor: str
    """Name that the processor reports."""
    core_count: int
    """Number of CPU cores on which this process may run."""
    nominal_mhz: float | None
    """Clock that the operating system states, in megahertz."""
    power: CryptoPower
    """Power that the benchmark charges to one CPU core."""
    built_as: str
    """Name of this build of Casemate; only `release` and `release-by-profile` reach the full speed."""
    turns: int
    """Number of turns of each engine at each size."""
    engines: tuple[CryptoEngine, ...]
    """Engines that were measured."""
    left_out: tuple[str, ...]
    """Engines that were not measured, each with the reason."""
    rows: tuple[CryptoRow, ...]
    """Measured figures of all engines."""
    bandwidth_gbs: float
    """Memory bandwidth to protect, in gigabytes (10^9) a second."""
    implementations: tuple[Implementation, ...]
    """Table 6.1: the rows of the thesis, then those of this computer."""
    conclusion: str
    """Verdict on the thesis's statement "software is infeasible"."""

    def row(self, engine: str, operation: str, message_bytes: int) -> CryptoRow:
        """Returns the figure of an engine in one direction at one size. Raises `CasemateError` if there is none."""
        for row in self.rows:
            if (row.engine, row.operation, row.message_bytes) == (engine, operation, message_bytes):
                return row
        measured = (f"{row.engine}, {row.operation}, {row.message_bytes} bytes" for row in self.rows)
        raise CasemateError(missing("figure of", f"{engine}, {operation}, {message_bytes} bytes", measured))

    def brief(self) -> str:
        """Returns the figure with the highest throughput."""
        best = max(self.rows, key=lambda row: row.gbps, default=None)
        if best is None:
            return "nothing was measured"
        return f"{best.gbps:.3g} Gb/s a core ({best.engine}, {best.operation}, {best.message_bytes} bytes)"
