"""Workloads that approximate those of the SecPB paper.

The workloads are programs, recorded in the midst of their work, and generated stores at stated rates, since the paper
states only the rates of its workloads.

Two numbers decide the cost of a persist buffer: stores per thousand instructions (PPTI) and stores per entry (NWPE).
The paper prints both numbers for two programs; the cases with these programs' names generate stores at these rates.
"""

from dataclasses import replace

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""A program of this computer."""
NAMED = "named"
"""Stores at the rates that the paper states for a program, to 512 lines in turn: more lines than any buffer holds
before it begins to drain.
"""
REUSE = "reuse"
"""Stores at the same rates to a smaller set of lines, which fits only the larger buffers."""
HEAP = "heap"
"""A program with only its heap persistent, as in the BBB paper (HPCA 2021), which SecPB extends."""
STREAM = "stream"
"""Stores that do not return to a line while any cache holds the line."""
SWEEP = "sweep"
"""Stores at rates that the paper does not state."""

PPTI_SWEPT = (5, 20, 80)
NWPE_SWEPT = (1, 4, 16)


def swept(ppti: int, nwpe: int) -> str:
    """Name of a case in the sweep over PPTI and NWPE."""
    return f"ppti{ppti}-nwpe{nwpe}"


def _recorded(name: str, warm_up: int = 1_000_000, counted: int = 1_000_000) -> Case:
    return Case(name, PROGRAM, recorded=PROGRAMS[name], warm_up=warm_up, counted=counted)


def _of_heap(name: str) -> Case:
    """Returns a case that uses the recording of another case."""
    case = _recorded(name)
    return replace(case, name=f"{name}-heap", group=HEAP, persistent="heap")


def _stores(name: str, group: str, ppti: float, nwpe: float, footprint: str = "32 KB") -> Case:
    """Returns a case of generated stores, with a warm-up in which even the largest buffer begins to drain long before
    counting begins.
    """
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
