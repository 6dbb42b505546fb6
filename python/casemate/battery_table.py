"""Batteries as tables that fit 100 columns."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate import amounts
from casemate.results.cost import BatteryCost, BatteryRow, StorageSize
from casemate.tables import plain_table

UNITS = (("J", 1e9), ("mJ", 1e6), ("uJ", 1e3), ("nJ", 1))
"""Units of energy, in nanojoules."""
MANY = 100.0
"""From here on a figure has one decimal, below it four digits."""


def volumes(found: BatteryCost) -> RenderableType:
    """What each system's battery holds, and how large it is, next to what the paper prints."""
    numbers = ("energy", "mm3", "printed", "off", "% core", "printed")
    table = plain_table("system", "energy", "storage", *numbers[1:], right=numbers)
    remarks = list(dict.fromkeys(row.remark for row in found.rows if row.remark is not None))
    for row in _sections(found, table):
        number = f" [{remarks.index(row.remark) + 1}]" if row.remark is not None else ""
        names = (f"{row.system}{number}", _energy(row.energy_nj))
        for size in row.sizes:
            table.add_row(*(Text(text) for text in names), Text(size.storage), *_figures(size))
            names = ("", "")
    numbered = (Text(f"[{number}] {remark}") for number, remark in enumerate(remarks, 1))
    return Group(_title(found), table, *numbered)


def operations(found: BatteryCost) -> RenderableType:
    """What each system's drain does."""
    numbers = ("bytes moved", "fetched lines", "hashed lines", "pads", "energy")
    table = plain_table("system", "early up to", *numbers, right=numbers)
    for row in _sections(found, table):
        done = row.operations
        moved = sum(bits for _, bits in done.moved)
        counts = (amounts.count(number) for number in (done.fetched_lines, done.hashed_lines, done.pads))
        table.add_row(
            Text(row.system),
            Text(row.early[-1] if row.early else ""),
            f"{moved / 8:,.10g}",
            *counts,
            _energy(row.energy_nj),
        )
    formulas = dict.fromkeys((row.formula, _systems(found, row.formula)) for row in found.rows)
    told = (Text(f"{systems}: {formula}") for formula, systems in formulas)
    return Group(_title(found), table, *told)


def _title(found: BatteryCost) -> RenderableType:
    return Text.assemble((found.profile, "bold"), f": {found.summary}; a tree of {found.levels} levels")


def _sections(found: BatteryCost, table: Table) -> Iterator[BatteryRow]:
    """All rows, with a heading before those of each number of entries."""
    for entries, rows in groupby(found.rows, lambda row: row.entries):
        table.add_section()
        table.add_row(Text("all caches" if entries is None else f"{amounts.count(entries)} entries", style="bold"))
        yield from rows


def _systems(found: BatteryCost, formula: str) -> str:
    return ", ".join(dict.fromkeys(row.system for row in found.rows if row.formula == formula))


def _figures(size: StorageSize) -> Iterable[str | Text]:
    off = "" if size.difference_percent is None else _difference(size.difference_percent)
    yield _figure(size.volume_mm3)
    yield "" if size.printed_mm3 is None else f"{size.printed_mm3:g}"
    yield "as printed" if size.is_as_printed else Text(off, style="yellow")
    yield _figure(size.core_percent)
    yield "" if size.printed_core_percent is None else f"{size.printed_core_percent:g}"


def _difference(percent: float) -> str:
    return f"{percent:+.2g} %" if abs(percent) >= 0.01 else f"{percent:+.1g} %"


def _figure(number: float) -> str:
    return f"{number:,.1f}" if number >= MANY else f"{number:.4g}"


def _energy(nanojoules: float) -> str:
    unit, scale = next((unit, scale) for unit, scale in UNITS if nanojoules >= scale or scale == 1)
    return f"{_figure(nanojoules / scale)} {unit}"
