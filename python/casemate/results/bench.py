"""What `casemate bench crypto` gives: what one core of this computer seals and opens."""

from typing import Literal

from casemate.results.base import Result

PowerSource = Literal["rapl", "given", "assumed", "unknown"]
"""Whether watts were measured by the processor's own counters, given as a TDP, assumed from a list, or are not known.
"""

Operation = Literal["seal", "open"]
"""Encrypt and tag, or verify and decrypt."""


class CryptoPower(Result):
    """What a core is charged with."""

    source: PowerSource
    """Where the watts come from."""
    package_w: float | None
    """Of the whole processor, in watts; nothing if measured (each row then has its own) or unknown."""
    cores: int | None
    """The cores that share them; nothing if measured or unknown."""
    told: str
    """All that in a sentence."""

    @property
    def core_w(self) -> float | None:
        """A core's share of the whole processor's watts."""
        return self.package_w / self.cores if self.package_w is not None and self.cores else None


class CryptoRow(Result):
    """One engine in one direction at one size."""

    engine: str
    """The engine."""
    operation: Operation
    """Whether it encrypts and tags, or verifies and decrypts."""
    message_bytes: int
    """Bytes of a call."""
    seconds: float
    """Seconds of a call: the median of all repetitions; for OpenSSL the mean of a second."""
    clock_hz: float
    """The core's clock meanwhile, in hertz."""
    cycles_per_byte: float
    """Cycles of that clock for each byte."""
    gbps: float
    """Gigabits (10^9) a second."""
    watts: float | None
    """What this core is charged with; nothing if that is not known."""
    gbps_per_watt: float | None
    """Gigabits a second for each watt."""


class CryptoEngine(Result):
    """What was measured."""

    name: str
    """Its name."""
    summary: str
    """What it is, and what a message of it is."""
    unit_bytes: int | None
    """The bytes that have a nonce and a tag of their own; nothing if that is the message."""


class Implementation(Result):
    """One row of Table 6.1, of the thesis or of today."""

    name: str
    """The implementation."""
    is_today: bool
    """Whether it was measured here, not printed or derived from the thesis."""
    clock_mhz: float
    """Its clock, in megahertz."""
    cycles_per_byte: float
    """Cycles for each byte of a line, the mean of both directions."""
    mbps: float
    """Megabits a second of one core or module."""
    power_w: float | None
    """What one is charged with, in watts."""
    mbps_per_mw: float | None
    """Megabits a second for each milliwatt."""
    instances: int
    """How many carry the bandwidth that was asked for."""
    total_w: float | None
    """What these take, in watts."""


class CryptoBench(Result):
    """A measurement of this computer's processor, next to the thesis's Table 6.1."""

    processor: str
    """The processor, as it names itself."""
    core_count: int
    """Cores that this process may run on."""
    nominal_mhz: float | None
    """The clock that the system states, in megahertz."""
    power: CryptoPower
    """What a core is charged with."""
    built_as: str
    """With which of Cargo's profiles Casemate was built: only `release` says what it can do."""
    turns: int
    """How many turns each engine had at each size."""
    engines: tuple[CryptoEngine, ...]
    """What was measured."""
    left_out: tuple[str, ...]
    """What was not, and why."""
    rows: tuple[CryptoRow, ...]
    """The figures."""
    bandwidth_gbs: float
    """The bandwidth to carry, in gigabytes (10^9) a second."""
    implementations: tuple[Implementation, ...]
    """Table 6.1 of the thesis, then of today."""
    conclusion: str
    """What becomes of the thesis's "software is infeasible"."""

    def row(self, engine: str, operation: str, message_bytes: int) -> CryptoRow:
        """One figure. Raises `KeyError` if it was not measured."""
        for row in self.rows:
            if (row.engine, row.operation, row.message_bytes) == (engine, operation, message_bytes):
                return row
        raise KeyError((engine, operation, message_bytes))

    def brief(self) -> str:
        """The fastest figure."""
        best = max(self.rows, key=lambda row: row.gbps, default=None)
        if best is None:
            return "nothing was measured"
        return f"{best.gbps:.3g} Gb/s a core ({best.engine}, {best.operation}, {best.message_bytes} bytes)"
