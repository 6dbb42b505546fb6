"""The workloads of the SecPB paper, as near as we have them: programs in the midst of their work, and stores at stated
rates, which is all that the paper says of its own.

Two numbers decide what a persist buffer costs: stores in a thousand instructions (PPTI) and stores that share an entry
(NWPE). The paper prints both of two programs, whose names stand for stores of these rates here.
"""

from dataclasses import replace

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""One of this computer."""
NAMED = "named"
"""Stores at the rates that the paper says of a program, to 512 lines in turn: more than any buffer keeps."""
REUSE = "reuse"
"""The same that come back to so many lines, which some buffers keep and others do not."""
HEAP = "heap"
"""A program of which only the heap is persistent, as in BBB (HPCA 2021), on which SecPB builds."""
STREAM = "stream"
"""Stores that come to no line again while any cache has it."""
SWEEP = "sweep"
"""Stores at other rates."""

PPTI_SWEPT = (5, 20, 80)
NWPE_SWEPT = (1, 4, 16)


def swept(ppti: int, nwpe: int) -> str:
    """The name of a case of the sweep."""
    return f"ppti{ppti}-nwpe{nwpe}"


def _recorded(name: str, warm_up: int = 1_000_000, counted: int = 1_000_000) -> Case:
    return Case(name, PROGRAM, recorded=PROGRAMS[name], warm_up=warm_up, counted=counted)


def _of_heap(name: str) -> Case:
    """The recording of a program once more."""
    case = _recorded(name)
    return replace(case, name=f"{name}-heap", group=HEAP, persistent="heap", program=name)


def _stores(name: str, group: str, ppti: float, nwpe: float, footprint: str = "32 KB") -> Case:
    """Long enough for the largest buffer to have begun to drain long before anything is counted."""
    settings: dict[str, object] = {
        "rate": round(10 * ppti), "per_line": round(10 * nwpe), "footprint": footprint,
    }  # fmt: skip
    return Case(name, group, "stores", settings, warm_up=250_000, counted=250_000)


CASES = (
    *(
        _recorded(name)
        for name in ("gzip", "bzip2", "gcc", "parser", "perl", "python3", "sqlite3", "glpsol", "stockfish")
    ),
    *(_of_heap(name) for name in ("gcc", "perl", "python3", "sqlite3")),
    _stores("gamess", NAMED, 47.4, 2.1),
    _stores("povray", NAMED, 38.8, 17.6),
    _stores("streamed", STREAM, 47.4, 2.1, "1 MB"),
    *(_stores(f"reuse-{lines}", REUSE, 47.4, 2.1, f"{64 * lines} B") for lines in (16, 64, 256)),
    *(_stores(swept(ppti, nwpe), SWEEP, ppti, nwpe) for ppti in PPTI_SWEPT for nwpe in NWPE_SWEPT),
)
