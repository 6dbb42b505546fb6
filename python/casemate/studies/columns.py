"""Flattens records to rows: one column for each figure, with the same name in every table.

The name of a column is the path of the field in the record, joined by `_`, with the unit at the end:
`reads.parts_ns.counter` is `reads_counter_ns`. Keys of the machine and the design have their names in files, as in
`machine_llc_ways`; sizes are numbers of bytes, as in `machine_llc_size_bytes`. The record itself, as JSON, has all
fields, including those without a column: counts of each core, histograms and intervals.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Value = str | int | float | bool | None
Row = dict[str, Value]

UNITS = {
    "fs": "femtoseconds",
    "ns": "nanoseconds",
    "mhz": "megahertz",
    "cycles": "core cycles",
    "clocks": "memory clocks",
    "bytes": "bytes",
    "percent": "percent",
    "bits": "bits",
    "seconds": "seconds of the host",
}
"""Units, by the last word of a column's name. The other columns are numbers of things, ratios or text."""

_SIZES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) (B|KB|MB|GB|TB)")

_METADATA = ("counters", "tags", "nodes", "bitmaps")
"""Metadata caches in a record, in this order."""

_NOT_FLAT = {"cores", "histogram", "intervals", "beside", "predicted", "conditions", "examples", "example"}
"""Fields that only the JSON of a record contains: their length differs between records."""

_BY_NAME = {"attack": "worst", "loss": "worst"}
"""Fields that name the rows of a campaign, and the field of a row with its column."""


def flat(record: Mapping[str, Any]) -> Row:
    """Returns the columns of a record, a report or any other result, given as the content of its JSON form."""
    return dict(_columns(record, ()))


def unit(column: str) -> str:
    """Returns the unit of a column; empty for numbers of things, ratios and text."""
    return UNITS.get(column.rpartition("_")[2], "")


def _columns(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in _NOT_FLAT:
                yield from _columns(inner, (*path, name))
    elif isinstance(value, list | tuple):
        yield from _of_list(value, path)
    elif isinstance(value, str) and (size := _SIZE.fullmatch(value)):
        yield _name((*path, "bytes")), int(float(size[1]) * _SIZES[size[2]])
    else:
        yield _name(path), value


def _of_list(values: Sequence[Any], path: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    if path[-1:] == ("metadata_caches",):
        for kind, cache in zip(_METADATA, values, strict=True):
            yield from _columns(cache, ("metadata_cache", kind))
    elif all(isinstance(value, Mapping) for value in values):
        for row in values:
            if name := next((row[field] for field in _BY_NAME if field in row), None):
                yield _name(("worst", name)), row["worst"]
    elif path[-1:] == ("program",):
        yield _name(path), " ".join(map(str, values))
    else:
        yield _name(path), "; ".join(map(str, values))


def _name(path: tuple[str, ...]) -> str:
    """Returns the name of the column of a field: without the word `configuration`, and the unit at the end."""
    words = [part for part in path if part != "configuration"]
    if words in (["machine", "name"], ["design", "name"]):
        return words[0]
    units = [part.rpartition("_")[2] for part in words[:-1] if part.rpartition("_")[2] in UNITS and "_" in part]
    stems = [part.rpartition("_")[0] if part.rpartition("_")[2] in units else part for part in words[:-1]]
    return "_".join([*stems, words[-1], *units]).replace("-", "_").lower()
