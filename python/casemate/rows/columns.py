"""Flattens records to rows: one column for each figure, with the same name in every table.

The name of a column is the path of the field in the record, joined by `_`, with the unit at the end:
`reads.parts_ns.counter` is `reads_parts_counter_ns`. Keys of the machine and the design have their names in files, as
in `machine_llc_ways`; sizes are numbers of bytes, as in `machine_llc_size_bytes`. The record itself, as JSON, has all
fields, including those without a column: counts of each core, histograms and intervals.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from casemate import _core
from casemate._core import CasemateError
from casemate.text.amounts import parse_size
from casemate.text.nearest import hint

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
    elif (size := _size(value)) is not None:
        yield _name((*path, "bytes")), size
    else:
        yield _name(path), value


def _size(value: Value) -> int | None:
    """Returns a number of bytes if the value is a size; `None` for all other values."""
    try:
        return parse_size(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _of_list(values: Sequence[Any], path: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    if path[-1:] == ("metadata_caches",):
        for kind, cache in zip(_core.METADATA_CACHES, values, strict=True):
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
    """Returns the name of the column of a field: without the word `configuration`, and with the unit at the end."""
    words = [part for part in path if part != "configuration"]
    if words in (["machine", "name"], ["design", "name"]):
        return words[0]
    units, stems = list[str](), list[str]()
    for part in words[:-1]:
        stem, _, last = part.rpartition("_")
        units += [last] if stem and last in UNITS else []
        stems += [stem] if stem and last in UNITS else [part]
    return "_".join([*stems, words[-1], *units]).replace("-", "_").lower()


def column(given: str, known: Collection[str]) -> str:
    """Returns the name of a column that the user named, as it is or as the key or field of a record. Raises
    `CasemateError` with the nearest name for an unknown one.
    """
    name = _name(tuple(given.strip().split(".")))
    for each in (given.strip(), name, f"{name}_bytes"):
        if each in known:
            return each
    raise CasemateError(f"there is no column '{given}'{hint(name, known)}")


def of_type(kind: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields the names of all columns that a record of this type may have."""
    for field, described in kind.model_fields.items():
        if field in _NOT_FLAT:
            continue
        inner = list(_models(described.annotation))
        for model in inner:
            if field == "metadata_caches":
                for cache in _core.METADATA_CACHES:
                    yield from of_type(model, ("metadata_cache", cache))
            else:
                yield from of_type(model, (*path, field))
        if not inner:
            yield _name((*path, field))
            yield _name((*path, field, "bytes"))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yields the models in an annotation, such as the members of a union or a tuple."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
