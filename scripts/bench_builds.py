"""Compares a build profile with the released one on the whole runs of bench.py, by the host's instructions.

Usage: scripts/bench_builds.py [PROFILE]. Without a name, the profile is that of `make demo`. Each run is counted in
both builds, as bench_counts.py does. Prints the ratio of the counts for each run, and their range for each kind of run.
The exit code is 1 if the builds disagree on the result of a run.

The script leaves out three parts of bench.py. Criterion repeats a kernel until enough time has passed. The streams of
DRAM do not simulate a run. The comparison of AES-GCM is a separate package, which has no such profile.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import bench
from bench_counts import COUNTED, Counted, count
from bench_misses import KINDS

DEMO = "demo"
# A ratio needs fewer instructions than a count that bench.py keeps. `resident` keeps its length: it first writes its
# data.
MILLIONS = 0.2
FULL_LENGTH = ("resident",)


@dataclass(frozen=True)
class Compared:
    """One run in both builds."""

    run: Counted
    ratio: float
    per_instruction: float
    agrees: bool

    def shown(self) -> str:
        """Returns the line of a table."""
        verdict = "" if self.agrees else "  DIFFERENT RESULTS"
        return f"  {self.run.name():<60} {self.per_instruction:9.1f} {self.ratio:7.3f}x{verdict}"


def shorter(runs: Iterable[Counted]) -> Iterator[Counted]:
    """The same runs over fewer instructions."""
    return (run if run.workload in FULL_LENGTH else replace(run, millions=MILLIONS) for run in runs)


def misses() -> Iterator[Counted]:
    """The runs for the cost of a miss that the whole runs do not contain."""
    return shorter(run for run in KINDS.values() if run not in COUNTED)


def speculation() -> Iterator[Counted]:
    """The designs that speculate on values, and their counterparts."""
    more = f"design.parts.speculation.values={bench.MORE_VALUES}"
    for design, baseline in bench.SPECULATION:
        for name, changes in ((baseline, ()), (design, ()), (design, (more,))):
            yield Counted("simplescalar-2005", "stream", name, MILLIONS, changes)


def persisting() -> Iterator[Counted]:
    """The persist buffer, with and without security."""
    machine, workload, *settings = bench.PERSISTING
    for design in ("bbb", "secpb-cobcm"):
        yield Counted(machine, workload, design, MILLIONS, tuple(settings))


def moving(trace: Path) -> Iterator[Counted]:
    """The design that permutes lines, and the unprotected machine."""
    for workload in ("chase", f"trace:{trace}"):
        for design in bench.MOVING_DESIGNS:
            yield Counted(bench.MOVING_MACHINE, workload, design, MILLIONS)


def cryptography() -> Iterator[Counted]:
    """Every built-in design on a stream."""
    for design, machine in bench.designs_with_machines():
        yield Counted(machine, "stream", design, MILLIONS, (f"footprint={bench.CRYPTO_FOOTPRINT}",))


def compare(run: Counted, programs: Sequence[Path]) -> Compared:
    """Counts one run in both builds; the first is the released one."""
    released, other = (count(program, run).details for program in programs)
    before, after = (counted.pop("host_instructions") for counted in (released, other))
    return Compared(run, after / before, after / other["instructions"], released == other and released["checks_passed"])


def summary(compared: Sequence[Compared]) -> str:
    """Returns the range of the ratios, and their geometric mean."""
    ratios = sorted(one.ratio for one in compared)
    mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
    return f"{len(ratios)} runs: {ratios[0]:.2f} to {ratios[-1]:.2f} times as many instructions, mean {mean:.2f}"


def main(profile: str = DEMO) -> int:
    """Builds both programs, and compares them on every run."""
    programs = (bench.build(("counts",)), bench.build_with(profile))
    every = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = {
            "whole runs": shorter(COUNTED),
            "cost of a miss": misses(),
            "speculation on values": speculation(),
            "a persist buffer": persisting(),
            "lines that move": moving(bench.record_gzip(Path(folder))),
            "real cryptography in every design": cryptography(),
        }
        for title, runs in parts.items():
            print(f"\n{title}: instructions of the host for each simulated one, profile {profile}, and the ratio")
            found = []
            for one in pool.map(lambda run: compare(run, programs), runs):
                print(one.shown(), flush=True)
                found.append(one)
            print(f"  {summary(found)}", flush=True)
            every += found
    print(f"\n{summary(every)}")
    return 0 if all(one.agrees for one in every) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
