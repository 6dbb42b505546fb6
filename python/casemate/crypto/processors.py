"""CPU model and power: measured by the processor's energy counters if they can be read, else the TDP from a list with
the source of each figure.
"""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from casemate.schemas.bench import CryptoPower

CPUINFO = Path("/proc/cpuinfo")
POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True)
class Stated:
    """A processor's thermal design power, as its maker states it."""

    name: str
    tdp_w: float
    cores: int


INTEL, AMD = "GenuineIntel", "AuthenticAMD"
STATED = {
    (INTEL, 6, 42): Stated("Core i7-2620M", 35, 2),
    (INTEL, 6, 85): Stated("Xeon Platinum 8280", 205, 28),
    (INTEL, 6, 106): Stated("Xeon Platinum 8380", 270, 40),
    (INTEL, 6, 143): Stated("Xeon Platinum 8480+", 350, 56),
    (INTEL, 6, 207): Stated("Xeon Platinum 8592+", 350, 64),
    (AMD, 23, 49): Stated("EPYC 7742", 225, 64),
    (AMD, 25, 1): Stated("EPYC 7763", 280, 64),
    (AMD, 25, 17): Stated("EPYC 9654", 360, 96),
    (AMD, 26, 2): Stated("EPYC 9755", 500, 128),
}
"""TDP and cores by vendor, family and model. One kind of silicon has many names, and a virtual machine seldom reports
the model. For each kind the list contains a model with many cores, by the maker's specification; the first is the
thesis's model.
"""


@dataclass(frozen=True)
class Processor:
    """The processor of this computer, as far as the system describes it."""

    name: str
    kind: tuple[str, int, int]
    """Vendor, family and model."""
    mhz: float | None
    cores: int | None
    """Cores of one socket."""

    @classmethod
    def found(cls, cpuinfo: Path = CPUINFO) -> "Processor":
        """Returns the system's description of its first processor."""
        said: dict[str, str] = {}
        for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
            key, colon, value = line.partition(":")
            if colon:
                said.setdefault(key.strip(), value.strip())
        kind = (said.get("vendor_id", ""), _whole(said.get("cpu family")), _whole(said.get("model")))
        mhz = float(said["cpu MHz"]) if "cpu MHz" in said else None
        return cls(said.get("model name", "unknown"), kind, mhz, _whole(said.get("cpu cores")) or None)


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class _Domain:
    """Energy counter of one package."""

    energy: Path
    most_uj: int
    """Value at which the counter wraps to zero."""


class EnergyCounter:
    """Energy of all processor packages, by RAPL; it includes other load on the computer."""

    def __init__(self, root: Path | None = None) -> None:
        self._domains = list(_packages(root or POWERCAP))
        self.joules = self.seconds = 0.0

    @property
    def is_there(self) -> bool:
        """True if the counter can be read: on most systems only by root."""
        return bool(self._domains)

    def __enter__(self) -> "EnergyCounter":
        self._begun, self._at = time.monotonic(), [_read(domain) for domain in self._domains]
        return self

    def __exit__(self, *_: object) -> None:
        for domain, before in zip(self._domains, self._at, strict=True):
            self.joules += (_read(domain) - before) % (domain.most_uj + 1) / 1e6
        self.seconds += time.monotonic() - self._begun

    @property
    def watts(self) -> float | None:
        """Mean power over all measured stretches together; `None` if no counter can be read."""
        return self.joules / self.seconds if self.is_there and self.seconds else None


def _packages(root: Path) -> Iterator[_Domain]:
    for folder in sorted(root.glob("intel-rapl:*")):
        # Accept only whole packages, and no part of a package such as its cores.
        if not re.fullmatch(r"intel-rapl:\d+", folder.name):
            continue
        try:
            if (folder / "name").read_text().startswith("package"):
                domain = _Domain(folder / "energy_uj", int((folder / "max_energy_range_uj").read_text()))
                _read(domain)
                yield domain
        except (OSError, ValueError):
            continue


def _read(domain: _Domain) -> int:
    return int(domain.energy.read_text())


def power(processor: Processor, counter: EnergyCounter, tdp_w: float | None, cores: int | None) -> CryptoPower:
    """Returns the power charged to one CPU core: from the given TDP, else from the RAPL measurement, else from the
    list.
    """
    if tdp_w is not None:
        shared = cores or processor.cores or usable_cores()
        explanation = f"{tdp_w:g} W for {shared} cores, as given"
        return CryptoPower(source="given", package_w=tdp_w, cores=shared, told=explanation)
    if counter.is_there:
        explanation = (
            "measured by RAPL: the whole package, idle cores included, while one core works. N cores of one package "
            "take less than N times that"
        )
        return CryptoPower(source="rapl", package_w=None, cores=None, told=explanation)
    stated = STATED.get(processor.kind)
    if stated is None:
        explanation = "not known: RAPL cannot be read and our list does not have this processor; --tdp WATTS gives it"
        return CryptoPower(source="unknown", package_w=None, cores=None, told=explanation)
    explanation = (
        f"assumed: RAPL cannot be read here, so each core is charged with its share of the TDP of the {stated.name}, "
        f"{stated.tdp_w:g} W for {stated.cores} cores, a processor of this family and model; --tdp WATTS --cores N "
        "gives the right ones"
    )
    return CryptoPower(source="assumed", package_w=stated.tdp_w, cores=stated.cores, told=explanation)
