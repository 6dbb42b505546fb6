"""Simulates rtl/ with cocotb and Verilator, on all parameter points (points.py).

The name of a test states its claim, and the summary contains the measurements. Exit codes: 0 if all tests pass, 1 if a
test fails, 2 if tools are missing or the request makes no sense. Ctrl-C ends with 130. Code 141 means that the reader
of the output left.

    python dv/run.py                              all points, as `make hw-long`; `make hw-simulation` names three
    python dv/run.py --bench lane_bench --test pace   one bench, and the tests with matching names
    python dv/run.py --lines 1000000 --seed 7     many more random lines
    python dv/run.py --points aes128-w16          one lane, which is quick to build
    python dv/run.py --coverage                   also count the lines and bits of rtl/ that the tests reach
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import sys
from collections import Counter

import command
import hdl_coverage
from points import LANES
from simulation import BENCHES, Bench, BuildError, Outcome
from tools import need, sources
from vectors import BLOCKS, HASHES
from vectors import LINES as PUBLISHED

COVERED_PERCENT = 90.0


def arguments(words: list[str]) -> argparse.Namespace:
    """Parses the command line, and passes its points to `points.chosen` by the variable POINTS."""
    parser = command.Parser(prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--bench", type=command.one_of(BENCHES), metavar="NAME", help=f"only this bench of {', '.join(BENCHES)}"
    )
    parser.add_argument(
        "--points",
        metavar="NAME,...",
        help=f"only these lanes and routers of {', '.join(point.name for point in LANES)}",
    )
    parser.add_argument("--test", default="", metavar="REGEX", help="only tests with matching names")
    parser.add_argument("--lines", type=int, default=10_000, help="random lines for the points in THOROUGH (10000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random lines (1)")
    parser.add_argument("--coverage", action="store_true", help="count reached lines and bits of rtl/")
    given = parser.parse_args(words)
    if given.lines < 1000:
        parser.error(f"--lines {given.lines}: expected 1000 or more (most points take a tenth of them)")
    if given.points is not None:
        names = [point.name for point in LANES]
        for name in given.points.split(","):
            if name not in names:
                parser.error(f"argument --points: {command.unknown(name, names)}")
        os.environ["POINTS"] = given.points
    try:
        re.compile(given.test)
    except re.error as error:
        parser.error(f"--test {given.test}: no regular expression: {error}")
    return given


def processor_seconds() -> float:
    """Returns the processor time of all child processes that have ended, in seconds: builds and simulations."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulate(bench: Bench, given: argparse.Namespace) -> Outcome:
    """Builds and runs one bench, and prints its results."""
    begun = processor_seconds()
    with command.step(bench.top, "build"):
        bench.build()
    built = processor_seconds()
    with command.step(bench.top, "tests") as steps:
        outcome = bench.run(
            given.test,
            {"LINES": str(given.lines), "SEED": str(given.seed)},
            lambda number, of, name: steps.report({"done": number - 1, "of": of, "about": name}),
        )
    ran = processor_seconds()
    print(
        f"{bench.top}: {outcome.passed} tests passed, {len(outcome.failed)} failed "
        f"(build {built - begun:.0f} s, tests {ran - built:.0f} s of a processor)"
    )
    for name in outcome.failed:
        print(f"  FAILED {name}: see {outcome.log}")
    for figure in outcome.figures:
        print(f"  {figure}")
    return outcome


def covered(benches: list[Bench]) -> bool:
    """Prints the coverage of rtl/. Returns False if lines or toggles are below `COVERED_PERCENT`."""
    counts: Counter[hdl_coverage.Spot] = Counter()
    for bench in benches:
        # Not `+=`, which drops counts of zero.
        counts.update(hdl_coverage.parsed(bench.counted.read_text()))
    rows, shares = hdl_coverage.table(counts, sources())
    print("\n".join(rows))
    print("\n".join(hdl_coverage.missed(counts, sources())))
    return all(share >= COVERED_PERCENT for share in shares.values())


def matching(benches: list[Bench], test: str) -> list[Bench]:
    """Returns the benches that have a test with a matching name.

    Raises `UnusableError` if no test matches, before any bench is built.
    """
    names = {bench.top: bench.tests() for bench in benches}
    found = [bench for bench in benches if any(re.search(test, name) for name in names[bench.top])]
    if not found:
        near = command.hint(test, (name.split(".", 1)[1].split("/")[0] for listed in names.values() for name in listed))
        files = " and ".join(f"dv/{BENCHES[bench.top]}.py" for bench in benches)
        raise command.UnusableError(f"--test {test}: no test's name matches{near}; tests are in {files}")
    return found


def main() -> int:
    """Returns 0 if all tests pass, else 1."""
    given = arguments(sys.argv[1:])
    need("make", "c++", "perl")
    benches = [Bench(top, given.coverage) for top in BENCHES if given.bench in (None, top)]
    if given.test:
        benches = matching(benches, given.test)
    print(
        f"published values: {len(BLOCKS)} blocks of AES, {sum(len(case.values) for case in HASHES)} values of GHASH, "
        f"{len(PUBLISHED)} lines of AES-GCM (none with a wrong tag: all are refused with any single bit flipped)"
    )
    try:
        outcomes = [simulate(bench, given) for bench in benches]
    except BuildError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 1
    holds = all(outcome.passed and not outcome.failed for outcome in outcomes)
    if given.coverage:
        holds &= covered(benches)
    return 0 if holds else 1


if __name__ == "__main__":
    command.carry_out("run.py", main)
