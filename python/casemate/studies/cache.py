"""A worker's copies of traces: files named by the hash of their content, in a folder of bounded size."""

import os
import time
from pathlib import Path

from casemate._core import CasemateError
from casemate.studies.recordings import content_hash

FOLDER_VARIABLE, SIZE_VARIABLE = "CASEMATE_TRACES", "CASEMATE_TRACES_GB"
USUAL_GB = 20.0
PARTIAL = ".partial-"
ABANDONED_SECONDS = 24 * 3600
"""Age at which the parts of a trace that never became whole are removed."""

_seen: dict[str, tuple[Path, tuple[int, ...]]] = {}
"""Files that this process has found, with their state, by the hash of their content."""


def folder() -> Path:
    """Returns the folder of the copies, which all workers of a user on one computer share."""
    given = os.environ.get(FOLDER_VARIABLE)
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "casemate" / "traces"
    return Path(given) if given else usual


def find(content: str, hint: str) -> Path | None:
    """Returns a file with this content: the client's path, or a copy. `None` without such a file."""
    if content in _seen:
        path, known = _seen[content]
        if known and state(path) == known:
            return path
    for path in (Path(hint), folder() / content):
        if path.is_file() and content_hash(path) == content:
            if path.parent == folder():
                path.touch()  # used now: `make_room` removes older ones first
            _seen[content] = path, state(path)
            return path
    return None


def state(path: Path) -> tuple[int, ...]:
    """Returns numbers that change with the content of a file; empty if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def receive(content: str, number: int, part: bytes, is_last: bool) -> None:
    """Stores one part of a trace; parts arrive in order, from number zero. Raises `CasemateError` if the disk refuses
    it, or if the parts do not give the expected content.
    """
    partial = folder() / f"{PARTIAL}{content}-{os.getpid()}"
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with partial.open("ab" if number else "wb") as file:
            file.write(part)
        if is_last:
            if content_hash(partial) != content:
                partial.unlink()
                raise CasemateError(f"a trace arrived damaged: its content is not {content}")
            make_room(partial.stat().st_size)
            partial.replace(folder() / content)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise CasemateError(f"cannot keep a trace in '{folder()}': {error.strerror or error}") from error


def make_room(size: int) -> None:
    """Removes copies that were not used for the longest time, until another of this size fits into the bound."""
    for partial in folder().glob(f"{PARTIAL}*"):
        if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
            partial.unlink(missing_ok=True)
    bound = float(os.environ.get(SIZE_VARIABLE) or USUAL_GB) * 2**30
    copies = sorted(
        (path for path in folder().iterdir() if not path.name.startswith(".")), key=lambda p: p.stat().st_mtime
    )
    total = sum(path.stat().st_size for path in copies) + size
    for path in copies:
        if total <= bound:
            return
        total -= path.stat().st_size
        path.unlink(missing_ok=True)
