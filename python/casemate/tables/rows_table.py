"""Rows of results, for people and as CSV."""

import csv
import io
from typing import Any

from rich import box
from rich.table import Table

SHOWN_ROWS = 1000


def rows_table(rows: Any) -> Table:
    """Returns an Arrow table as a table for people, with at most a thousand rows."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        is_number = column.type in ("int64", "uint64", "double") or str(column.type) in ("int64", "uint64", "double")
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows.slice(0, SHOWN_ROWS).to_pylist():
        table.add_row(*(_cell(value) for value in row.values()))
    if rows.num_rows > SHOWN_ROWS:
        table.caption = f"{SHOWN_ROWS:,} of {rows.num_rows:,} rows: --csv prints all"
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def csv_text(rows: Any) -> str:
    """Returns an Arrow table as CSV, with a line of names."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(rows.column_names)
    table.writerows(row.values() for row in rows.to_pylist())
    return text.getvalue()
