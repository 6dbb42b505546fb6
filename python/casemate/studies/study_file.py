"""Studies as TOML files: reading, with errors that name the file and the key, and writing. A results folder keeps its
last study with the points of the study.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from casemate._core import CasemateError
from casemate.laboratory import native, stated
from casemate.rows.needed import library
from casemate.studies.study import Study, StudyInput
from casemate.terminal import screen
from casemate.text.nearest import hint_of_file

KEPT = "_study.json"
"""File of a results folder with its last study. Readers of Parquet folders pass over names that begin so."""


def read(path: Path) -> Study:
    """Reads a study from a TOML file. Files of traces, designs and machines in it are relative to its folder. Raises
    `CasemateError` with the file and the key.
    """
    toml = library("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        content = toml.loads(native.edited_text(path.read_bytes()))
    except FileNotFoundError:
        raise CasemateError(f"there is no study '{path}'{hint_of_file(path)}") from None
    except (OSError, CasemateError) as error:
        raise CasemateError(f"cannot read the study '{path}': {error}") from None
    except toml.TOMLDecodeError as error:
        raise CasemateError(f"{path}: {error}") from None
    try:
        study = Study(**({"name": path.stem} | content))
    except CasemateError as error:
        raise CasemateError(f"{path}: {error}") from None
    return _relative_to(study, path.parent)


def to_toml(study: Study) -> str:
    """Returns a study as the text of a TOML file, without keys that have their default."""
    content = {"name": study.name} | study.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return str(library("tomli_w").dumps(_without_none(content)))


def keep(folder: Path, study: Study, points: Mapping[str, str]) -> None:
    """Writes the study of a results folder, and the hashes of its points with the name of the program of each, in place
    of an earlier study. Raises `CasemateError` if the folder cannot be written.
    """
    content = {"study": to_toml(study), "points": list(points), "programs": list(points.values())}
    screen.write_whole(folder / KEPT, json.dumps(content, indent=1).encode())


def kept_points(folder: Path) -> dict[str, str] | None:
    """Returns the hashes of the points of a folder's last study, each with the name of its program in this study; the
    name is empty in a folder of an earlier version. Returns `None` for a folder that keeps no study.
    """
    try:
        kept = json.loads((folder / KEPT).read_text())
        points = [str(point) for point in kept["points"]]
        programs = [str(name) for name in kept.get("programs", [""] * len(points))]
        return dict(zip(points, programs, strict=True))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def kept_study(folder: Path) -> Study | None:
    """Returns a folder's last study; `None` for a folder that keeps no study, or one of another version."""
    toml = library("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return Study(**toml.loads(json.loads((folder / KEPT).read_text())["study"]))
    except (OSError, ValueError, KeyError, TypeError, CasemateError):
        return None


def _without_none(value: Any) -> Any:
    """Returns a value without absent keys: TOML has no null."""
    if isinstance(value, dict):
        return {name: _without_none(inner) for name, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


def _relative_to(study: Study, folder: Path) -> Study:
    """Returns the study with the paths of its files from the current folder."""

    def moved(name: str) -> str:
        return str(folder / name) if stated.is_file(name) else name

    def program(given: Any) -> Any:
        changed: dict[str, Any] = {"trace": str(folder / given.trace)} if given.trace else {}
        if together := getattr(given, "together", ()):
            changed["together"] = tuple(map(program, together))
        assert isinstance(given, StudyInput)
        return given.model_copy(update=changed)

    return study.model_copy(
        update={
            "designs": tuple(map(moved, study.designs)),
            "machines": tuple(map(moved, study.machines)),
            "programs": tuple(map(program, study.programs)),
        }
    )
