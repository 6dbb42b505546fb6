"""The workloads of the paper on frequent values, as near as we have them: programs in the midst of their work, and
kernels that miss as often as its memory-bound ones.

Each is as long as it takes to bring some ten thousand lines from memory: what a run takes are its lines.
"""

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""One of this computer."""
KERNEL = "kernel"
"""A built-in workload."""

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
