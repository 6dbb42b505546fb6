"""Cores as points, area against throughput and against energy, with the best of them joined: SVG or PNG."""

import math
from pathlib import Path
from typing import Any

from casemate import picture
from casemate.results.hardware import CoreCost, HardwareCost

SIZE_INCHES = (11.0, 5.2)
TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
INK, FRONT = "#1f4e9c", "#c8453b"


def draw(found: HardwareCost, path: Path, kind: str) -> None:
    """Draws throughput and energy of a line against area, on logarithmic axes, into a file of this kind."""
    picture.prepare(points=9)
    from matplotlib import pyplot

    rows = [row for row in found.rows if row.energy and row.speed.gbps]
    figure, axes = pyplot.subplots(ncols=2, figsize=SIZE_INCHES, layout="constrained")
    panels = (
        ("throughput (Gbit/s)", [row.speed.gbps or 0.0 for row in rows], True),
        ("energy of a line of 64 bytes (nJ)", [row.energy.total_nj if row.energy else 0.0 for row in rows], False),
    )
    for axis, (label, values, is_more_better) in zip(axes, panels, strict=True):
        _panel(axis, rows, values, is_more_better)
        axis.set_ylabel(label)
    figure.suptitle(
        f"{found.library} at {found.voltage_v:g} V, ideal wires; joined: nothing smaller is better",
        x=0.01,
        ha="left",
        fontsize=9,
    )
    picture.save(figure, path, kind, dpi=160)


def _panel(axis: Any, rows: list[CoreCost], values: list[float], is_more_better: bool) -> None:
    areas = [row.area.um2 / 1e6 for row in rows]
    front = best(list(zip(areas, values, strict=True)), is_more_better)
    axis.plot([areas[at] for at in front], [values[at] for at in front], color=FRONT, linewidth=1.0, zorder=1)
    axis.scatter(areas, values, color=[FRONT if at in front else INK for at in range(len(rows))], s=22, zorder=2)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.margins(x=0.12, y=0.12)
    _ticks(axis.xaxis)
    _ticks(axis.yaxis)
    middle = math.sqrt(min(areas, default=1.0) * max(areas, default=1.0))
    for row, area, value in zip(rows, areas, values, strict=True):
        # Names go towards the middle, where there is room for them.
        place, align = ((6, 3), "left") if area <= middle else ((-6, 3), "right")
        axis.annotate(row.name, (area, value), xytext=place, textcoords="offset points", fontsize=7, ha=align)
    axis.set_xlabel("area of cells (mm\N{SUPERSCRIPT TWO})")
    axis.grid(color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _ticks(scale: Any) -> None:
    """Plain numbers, as many as a scale of less than a decade needs too."""
    from matplotlib import ticker

    scale.set_major_locator(ticker.LogLocator(subs=TICKS))
    scale.set_major_formatter(ticker.FormatStrFormatter("%g"))
    scale.set_minor_locator(ticker.NullLocator())


def best(points: list[tuple[float, float]], is_more_better: bool) -> list[int]:
    """The numbers of the points (area, value) than which no smaller one is as good, by area."""
    sign = -1 if is_more_better else 1
    order = sorted(range(len(points)), key=lambda at: (points[at][0], sign * points[at][1]))
    front = list[int]()
    for at in order:
        if not front or sign * points[at][1] < sign * points[front[-1]][1]:
            front.append(at)
    return front
