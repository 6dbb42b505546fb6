"""Files of a results folder: Parquet tables of rows, each written whole under a temporary name and then renamed."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from casemate._core import CasemateError
from casemate.studies.columns import Row, Value, unit
from casemate.studies.needed import library

SCHEMA = "1"
"""Version of the form of the tables."""
SCHEMA_KEY, REPLACES_KEY = b"casemate.schema", b"casemate.replaces"
PATTERN = "rows-*.parquet"
PARTIAL = ".partial-"
DAMAGED = ".damaged"

INT64_MAX = 2**63 - 1


def written(folder: Path) -> list[Path]:
    """Returns the tables of a folder in the order in which they were written, without those that a merged table
    replaces. Raises `CasemateError` if a table has another schema than this version of Casemate reads.
    """
    found = sorted(folder.glob(PATTERN))
    replaced: set[str] = set()
    for path in found:
        labels = _labels(path)
        if labels is not None:
            _check_schema(path, labels)
            replaced.update(filter(None, labels.get(REPLACES_KEY, b"").decode().split("\n")))
    return [path for path in found if path.name not in replaced]


def is_whole(path: Path) -> bool:
    """Returns true if the file is a Parquet table."""
    return _labels(path) is not None


def _labels(path: Path) -> dict[bytes, bytes] | None:
    """Returns the labels of a table, which are part of its end; `None` if the table is not whole."""
    parquet = library("pyarrow.parquet")
    try:
        return dict(parquet.read_schema(path).metadata or {})
    except (library("pyarrow").ArrowException, OSError):
        return None


def _check_schema(path: Path, labels: Mapping[bytes, bytes]) -> None:
    schema = labels.get(SCHEMA_KEY, b"none").decode()
    if schema != SCHEMA:
        raise CasemateError(
            f"'{path}' has schema '{schema}', and this version of Casemate reads schema '{SCHEMA}': expected a results "
            "folder of this version, or another --output"
        )


def of_rows(rows: Sequence[Row]) -> Any:
    """Returns rows as an Arrow table. A column with both numbers and text becomes text."""
    arrow = library("pyarrow")
    names = dict.fromkeys(name for row in rows for name in row)
    arrays, fields = [], []
    for name in names:
        values = _alike([row.get(name) for row in rows])
        if values is None:
            continue
        kind = arrow.uint64() if any(type(value) is int and value > INT64_MAX for value in values) else None
        arrays.append(arrow.array(values, type=kind))
        label = {"unit": unit(name)} if unit(name) else None
        fields.append(arrow.field(name, arrays[-1].type, metadata=label))
    return arrow.Table.from_arrays(arrays, schema=arrow.schema(fields))


def _alike(values: list[Value]) -> list[Value] | None:
    """Returns the values with one type; `None` if no row has a value, so that the column would have no type."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return None
    if len(kinds) == 1:
        return values
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]


def write(folder: Path, table: Any, replaces: Iterable[Path] = ()) -> Path:
    """Adds a table to a folder in place of others. The table is on the disk when the function returns. Raises
    `CasemateError` if the disk refuses it; the folder is unchanged then.
    """
    parquet = library("pyarrow.parquet")
    old = list(replaces)
    labels = {SCHEMA_KEY: SCHEMA.encode(), REPLACES_KEY: "\n".join(path.name for path in old).encode()}
    path = folder / f"rows-{_next_number(folder):06}.parquet"
    partial = folder / f"{PARTIAL}{path.name}"
    try:
        try:
            parquet.write_table(table.replace_schema_metadata(labels), partial, compression="zstd")
            _sync(partial)
            partial.replace(path)
            _sync(folder)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CasemateError(f"cannot write '{path}': {error.strerror or error}") from error
    for each in old:
        each.unlink(missing_ok=True)
    return path


def _next_number(folder: Path) -> int:
    """Returns a number above those of all tables, damaged ones included, so that no name is used twice."""
    numbers = [path.name.removeprefix("rows-").partition(".")[0] for path in folder.glob(f"{PATTERN}*")]
    return max((int(number) for number in numbers if number.isdigit()), default=-1) + 1


def _sync(path: Path) -> None:
    """Waits until the disk has a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(paths: Sequence[Path], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Returns these columns of all rows, in the order in which they were written. Columns that a table does not have
    are missing in its rows.
    """
    parquet = library("pyarrow.parquet")
    rows: list[dict[str, Any]] = []
    for path in paths:
        file = parquet.ParquetFile(path)
        rows += file.read(columns=[name for name in columns if name in file.schema_arrow.names]).to_pylist()
    return rows


def now() -> str:
    """Returns the time of the host, as in `2026-11-28T13:20:19Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
