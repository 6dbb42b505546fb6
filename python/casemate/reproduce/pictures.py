"""A study's figures as one picture: a bar for each workload, then one for the mean, with the paper's mean as a mark.
Thin lines are the 95 % confidence intervals over the seeds.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casemate.plots import picture
from casemate.schemas.reproduce import FigureFound, Reproduction

COLOURS = ("#3b6fb6", "#9aa5b1", "#2a9d8f", "#e0a030", "#a24fa0", "#7d8ea3", "#c8453b")
COLUMNS = 2
PANEL_INCHES = (7.0, 2.6)
DPI = 130
LEGEND_LETTERS = 120
"""Letters that fit in a line of a legend."""
SWATCH_LETTERS = 8
"""Width of each colour swatch in a legend's line, in letters."""
TICKS = 6
"""Maximum number of steps on a vertical axis."""
PAPER = "#111827"
INTERVAL = "#4b5563"


def draw(found: Reproduction, path: Path) -> None:
    """Draws the figures with a single unit into a PNG file, or all figures if each mixes units."""
    picture.save(figure(found), path, "png", dpi=DPI)


def figure(found: Reproduction) -> Any:
    """Returns a picture of the figures with a single unit, or of all figures if each mixes units."""
    drawn = [each for each in found.figures if each.one_unit] or found.figures
    lines = f" Thin lines: 95 % intervals over {found.seeds} seeds." if found.seeds > 1 else ""
    return panels(drawn, f"{found.paper}, on {found.machine}. Black marks: the paper's means.{lines}")


def draw_figures(drawn: Sequence[FigureFound], heading: str, path: Path) -> None:
    """Draws figures, each as a panel, below a heading into a PNG file."""
    picture.save(panels(drawn, heading), path, "png", dpi=DPI)


@picture.styled(points=8)
def panels(drawn: Sequence[FigureFound], heading: str) -> Any:
    """Returns a picture of figures, each as a panel, below a heading."""
    columns = min(COLUMNS, len(drawn))
    rows = math.ceil(len(drawn) / columns)
    found = picture.new(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows)
    axes = found.subplots(rows, columns, squeeze=False)
    found.suptitle(heading, x=0.01, ha="left")
    for axis, panel in zip(axes.flat, drawn, strict=False):
        _panel(axis, panel)
    for axis in list(axes.flat)[len(drawn) :]:
        axis.set_visible(False)
    return found


def _panel(axis: Any, panel: FigureFound) -> None:
    names = [*(case.label.replace(" (", "\n(") for case in panel.cases), "mean"]
    width = 0.8 / len(panel.series)
    for index, series in enumerate(panel.series):
        heights = [*(case.values[index] for case in panel.cases), series.ours]
        left = [position - 0.4 + (index + 0.5) * width for position in range(len(names))]
        axis.bar(left, heights, width, label=picture.literal(series.name), color=COLOURS[index % len(COLOURS)])
        halves = [*(case.half_widths[index] for case in panel.cases), series.half_width]
        known = [half for half in halves if half is not None]
        if len(known) == len(halves):
            axis.errorbar(left, heights, known, fmt="none", ecolor=INTERVAL, elinewidth=0.8)
        if series.paper is not None:
            mark = left[-1]
            axis.plot([mark], [series.paper], marker="_", markersize=14, markeredgewidth=2, color=PAPER)
    axis.axvline(len(names) - 1.5, color="#cfd6de", linewidth=0.8)
    axis.set_xticks(range(len(names)), [picture.literal(name) for name in names], rotation=30, ha="right")
    axis.set_ylabel(panel.unit)
    # The number of ticks must not depend on the height of the axis. The layout sets this height after it has measured
    # the tick labels; with other ticks, the reserved room would be wrong.
    axis.locator_params(axis="y", nbins=TICKS)
    axis.set_title(picture.literal(f"{panel.label}: {panel.title}"), loc="left", fontsize=9)
    axis.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    if len(panel.series) > 1:
        longest = max(len(series.name) for series in panel.series)
        columns = min(len(panel.series), 4, max(LEGEND_LETTERS // (longest + SWATCH_LETTERS), 1))
        axis.legend(fontsize=7, frameon=False, ncols=columns, loc="upper left", bbox_to_anchor=(0, -0.3))
