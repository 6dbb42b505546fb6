"""Results of `casemate bench crypto`: how fast one core of this computer seals and opens lines."""

from typing import Literal

from casemate.results.base import Result

PowerSource = Literal["rapl", "given", "assumed", "unknown"]
"""Origin of the watts: measured by the processor's counters, given as a TDP, assumed from a list, or not known."""

Operation = Literal["seal", "open"]
"""Direction: encrypt and tag, or verify and decrypt."""


class CryptoPower(Result):
    """Power that is charged to one core."""

    source: PowerSource
    """Origin of the watts."""
    package_w: float | None
    """Power of the whole processor, in watts; null if measured (each row then has a value) or unknown."""
    cores: int | None
    """Cores that share the watts; null if measured or unknown."""
    told: str
    """Origin and share of the watts in a sentence."""

    @property
    def core_w(self) -> float | None:
        """Returns a core's share of the processor's power, in watts."""
        return self.package_w / self.cores if self.package_w is not None and self.cores else None


class CryptoRow(Result):
    """Speed of one engine in one direction at one size."""

    engine: str
    """Name of the engine."""
    operation: Operation
    """Direction: encrypt and tag, or verify and decrypt."""
    message_bytes: int
    """Bytes in each call."""
    seconds: float
    """Seconds in each call: the median of all repetitions; for OpenSSL the mean over a second."""
    clock_hz: float
    """Clock of the core during the measurement, in hertz."""
    cycles_per_byte: float
    """Cycles of that clock for each byte."""
    gbps: float
    """Throughput in gigabits (10^9) a second."""
    watts: float | None
    """Watts charged to this core; null if unknown."""
    gbps_per_watt: float | None
    """Gigabits a second for each watt."""


class CryptoEngine(Result):
    """An engine that was measured."""

    name: str
    """Name of the engine."""
    summary: str
    """Description of the engine, and of its message."""
    unit_bytes: int | None
    """Bytes under one nonce and one tag; null if that is the whole message."""


class Implementation(Result):
    """One row of Table 6.1, of the thesis or measured today."""

    name: str
    """Name of the implementation."""
    is_today: bool
    """True if it was measured here, false if printed in the thesis or derived from it."""
    clock_mhz: float
    """Clock of the core or module, in megahertz."""
    cycles_per_byte: float
    """Cycles for each byte of a line, the mean of both directions."""
    mbps: float
    """Megabits a second of one core or module."""
    power_w: float | None
    """Watts charged to one core or module."""
    mbps_per_mw: float | None
    """Megabits a second for each milliwatt."""
    instances: int
    """Number of cores or modules that carry the requested bandwidth."""
    total_w: float | None
    """Total power of these, in watts."""


class CryptoBench(Result):
    """A measurement of this computer's processor, next to the thesis's Table 6.1."""

    processor: str
    """Name of the processor, as it reports it."""
    core_count: int
    """Number of cores on which this process may run."""
    nominal_mhz: float | None
    """Clock that the operating system states, in megahertz."""
    power: CryptoPower
    """Power that is charged to one core."""
    built_as: str
    """Cargo profile of this build of Casemate; only `release` shows its full speed."""
    turns: int
    """Number of turns of each engine at each size."""
    engines: tuple[CryptoEngine, ...]
    """Engines that were measured."""
    left_out: tuple[str, ...]
    """Engines that were not measured, with reasons."""
    rows: tuple[CryptoRow, ...]
    """Measured figures of all engines."""
    bandwidth_gbs: float
    """Bandwidth to carry, in gigabytes (10^9) a second."""
    implementations: tuple[Implementation, ...]
    """Table 6.1: the rows of the thesis, then those of today."""
    conclusion: str
    """Verdict on the thesis's statement "software is infeasible"."""

    def row(self, engine: str, operation: str, message_bytes: int) -> CryptoRow:
        """Returns one figure. Raises `KeyError` if it was not measured."""
        for row in self.rows:
            if (row.engine, row.operation, row.message_bytes) == (engine, operation, message_bytes):
                return row
        raise KeyError((engine, operation, message_bytes))

    def brief(self) -> str:
        """Returns the fastest figure."""
        best = max(self.rows, key=lambda row: row.gbps, default=None)
        if best is None:
            return "nothing was measured"
        return f"{best.gbps:.3g} Gb/s a core ({best.engine}, {best.operation}, {best.message_bytes} bytes)"
