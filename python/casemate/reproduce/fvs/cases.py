"""Workloads that approximate those of the paper on frequent values.

The workloads are programs, recorded in the midst of their work, and kernels with as many cache misses as the paper's
memory-bound programs. Each workload runs until it has fetched some ten thousand lines from memory, since that number
decides the host time of a run. Each workload is shown with the program of SPEC 2000 that does the same kind of work,
if there is one.
"""

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""A program of this computer."""
KERNEL = "kernel"
"""A workload that is built in."""

TABLES = (8, 16, 32)
"""Numbers of values in the frequent-value tables that observe every run."""


def _recorded(name: str, warm_up: int, counted: int, proxy_of: str = "") -> Case:
    return Case(
        name, PROGRAM, recorded=PROGRAMS[name], warm_up=warm_up, counted=counted, proxy_of=proxy_of
    )  # fmt: skip


CASES = (
    _recorded("gzip", 2_000_000, 2_000_000, "gzip"),
    _recorded("bzip2", 500_000, 250_000, "bzip2"),
    _recorded("gcc", 2_500_000, 1_500_000, "gcc"),
    _recorded("parser", 1_500_000, 1_000_000, "parser"),
    _recorded("perl", 2_500_000, 1_500_000, "perlbmk"),
    _recorded("python3", 2_500_000, 1_500_000),
    _recorded("sqlite3", 2_500_000, 1_500_000, "vortex"),
    _recorded("ld", 1_000_000, 800_000),
    _recorded("glpsol", 700_000, 350_000),
    _recorded("stockfish", 1_500_000, 800_000, "crafty"),
    Case("anneal", KERNEL, "anneal", warm_up=250_000, counted=150_000, proxy_of="vpr"),
    Case("btree", KERNEL, "btree", {"preload": 400_000}, warm_up=800_000, counted=400_000),
    Case("chase", KERNEL, "chase", {"footprint": "16 MB"}, warm_up=250_000, counted=150_000, proxy_of="mcf"),
    Case("pagerank", KERNEL, "pagerank", {"skip": 20_000_000}, warm_up=120_000, counted=80_000),
)
