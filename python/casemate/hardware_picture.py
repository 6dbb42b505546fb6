"""Cores as points, area against throughput and against energy, with the best of them joined: SVG or PNG."""

from pathlib import Path
from typing import Any

from casemate import picture
from casemate.results.hardware import CoreCost, HardwareCost

SIZE_INCHES = (12.0, 5.0)
NAMES_SHARE = 0.45
"""The width of the list of names, as a share of a panel's."""
TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
INK, FRONT = "#1f4e9c", "#c8453b"


def draw(found: HardwareCost, path: Path, kind: str) -> None:
    """Draws throughput and energy of a line against area, on logarithmic axes, into a file of this kind."""
    picture.prepare(points=9)
    from matplotlib import pyplot

    rows = [row for row in found.rows if row.energy and row.speed.gbps]
    figure, axes = pyplot.subplots(
        ncols=3, figsize=SIZE_INCHES, layout="constrained", gridspec_kw={"width_ratios": (1.0, 1.0, NAMES_SHARE)}
    )
    panels = (
        ("throughput (Gbit/s)", [row.speed.gbps or 0.0 for row in rows], True),
        ("energy of a line of 64 bytes (nJ)", [row.energy.total_nj if row.energy else 0.0 for row in rows], False),
    )
    for axis, (label, values, is_more_better) in zip(axes[:2], panels, strict=True):
        _panel(axis, rows, values, is_more_better)
        axis.set_ylabel(label)
    # Points lie too close together for their names.
    names = "\n".join(f"{number}  {row.name}" for number, row in enumerate(rows, 1))
    axes[2].text(0.0, 1.0, names, va="top", fontsize=8, linespacing=1.5)
    axes[2].set_axis_off()
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
    for number, place in enumerate(zip(areas, values, strict=True), 1):
        axis.annotate(str(number), place, xytext=(5, 4), textcoords="offset points", fontsize=8)
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
