"""Costs of hardware cores, as a table that fits 100 columns."""

from rich.console import Group, RenderableType
from rich.text import Text

from casemate.schemas.hardware import CoreCost, HardwareComparison, HardwareCost, Scaling
from casemate.tables.layouts import plain_table

DIGITS = 3
"""Minimum number of significant digits of each measured number."""
NAME_WIDTH = 26
"""Minimum width of the column of names: on a narrow screen, other columns move into a further table before names need
more than two lines.
"""
FPGA_BLOCKS = {"DSP": "dsps", "BRAM": "block_rams", "other": "others"}
"""Columns with blocks of the FPGA that few cores use, by the field of the result."""
COMPARED = ("mm2", "MHz", "Gb/s", "Gb/s/mm2", "nJ/line")
"""Figures in the comparison of a lane and another core, by column."""
ENERGIES = ("% nets", "% cells", "% clock")
"""Columns with shares of a line's energy: charging nets, within cells, and clock pins."""


def table(found: HardwareCost) -> RenderableType:
    """Table of the main figures of all cores."""
    rows = [
        {
            "target": _target(row, found),
            **_figures(row),
            "LUT": str(row.fpga.lut) if row.fpga else "",
            "FF": str(row.fpga.flops) if row.fpga else "",
            **{name: _some(row, kind, found) for name, kind in FPGA_BLOCKS.items()},
        }
        for row in found.rows
    ]
    head = Text(f"{found.library} at {found.voltage_v:g} V, {targets(found)}; wires are ideal")
    return Group(head, _by_core(found, rows), *(Text(line) for line in _notes(found)))


def comparison(found: HardwareComparison) -> RenderableType:
    """Table of the lanes and the other core in each library, with their ratios."""
    names = ("target", *COMPARED)
    shown = plain_table("core", *names, right=names)
    ratios = iter(found.ratios)
    for cost in found.libraries:
        shown.add_row(Text(f"{cost.library} {cost.voltage_v:g} V", style="bold"), *([""] * len(names)))
        for row in cost.rows:
            main = _figures(row)
            shown.add_row(Text(f"  {row.name}"), f"{row.target_ns:.2f}", *(main[name] for name in COMPARED))
        for _ in cost.rows[:-1]:
            ratio = next(ratios)
            figures = (f"{ratio.gbps_per_mm2:.2f} x", f"{ratio.energy:.2f} x")
            empty = [""] * (len(names) - len(figures))
            shown.add_row(Text(f"  {ratio.lane} / {found.core}"), *empty, *figures)
    head = Text(f"{targets(found.libraries[0])}; wires are ideal")
    return Group(head, shown)


def details(found: HardwareCost) -> RenderableType:
    """Table of the parts of the figures, followed by the longest paths."""
    rows = list[dict[str, str]]()
    for row in found.rows:
        energy = row.energy
        parts = (energy.switching_nj, energy.internal_nj, energy.clock_nj) if energy else ()
        total = energy.total_nj if energy else 1.0
        shares = [f"{100 * part / total:.0f}" for part in parts] or [""] * len(ENERGIES)
        rows.append(
            {
                "cells": f"{row.area.cells:,}",
                "flops": f"{row.area.flops:,}",
                "% area": f"{100 * row.area.flops_um2 / row.area.um2:.0f}",
                "fan-out": str(row.area.fanout_buffers),
                "latency": _whole(row.speed.latency_cycles),
                **dict(zip(ENERGIES, shares, strict=True)),
            }
        )
    paths = (Text(f"{row.name}: longest path {_path(row)}") for row in found.rows)
    return Group(_by_core(found, rows), *paths)


def _by_core(found: HardwareCost, rows: list[dict[str, str]]) -> RenderableType:
    """Table with a row for each core, and a column for each figure that any core has."""
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    shown = plain_table("core", *names, right=names)
    shown.columns[0].min_width = NAME_WIDTH
    for core, row in zip(found.rows, rows, strict=True):
        shown.add_row(Text(core.name), *(row[name] for name in names))
    return shown


def _figures(row: CoreCost) -> dict[str, str]:
    """Returns the main figures of a core in a cell library, by column."""
    return {
        "mm2": _number(row.area.um2 / 1e6, 3),
        "MHz": f"{row.speed.fmax_mhz:.1f}",
        "cycles": _whole(row.speed.cycles_per_line),
        "Gb/s": _number(row.speed.gbps, 2),
        "Gb/s/mm2": _number(row.speed.gbps_per_mm2, 2),
        "nJ/line": _number(row.energy.total_nj if row.energy else None, 1),
    }


def _path(row: CoreCost) -> str:
    speed = row.speed
    return f"{1e3 / speed.fmax_mhz:.2f} ns, {speed.path_cells} cells, from {speed.path_begins} to {speed.path_ends}"


def targets(found: HardwareCost) -> str:
    """States the delays for which cores were mapped."""
    if len(found.targets_ns) == 1:
        return f"mapped for {found.targets_ns[0]:.2f} ns"
    return f"each core mapped for its own best of {len(found.targets_ns)} targets"


def _target(row: CoreCost, found: HardwareCost) -> str:
    """Returns the delay for which a core was mapped; empty if the flow aimed at one delay for all cores."""
    return f"{row.target_ns:.2f}" if len(found.targets_ns) > 1 else ""


def _some(row: CoreCost, kind: str, found: HardwareCost) -> str:
    """Returns the number of these blocks of a core in the FPGA; empty if no core has one."""
    used = any(each.fpga and getattr(each.fpga, kind) for each in found.rows)
    return str(getattr(row.fpga, kind)) if used and row.fpga else ""


def _number(value: float | None, decimals: int) -> str:
    """Returns a number with this many decimals; small numbers have more decimals, for `DIGITS` significant digits."""
    if value is None:
        return ""
    has_digits = abs(value) >= 10 ** (DIGITS - 1 - decimals) or value == 0
    return f"{value:.{decimals}f}" if has_digits else f"{value:#.{DIGITS}g}"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _line(slope: float, intercept: float, decimals: int) -> str:
    """Formula of a straight line over the number n of lanes."""
    return f"{_number(slope, decimals)} n {'-' if intercept < 0 else '+'} {_number(abs(intercept), decimals)}"


def _notes(found: HardwareCost) -> list[str]:
    composed = [f"{row.name}: {row.composed}" for row in found.rows if row.composed]
    return [*composed, *(_scaling(fit) for fit in found.scaling)]


def _scaling(fit: Scaling) -> str:
    area = f"{_line(fit.area_um2_a_lane / 1e6, fit.area_um2_besides / 1e6, 3)} mm2"
    power = f"{_line(fit.power_mw_a_lane, fit.power_mw_besides, 1)} mW at {fit.clock_mhz:.1f} MHz"
    return f"n x {fit.name}, fitted at n = {', '.join(map(str, fit.lanes))}: {area}, {power}"
