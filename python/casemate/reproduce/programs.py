"""Programs of this computer that studies record in the midst of their work, each with its Debian package."""

import sys
from collections.abc import Mapping
from dataclasses import replace

from casemate.laboratory.requests import Program
from casemate.reproduce.inputs import RANDOM_ROWS, WORDS_IN_PERL, WORDS_IN_PYTHON, functions_in_c, transport
from casemate.studies.recordings import Command

_SOURCES = functions_in_c(20_000)
_SHORT_SOURCES = functions_in_c(2_000)
_LIBRARY = "/usr/lib/x86_64-linux-gnu/libc.a"


def program(
    package: str, command: tuple[str, ...], skip: int, text: str = "", read: Mapping[str, str] | None = None
) -> Command:
    """Returns the recording of a package's command from instruction `skip` on; `read` contains the files that the
    command reads, with their packages.
    """
    return Command(Program(command, skip=skip), text=text, packages={command[0]: package, **(read or {})})


def later(recorded: Command, skip: int) -> Command:
    """Returns the recording of the same program from another instruction on."""
    return replace(recorded, program=replace(recorded.program, skip=skip))


PROGRAMS = {
    "gzip": program("gzip", ("gzip", "-9", "-c", "{text}"), 100_000_000, _SOURCES),
    "bzip2": program("bzip2", ("bzip2", "-9", "-c", "{text}"), 201_000_000, _SOURCES),
    "gcc": program("gcc", ("gcc", "-O2", "-c", "-o", "/dev/null", "{text}"), 900_000_000, _SHORT_SOURCES),
    "parser": program("gcc", ("gcc", "-fsyntax-only", "{text}"), 300_000_000, _SHORT_SOURCES),
    "perl": program("perl", ("perl", "{text}"), 300_000_000, WORDS_IN_PERL),
    "python3": program("python3", (sys.executable, "-I", "-S", "{text}"), 400_000_000, WORDS_IN_PYTHON),
    "sqlite3": program("sqlite3", ("sqlite3", ":memory:", RANDOM_ROWS), 500_000_000),
    "ld": program(
        "binutils", ("ld", "-r", "-o", "/dev/null", "--whole-archive", _LIBRARY), 150_000_000,
        read={_LIBRARY: "libc6-dev"},
    ),
    "glpsol": program("glpk-utils", ("glpsol", "--lp", "{text}"), 600_000_000, transport(150)),
    "stockfish": program("stockfish", ("stockfish", "bench", "16", "1", "13"), 300_000_000),
}  # fmt: skip
"""Programs by their names."""
