"""Measures how fast this computer's processor seals and opens messages by AES-128-GCM. Our line kernel, RustCrypto's
`aes-gcm` and OpenSSL take turns at every size, so that other load on the computer affects all three alike. The figure
of an engine is the median of its turns.

Only seconds and the core's clock are measured (in `crates/throughput`, and by OpenSSL's program). This module derives
all other figures by the thesis's formulas, and compares them with its Table 6.1.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from casemate import _core
from casemate._core import CasemateError
from casemate.crypto import feasibility, openssl_speed, processors
from casemate.crypto.openssl_speed import OpenSsl
from casemate.crypto.processors import EnergyCounter, Processor
from casemate.schemas.bench import CryptoBench, CryptoEngine, CryptoPower, CryptoRow, Operation
from casemate.text.shown import ShortRepr

SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
"""Default bytes of a message."""
TURNS = 51
"""Default turns of each engine."""
TURNS_MAX = 10_000
REPETITIONS = 8
"""Calls in a turn: vector units that were powered down wake up during the first call."""
NOT_INSTALLED = "the program `openssl` is not installed (try: apt-get install openssl)"
OPERATIONS: tuple[Operation, ...] = ("seal", "open")

ProgressCallback = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, repr=False)
class CryptoOptions(ShortRepr):
    """Options of the measurement, and of the comparison."""

    sizes: Sequence[int] = SIZES
    """Bytes of a message: whole blocks of 16."""
    turns: int = TURNS
    bandwidth_gbs: float = 25.6
    """Memory bandwidth to protect, in gigabytes (10^9) a second; 25.6 is the thesis's."""
    tdp_w: float | None = None
    """Power of the processor in watts, if a better value than the measured one is known."""
    cores: int | None = None
    """Cores that share this power."""
    openssl: bool = True
    """True to measure OpenSSL's program too, a second for each size and direction."""

    def check(self) -> None:
        """Raises `CasemateError` before the measurement, for options that do not permit one."""
        if not self.sizes:
            raise CasemateError("no size is given: expected at least one")
        for size in self.sizes:
            _core.crypto_size(max(min(size, 2**63 - 1), -(2**63)))
        if not 1 <= self.turns <= TURNS_MAX:
            raise CasemateError(f"turns is {self.turns}: expected 1 to {TURNS_MAX}")
        for name, value in (("bandwidth", self.bandwidth_gbs), ("tdp", self.tdp_w), ("cores", self.cores)):
            if value is not None and not 0 < value <= 1e6:
                raise CasemateError(f"{name} is {value:g}: expected more than 0 and at most 1e6")
        if self.cores is not None and self.tdp_w is None:
            raise CasemateError("cores share a TDP: give --tdp WATTS with --cores")


@dataclass
class Sample:
    """Measurements of one engine in one direction at one size."""

    seconds: list[float] = field(default_factory=list)
    clock_hz: list[float] = field(default_factory=list)
    counter: EnergyCounter = field(default_factory=EnergyCounter)


Key = tuple[str, Operation, int]
Samples = Mapping[Key, Sample]


def measure(options: CryptoOptions, progress: ProgressCallback | None = None) -> CryptoBench:
    """Carries out the measurement. Raises `CasemateError` for options that do not permit one."""
    options.check()
    sizes = sorted(dict.fromkeys(options.sizes))
    known = json.loads(_core.crypto_engines())["engines"]
    ours = [engine for engine in known if engine["is_available"]]
    with_openssl = openssl_speed.VARIANTS if options.openssl and openssl_speed.program() else ()
    seconds = len(with_openssl) * len(sizes) * len(OPERATIONS) * openssl_speed.SECONDS
    steps = _Steps(progress, options.turns * len(sizes), seconds)
    samples: defaultdict[Key, Sample] = defaultdict(Sample)
    for _ in range(options.turns):
        for size in sizes:
            for engine in ours:
                if size % (engine["unit_bytes"] or size) == 0:
                    _turn(engine["name"], size, samples)
            steps.turn("our kernels and aes-gcm, in turns")
    clock_hz = median(clock for sample in samples.values() for clock in sample.clock_hz)
    for variant in with_openssl:
        for size in sizes:
            for operation in OPERATIONS:
                _second(variant, operation, size, samples[variant.name, operation, size], clock_hz)
                steps.openssl(f"{variant.name}, {operation} {size} bytes", openssl_speed.SECONDS)
    engines = [
        *(CryptoEngine(**{name: engine[name] for name in CryptoEngine.model_fields}) for engine in ours),
        *(CryptoEngine(name=each.name, summary=each.summary, unit_bytes=None) for each in with_openssl),
    ]
    missing = [engine["name"] for engine in known if not engine["is_available"]]
    left_out = [f"{name}: needs instructions that this processor does not have" for name in missing]
    if not with_openssl:
        left_out.append("openssl: " + (NOT_INSTALLED if options.openssl else "not asked for"))
    return concluded(options, samples, engines, left_out)


@dataclass
class _Steps:
    """Progress in seconds: the seconds of turns are estimated from the finished turns, those of OpenSSL are known."""

    progress: ProgressCallback | None
    turns: int
    openssl_seconds: float
    turns_done: int = 0
    turns_seconds: float = 0.0
    openssl_done: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def turn(self, about: str) -> None:
        """Adds a turn of all engines at one size."""
        self.turns_done += 1
        self.turns_seconds = time.monotonic() - self.began
        self._report(about)

    def openssl(self, about: str, seconds: float) -> None:
        """Adds a finished part of OpenSSL's measurement."""
        self.openssl_done += seconds
        self._report(about)

    def _report(self, about: str) -> None:
        if self.progress:
            whole = self.turns_seconds * self.turns / self.turns_done + self.openssl_seconds
            self.progress({"done": self.turns_seconds + self.openssl_done, "of": whole, "about": about})


def _turn(engine: str, size: int, samples: defaultdict[Key, Sample]) -> None:
    """Measures an engine once in both directions."""
    seal, open_ = (samples[engine, operation, size] for operation in OPERATIONS)
    # Both directions share one reading of the energy counter, which ticks only about a thousand times a second.
    open_.counter = seal.counter
    with seal.counter:
        found = json.loads(_core.crypto_speed(engine, size, REPETITIONS))
    for sample, seconds in ((seal, found["seal_seconds"]), (open_, found["open_seconds"])):
        sample.seconds.append(seconds)
        sample.clock_hz.append(found["clock_hz"])


def _second(variant: OpenSsl, operation: Operation, size: int, sample: Sample, clock_hz: float) -> None:
    """Measures OpenSSL for a second. OpenSSL runs as a separate process; its cycles are computed with the clock of our
    last measurement.
    """
    with sample.counter:
        sample.seconds.append(openssl_speed.seconds_per_message(variant, operation, size))
    sample.clock_hz.append(clock_hz)


def concluded(
    options: CryptoOptions, samples: Samples, engines: Sequence[CryptoEngine], left_out: Sequence[str] = ()
) -> CryptoBench:
    """Returns the figures that are derived from the measurements."""
    from casemate.crypto import crypto_today

    processor = Processor.found()
    power = processors.power(processor, EnergyCounter(), options.tdp_w, options.cores)
    rows = tuple(_rows(samples, power))
    built_as = json.loads(_core.crypto_engines())["built_as"]
    implementations = crypto_today.implementations(rows, engines, options.bandwidth_gbs)
    return CryptoBench(
        processor=processor.name, core_count=processors.usable_cores(), nominal_mhz=processor.mhz, power=power,
        built_as=built_as, turns=options.turns, engines=tuple(engines),
        left_out=tuple(left_out), rows=rows, bandwidth_gbs=options.bandwidth_gbs, implementations=implementations,
        conclusion=crypto_today.conclusion(implementations, power, options.bandwidth_gbs, built_as),
    )  # fmt: skip


def _rows(samples: Samples, power: CryptoPower) -> Iterator[CryptoRow]:
    for (engine, operation, size), sample in samples.items():
        seconds, clock_hz = median(sample.seconds), median(sample.clock_hz)
        gbps = size * feasibility.BITS / seconds / 1e9
        watts = sample.counter.watts if power.source == "rapl" else power.core_w
        yield CryptoRow(
            engine=engine, operation=operation, message_bytes=size, seconds=seconds, clock_hz=clock_hz,
            cycles_per_byte=feasibility.cycles_per_byte(seconds * clock_hz, 1, size), gbps=gbps, watts=watts,
            gbps_per_watt=gbps / watts if watts else None,
        )  # fmt: skip
