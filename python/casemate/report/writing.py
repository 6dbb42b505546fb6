"""Writes the report of a results folder."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from casemate._core import CasemateError
from casemate.report.reading import Source
from casemate.rows import needed
from casemate.terminal import screen

if TYPE_CHECKING:
    from casemate.schemas.run import RunResults

SUFFIXES = (".html", ".htm")
HEAD_BYTES = 200
INTERRUPTED = "The run was interrupted: the figures cover the part of the program that was run."


def check(path: Path) -> None:
    """Raises `CasemateError` before any work if the page cannot be written, or if the libraries are not installed."""
    needed.REPORT.check()
    if path.suffix.lower() not in SUFFIXES:
        raise CasemateError(f"'{path}' would be a page of HTML: expected a name such as '{path.stem or 'report'}.html'")
    screen.check_folder(path.parent)
    if path.exists() and not _is_report(path):
        raise CasemateError(f"'{path}' exists and is no report of Casemate: expected another name, or no file there")


def _is_report(path: Path) -> bool:
    from casemate.report.page import MARK

    try:
        with path.open("rb") as file:
            return MARK.encode() in file.read(HEAD_BYTES)
    except OSError:
        return False


def write_run(results: "RunResults", path: Path) -> None:
    """Writes the page of one run under several designs, with the attacks that each design stopped after it."""
    check(path)
    from casemate.report import content, page

    stopped = {each.design: 100 * each.stopped / each.applicable for each in results.protection if each.applicable}
    with tempfile.TemporaryDirectory(prefix="casemate-") as temporary:
        folder = Path(temporary)
        for index, record in enumerate(results.records):
            (folder / f"{index}.json").write_text(record.to_json())
        source = Source.of(folder, None, False)
        found = content.of(source, stopped)
        ended = (INTERRUPTED,) if results.interrupted else ()
        title = f"Run of {results.records[0].configuration.title}"
        found = replace(found, title=title, notices=(*ended, *found.notices))
        screen.write_whole(path, page.build(found).encode())


def write(
    folder: Path, path: Path, version: str | None = None, every_study: bool = False, where: str = ""
) -> tuple[str, ...]:
    """Writes the page of a results folder. Returns the notices of files and rows that the page leaves out. Raises
    `CasemateError` without results.
    """
    check(path)
    from casemate.report import content, derived, page

    if not (version or every_study or where) and (found := derived.kept(folder)):
        screen.write_whole(path, page.build(derived.content(found)).encode())
        return ()
    source = Source.of(folder, version, every_study, where)
    screen.write_whole(path, page.build(content.of(source)).encode())
    return tuple(source.results.notices)
