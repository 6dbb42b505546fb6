"""Runs by interval as one table: a row for each interval of each design, a column for each figure.

    >>> from casemate import BuiltIn, RunOptions, intervals, run
    >>> results = run(BuiltIn("bfs"), options=RunOptions(interval="1M"))
    >>> table = pandas.DataFrame(intervals.rows(results))      # or polars.DataFrame
    >>> table.pivot(index="interval", columns="design", values="ipc").plot()

`casemate run --interval 1M --intervals FILE.csv` writes the same as CSV. Missing values, such as the latency of reads
in an interval without reads, are NaN. `record.intervals` contains all counts.
"""

import csv
import io
import math
import os
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Union, get_args, get_origin

from casemate._core import CasemateError
from casemate.laboratory import native
from casemate.schemas.base import Result
from casemate.schemas.counters import Traffic
from casemate.schemas.figures import LEVELS, METADATA, bandwidth_gb_per_s, hit_rate, mpki, per_kilo
from casemate.schemas.intervals import Interval
from casemate.schemas.moving import Moving
from casemate.schemas.persist_buffer import PersistBuffer
from casemate.schemas.run import RunResults
from casemate.terminal import screen

Figure = int | float
Column = Callable[[Interval], Figure]
Row = dict[str, str | Figure]

NOTHING = float("nan")
"""Value of a missing figure: pandas, polars and other readers of tables accept NaN as a number."""

SUFFIX = ".csv"

_NAMED = {"nodes": "tree"}
"""Names of metadata caches in columns, where they differ: tables of earlier versions have these columns."""

UNITS = ("fs", "ns", "cycles")
"""Units that end the names of fields with a breakdown by cause, as in `parts_ns` and `lost_cycles`."""


def rows(results: RunResults) -> list[Row]:
    """Returns the intervals of all records, in order: a row for each, with the same columns. Empty if the run had no
    intervals.
    """
    listed = list[Row]()
    for record in results.records:
        for number, interval in enumerate(record.intervals):
            row: Row = {"machine": record.machine, "design": record.design, "interval": number}
            listed.append(row | {name: figure(interval) for name, figure in COLUMNS.items()})
    return listed


def check(path: str | os.PathLike[str]) -> None:
    """Raises `CasemateError` if it is clear before the run that no table can be written to this path."""
    native.check_file(str(path))
    if Path(path).suffix.lower() != SUFFIX:
        raise CasemateError(f"'{path}' would be a table as CSV: expected a name that ends in {SUFFIX}")


def write(results: RunResults, path: str | os.PathLike[str]) -> None:
    """Writes the table, whole or not at all. Raises `CasemateError` if that fails."""
    check(path)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["machine", "design", "interval", *COLUMNS])
    table.writerows(map(_written, row.values()) for row in rows(results))
    screen.write_whole(Path(path), text.getvalue().encode())


def _written(value: str | Figure) -> str | Figure:
    # Polars reads Python's word, nan, as text; it reads NaN as a number, and so do pandas and Python.
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _columns() -> Iterator[tuple[str, Column]]:
    yield "start_instruction", lambda interval: interval.start
    yield "start_ns", lambda interval: interval.start_fs / 1e6
    yield "instructions", lambda interval: interval.instructions
    yield "cycles", lambda interval: interval.cycles
    yield "time_ns", lambda interval: interval.time_fs / 1e6
    yield "ipc", lambda interval: interval.ipc
    for level in LEVELS:
        yield f"{level}_mpki", partial(_misses, level)
    yield "llc_misses", lambda interval: interval.llc.misses
    yield "mispredicts_mpki", lambda interval: per_kilo(interval.node.mispredicts, interval)
    yield "read_latency_ns", lambda interval: interval.read_latency_ns if interval.llc.misses else NOTHING
    yield "reads", lambda interval: interval.reads.lines if interval.reads else 0
    for name in ("mean_ns", "median_ns", "p99_ns"):
        yield f"reads_{name}", _follow(("reads", name))
    for name in ("at_work_cycles", "idle_cycles", "switching_cycles"):
        yield name, _follow(("core_time", name))
    for name in PersistBuffer.model_fields:
        yield f"persist_buffer_{name}", _follow(("persist_buffer", name))
    yield from _causes(Interval)
    for index, kind in enumerate(METADATA):
        cache = _NAMED.get(kind, kind)
        yield f"{cache}_hit_rate", partial(_metadata_hit_rate, index)
        yield f"{cache}_mpki", partial(_metadata_misses, index)
    for done, by in (("read", "fetched"), ("written", "stored")):
        for kind in Traffic.model_fields:
            yield f"{kind}_lines_{done}", _follow(("protection", by, kind))
    yield "words_predicted_rate", _words_predicted_rate
    for name in ("hits", "late_hits", "squashed", "misses"):
        yield f"chunks_{name}", _follow(("speculation", name))
    for name in Moving.model_fields:
        yield f"moving_{name}", _follow(("moving", name))
    yield "groups_renewed", lambda interval: interval.renewals.groups
    yield "dram_bytes", lambda interval: interval.dram_bytes
    yield "bandwidth_gb_per_s", bandwidth_gb_per_s


def _misses(level: str, interval: Interval) -> Figure:
    return mpki(interval)[level]


def _metadata_hit_rate(index: int, interval: Interval) -> Figure:
    rate = hit_rate(interval.metadata_caches[index])
    return NOTHING if rate is None else rate


def _metadata_misses(index: int, interval: Interval) -> Figure:
    return per_kilo(interval.metadata_caches[index].misses, interval)


def _words_predicted_rate(interval: Interval) -> Figure:
    rate = interval.speculation.share if interval.speculation else None
    return NOTHING if rate is None else rate


def _causes(kind: type[Result], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Column]]:
    """Yields a column for each cause of each breakdown, at all levels of the result."""
    for name, field in kind.model_fields.items():
        within = _result_in(field.annotation)
        if within is None:
            continue
        whole, _, unit = name.rpartition("_")
        if whole and unit in UNITS:
            of = path[-1] if path and whole == "parts" else whole
            for cause in within.model_fields:
                yield f"{of}_{cause}_{unit}", _follow((*path, name, cause))
        else:
            yield from _causes(within, (*path, name))


def _result_in(annotation: object) -> type[Result] | None:
    """Returns the class of results that a field contains, optional or not; `None` if the field contains no result."""
    kinds = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Result)), None)


def _follow(path: tuple[str, ...]) -> Column:
    """Returns a function that reads the value of the field at this path of names."""

    def figure(interval: Interval) -> Figure:
        found: object = interval
        for name in path:
            if found is None:
                return NOTHING
            found = getattr(found, name)
        assert isinstance(found, int | float)
        return found

    return figure


COLUMNS: dict[str, Column] = dict(_columns())
"""Functions that compute the figures of an interval, by the name of the column, which ends with the unit."""
