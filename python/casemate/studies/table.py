"""Files of a results folder: Parquet tables of rows, each written whole under a temporary name and then renamed."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casemate._core import CasemateError
from casemate.rows.columns import Row, Value, unit
from casemate.rows.needed import library

SCHEMA = "1"
"""Version of the form of the tables."""
SCHEMA_KEY = "casemate.schema"
PATTERN = "rows-*.parquet"
PARTIAL = ".partial-"
DAMAGED = ".damaged"
MAGIC = b"PAR1"
"""Last bytes of a Parquet file, after the length of its footer in four bytes."""

INT64_MAX = 2**63 - 1


def written(folder: Path) -> list[Path]:
    """Returns the tables of a folder in the order in which they were written, without those that a merged table
    replaces.
    """
    found = sorted(folder.glob(PATTERN))
    ranges = [numbers for path in found if (numbers := _replaced(path))]
    return [path for path in found if not any(_number(path) in replaced for replaced in ranges)]


def _number(path: Path) -> int:
    """Returns the number of a table: `rows-000017.parquet`, or `rows-000016-000000.parquet` if it replaces the tables
    from 0 on.
    """
    digits = path.name.removeprefix("rows-").partition(".")[0].partition("-")[0]
    return int(digits) if digits.isdigit() else -1


def _replaced(path: Path) -> range:
    """Returns the numbers of the tables that a merged table replaces."""
    first = path.name.removeprefix("rows-").partition(".")[0].partition("-")[2]
    return range(int(first), _number(path)) if first.isdigit() else range(0)


def is_whole(path: Path) -> bool:
    """Returns true if a file is a Parquet table to its end. Raises `CasemateError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            end = file.read()
    except OSError as error:
        raise CasemateError(f"cannot read '{path}': {error.strerror or error}") from None
    return len(end) == 8 and end.endswith(MAGIC) and int.from_bytes(end[:4], "little") < size


def check_schema(path: Path) -> None:
    """Raises `CasemateError` if a table has another schema than this version of Casemate reads."""
    found = library("duckdb").execute("SELECT key, value FROM parquet_kv_metadata(?)", [str(path)]).fetchall()
    schema = {bytes(key).decode(): bytes(value).decode() for key, value in found}.get(SCHEMA_KEY, "unknown")
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
        is_large = name == "seed" or any(type(value) is int and value > INT64_MAX for value in values)
        kind = arrow.uint64() if is_large and all(type(value) in (int, type(None)) for value in values) else None
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
    return [None if value is None else _text(value) for value in values]


def _text(value: str | int | float | bool) -> str:
    """Returns a value as text; a whole number has the same text as an integer and as a float."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def write(folder: Path, table: Any, replaces: Sequence[Path] = ()) -> Path:
    """Adds a table to a folder. If it replaces the last tables, these are removed afterwards. The table is on the disk
    when the function returns. Raises `CasemateError` if the disk refuses it; the folder is unchanged then.
    """
    parquet = library("pyarrow.parquet")
    first = f"-{min(map(_number, replaces)):06}" if replaces else ""
    path = folder / f"rows-{_next_number(folder):06}{first}.parquet"
    partial = folder / f"{PARTIAL}{path.name}"
    try:
        try:
            labelled = table.replace_schema_metadata({SCHEMA_KEY: SCHEMA})
            parquet.write_table(labelled, partial, compression="zstd", write_page_checksum=True)
            _sync(partial)
            partial.replace(path)
            _sync(folder)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CasemateError(f"cannot write '{path}': {error.strerror or error}") from error
    for each in replaces:
        each.unlink(missing_ok=True)
    return path


def _next_number(folder: Path) -> int:
    """Returns a number above those of all tables, damaged ones included, so that no name is used twice."""
    return max(map(_number, folder.glob(f"{PATTERN}*")), default=-1) + 1


def _sync(path: Path) -> None:
    """Waits until the disk has a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Returns these columns of all rows of a table, without the columns that it lacks. Raises `CasemateError` if the
    table is damaged.
    """
    return list(read_table(path, columns).to_pylist())


def read_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Returns all columns of a table, or these as far as it has them, after a comparison of all checksums. Raises
    `CasemateError` if the table is damaged.
    """
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        known = file.schema_arrow.names
        return file.read(columns=None if columns is None else [name for name in columns if name in known])
    except (OSError, arrow.ArrowException) as error:
        raise CasemateError(f"cannot read '{path}': {str(error).strip()}") from None


def now() -> str:
    """Returns the time of the host, as in `2026-11-28T13:20:19Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
