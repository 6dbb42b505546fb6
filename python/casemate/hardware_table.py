"""What cores cost, as a table that fits 100 columns."""

from rich.console import Group, RenderableType
from rich.text import Text

from casemate.results.hardware import CoreCost, HardwareCost, Scaling
from casemate.tables import plain_table

ENERGIES = ("% nets", "% cells", "% clock")
"""The shares of a line's energy: charging nets, within cells, and clock pins."""


def table(found: HardwareCost) -> RenderableType:
    """All figures of all cores."""
    numbers = ("mm2", "MHz", "cycles", "Gb/s", "Gb/s/mm2", "nJ/line", "LUT", "FF")
    shown = plain_table("core", *numbers, right=numbers)
    for row in found.rows:
        speed, fpga = row.speed, row.fpga
        shown.add_row(
            Text(row.name), f"{row.area.um2 / 1e6:.3f}", f"{speed.fmax_mhz:.1f}", _number(speed.cycles_per_line, "g"),
            _number(speed.gbps, ".2f"), _number(speed.gbps_per_mm2, ".2f"),
            _number(row.energy.total_nj if row.energy else None, ".1f"),
            str(fpga.lut) if fpga else "", str(fpga.flops) if fpga else "",
        )  # fmt: skip
    head = Text(
        f"{found.library} at {found.voltage_v:g} V, synthesis aims at {found.target_ns:.2f} ns; wires are ideal"
    )
    return Group(head, shown, *(Text(line) for line in _notes(found)))


def details(found: HardwareCost) -> RenderableType:
    """What the figures are made of."""
    numbers = ("cells", "flops", "% area", "fan-out", "latency", *ENERGIES)
    shown = plain_table("core", *numbers, right=numbers)
    for row in found.rows:
        energy = row.energy
        parts = (energy.switching_nj, energy.internal_nj, energy.clock_nj) if energy else ()
        total = energy.total_nj if energy else 1.0
        shares = [f"{100 * part / total:.0f}" for part in parts] or [""] * len(ENERGIES)
        of_flops = f"{100 * row.area.flops_um2 / row.area.um2:.0f}"
        shown.add_row(
            Text(row.name), f"{row.area.cells:,}", f"{row.area.flops:,}", of_flops,
            str(row.area.fanout_buffers), _number(row.speed.latency_cycles, "g"), *shares,
        )  # fmt: skip
    paths = (Text(f"{row.name}: longest path {_path(row)}") for row in found.rows)
    return Group(shown, *paths)


def _path(row: CoreCost) -> str:
    speed = row.speed
    return f"{1e3 / speed.fmax_mhz:.2f} ns, {speed.path_cells} cells, from {speed.path_begins} to {speed.path_ends}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _notes(found: HardwareCost) -> list[str]:
    composed = [f"{row.name}: {row.composed}" for row in found.rows if row.composed]
    return [*composed, *(_scaling(fit) for fit in found.scaling)]


def _scaling(fit: Scaling) -> str:
    area = f"{fit.area_um2_a_lane / 1e6:.3f} n {fit.area_um2_besides / 1e6:+.3f} mm2"
    power = f"{fit.power_mw_a_lane:.1f} n {fit.power_mw_besides:+.1f} mW at {fit.clock_mhz:.1f} MHz"
    return f"n x {fit.name}, fitted at n = {', '.join(map(str, fit.lanes))}: {area}, {power}"
