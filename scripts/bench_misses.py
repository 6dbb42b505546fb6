"""Cost of one miss of the last-level cache for the host: time, events, requests to memory, instructions, and lines that
miss the host's caches.

Time is measured. Valgrind counts all other figures; its model of caches (callgrind's) replaces counters that virtual
machines seldom have. The model has no prefetchers, no translation and no third level. A program that misses with every
step does so in a few dozen instructions; the figures include their cost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench_counts import SIMULATION, Counted, under_callgrind

# Bytes, ways and line of the first-level caches and of the second, as of a server's core of 2023.
CACHES = ("--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64")
# A last-level cache from which lines are evicted soon.
SMALL_LLC = ("machine.llc.size=1 MB",)
# A footprint with counters that fit the controller's cache; each data line is accessed for the first time.
FEW_COUNTERS = ("footprint=4 MB",)
# For each kind of miss, a run with tens of thousands of these, and hardly any of another kind.
KINDS = {
    "unprotected": Counted("modern", "chase", "none", 1),
    "unprotected, with a write-back": Counted("modern", "gups", "none", 1, SMALL_LLC),
    "protected, counter hit": Counted("modern", "chase", "sc64-bmt", 1, FEW_COUNTERS),
    "protected, walk": Counted("modern", "chase", "sc64-bmt", 1),
    "protected, walk, with a write-back": Counted("modern", "gups", "sc64-bmt", 1, SMALL_LLC),
}


def totals(counted: str) -> dict[str, int]:
    """Returns the counts in a file of callgrind, by the names that it gives to events."""
    names, sums = (re.search(rf"^{key}: (.+)$", counted, re.MULTILINE) for key in ("events", "(?:totals|summary)"))
    if not names or not sums or int(sums[1].split()[0]) == 0:
        raise RuntimeError(f"callgrind counted no instruction in {SIMULATION}")
    # Zeros at the end are left out.
    return dict.fromkeys(names[1].split(), 0) | dict(zip(names[1].split(), map(int, sums[1].split()), strict=False))


def of_each_miss(speed: Path, run: Counted) -> dict[str, float]:
    """Returns the cost of a run, as the mean of its misses."""
    result, _, file = under_callgrind(run.command(speed), "--cache-sim=yes", *CACHES)
    found = totals(file)
    of_run = {
        "events": result["events_per_instruction"] * result["instructions"],
        "requests to memory": result["memory_requests"],
        "host instructions": found["Ir"],
        "lines of code not in L1I": found["I1mr"],
        "lines not in L1D": found["D1mr"] + found["D1mw"],
        "lines not in L2": found["ILmr"] + found["DLmr"] + found["DLmw"],
    }
    return {name: amount / result["llc_misses"] for name, amount in of_run.items()}


def all_kinds(speed: Path) -> Iterator[dict[str, float]]:
    """All kinds, as many in parallel as the host has cores: parallel runs do not change a count."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda run: of_each_miss(speed, run), KINDS.values())
