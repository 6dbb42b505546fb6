"""The timeline of a read or a write as a picture: SVG or PNG."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from casemate.plots import colours, picture, timeline, timeline_rows
from casemate.schemas.explain import Explanation, Explanations, Span

INK = "#374151"
SPREAD = "#e3f1e4"
FAINT = 0.6
"""Opacity of bars of work outside the critical path."""
DARK = 0.62
"""Lightness, from 0 to 1, below which the text on a bar is white."""
CHARACTER_SHARE = 0.0085
"""Width of one character of an annotation, as a share of the axis."""
ROW_INCHES = 0.27
WIDTH_INCHES = 10.0
HEADING_CHARACTERS = 120
"""Maximum number of characters in a line of the heading, so that it fits above the axis."""


def draw(found: Explanations, path: Path, kind: str) -> None:
    """Draws all timelines into a file of this kind."""
    picture.save(figure(found), path, kind, dpi=160)


@picture.styled(points=9)
def figure(found: Explanations) -> Any:
    """Returns a figure of all timelines, one below the other on the same scale."""
    explanations = found.explanations
    rows = [len(timeline_rows.rows(explanation)) + 3 for explanation in explanations]
    drawn = picture.new(WIDTH_INCHES, ROW_INCHES * sum(rows) + 0.7)
    axes = drawn.subplots(len(explanations), sharex=True, squeeze=False, height_ratios=rows)
    horizon = timeline.horizon_ns(explanations)
    for axis, explanation in zip(axes[:, 0], explanations, strict=True):
        _panel(axis, explanation, horizon)
        axis.set_title(_heading(explanation, explanations), loc="left", fontsize=9)
    scenario = explanations[0].scenario
    position = {"controller": "the memory controller", "l2": "L2"}[scenario.start]
    reached = f"reached {'the persist buffer' if scenario.of == 'store' else position}"
    axes[-1, 0].set_xlabel(f"time since the {scenario.of} {reached} (ns)")
    return drawn


def _panel(axis: Any, explanation: Explanation, horizon: float) -> None:
    critical = {id(span) for span in explanation.critical_path()}
    rows = timeline_rows.rows(explanation)
    for position, row in enumerate(rows):
        colour = colours.look(row.spans[0]).colour
        for span in row.spans:
            _draw_span(axis, span, position, (colour, 1 if id(span) in critical else FAINT))
        opacity = 1 if id(row.spans[0]) in critical else FAINT
        _annotate(axis, row, position, horizon, on_bar=_ink_on(colour, opacity))
    if explanation.spread:
        axis.axvspan(explanation.spread.p5_ns, explanation.spread.p95_ns, color=SPREAD, linewidth=0, zorder=-1)
    axis.axvline(explanation.latency_ns, color="#2e7d32", linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
    axis.set_yticks(range(len(rows)), [row.title for row in rows])
    for label, row in zip(axis.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if any(id(span) in critical for span in row.spans) else "normal")
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(0, 1.02 * horizon)
    axis.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def _draw_span(axis: Any, span: Span, position: int, look: tuple[str, float]) -> None:
    colour, opacity = look
    if span.end == span.start:
        axis.plot(span.start_ns, position, marker="D", color=colour, markersize=6)
    else:
        axis.barh(
            position,
            span.end_ns - span.start_ns,
            left=span.start_ns,
            height=0.62,
            color=colour,
            alpha=opacity,
        )


def _heading(explanation: Explanation, together: Sequence[Explanation]) -> str:
    """Returns the heading: design, latency, line, conditions and the meaning of colours, in lines that fit above the
    axis.
    """
    until = f"{timeline.UNTIL[explanation.until]}{timeline.until_whole(explanation)}"
    lines = [
        f"{explanation.design} on {explanation.machine}: {explanation.latency_ns:.1f} ns {until}",
        *timeline.among(explanation, together),
        timeline.value(explanation),
        f"{timeline.condition(explanation)}; solid: critical path"
        f"{', shaded: where nine in ten lines end' if explanation.spread else ''}",
    ]
    return "\n".join(part for line in lines for part in textwrap.wrap(line, HEADING_CHARACTERS))


def _ink_on(colour: str, opacity: float) -> str:
    """Returns the text colour that is legible on a bar of this colour over white."""
    parts = (int(colour[position : position + 2], 16) / 255 for position in (1, 3, 5))
    shares = zip((0.299, 0.587, 0.114), parts, strict=True)
    lightness = sum(share * (part * opacity + 1 - opacity) for share, part in shares)
    return "white" if lightness < DARK else INK


def _annotate(axis: Any, row: timeline_rows.TimelineRow, position: int, horizon: float, on_bar: str) -> None:
    """Writes duration and outcome of a piece of work: in its bar if the bar is long enough, else after the bar, else
    before it. For a row of several pieces it writes their number, in a gap between their bars.
    """
    gap = 0.01 * horizon
    if len(row.spans) > 1:
        at = _free(row, len(row.note) * CHARACTER_SHARE * horizon + 2 * gap, horizon)
        axis.text(at + gap, position, row.note, va="center", ha="left", fontsize=8, color=INK)
        return
    length = f"{(row.end_ns - row.start_ns) or row.start_ns:.1f} ns"
    text = f"{length}  {row.note}" if row.note else length
    room = len(text) * CHARACTER_SHARE * horizon
    if row.end_ns - row.start_ns > room + 2 * gap:
        at, align, colour = row.start_ns + gap, "left", on_bar
    elif row.end_ns + gap + room < horizon:
        at, align, colour = row.end_ns + gap, "left", INK
    else:
        at, align, colour = row.start_ns - gap, "right", INK
    axis.text(at, position, text, va="center", ha=align, fontsize=8, color=colour)


def _free(row: timeline_rows.TimelineRow, room: float, horizon: float) -> float:
    """Returns the start of the first gap of this length in a row, or of the longest gap if no gap is as long."""
    ends = [0.0]
    stretches = []
    for span in sorted(row.spans, key=lambda span: span.start_ns):
        stretches.append((span.start_ns - ends[-1], ends[-1]))
        ends.append(max(ends[-1], span.end_ns))
    stretches.append((horizon - ends[-1], ends[-1]))
    return next((start for length, start in stretches if length >= room), max(stretches)[1])
