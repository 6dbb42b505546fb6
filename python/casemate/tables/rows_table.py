"""Rows of results, for people and as CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

SHOWN_ROWS = 100


def rows_table(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    """Returns rows as a table for people: the first hundred."""
    table = Table(
        box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0), caption_justify="left"
    )
    shown = rows[:SHOWN_ROWS]
    for index, name in enumerate(names):
        is_number = any(isinstance(row[index], int | float) and not isinstance(row[index], bool) for row in shown)
        table.add_column(Text(name), justify="right" if is_number else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(_cell(value)) for value in row))
    if len(rows) > SHOWN_ROWS:
        table.caption = f"The first {SHOWN_ROWS} of {len(rows):,} rows: --csv prints all, --where selects some."
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def csv_text(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """Returns rows as CSV, with a line of names."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(names)
    table.writerows(rows)
    return text.getvalue()
