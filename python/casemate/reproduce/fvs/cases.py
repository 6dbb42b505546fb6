"""The workloads of the paper on frequent values, as near as we have them: programs in the midst of their work, and
kernels that miss as often as its memory-bound ones.

Each is as long as it takes to bring some ten thousand lines from memory: what a run takes are its lines.
"""

import sys

from casemate.reproduce.inputs import RANDOM_ROWS, WORDS_IN_PERL, WORDS_IN_PYTHON, functions_in_c, transport
from casemate.reproduce.runs import Case, Recorded

PROGRAM = "program"
"""One of this computer."""
KERNEL = "kernel"
"""A built-in workload."""

TABLES = (8, 16, 32)
"""Values in the tables that watch every run."""

_SOURCES = functions_in_c(20_000)
_SHORT_SOURCES = functions_in_c(2_000)
_LIBRARY = "/usr/lib/x86_64-linux-gnu/libc.a"


def _program(
    package: str, command: tuple[str, ...], skip: int, text: str = "", read: dict[str, str] | None = None
) -> Recorded:
    return Recorded(command, skip, text, {command[0]: package, **(read or {})})


_PROGRAMS = {
    "gzip": _program("gzip", ("gzip", "-9", "-c", "{text}"), 100_000_000, _SOURCES),
    "bzip2": _program("bzip2", ("bzip2", "-9", "-c", "{text}"), 201_000_000, _SOURCES),
    "gcc": _program("gcc", ("gcc", "-O2", "-c", "-o", "/dev/null", "{text}"), 900_000_000, _SHORT_SOURCES),
    "parser": _program("gcc", ("gcc", "-fsyntax-only", "{text}"), 300_000_000, _SHORT_SOURCES),
    "perl": _program("perl", ("perl", "{text}"), 300_000_000, WORDS_IN_PERL),
    "python3": _program("python3", (sys.executable, "-I", "-S", "{text}"), 400_000_000, WORDS_IN_PYTHON),
    "sqlite3": _program("sqlite3", ("sqlite3", ":memory:", RANDOM_ROWS), 500_000_000),
    "ld": _program(
        "binutils", ("ld", "-r", "-o", "/dev/null", "--whole-archive", _LIBRARY), 150_000_000,
        read={_LIBRARY: "libc6-dev"},
    ),
    "glpsol": _program("glpk-utils", ("glpsol", "--lp", "{text}"), 600_000_000, transport(150)),
    "stockfish": _program("stockfish", ("stockfish", "bench", "16", "1", "13"), 300_000_000),
}  # fmt: skip


def _recorded(name: str, warm_up: int, counted: int) -> Case:
    return Case(name, PROGRAM, recorded=_PROGRAMS[name], warm_up=warm_up, counted=counted)


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
