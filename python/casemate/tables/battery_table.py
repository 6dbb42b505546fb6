"""Batteries as tables that fit 100 columns."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate.schemas.cost import BatteryCost, BatteryRow, CountedDrain, DrainAccount, Operations, StorageSize
from casemate.tables.layouts import plain_table
from casemate.text import amounts

UNITS = (("J", 1e9), ("mJ", 1e6), ("uJ", 1e3), ("nJ", 1))
"""Units of energy, in nanojoules."""
WORK = ("bytes moved", "fetched", "hashed", "pads", "energy")
"""Columns of a drain's work."""
UNIT = "fetched and hashed are lines of 64 bytes; a pad is of a line"
MANY = 100.0
"""Figures from this limit on have one decimal, lower figures four significant digits."""


def volumes(found: BatteryCost) -> RenderableType:
    """Table of the energy and size of each system's battery, next to the values that the SecPB paper prints."""
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
    return Group(_title(found), table, *numbered, *_accounts(found))


def operations(found: BatteryCost) -> RenderableType:
    """Table of the operations of each system's worst-case drain."""
    table = plain_table("system", "early up to", *WORK, right=WORK)
    for row in _sections(found, table):
        names = (Text(row.system), Text(row.early[-1] if row.early else ""))
        table.add_row(*names, *_work(row.operations), _energy(row.energy_nj))
    formulas = dict.fromkeys((row.formula, _systems(found, row.formula)) for row in found.rows)
    lines = (Text(f"{systems}: {formula}") for formula, systems in formulas)
    return Group(_title(found), table, Text(UNIT), *lines)


def counted(found: BatteryCost) -> RenderableType:
    """Table of the drains that were carried out, difference by difference from the closed form."""
    table = plain_table("system", "account", *WORK, right=WORK)
    whys: dict[str, str] = {}
    for row in _sections(found, table):
        if (drain := row.counted) is None:
            continue
        table.add_row(Text(row.system), "closed form", *_work(row.operations), _energy(row.energy_nj))
        for name, account in _carried_out(drain):
            for by in account.differences:
                whys.setdefault(by.name, by.why)
                sign = "-" if by.is_less else "+"
                work = (f"{sign}{number}" if number != "0" else "" for number in _work(by.operations))
                energy = f"{sign}{_energy(abs(by.energy_nj))}"
                table.add_row("", Text(f"{sign} {by.name}"), *work, energy, style="dim")
            table.add_row("", name, *_work(account.operations), _energy(account.energy_nj))
    lines = (Text.assemble((name, "bold"), f": {why}") for name, why in whys.items())
    return Group(_title(found), table, Text(UNIT), *lines, *_refusals(found))


def _accounts(found: BatteryCost) -> Iterator[RenderableType]:
    """Table of the closed form next to the counted drains, if any was counted."""
    rows = [row for row in found.rows if row.counted is not None]
    if rows:
        storage = rows[0].sizes[0].storage
        energies = ("closed form", "alone", "together", "overflowing")
        numbers = (*energies, *(f"mm3{' ' * turn}" for turn in range(len(energies))))
        table = plain_table("carried out", *numbers, right=numbers)
        for entries, group in groupby(rows, lambda row: row.entries):
            table.add_section()
            table.add_row(_heading(entries))
            for row in group:
                table.add_row(Text(row.system), *_four(row))
        yield Text(f"\nDrains by the closed form, and carried out and counted; mm3 of {storage} in the same order")
        yield table
    yield from _refusals(found)


def _four(row: BatteryRow) -> Iterator[str]:
    """Yields cells with the energies of a row's four accounts, then their volumes of the first kind of storage; blank
    for missing accounts.
    """
    drain = row.counted
    accounts = [row, drain.alone, drain.together, drain.overflowing] if drain else [row]
    yield from (_energy(account.energy_nj) if account else "" for account in accounts)
    yield from (_figure(account.sizes[0].volume_mm3) if account else "" for account in accounts)


def _carried_out(drain: CountedDrain) -> Iterator[tuple[str, DrainAccount]]:
    """Yields the accounts of a drain with their names; the differences of each are from the preceding account."""
    accounts = (("each alone", drain.alone), ("all together", drain.together), ("overflowing", drain.overflowing))
    yield from ((name, account) for name, account in accounts if account)


def _refusals(found: BatteryCost) -> Iterator[Text]:
    """Reasons that drains were not carried out, each once."""
    for reason in dict.fromkeys(row.not_counted for row in found.rows if row.not_counted):
        yield Text(f"Not carried out: {reason}.")


def _work(done: Operations) -> Iterator[str]:
    """Yields cells with the operations of a drain, without their energy."""
    yield f"{sum(bits for _, bits in done.moved) / 8:,.10g}"
    yield from (amounts.count(number) for number in (done.fetched_lines, done.hashed_lines, done.pads))


def _title(found: BatteryCost) -> RenderableType:
    return Text.assemble((found.profile, "bold"), f": {found.summary}; a tree of {found.levels} levels")


def _sections(found: BatteryCost, table: Table) -> Iterator[BatteryRow]:
    """Yields all rows; it adds a heading to the table before the rows of each number of entries."""
    for entries, rows in groupby(found.rows, lambda row: row.entries):
        table.add_section()
        table.add_row(_heading(entries))
        yield from rows


def _heading(entries: int | None) -> Text:
    return Text("all caches" if entries is None else f"{amounts.count(entries)} entries", style="bold")


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
