"""Results as tables: rows of plain values, and frames of polars or pandas, whichever is installed."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from casemate._core import CasemateError
from casemate.rows.columns import Row, flat
from casemate.rows.needed import STUDIES

LIBRARIES = ("polars", "pandas")


TABLES = {"Record": None, "RunResults": "records"}
"""Field with the rows of a result, by the type of the result; `None` for a single row."""


def rows_of(content: dict[str, Any], kind: str) -> list[Row]:
    """Returns the rows of a result of this kind, from its content as JSON: one for each member of its longest list,
    like the records of a run. The fields of the result itself are columns of every row. A record has one row.
    """
    listed = TABLES[kind] if kind in TABLES else _longest(content)
    if listed is None or not content[listed]:
        return [flat(content)]
    common = {name: value for name, value in flat(_without(content, listed)).items() if not name.startswith("worst_")}
    return [common | flat(each) for each in content[listed]]


def _longest(content: Mapping[str, Any]) -> str | None:
    """Returns the name of the longest list of objects directly in a result; `None` without a list."""
    lists = {name: value for name, value in content.items() if _is_table(value)}
    return max(lists, key=lambda name: len(lists[name]), default=None)


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _without(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != name and not _is_table(value)}


def frame_of_rows(rows: list[Row]) -> Any:
    """Returns rows as a frame of polars, or of pandas without polars. Raises `CasemateError` without both."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    library = _installed()
    if library.__name__ == "polars":
        return library.DataFrame(columns, strict=False)
    return library.DataFrame(columns)


def frame_of_arrow(table: Any) -> Any:
    """Returns an Arrow table as a frame of polars, or of pandas without polars."""
    library = _installed()
    return library.from_arrow(table) if library.__name__ == "polars" else table.to_pandas()


def _installed() -> Any:
    for module in _modules():
        return module
    raise CasemateError(f"a frame needs polars or pandas, and neither is installed: {STUDIES.install}")


def _modules() -> Iterator[Any]:
    for name in LIBRARIES:
        try:
            yield importlib.import_module(name)
        except ImportError:
            continue
