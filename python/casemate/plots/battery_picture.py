"""Volume of the battery against the number of entries of the persist buffer, as a picture: SVG or PNG."""

import math
from pathlib import Path
from typing import Any

from casemate.plots import picture
from casemate.schemas.cost import BatteryCost, BatteryRow

COLOURS = (
    "#1f4e9c", "#3b8fd6", "#2a9d8f", "#e0a030", "#c8453b", "#a24fa0", "#111827", "#b08968", "#6b7280", "#7d8ea3",
    "#2e7d32",
)  # fmt: skip
SIZE_INCHES = (9.0, 6.0)
SECOND_SCALE = -0.11
"""Position of the axis for the second kind of storage, as a share of the picture's width."""
LABEL_GAP = 0.025
"""Minimum vertical distance of names at the right edge, as a share of the axis."""


def draw(found: BatteryCost, path: Path, kind: str) -> None:
    """Draws the curves into a file of this kind."""
    picture.save(figure(found), path, kind, dpi=160)


@picture.styled(points=9)
def figure(found: BatteryCost) -> Any:
    """Returns a figure with a curve for each system, on logarithmic axes; circles are the SecPB paper's figures."""
    drawn = picture.new(*SIZE_INCHES)
    axis = drawn.subplots()
    sizes = sorted({row.entries for row in found.rows if row.entries is not None})
    extent = (sizes[0], sizes[-1]) if sizes else (1, 2)
    ends = list[tuple[float, str, str]]()
    systems = list(dict.fromkeys(row.system for row in found.rows))
    for index, system in enumerate(systems):
        rows = [row for row in found.rows if row.system == system]
        colour = COLOURS[index % len(COLOURS)]
        last = _line(axis, rows, extent, colour)
        ends.append((last, system, colour))
    _scales(axis, found, sizes)
    _names(axis, ends, extent[1])
    has_circles = any(_is_circled(row) for row in found.rows)
    circles = "; circles: the SecPB paper's figures of buffers" if has_circles else ""
    axis.set_title(f"{found.profile}: a tree of {found.levels} levels{circles}", loc="left", fontsize=9)
    return drawn


def _is_circled(row: BatteryRow) -> bool:
    """Returns true if the paper prints the volume for this row and the row has a number of entries, which caches do not
    have.
    """
    return row.entries is not None and row.sizes[0].printed_mm3 is not None


def _line(axis: Any, rows: list[BatteryRow], extent: tuple[int, int], colour: str) -> float:
    """Draws one system, and returns its volume at the right edge."""
    if rows[0].entries is None:
        sizes, shown = list(extent), [rows[0], rows[0]]
    else:
        sizes, shown = [row.entries or 0 for row in rows], rows
    volumes = [row.sizes[0].volume_mm3 for row in shown]
    axis.plot(sizes, volumes, color=colour, linewidth=1.4, linestyle="--" if rows[0].entries is None else "-")
    printed = [(size, row.sizes[0].printed_mm3) for size, row in zip(sizes, shown, strict=True) if _is_circled(row)]
    if printed:
        axis.plot(*zip(*printed, strict=True), marker="o", markersize=6, linestyle="", color=colour, fillstyle="none")
    return volumes[-1]


def _scales(axis: Any, found: BatteryCost, sizes: list[int]) -> None:
    """Draws logarithmic axes. The second kind of storage has a separate axis for the same curves, since both volumes
    are proportional to the energy.
    """
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xticks(sizes, [str(size) for size in sizes])
    axis.set_xlabel("entries of the buffer")
    first, *others = found.rows[0].sizes
    axis.set_ylabel(f"volume of {first.storage} (mm\N{SUPERSCRIPT THREE})")
    axis.grid(color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines["top"].set_visible(False)
    axis.spines["right"].set_visible(False)
    if others:
        part = others[0].volume_mm3 / first.volume_mm3
        scale = axis.secondary_yaxis(
            SECOND_SCALE, functions=(lambda volume: volume * part, lambda volume: volume / part)
        )
        scale.set_ylabel(f"volume of {others[0].storage} (mm\N{SUPERSCRIPT THREE})")


def _names(axis: Any, ends: list[tuple[float, str, str]], right: int) -> None:
    """Writes the systems' names next to the ends of their curves, moved so far that they do not overlap."""
    ends = sorted(ends)
    bottom, top = (math.log(edge) for edge in axis.get_ylim())
    heights = _spread([math.log(end) for end, _, _ in ends], LABEL_GAP * (top - bottom))
    for (_, system, colour), height in zip(ends, heights, strict=True):
        position = (right * 1.08, math.exp(height))
        axis.annotate(system, position, color=colour, fontsize=8, va="center", annotation_clip=False)


def _spread(places: list[float], gap: float) -> list[float]:
    """Returns the nearest positions, in the same order, with at least this distance; a group of positions that are too
    close is spread around its mean.
    """
    runs = list[tuple[float, int]]()
    for number, position in enumerate(places):
        middle, length = position - number * gap, 1
        while runs and runs[-1][0] > middle:
            before, many = runs.pop()
            middle, length = (before * many + middle * length) / (many + length), many + length
        runs.append((middle, length))
    middles = [middle for middle, length in runs for _ in range(length)]
    return [middle + number * gap for number, middle in enumerate(middles)]
