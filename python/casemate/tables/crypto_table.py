"""Measurements of cryptography as tables that fit 100 columns."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from casemate import built
from casemate.schemas.bench import CryptoBench, Implementation
from casemate.tables.layouts import plain_table
from casemate.text import amounts

DIGITS = 3
NAME_WIDTH = 16


def bench(found: CryptoBench) -> RenderableType:
    """Returns the tables of all figures, then the thesis's Table 6.1 with rows of this computer."""
    clock = f", {found.nominal_mhz:.0f} MHz by the system" if found.nominal_mhz else ""
    parts: list[RenderableType] = [
        Text.assemble((found.processor, "bold"), f": {amounts.counted(found.core_count, 'core')}{clock}"),
        Text(f"  watts: {found.power.told}", style="dim"),
        Text(
            f"  medians of {found.turns} turns; cycles of the core's own clock, measured by a chain of additions",
            style="dim",
        ),
    ]
    if not built.is_fast(found.built_as):
        parts.append(Text(f"  built as '{found.built_as}': `make build` makes all but OpenSSL faster", "red"))
    parts += [Text(f"  {engine.name}: {engine.summary}", style="dim") for engine in found.engines]
    parts += [Text(f"  left out, {reason}", style="yellow") for reason in found.left_out]
    for title, unit in (
        ("cycles per byte", "cycles_per_byte"),
        ("Gb/s of one core", "gbps"),
        ("Gb/s per watt", "gbps_per_watt"),
    ):
        if any(getattr(row, unit) is not None for row in found.rows):
            parts += _by_size(found, title, unit)
    said = Text(found.conclusion)
    if not built.is_fast(found.built_as):
        said.stylize("red", 0, found.conclusion.find(":") + 1)
    return Group(*parts, *_today(found), said)


def _by_size(found: CryptoBench, title: str, unit: str) -> Iterator[RenderableType]:
    """One figure of each engine and direction, by size."""
    sizes = sorted({row.message_bytes for row in found.rows})
    names = [str(size) for size in sizes]
    yield Text(f"{title}, by bytes of a message", style="bold cyan")
    table = plain_table("engine", "", *names, right=names)
    table.padding = (0, 0, 0, 1)
    by_key = {(row.engine, row.operation, row.message_bytes): getattr(row, unit) for row in found.rows}
    for engine in found.engines:
        for operation in ("seal", "open"):
            figures = (_figure(by_key.get((engine.name, operation, size))) for size in sizes)
            table.add_row(engine.name if operation == "seal" else "", operation, *figures)
    yield table


def _today(found: CryptoBench) -> Iterator[RenderableType]:
    """Table 6.1 of the thesis, with rows of this computer."""
    yield Text("Table 6.1 of the thesis, and of today, on lines of 64 bytes with tags", style="bold cyan")
    yield Text(
        f"  one core or module; then the number that carries {found.bandwidth_gbs:g} GB/s, and their power", style="dim"
    )
    numbers = ("MHz", "cycles/B", "Mb/s", "power", "Mbps/mW", "number", "together")
    table = plain_table("", *numbers, right=numbers)
    table.padding = (0, 0, 0, 1)
    # On a narrow screen a name wraps, so that it is not cut.
    table.columns[0].min_width = NAME_WIDTH
    was_today = False
    for each in found.implementations:
        if each.is_today and not was_today:
            table.add_section()
        was_today = each.is_today
        table.add_row(*_implementation(each))
    yield table


def _implementation(each: Implementation) -> Iterator[str]:
    yield each.name
    yield f"{each.clock_mhz:.0f}"
    yield _figure(each.cycles_per_byte)
    yield f"{each.mbps:,.0f}"
    yield _watts(each.power_w)
    yield _figure(each.mbps_per_mw)
    yield f"{each.instances:,}"
    yield _watts(each.total_w)


def _watts(number: float | None) -> str:
    if number is None:
        return ""
    return f"{1e3 * number:.3g} mW" if number < 1 else f"{number:,.0f} W" if number >= 100 else f"{number:.3g} W"


def _figure(number: float | None) -> str:
    return "" if number is None else f"{number:.{DIGITS}g}" if number < 1000 else f"{number:,.0f}"
