"""Hardware cores as points, area against throughput and area against energy, with a line through the best cores: SVG or
PNG.
"""

from pathlib import Path
from typing import Any

from casemate.plots import picture
from casemate.schemas.hardware import CoreCost, HardwareCost
from casemate.tables import hardware_table

WIDTH_INCHES, LEAST_HEIGHT_INCHES = 12.5, 5.0
NAME_INCHES = 0.17
"""Height of a line in the list of names."""
NAMES_SHARE = 0.5
"""Width of the list of names, as a share of a panel's."""
TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
DECADE_SHARE = 3.0
"""Ratio of the largest to the smallest value, up to which an axis is linear: a logarithmic axis would have only two
ticks.
"""
LEAST_SPAN = 0.2
"""Minimum span of an axis, as a share of its values, so that values that hardly differ do not appear far apart."""
INK, FRONT = "#1f4e9c", "#c8453b"


def draw(found: HardwareCost, path: Path, kind: str) -> None:
    """Draws the cores into a file of this kind."""
    picture.save(figure(found), path, kind, dpi=160)


@picture.styled(points=9)
def figure(found: HardwareCost) -> Any:
    """Returns a figure of throughput, and energy per line, against area. Cores that seal no lines or have no stimulus
    are not drawn; the picture lists their names.
    """
    rows = [row for row in found.rows if row.energy and row.speed.gbps]
    names = [f"{number}  {row.name}" for number, row in enumerate(rows, 1)]
    others = [f"    {row.name}" for row in found.rows if row not in rows]
    names += ["", "not drawn, since they seal no lines:", *others] if others else []
    height = max(LEAST_HEIGHT_INCHES, 1.0 + NAME_INCHES * len(names))
    drawn = picture.new(WIDTH_INCHES, height)
    axes = drawn.subplots(ncols=3, width_ratios=(1.0, 1.0, NAMES_SHARE))
    gbps = [row.speed.gbps or 0.0 for row in rows]
    joules = [row.energy.total_nj if row.energy else 0.0 for row in rows]
    _panel(axes[0], rows, gbps, is_more_better=True)
    axes[0].set_title("Throughput: up and to the left is better", loc="left", fontsize=9)
    axes[0].set_ylabel("throughput (Gb/s)")
    _panel(axes[1], rows, joules, is_more_better=False)
    axes[1].set_title("Energy: down and to the left is better", loc="left", fontsize=9)
    axes[1].set_ylabel("energy of a line of 64 bytes (nJ)")
    # Points carry numbers and not names, since they are too close together; the list on the right has the names.
    axes[2].text(0.0, 1.0, "\n".join(names), va="top", fontsize=8, linespacing=1.5)
    axes[2].set_axis_off()
    drawn.suptitle(
        f"AES-GCM engines in {found.library} at {found.voltage_v:g} V, {hardware_table.targets(found)}; "
        "wires are ideal",
        x=0.01, ha="left",
    )  # fmt: skip
    return drawn


def _panel(axis: Any, rows: list[CoreCost], values: list[float], is_more_better: bool) -> None:
    areas = [row.area.um2 / 1e6 for row in rows]
    front = best(list(zip(areas, values, strict=True)), is_more_better)
    on_front = [areas[at] for at in front], [values[at] for at in front]
    # Each step of the line extends to the area of the next better core.
    axis.plot(*on_front, color=FRONT, linewidth=1.0, zorder=1, drawstyle="steps-post")
    rest = [at for at in range(len(rows)) if at not in front]
    label = "no smaller core has as much" if is_more_better else "no smaller core takes as little"
    axis.scatter(*on_front, color=FRONT, s=22, zorder=2, label=label)
    if rest:
        axis.scatter([areas[at] for at in rest], [values[at] for at in rest], color=INK, s=22, zorder=2, label="others")
    axis.margins(x=0.12, y=0.12)
    for numbers, limits in ((areas, axis.set_xlim), (values, axis.set_ylim)):
        if numbers and max(numbers) < (1 + LEAST_SPAN) * min(numbers):
            limits(*_least_span(numbers))
    for name, scale, numbers in (("x", axis.xaxis, areas), ("y", axis.yaxis, values)):
        if numbers and max(numbers) > DECADE_SHARE * min(numbers):
            axis.set(**{f"{name}scale": "log"})
            _ticks(scale)
    for number, point in enumerate(zip(areas, values, strict=True), 1):
        axis.annotate(str(number), point, xytext=(5, 4), textcoords="offset points", fontsize=8)
    axis.set_xlabel("area of cells (mm\N{SUPERSCRIPT TWO})")
    axis.legend(fontsize=8, frameon=False, loc="best")
    axis.grid(color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _least_span(numbers: list[float]) -> tuple[float, float]:
    """Returns limits of an axis for numbers that hardly differ."""
    middle = (max(numbers) + min(numbers)) / 2
    return (1 - LEAST_SPAN / 2) * middle, (1 + LEAST_SPAN / 2) * middle


def _ticks(scale: Any) -> None:
    """Sets tick labels as plain numbers, dense enough for a scale of about a decade."""
    from matplotlib import ticker

    scale.set_major_locator(ticker.LogLocator(subs=TICKS))
    scale.set_major_formatter(ticker.FormatStrFormatter("%g"))
    scale.set_minor_locator(ticker.NullLocator())


def best(points: list[tuple[float, float]], is_more_better: bool) -> list[int]:
    """Returns the indices, by area, of the points (area, value) with a better value than all points of smaller area."""
    sign = -1 if is_more_better else 1
    order = sorted(range(len(points)), key=lambda at: (points[at][0], sign * points[at][1]))
    front = list[int]()
    for at in order:
        if not front or sign * points[at][1] < sign * points[front[-1]][1]:
            front.append(at)
    return front
