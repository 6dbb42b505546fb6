"""Output: results on standard output, everything else on standard error.

With `--json`, standard output contains exactly one object.
"""

import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casemate._core import CasemateError

if TYPE_CHECKING:
    from rich.console import Console

    from casemate.schemas.base import Result

as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object; `casemate schema COMMAND` prints its form."
)


def _console(stderr: bool) -> "Console":
    from rich.console import Console

    from casemate.terminal.plain import LEAST_COLUMNS, PlainConsole

    if (sys.stderr if stderr else sys.stdout).isatty():
        return Console(stderr=stderr, highlight=False, emoji=False)
    return PlainConsole(stderr=stderr, width=LEAST_COLUMNS, highlight=False, emoji=False)


def results() -> "Console":
    """Console for results that people read."""
    return _console(stderr=False)


def notices() -> "Console":
    """Console for all other output."""
    return _console(stderr=True)


def print_json(result: "Result | dict[str, Any]") -> None:
    """Prints a result as the one object on standard output."""
    click.echo(json.dumps(result, indent=2) if isinstance(result, dict) else result.to_json())


def check_folder(folder: Path) -> None:
    """Checks that a folder can be made if it does not exist, and that files can be written into it. Leaves no trace.
    Raises `CasemateError` if not.
    """
    try:
        there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
        if there.is_symlink() and not there.exists():
            target = os.readlink(there)
            raise CasemateError(
                f"cannot make the folder '{folder}': '{there}' is a link to '{target}', which is missing"
            )
        if not there.is_dir():
            raise CasemateError(f"cannot make the folder '{folder}': '{there}' is no folder; expected a folder")
        # Only the file system knows if it accepts a file: permissions do not show a read-only disk or a long name.
        with tempfile.TemporaryDirectory(dir=there, prefix=".casemate-") as trial:
            (Path(trial) / folder.relative_to(there)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise CasemateError(
            f"cannot write into the folder '{folder}': {why}; expected one that accepts files"
        ) from error


def make_folder(folder: Path) -> None:
    """Makes a folder if it does not exist. Raises `CasemateError` if files cannot be written into it."""
    check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CasemateError(f"cannot make the folder '{folder}': {error.strerror or error}") from error


@contextmanager
def together(folder: Path) -> Iterator[Path]:
    """Provides a temporary folder to write files into, and makes the target folder if needed. At the end it moves all
    files into the target folder, or no file if anything failed before. Raises `CasemateError` if a file cannot be
    moved.
    """
    make_folder(folder)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as partial:
            yield Path(partial)
            written = sorted(Path(partial).iterdir())
            for path in written:
                if (folder / path.name).is_dir():
                    raise CasemateError(
                        f"cannot write '{folder / path.name}': it is a folder; expected no folder of this name"
                    )
            for path in written:
                path.replace(folder / path.name)
    except OSError as error:
        raise CasemateError(f"cannot write into the folder '{folder}': {error.strerror or error}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file as a whole or not at all, and keeps the permissions of an existing file. If the path is a link, it
    writes the target of the link; a device or a pipe receives the bytes directly. Raises `CasemateError` on failure.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise CasemateError(f"cannot write '{path}': {error.strerror or error}") from error


def _replace(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name, then renames it to `path`, which replaces an existing file."""
    rights = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(partial).chmod(rights)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
