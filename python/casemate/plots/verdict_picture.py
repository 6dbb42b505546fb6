"""Verdicts as a picture: a matrix of attacks or losses of power by designs, coloured by the end of each."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from casemate.plots import picture
from casemate.schemas.attack import AttackReport, ExhaustiveReport
from casemate.schemas.catalogue import SEVERITY, End
from casemate.schemas.crash import CrashReport, ProgramReport
from casemate.tables.verdicts import style_of

WIDTH_INCHES = 12.0
NAME_INCHES, CELL_INCHES, ROW_INCHES = 1.9, 1.25, 0.21
HEAD_INCHES = 0.9
LEAST_INCHES = 6.0
LETTERS_IN_AN_INCH = 12
"""Letters of the title that fit in an inch."""
BLOCKS_MOST = 3
"""Maximum number of blocks next to each other, into which a long matrix of few designs is divided."""
BLOCK_ROWS = 12
"""Minimum number of rows of a block."""
INK = "#374151"
COLOURS = {
    "dim": ("#f0f2f5", "#6b7280"),
    "green": ("#d8ecd9", "#1b5e20"),
    "yellow": ("#fbe7b8", "#6b4a00"),
    "magenta": ("#e9d3e8", "#6d2a6b"),
    "red": ("#c8453b", "white"),
}
"""Colour of a cell and of its text, by the style of the verdict on a terminal."""
DIFFERS = "#111827"
HYPOTHETICAL = " (*)"
"""Mark of an attack that assumes a fault that no design has."""


class Verdicts(NamedTuple):
    """Ends of the attacks on a design, or of its losses of power."""

    design: str
    """Name of the design."""
    ends: dict[str, tuple[End, End | None, bool]]
    """End, claim, and whether they agree, for each attack."""


def of(report: AttackReport | ExhaustiveReport | CrashReport | ProgramReport) -> Verdicts:
    """Returns the ends in a report: of attacks, of flipped bits by structure, of losses of power, or of a program."""
    match report:
        case AttackReport():
            marks = {row.attack: HYPOTHETICAL if row.hypothetical else "" for row in report.rows}
            ends = {f"{row.attack}{marks[row.attack]}": (row.worst, row.claim, row.agrees) for row in report.rows}
        case CrashReport():
            ends = {row.loss: (row.worst, row.claim, row.agrees) for row in report.rows}
        case ProgramReport():
            ends = {report.program: (report.worst, report.claim, report.agrees)}
        case ExhaustiveReport():
            worst = {row.structure: max(row.histogram, key=SEVERITY.index) for row in report.rows}
            ends = {row.structure: (worst[row.structure], row.claim, row.agrees) for row in report.rows}
    return Verdicts(report.design, ends)


@picture.styled(points=8)
def figure(verdicts: Sequence[Verdicts], title: str) -> Any:
    """Returns a figure of the matrix. A frame marks an end that differs from the claim of its design."""
    names = list(dict.fromkeys(name for each in verdicts for name in each.ends))
    width = NAME_INCHES + CELL_INCHES * len(verdicts)
    fitting = min(int(WIDTH_INCHES / width), len(names) // BLOCK_ROWS, BLOCKS_MOST)
    blocks = max(fitting, 1)
    rows = math.ceil(len(names) / blocks)
    drawn = picture.new(max(width * blocks, LEAST_INCHES), HEAD_INCHES + ROW_INCHES * rows)
    axes = drawn.subplots(1, blocks, squeeze=False)[0]
    for number, axis in enumerate(axes):
        _block(axis, verdicts, names[number * rows : (number + 1) * rows], rows)
    if any(name.endswith(HYPOTHETICAL) for name in names):
        title = f"{title}; (*): hypothetical, assumes a fault that no design here has"
    lines = textwrap.wrap(title, int(LETTERS_IN_AN_INCH * drawn.get_size_inches()[0]))
    drawn.suptitle(picture.literal("\n".join(lines)), x=0.01, ha="left", fontsize=9)
    return drawn


def _block(axis: Any, verdicts: Sequence[Verdicts], names: Sequence[str], rows: int) -> None:
    from matplotlib.patches import Rectangle

    for column, each in enumerate(verdicts):
        for row, name in enumerate(names):
            if name not in each.ends:
                continue
            end, claim, agrees = each.ends[name]
            colour, ink = COLOURS[style_of(end)]
            axis.add_patch(Rectangle((column - 0.48, row - 0.44), 0.96, 0.88, color=colour, linewidth=0))
            text: str = "-" if end == "not-applicable" else end
            if not agrees:
                frame = (column - 0.48, row - 0.44)
                axis.add_patch(Rectangle(frame, 0.96, 0.88, fill=False, edgecolor=DIFFERS, linewidth=1.6))
                text = f"{text} \N{NOT EQUAL TO} {claim or 'no claim'}"
            size = 8 if len(text) <= 16 else 6
            axis.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)
    axis.set_xlim(-0.5, len(verdicts) - 0.5)
    axis.set_ylim(rows - 0.5, -0.5)
    axis.xaxis.tick_top()
    axis.set_xticks(range(len(verdicts)), [each.design for each in verdicts], fontweight="bold")
    axis.set_yticks(range(len(names)), names)
    axis.tick_params(length=0, labelcolor=INK)
    for side in axis.spines.values():
        side.set_visible(False)
