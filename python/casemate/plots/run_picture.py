"""Cost of designs as a picture: a bar for each record, divided by the cause of the cores' cycles."""

from typing import Any

from casemate.plots import colours, picture
from casemate.schemas.run import Record, RunResults
from casemate.tables.run_details import CAUSES, SMALLEST_SHARE

WIDTH_INCHES = 10.0
ROW_INCHES = 0.42
HEAD_INCHES = 1.7
"""Height of the title, the axis and the legend."""
BAR = 0.62
"""Height of a bar, as a share of its row."""
LEGEND_COLUMNS = 6
TITLE_CHARACTERS = 110
INK = "#374151"
COLOURS = {
    "at_work": "#d5dbe3",
    "idle": "#eef1f5",
    "switching": "#b7c0cc",
    "write_back": "#1f4e9c",
    "admission": "#b08968",
    "reencryption": "#111827",
    "memory_queue": "#8fb3e0",
    "data": colours.LOOKS["memory"].colour,
    "counter": colours.LOOKS["encryption"].colour,
    "tree": colours.LOOKS["tree"].colour,
    "tag": colours.LOOKS["authentication"].colour,
    "bitmap": "#f2cf8a",
    "engine_queue": colours.LOOKS["wait"].colour,
    "engine": "#e79a93",
    "on_chip": colours.LOOKS["way"].colour,
    "persist_buffer": colours.LOOKS["exit"].colour,
    "fence": "#8bc08e",
}
"""Colour of each cause of a core's cycles."""


@picture.styled(points=9)
def figure(results: RunResults) -> Any:
    """Returns a figure with a bar for each record: its cycles by cause, as multiples of the baseline's. A trace of
    requests has no cores, so its bars are only the simulated time.
    """
    records = results.records
    drawn = picture.new(WIDTH_INCHES, ROW_INCHES * len(records) + HEAD_INCHES)
    axis = drawn.subplots()
    is_of_cores = not records[0].configuration.workload.requests
    ends = _causes(axis, results) if is_of_cores else _times(axis, results)
    for position, (record, end) in enumerate(zip(records, ends, strict=True)):
        slowdown = f"{results.ratio(record, 'time_fs'):.3f}x" if results.has_ratio(record) else ""
        axis.annotate(
            slowdown, (end, position), xytext=(4, 0), textcoords="offset points", va="center", fontweight="bold",
            color=INK,
        )  # fmt: skip
    several = len({record.machine for record in records}) > 1
    axis.set_yticks(range(len(records)), [_name(record, several) for record in records])
    axis.set_ylim(len(records) - 0.5, -0.5)
    axis.set_xlim(0, 1.1 * max(ends))
    axis.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    where = "" if several else f" on {records[0].machine}"
    title = f"{records[0].configuration.title}{where}"
    axis.set_title(
        picture.literal(title if len(title) <= TITLE_CHARACTERS else f"{title[:TITLE_CHARACTERS]}..."), loc="left"
    )
    if is_of_cores:
        drawn.legend(loc="outside lower left", ncols=LEGEND_COLUMNS, frameon=False, fontsize=8)
    return drawn


def _name(record: Record, several_machines: bool) -> str:
    return f"{record.design}\non {record.machine}" if several_machines else record.design


def _causes(axis: Any, results: RunResults) -> list[float]:
    """Draws the cycles of each record by cause, and returns the ends of the bars."""
    shares = [results.by_cause(record) for record in results.records]
    ends = [0.0] * len(shares)
    for said, cause in CAUSES:
        lengths = [share[cause] for share in shares]
        if max(lengths) < SMALLEST_SHARE:
            continue
        axis.barh(range(len(lengths)), lengths, BAR, left=ends, color=COLOURS[cause], label=said)
        ends = [end + length for end, length in zip(ends, lengths, strict=True)]
    cores = " of all cores together" if any(len(record.cores) > 1 for record in results.records) else ""
    axis.set_xlabel(f"cycles{cores} by cause, as multiples of the baseline's; bold: simulated time")
    return ends


def _times(axis: Any, results: RunResults) -> list[float]:
    """Draws the simulated time of each record, and returns the ends of the bars."""
    times = [record.time_fs / 1e9 for record in results.records]
    axis.barh(range(len(times)), times, BAR, color=COLOURS["data"])
    axis.set_xlabel("simulated time (us); bold: as a multiple of the baseline's")
    return times
