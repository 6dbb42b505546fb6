"""Traces in a folder, recognised by their content."""

from pathlib import Path

from casemate._core import CasemateError
from casemate.laboratory import native
from casemate.schemas.listing import RefusedTrace

SUFFIXES = {".trace", ".champsimtrace"}
"""Suffixes of files that their names call traces, also in front of the suffix of a packed file."""


def found_in(folder: Path) -> tuple[tuple[str, ...], tuple[RefusedTrace, ...]]:
    """Returns the traces in a folder, under any name, and the files that only their names call traces. The function
    reads the beginning of each file; folders, pipes and devices are left out.
    """
    traces, refused = list[str](), list[RefusedTrace]()
    for path in sorted(folder.iterdir()):
        # A recording that is being written has the mark of a trace, and no end.
        if not path.is_file() or path.suffix == ".partial":
            continue
        try:
            native.trace_format(str(path))
            traces.append(str(path))
        except CasemateError as error:
            if SUFFIXES.intersection(map(str.lower, path.suffixes)):
                refused.append(RefusedTrace(path=native.shown(str(path)), reason=str(error)))
    return tuple(traces), tuple(refused)
