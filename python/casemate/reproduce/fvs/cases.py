"""Workloads that approximate those of the paper on frequent values.

The workloads are programs, recorded in the midst of their work, and kernels with as many cache misses as the paper's
memory-bound programs. Each workload runs until it has fetched some ten thousand lines from memory, since that number
decides the host time of a run.
"""

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""A program of this computer."""
KERNEL = "kernel"
"""A workload that is built in."""

TABLES = (8, 16, 32)
"""Numbers of values in the frequent-value tables that observe every run."""


def _recorded(name: str, warm_up: int, counted: int) -> Case:
    return Case(name, PROGRAM, recorded=PROGRAMS[name], warm_up=warm_up, counted=counted)


CASES = (
    _recorded("gzip", 2_000_000, 2_000_000),
    _recorded("bzip2", 500_000, 250_000),
    _recorded("gcc", 2_500_000, 1_500_000),
    _recorded("parser", 1_500_000, 1_000_000),
    _recorded("perl", 2_500_000, 1_500_000),
    _recorded("python3", 2_500_000, 1_500_000),
    _recorded("sqlite3", 2_500_000, 1_500_000),
    _recorded("ld", 1_000_000, 800_000),
    _recorded("glpsol", 700_000, 350_000),
    _recorded("stockfish", 1_500_000, 800_000),
    Case("anneal", KERNEL, "anneal", warm_up=250_000, counted=150_000),
    Case("btree", KERNEL, "btree", {"preload": 400_000}, warm_up=800_000, counted=400_000),
    Case("chase", KERNEL, "chase", {"footprint": "16 MB"}, warm_up=250_000, counted=150_000),
    Case("pagerank", KERNEL, "pagerank", {"skip": 20_000_000}, warm_up=120_000, counted=80_000),
)
