"""The thesis as one picture: power and area over the number of engines with fitted lines, and the efficiency of all
implementations.
"""

from pathlib import Path
from typing import Any

from casemate.crypto.regression import Line
from casemate.plots import picture
from casemate.reproduce.gcm import comparison
from casemate.reproduce.gcm import parameters as given
from casemate.reproduce.gcm.engines import ASIC_FITTED
from casemate.schemas.derivation import Derivation, DerivedRow, Dots

SIZE_INCHES = (12.0, 8.0)
POINT = "#111827"
COLOURS = ("#3b6fb6", "#b3402a")
HARDWARE, SOFTWARE = "#3b6fb6", "#e0a030"
UNDER = 0.45
"""Opacity of a line in the plot that another line may cover."""
MARGIN = 1.6
"""Ratio of the smallest value to the lower end of the logarithmic axis."""


def dots() -> tuple[Dots, ...]:
    """Power and area over the number of modules, with the thesis's lines and ours."""
    points = given.ASIC_POINTS
    fitted_area = ASIC_FITTED.area_um2
    assert fitted_area is not None
    fpga = [
        Dots(
            title=f"power, {name}: Table 5.2's module", unit="mW", points=((1.0, given.POWER[name].total_mw),),
            lines=(_line(f"equation {number}", given.FITS[name]),),
        )
        for number, name in (("5.1", "FPGA, typical"), ("5.2", "FPGA, worst"))
    ]  # fmt: skip
    return (
        Dots(
            title="power, ASIC: Table 5.3", unit="mW",
            points=tuple((float(point.modules), point.power_mw) for point in points),
            lines=(_line("equation 5.3", given.FITS["ASIC"]), _line("least squares", ASIC_FITTED.power_mw)),
        ),
        Dots(
            title="area, ASIC: Table 5.3", unit="um2",
            points=tuple((float(point.modules), point.area_um2) for point in points),
            lines=(_line("equation 5.5", given.ASIC_AREA_FIT), _line("least squares", fitted_area)),
        ),
        *fpga,
    )  # fmt: skip


def _line(name: str, line: Line) -> tuple[str, float, float]:
    return name, line.slope, line.intercept


def draw(found: Derivation, path: Path) -> None:
    """Draws the picture into a PNG file."""
    picture.save(figure(found), path, "png", dpi=130)


@picture.styled(points=9)
def figure(found: Derivation) -> Any:
    """Returns the picture of the thesis's figures."""
    drawn = picture.new(*SIZE_INCHES)
    axes = drawn.subplots(2, 2)
    power, area, *fpga = found.dots
    _lines(axes[0, 0], [power], "power", scale=1.0, unit="mW")
    _lines(axes[0, 1], [area], "area", scale=1e-6, unit="mm\N{SUPERSCRIPT TWO}")
    _lines(axes[1, 0], fpga, "power", scale=1e-3, unit="W")
    _efficiency(axes[1, 1], [row for row in comparison.summary().rows if row.quantity == "Mbps/mW"])
    titles = (
        f"ASIC of 45 nm at {_mhz('ASIC')}: power",
        "ASIC of 45 nm: area",
        f"Kintex 7 at {_mhz('FPGA, typical')}: power",
        "All implementations: throughput for their power",
    )
    for axis, title in zip(axes.flat, titles, strict=True):
        axis.set_title(title, loc="left", fontsize=10)
    drawn.suptitle(
        "AES-GCM for memory: the thesis's figures from its parameters; lines are its equations and our fit",
        x=0.01, ha="left",
    )  # fmt: skip
    return drawn


def _mhz(name: str) -> str:
    return f"{given.POWER[name].clock_hz / 1e6:g} MHz"


def _lines(axis: Any, all_dots: list[Dots], quantity: str, scale: float, unit: str) -> None:
    last = max(16.0, *(index for dots in all_dots for index, _ in dots.points))
    for number, dots in enumerate(all_dots):
        for index, (name, slope, intercept) in enumerate(dots.lines):
            ends = [scale * (slope * modules + intercept) for modules in (0.0, last)]
            sign, above = "+" if intercept >= 0 else "-", abs(scale * intercept)
            label = f"{name}: {scale * slope:.4g} n {sign} {above:#.3g} {unit}"
            # The dashes remain visible on a paler line in the same position.
            look: dict[str, Any] = {"linestyle": "--"} if index else {"alpha": UNDER if len(dots.lines) > 1 else 1.0}
            axis.plot([0.0, last], ends, color=COLOURS[max(index, number)], linewidth=1.6, label=label, **look)
        of_points = [index for index, _ in dots.points], [scale * value for _, value in dots.points]
        marker = "os"[number]
        axis.plot(*of_points, marker, color=POINT, markersize=5, fillstyle="none", label=dots.title)
    axis.set_xlabel("number of modules, n")
    axis.set_ylabel(f"{quantity} ({unit})")
    axis.set_ylim(bottom=0)
    axis.grid(color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.legend(fontsize=8, frameon=False, loc="upper left")
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _efficiency(axis: Any, rows: list[DerivedRow]) -> None:
    """Draws the efficiency in megabits a second per milliwatt on a logarithmic axis, as points, since a bar would begin
    at an arbitrary value. Marks show the printed values.
    """
    from matplotlib.lines import Line2D

    rows = rows[::-1]
    software = {each.name for each in given.SOFTWARE}
    colours = [SOFTWARE if row.of in software else HARDWARE for row in rows]
    axis.scatter([row.computed for row in rows], range(len(rows)), color=colours, s=36, zorder=3)
    printed = [(float(row.printed), index) for index, row in enumerate(rows) if row.printed is not None]
    (marks,) = axis.plot(
        *zip(*printed, strict=True), "|", color=POINT, markersize=13, markeredgewidth=1.6, label="as printed"
    )
    axis.set_xscale("log")
    axis.set_xlim(left=min(row.computed for row in rows) / MARGIN)
    for index, row in enumerate(rows):
        end = max(row.computed, float(row.printed or 0))
        axis.text(end * 1.15, index, f"{row.computed:.3g}", va="center", fontsize=8)
    axis.set_xlim(right=max(row.computed for row in rows) * 4)
    axis.set_yticks(range(len(rows)), [row.of for row in rows])
    axis.set_xlabel("throughput for its power, on lines of 64 B with tags (Mb/s/mW)")
    named = ((HARDWARE, "hardware, one module"), (SOFTWARE, "software, one core"))
    kinds = [Line2D([], [], color=colour, label=name, marker="o", linestyle="") for colour, name in named]
    axis.legend(handles=[*kinds, marks], fontsize=8, frameon=False, loc="lower right")
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
