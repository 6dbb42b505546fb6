"""Workloads that approximate those of the SecPB paper.

They are programs in the midst of their work, and stores at stated rates, since the paper states no more than the rates
of its workloads.

Two numbers decide the cost of a persist buffer: stores in a thousand instructions (PPTI) and stores that share an entry
(NWPE). The paper prints both numbers for two programs; the cases with these programs' names are stores at these rates.
"""

from dataclasses import replace

from casemate.reproduce.programs import PROGRAMS
from casemate.reproduce.runs import Case

PROGRAM = "program"
"""A program of this computer."""
NAMED = "named"
"""Stores at the rates that the paper states for a program, to 512 lines in turn: more than any buffer keeps."""
REUSE = "reuse"
"""Stores at the same rates that return to a limited number of lines, which only some of the buffers keep."""
HEAP = "heap"
"""A program with only its heap persistent, as in BBB (HPCA 2021), on which SecPB builds."""
STREAM = "stream"
"""Stores that do not return to a line while any cache has it."""
SWEEP = "sweep"
"""Stores at other rates."""

PPTI_SWEPT = (5, 20, 80)
NWPE_SWEPT = (1, 4, 16)


def swept(ppti: int, nwpe: int) -> str:
    """Name of a case of the sweep."""
    return f"ppti{ppti}-nwpe{nwpe}"


def _recorded(name: str, warm_up: int = 1_000_000, counted: int = 1_000_000) -> Case:
    return Case(name, PROGRAM, recorded=PROGRAMS[name], warm_up=warm_up, counted=counted)


def _of_heap(name: str) -> Case:
    """A case that runs the recording of another case again."""
    case = _recorded(name)
    return replace(case, name=f"{name}-heap", group=HEAP, persistent="heap", program=name)


def _stores(name: str, group: str, ppti: float, nwpe: float, footprint: str = "32 KB") -> Case:
    """A case of generated stores. Its warm-up is long enough for the largest buffer to begin to drain long before
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
