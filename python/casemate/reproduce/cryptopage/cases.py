"""Workloads that approximate those of the CryptoPage paper.

The workloads are programs, recorded in the midst of their work, and kernels for the SPEC 2000 programs that no program
here resembles.
"""

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""A program of this computer."""
KERNEL = "kernel"
"""A workload that is built in."""
SIMPLEX = "simplex"
"""The case that replaces mcf, the program with the paper's highest rate of TLB misses."""


def _recorded(name: str) -> Case:
    return Case(name, PROGRAM, recorded=PROGRAMS[name], untimed=20_000_000, warm_up=200_000, counted=1_000_000)


def _kernel(name: str) -> Case:
    return Case(name, KERNEL, name, untimed=1_000_000, warm_up=20_000, counted=40_000)


CASES = (
    *(
        _recorded(name)
        for name in ("gzip", "bzip2", "gcc", "parser", "perl", "python3", "sqlite3", "ld", "glpsol", "stockfish")
    ),
    _kernel("anneal"),
    _kernel(SIMPLEX),
)
