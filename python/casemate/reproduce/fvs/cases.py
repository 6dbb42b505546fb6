"""Workloads that approximate those of the paper on frequent values.

They are programs in the midst of their work, and kernels that miss as often as the paper's memory-bound ones. Each runs
until it has fetched some ten thousand lines from memory, since the number of lines decides the cost of a run.
"""

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""A program of this computer."""
KERNEL = "kernel"
"""A workload that is built in."""

TABLES = (8, 16, 32)
"""Values in the tables that watch every run."""


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
