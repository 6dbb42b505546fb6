"""Output of a study without runs: the same tables on the screen, as Markdown and as CSV."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate.reproduce.derivation import KEPT
from casemate.schemas.derivation import Derivation, DerivedRow, DerivedTable, EngineNeed
from casemate.tables.layouts import plain_table
from casemate.terminal import screen

DIGITS = 4
COLUMNS = ("of", "", "unit", "computed", "printed", "off", "from")
NEEDS = ("for", "implementation", "lanes", "clock", "carries", "power", "area")
WIDEST = {"of": 26, "": 24, "from": 40}
"""Maximum widths of columns with words that wrap."""


def tables(found: Derivation) -> RenderableType:
    """Returns the whole study for the terminal."""
    parts: list[RenderableType] = [Text(found.paper, style="bold")]
    parts += [Text(f"  {condition}", style="dim") for condition in found.conditions]
    for table in found.tables:
        parts += _table(table)
    parts += _needs(found)
    return Group(*parts, Text(f"{found.brief()}."))


def _table(table: DerivedTable) -> Iterator[RenderableType]:
    yield Text(f"{table.label}: {table.title}", style="bold cyan")
    if table.note:
        yield Text(f"  {table.note}", style="dim")
    shown = _empty(COLUMNS, right=("computed", "printed", "off"))
    remarks = remarks_of(table.rows)
    last = ""
    for row in table.rows:
        number = f" [{remarks.index(row.remark) + 1}]" if row.remark else ""
        of, what, unit, computed, printed, off, formula = cells(row)
        shown.add_row(
            Text("" if of == last else of), Text(what), Text(unit), Text(computed), Text(printed),
            Text(off + number, style="yellow" if off else ""), Text(formula, style="dim"),
        )  # fmt: skip
        last = of
    yield shown
    yield from (Text(f"[{number}] {remark}") for number, remark in enumerate(remarks, 1))


def _needs(found: Derivation) -> Iterator[RenderableType]:
    yield Text("\nRequested engines and bandwidths, by the same formulas", style="bold cyan")
    shown = _empty(NEEDS, right=("lanes", "clock", "carries", "power", "area"))
    remarks = remarks_of(found.needs)
    last = ""
    for need in found.needs:
        number = f" [{remarks.index(need.remark) + 1}]" if need.remark else ""
        asks, name, *numbers = need_cells(need)
        shown.add_row(Text("" if asks == last else asks), Text(f"{name}{number}"), *(Text(cell) for cell in numbers))
        last = asks
    yield shown
    yield from (Text(f"[{number}] {remark}") for number, remark in enumerate(remarks, 1))


def _empty(columns: tuple[str, ...], right: tuple[str, ...]) -> Table:
    table = plain_table(*columns, right=right)
    for column in table.columns:
        column.max_width = WIDEST.get(str(column.header), column.max_width)
    return table


def remarks_of(rows: tuple[DerivedRow, ...] | tuple[EngineNeed, ...]) -> list[str]:
    """Returns the remarks of these rows in order, each once."""
    return list(dict.fromkeys(row.remark for row in rows if row.remark))


def cells(row: DerivedRow) -> tuple[str, ...]:
    """Returns the cells of a figure's row as text."""
    off = (
        f"{row.difference_percent:+.2g} %" if row.agreement == "differs" and row.difference_percent is not None else ""
    )
    return row.of, row.quantity, row.unit, number(row.computed), row.printed or "", off, row.formula


def need_cells(need: EngineNeed) -> tuple[str, ...]:
    """Returns the cells of a requirement's row as text."""
    asks = f"{need.bandwidth_gbs:g} GB/s" if need.asked == "bandwidth" else f"{need.lanes} lanes"
    area = "" if need.area_mm2 is None else f"{number(need.area_mm2)} mm2"
    carries = f"{number(need.bandwidth_gbs)} GB/s"
    return (
        asks,
        need.implementation,
        f"{need.lanes:,}",
        f"{need.clock_mhz:g} MHz",
        carries,
        f"{number(need.power_w)} W",
        area,
    )


def number(value: float) -> str:
    """Formats a number with four significant digits; whole and large numbers have no decimals."""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 10**DIGITS else f"{value:.{DIGITS}g}"


def markdown(found: Derivation) -> str:
    """Returns the whole study as a report in Markdown."""
    parts = [f"# {found.paper}", "", *found.conditions, ""]
    for table in found.tables:
        parts += [f"## {table.label}: {table.title}", "", *([table.note, ""] if table.note else [])]
        remarks = remarks_of(table.rows)
        parts += _row(("of", "figure", *COLUMNS[2:], "remark")) + _row(("---",) * (len(COLUMNS) + 1))
        for row in table.rows:
            parts += _row((*cells(row), f"[{remarks.index(row.remark) + 1}]" if row.remark else ""))
        parts += ["", *(f"{number}. {remark}" for number, remark in enumerate(remarks, 1)), ""]
    parts += [
        "## Requested engines and bandwidths, by the same formulas",
        "",
        *_row((*NEEDS, "remark")),
        *_row(("---",) * (len(NEEDS) + 1)),
    ]
    for need in found.needs:
        parts += _row((*need_cells(need), need.remark or ""))
    return "\n".join([*parts, "", f"{found.brief()}.", ""])


def _row(written: tuple[str, ...]) -> list[str]:
    return [f"| {' | '.join(word.replace('|', '/') for word in written)} |"]


def as_csv(found: Derivation) -> str:
    """Returns the figures as CSV, a row for each, with unrounded numbers."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(
        (
            "table",
            "of",
            "quantity",
            "unit",
            "computed",
            "printed",
            "agreement",
            "difference_percent",
            "formula",
            "remark",
        )
    )
    for table in found.tables:
        for row in table.rows:
            out.writerow((
                table.number, row.of, row.quantity, row.unit, repr(row.computed), row.printed or "", row.agreement,
                "" if row.difference_percent is None else repr(row.difference_percent), row.formula, row.remark or "",
            ))  # fmt: skip
    return text.getvalue()


def write(found: Derivation, draw: Callable[[Derivation, Path], None], folder: Path) -> list[Path]:
    """Writes the report, the figures, the picture and the whole study into a folder: all files, or no file if one
    fails. Returns the files for readers. Raises `CasemateError` on failure.
    """
    with screen.together(folder) as partial:
        (partial / "report.md").write_text(markdown(found))
        (partial / "figures.csv").write_text(as_csv(found))
        draw(found, partial / "figures.png")
        (partial / KEPT).write_text(found.to_json())
    return [folder / name for name in ("report.md", "figures.csv", "figures.png")]
