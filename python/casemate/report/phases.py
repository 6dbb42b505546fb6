"""Rows of a page from runs by interval: the phases of a program under each design."""

from casemate.report.figure import Cells, Column
from casemate.report.reading import Rows, Source
from casemate.text import amounts

ROWS_MAX = 8_000
"""Largest number of intervals in a page."""
VALUES = {
    "ipc": Column("ipc", "instructions per cycle", 3),
    "latency": Column("latency_ns", "read latency (ns)", 1),
    "traffic": Column("bytes_per_instruction", "memory traffic (bytes per instruction)", 3),
}
"""Numbers of an interval, by the name of their figure."""
INTERVALS = "json_extract(record, '$.intervals[*]')"
FIELDS = """
    (each->>'start')::BIGINT AS start, (each->>'ipc')::DOUBLE AS ipc,
    CASE WHEN (each->'llc'->>'misses')::BIGINT > 0 THEN (each->>'read_latency_ns')::DOUBLE END AS latency_ns,
    (each->>'dram_bytes')::DOUBLE / nullif((each->>'instructions')::BIGINT, 0) AS bytes_per_instruction
"""
"""Columns of an interval in SQL; an interval without a miss has no latency of reads."""


def cells(value: Column) -> Cells:
    """Returns the table of a number of the intervals."""
    columns = (Column("label", "design"), Column("program", "program"), Column("start", "from instruction", 0), value)
    return Cells(columns, count="label")


def rows(source: Source, runs: Rows) -> tuple[Rows, tuple[str, ...]]:
    """Returns a row for each interval of the runs, in order, and a notice if they are too many for a page."""
    if "record" not in source.columns:
        return [], ()
    intervals = f"SELECT point, unnest({INTERVALS}) AS each FROM runs WHERE {source.shown}"
    found = source.ask(f"SELECT point, {FIELDS} FROM ({intervals}) ORDER BY point, start LIMIT {ROWS_MAX + 1}")
    if len(found) > ROWS_MAX:
        return [], (
            f"The runs have more than {amounts.count(ROWS_MAX)} intervals, so the page has no figures over the run: "
            "--where SQL makes a page of some runs.",
        )
    shared = ("label", "design", "program", "machine", "seed")
    by_point = {row["point"]: {"run": index} | {name: row[name] for name in shared} for index, row in enumerate(runs)}
    return [by_point[row.pop("point")] | row for row in found], ()
