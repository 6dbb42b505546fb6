"""A window of a run as a picture: SVG or PNG. Each hardware unit has a row, with a lane for each of its concurrent
pieces of work.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from casemate.excerpt import Excerpt, ExcerptSpan, Unit
from casemate.plots import colours, picture

WIDTH_INCHES = 14.0
LANE_INCHES = 0.055
"""Minimum height of a lane."""
ROW_INCHES = 0.19
"""Minimum height of a unit."""
CROWDED = 48
"""Number of units from which on the picture draws rows closer together: memory may have a hundred banks."""
CLOSER = 0.6
GAP = 0.25
"""Distance between the rows of two units, in heights of the lowest lane."""
ACCESS = "#c3cad4"
WAIT = colours.LOOKS["wait"].colour
INK = "#374151"
FS_PER_NS = 10**6
LEAST_SHARE = 0.0006
"""Minimum length of a bar, as a share of the axis: shorter bars would be invisible."""
PALE = 0.45
"""Opacity of the bar of work that had to wait for other accesses."""


def draw(excerpt: Excerpt, path: Path, kind: str) -> None:
    """Draws the work of the units into a file of this kind."""
    picture.save(figure(excerpt), path, kind, dpi=130)


@picture.styled(points=8)
def figure(excerpt: Excerpt) -> Any:
    """Returns a figure of the work of the units."""
    units = {unit: spans for unit, spans in excerpt.units.items() if unit.name != "window"}
    closer = CLOSER if len(units) > CROWDED else 1.0
    heights = {unit: max(closer * ROW_INCHES, LANE_INCHES * _lanes(spans)) for unit, spans in units.items()}
    titles = len({unit.part for unit in units})
    drawn = picture.new(WIDTH_INCHES, sum(heights.values()) * (1 + GAP) + ROW_INCHES * titles + 1.0)
    axis = drawn.subplots()
    begin, end = (edge / FS_PER_NS for edge in excerpt.window_fs)
    top, ticks, part = 0.0, list[tuple[float, str]](), None
    for unit, spans in units.items():
        if unit.part != part:
            part = unit.part
            top += ROW_INCHES
            axis.text(begin, top - 0.04, part, fontsize=8, fontweight="bold", color=INK, va="bottom")
        _row(axis, unit, spans, (top, heights[unit]), (begin, end))
        ticks.append((top + heights[unit] / 2, unit.name))
        top += heights[unit] * (1 + GAP)
    axis.set_yticks([position for position, _ in ticks], [name for _, name in ticks], fontsize=8 * closer**0.5)
    axis.set_ylim(top, 0)
    axis.set_xlim(begin, end)
    axis.set_xlabel("time since power-on (ns)")
    axis.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    about = excerpt.about
    axis.set_title(
        f"{about.design} on {about.machine}, {' '.join(about.workload)}: {(end - begin) / 1000:g} us from "
        f"{begin / 1000:g} us; a lane for each piece of work at once"
        + ("" if units else "; no unit did anything in this window"),
        loc="left",
        fontsize=9,
    )
    _legend(drawn, units)
    return drawn


def _legend(figure: Any, units: Mapping[Unit, tuple[ExcerptSpan, ...]]) -> None:
    """Explains the colours that occur in the picture."""
    from matplotlib.patches import Patch

    shown = {_colour(unit, span): _meaning(unit, span) for unit, spans in units.items() for span in spans}
    handles = [Patch(color=colour, label=meaning) for colour, meaning in shown.items()]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)


def _meaning(unit: Unit, span: ExcerptSpan) -> str:
    if unit.part == "waits":
        return "waits"
    return f"{span.about} that waited for other accesses" if _has_waited(unit, span) else span.about


def _lanes(spans: tuple[ExcerptSpan, ...]) -> int:
    return max(span.lane for span in spans) + 1


def _row(
    axis: Any, unit: Unit, spans: tuple[ExcerptSpan, ...], extent: tuple[float, float], window: tuple[float, float]
) -> None:
    """Draws the lanes of one unit."""
    top, height = extent
    lane_height = height / _lanes(spans)
    axis.axhspan(top, top + height, color="#f6f7f9", linewidth=0, zorder=-1)
    bars: dict[tuple[int, str], list[tuple[float, float]]] = {}
    least = LEAST_SHARE * (window[1] - window[0])
    for span in spans:
        start, length = span.start_fs / FS_PER_NS, (span.end_fs - span.start_fs) / FS_PER_NS
        bars.setdefault((span.lane, _colour(unit, span)), []).append((start, max(length, least)))
    for (lane, colour), extents in bars.items():
        axis.broken_barh(
            extents, (top + lane * lane_height, 0.86 * lane_height), facecolors=colour, edgecolors="white",
            linewidth=0.25,
        )  # fmt: skip


def _colour(unit: Unit, span: ExcerptSpan) -> str:
    if span.about == "access":
        return ACCESS
    if unit.part == "waits":
        return WAIT
    colour = colours.LOOKS[span.about].colour if span.about in colours.LOOKS else INK
    return _pale(colour) if _has_waited(unit, span) else colour


def _has_waited(unit: Unit, span: ExcerptSpan) -> bool:
    # The spans of memory include the wait; engines have separate spans for the wait.
    return unit.part == "memory" and bool(span.waited_for) and "bus" not in unit.name


def _pale(colour: str) -> str:
    parts = (int(colour[position : position + 2], 16) for position in (1, 3, 5))
    return "#" + "".join(f"{round(255 - PALE * (255 - part)):02x}" for part in parts)
