"""Numbers of a report, computed by DuckDB from the tables of a folder, and their comparison with a page."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from casemate.studies import table
from report_pages import Page, Row

duckdb: Any = pytest.importorskip("duckdb")

QUANTILE = 12.7062047
"""Student's 97.5 % quantile for one degree of freedom, the quantile of two seeds."""
ROUNDED = 2e-6
"""Largest error of an interval by numbers with seven digits, as a share of the mean."""
SLOWDOWN = "r.time_fs / b.time_fs"
PER_CYCLE = "/ r.node_instructions / (b.core_time_cycles / b.node_instructions)"
WAIT = "r.core_time_waiting_{}_cycles"
TIME = {
    "at work": "r.core_time_at_work_cycles",
    "data": " + ".join(map(WAIT.format, ("data", "on_chip", "write_back"))),
    "memory queue": WAIT.format("memory_queue"),
    "counter": WAIT.format("counter"),
    "tree": WAIT.format("tree"),
    "tag": " + ".join(map(WAIT.format, ("tag", "bitmap"))),
    "cipher and MAC": " + ".join(map(WAIT.format, ("engine", "engine_queue"))),
    "re-encryption": " + ".join(map(WAIT.format, ("reencryption", "admission"))),
}
READ = "r.reads_parts_{}_ns"
READS = {
    "data": " + ".join(map(READ.format, ("data", "on_chip"))),
    "memory queue": READ.format("memory_queue"),
    "counter": READ.format("counter"),
    "tree": READ.format("tree"),
    "tag": " + ".join(map(READ.format, ("tag", "bitmap"))),
    "cipher and MAC": " + ".join(map(READ.format, ("engine", "engine_queue"))),
    "re-encryption": " + ".join(map(READ.format, ("reencryption", "admission"))),
}
LINES = "1000 * (r.protection_fetched_{0} + r.protection_stored_{0}) / r.node_instructions"

Measures = list[tuple[str, str]]
"""Names and labels of the measures of a figure."""

Numbers = dict[tuple[str, ...], tuple[float, float]]
"""Means and halves of their intervals, by the names of a group."""


def numbers(folder: Path, expression: str, groups: Sequence[str], where: str = "true") -> Numbers:
    """Returns the numbers of a figure by DuckDB, from the tables of the folder."""
    listed = ", ".join(f"'{path}'" for path in table.written(folder))
    keys = ", ".join(f"g{index}" for index in range(len(groups)))
    named = ", ".join(f"({group})::VARCHAR AS g{index}" for index, group in enumerate(groups))
    question = (
        f"WITH runs AS (SELECT * FROM read_parquet([{listed}], union_by_name = true) WHERE kind = 'run'), "
        f"pairs AS (SELECT {named}, r.seed AS seed, ({expression})::DOUBLE AS value FROM runs r JOIN runs b ON "
        "b.design = 'none' AND b.program = r.program AND b.machine = r.machine AND b.seed = r.seed "
        f"AND b.machine_llc_size_bytes = r.machine_llc_size_bytes WHERE {where}), "
        f"seeds AS (SELECT {keys}, seed, avg(value) AS value FROM pairs GROUP BY ALL) "
        f"SELECT {keys}, avg(value), {QUANTILE} * stddev_samp(value) / sqrt(count(*)) FROM seeds GROUP BY ALL"
    )
    rows = duckdb.connect().execute(question).fetchall()
    return {tuple(row[:-2]): (row[-2], row[-1]) for row in rows}


LABEL = "r.design || ' on ' || r.machine"
SIZE = "(r.machine_llc_size_bytes / 1048576)::DECIMAL(9, 1) || ' MB'"


def expected(folder: Path, where: str) -> dict[str, dict[str, Numbers]]:
    """Returns the numbers of each figure and measure by DuckDB."""
    by_program = numbers(folder, SLOWDOWN, ("r.program", LABEL), where)
    if len({program for program, _ in by_program}) > 1:
        over = numbers(folder, SLOWDOWN, (LABEL,), where)
        by_program |= {("all programs", label): each for (label,), each in over.items()}
    summary = {
        "slowdown": SLOWDOWN, "traffic": "r.dram_bytes / b.dram_bytes", "ipc": "r.ipc", "latency": "r.read_latency_ns",
    }  # fmt: skip
    kinds = {name: LINES.format(name) for name in ("data", "counters", "tags", "nodes")}
    return {
        "summary": {name: numbers(folder, sql, (LABEL,), where) for name, sql in summary.items()},
        "slowdown": {"slowdown": by_program},
        "pareto": {"slowdown": numbers(folder, SLOWDOWN, (LABEL,), where)},
        "time": {
            _column("time", name): numbers(folder, f"({sql}) {PER_CYCLE}", (LABEL,), where)
            for name, sql in TIME.items()
        },
        "traffic": {_column("lines", name): numbers(folder, sql, (LABEL,), where) for name, sql in kinds.items()},
        "reads": {_column("reads", name): numbers(folder, sql, (LABEL,), where) for name, sql in READS.items()},
        "distribution": {
            "latency_p50": numbers(folder, "r.reads_median_ns", (LABEL,), where),
            "latency_p99": numbers(folder, "r.reads_p99_ns", (LABEL,), where),
        },
        "over-swept_0": {"slowdown": numbers(folder, SLOWDOWN, (LABEL, SIZE), where)},
    }  # fmt: skip


def _column(prefix: str, name: str) -> str:
    return f"{prefix}_{re.sub('[ -]', '_', name).lower()}"


GROUPS = {"slowdown": ("program", "label"), "over-swept_0": ("label", "swept_0")}


def differences(page: Page, wanted: dict[str, dict[str, Numbers]]) -> list[str]:
    """Returns the numbers of a page that differ from the expected ones: behind the figures, in charts and tables."""
    found = []
    for figure, measures in wanted.items():
        groups = GROUPS.get(figure, ("label",))
        rows = {tuple(str(row[name]) for name in groups): row for row in page.rows(figure)}
        table_rows = {tuple(row[heading] for heading in list(row)[: len(groups)]): row for row in page.table(figure)}
        shown = {name for row in rows.values() for name in row}
        for measure, by_group in measures.items():
            if measure not in shown:
                found += [f"{figure}: no {measure}"] if any(value for value, _ in by_group.values()) else []
                continue
            if not by_group.keys() == rows.keys() == table_rows.keys():
                found.append(f"{figure}: groups {sorted(rows)} in the page, {sorted(table_rows)} in the table")
                continue
            for group, (value, half) in by_group.items():
                row = rows[group]
                if not math.isclose(row[measure], value, rel_tol=2e-6, abs_tol=1e-9):
                    found.append(f"{figure}: {group} {measure} is {row[measure]}, not {value}")
                if not math.isclose(row[f"{measure}_half"], half, rel_tol=1e-3, abs_tol=max(1e-5, ROUNDED * value)):
                    found.append(f"{figure}: {group} {measure} varies by {row[f'{measure}_half']}, not {half}")
                texts = [text for text in table_rows[group].values() if _is_number(text, value)]
                if not texts:
                    found.append(f"{figure}: {group} {measure} {value} is not in the table {table_rows[group]}")
        found += [*_drawn_otherwise(page, figure), *_dropped(page, figure)]
    return found


def _drawn_otherwise(page: Page, figure: str) -> list[str]:
    """Returns an error if a chart draws other numbers than those of the table below it."""
    layout, measures = page.layout(figure), page.measures(figure)
    if layout == "table":
        return []
    groups = GROUPS.get(figure, ("label",))
    wanted = sorted(
        (
            (*(row[name] for name in groups), *numbers)
            for row in page.rows(figure)
            for numbers in LAYOUTS[layout](row, measures)
        ),
        key=str,
    )
    drawn = sorted(
        ((*(row[name] for name in groups), *DRAWN[layout](row, measures)) for row in page.drawn(figure)), key=str
    )
    lanes = {(row.get("lane"), row["label"]) for row in page.drawn(figure)}
    if layout == "dots" and len({lane for lane, _ in lanes}) != len({label for _, label in lanes}):
        return [f"{figure}: two designs share a lane: {lanes}"]
    return [] if drawn == wanted else [f"{figure}: the chart draws {drawn}, not {wanted}"]


def _dots(row: Row, measures: Measures) -> list[tuple[Any, ...]]:
    name, _ = measures[0]
    value, half = row[name], row[f"{name}_half"]
    return [(value, value - half, value + half) if half is not None else (value, None, None)]


def _parts(row: Row, measures: Measures) -> list[tuple[Any, ...]]:
    return [(label, row[name]) for name, label in measures if row.get(name) is not None]


def _values(row: Row, measures: Measures) -> tuple[Any, ...]:
    return tuple(row[name] for name, _ in measures)


LAYOUTS: dict[str, Callable[[Row, Measures], list[tuple[Any, ...]]]] = {
    "dots": _dots, "stack": _parts, "series": _parts, "points": lambda row, measures: [_values(row, measures)],
}  # fmt: skip
"""Numbers of the marks for one row of a table, by the layout of the figure."""
DRAWN: dict[str, Callable[[Row, Measures], tuple[Any, ...]]] = {
    "dots": lambda row, _: (row["value"], row["low"], row["high"]),
    "stack": lambda row, _: (row["part"], row["value"]),
    "series": lambda row, _: (row["part"], row["value"]),
    "points": _values,
}
"""The same numbers, of one row of a chart."""


def _is_number(text: str, value: float) -> bool:
    """Returns true if the text of a cell is this number, rounded to the cell's digits."""
    number = text.partition(" ")[0]
    digits = len(number.partition(".")[2])
    return re.fullmatch(r"-?[\d.]+", number) is not None and abs(float(number) - value) <= 0.51 * 10**-digits


KINDS = {
    "slowdown": "symbol", "pareto": "symbol", "distribution": "symbol", "over-swept_0": "symbol", "attacks": "rect",
    "crashes": "rect",
}  # fmt: skip
"""Mark of one row in each chart; the other charts are bars."""


def _dropped(page: Page, figure: str) -> list[str]:
    """Returns an error if a chart has no visible mark for one of the rows, or is not shown."""
    drawn = page.drawn(figure)
    if figure == "summary":
        return []
    kind = KINDS.get(figure, "rect")
    wanted = len([row for row in drawn if kind == "symbol" or row.get("value", 1) > 0.004])
    marks = page.marks(figure, kind)
    return [] if 0 < wanted <= marks <= len(drawn) else [f"{figure}: {marks} marks for {wanted} rows"]
