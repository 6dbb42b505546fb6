"""What one miss of the last-level cache takes of the host: time, events, requests to memory, instructions, and lines
that the host's own caches miss.

Time is measured. The rest is counted by Valgrind, whose model of caches (callgrind's) stands for counters that virtual
machines seldom have: it knows no prefetchers, no translation and no third level. A program that misses with every
step does so in a few dozen instructions; what these take is in the figures.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_counts import SIMULATION
from bench_history import Row

# Bytes, ways and line of the first-level caches and of the second, as of a server's core of 2023.
CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64")
# Enough for tens of thousands of misses.
MILLIONS = "1"
# Lines leave this one soon.
SMALL_LLC = "machine.llc.size=1 MB"
# Counters of these fit the controller's cache, and all data is met for the first time.
FEW_COUNTERS = "footprint=4 MB"


@dataclass(frozen=True)
class Kind:
    """A kind of miss, and a run that has hardly any others."""

    name: str
    workload: str
    design: str
    changes: tuple[str, ...] = ()

    def command(self, speed: Path) -> list[str]:
        """The run."""
        return [str(speed), "run", "modern", self.workload, self.design, MILLIONS, *self.changes]


KINDS = (
    Kind("unprotected", "chase", "none"),
    Kind("unprotected, with a write-back", "gups", "none", (SMALL_LLC,)),
    Kind("protected, counter hit", "chase", "sc64-bmt", (FEW_COUNTERS,)),
    Kind("protected, walk", "chase", "sc64-bmt"),
    Kind("protected, walk, with a write-back", "gups", "sc64-bmt", (SMALL_LLC,)),
)


def totals(counted: str) -> dict[str, int]:
    """What a file of callgrind counted, by the names that it gives to events."""
    names, sums = (re.search(rf"^{key}: (.+)$", counted, re.MULTILINE) for key in ("events", "(?:totals|summary)"))
    if not names or not sums or int(sums[1].split()[0]) == 0:
        raise RuntimeError(f"callgrind counted nothing in {SIMULATION}")
    return dict(zip(names[1].split(), map(int, sums[1].split()), strict=False))


def count(speed: Path, kind: Kind) -> dict[str, float]:
    """What a run takes, of each of its misses the mean."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts"
        callgrind = ["valgrind", "--tool=callgrind", f"--toggle-collect={SIMULATION}", "--cache-sim=yes", *CACHES]
        command = [*callgrind, f"--callgrind-out-file={file}", *kind.command(speed)]
        result = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        found = totals(file.read_text())
    of_run = {
        "events": result["events_per_instruction"] * result["instructions"],
        "requests to memory": result["memory_requests"],
        "host instructions": found["Ir"],
        "lines of code not in L1I": found["I1mr"],
        "lines not in L1D": found["D1mr"] + found["D1mw"],
        "lines not in L2": found["ILmr"] + found["DLmr"] + found["DLmw"],
    }
    return {name: amount / result["llc_misses"] for name, amount in of_run.items()}


def time(speed: Path, kind: Kind, runs: int) -> tuple[float, dict[str, Any]]:
    """Misses in a second, the median of some processes, and what the last of them said."""
    said = [
        json.loads(subprocess.run(kind.command(speed), capture_output=True, check=True, text=True).stdout)
        for _ in range(runs)
    ]
    rates = [one["per_second"] / one["instructions"] * one["llc_misses"] for one in said]
    return statistics.median(rates), said[-1]


def misses(speed: Path, runs: int) -> Iterator[Row]:
    """All kinds. They are timed one after the other, with nothing beside them."""
    timed = [time(speed, kind, runs) for kind in KINDS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counted = pool.map(lambda kind: count(speed, kind), KINDS)
        for kind, (rate, said), each in zip(KINDS, timed, counted, strict=True):
            details = {"checks_passed": said["checks_passed"], "event_hash": said["event_hash"]}
            yield Row("miss", kind.name, "misses", rate, details=details | {"of_each": {"ns": 1e9 / rate} | each})
