"""The timeline of a read or a write, drawn with characters."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from casemate.plots import colours
from casemate.plots.timeline_rows import TimelineRow, rows, title
from casemate.schemas.explain import AesBandwidth, Explanation, Explanations, Meets, Of, Span, Spread, Until
from casemate.tables import layouts
from casemate.text import amounts

ON_CHIP = {
    "nothing": "no metadata on the chip",
    "tree": "the tree's nodes on the chip",
    "last-level": "tree on the chip, counter in the last-level cache",
    "counter": "tree and counter on the chip",
    "all": "all of its metadata on the chip",
}
ROW = {"hit": "row open", "closed": "row closed", "conflict": "another row open"}
MEETS: dict[Meets, str] = {
    "new-entry": "room for a new entry",
    "entry": "its line has an entry",
    "full-buffer": "the persist buffer is full",
    "overflow": "its counter overflows",
}

ACCESS: dict[Of, str] = {"page": "walk to the record of a page", "permutation": "permutation of a page"}
"""Kinds of accesses with another name in the heading of a timeline than in `scenario.of`."""
START = {"controller": "", "l2": " from L2's look-up to L2"}
UNTIL: dict[Until, str] = {
    "released": "until released",
    "in-l2": "until in L2",
    "taken": "until taken",
    "durable": "until durable",
    "accepted": "until accepted",
    "on-chip": "until on the chip",
    "permuted": "until permuted",
}
MEANING: dict[Until, str] = {
    "released": "",
    "in-l2": "",
    "taken": "until taken: memory's controller has taken all that is stored, and the write-back buffer is free",
    "durable": "until durable: the tuple is complete, and line, tag, counters and root survive a loss of power",
    "accepted": "until accepted: the persist buffer has the store, and its early steps are done",
    "on-chip": "until on the chip: the record of the page is decrypted, and checked up to the root",
    "permuted": "until permuted: memory's controller has taken all lines, the record and the path above it",
}
MEETING: dict[Meets, str] = {
    "new-entry": "",
    "entry": "an earlier store has allocated the entry: its counter, pad and root, if early, serve this one",
    "full-buffer": "oldest's: steps of the entry that drains first, which makes room for the store",
    "overflow": "the store, or its drain if the counter is late, has the other lines of its group encrypted anew",
}
NO_PAIR = "no two rows of one bank"
PATTERN_BYTES = (1, 2, 4, 8, 16, 32)

LABEL_COLUMNS = 24
"""Minimum number of columns for the mark and the title of a piece of work; a longer title widens them."""
MARK = "● "
"""Mark of work on the critical path."""
TIME_COLUMNS = 15
NOTE_COLUMNS = 24
STEPS_NS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000)


def condition(explanation: Explanation) -> str:
    """Returns the conditions of an access, in words."""
    scenario = explanation.scenario
    predicted = ", predicted to be in memory" if scenario.predicted else ""
    decoded = ", counters decoded" if scenario.decoded else ""
    meets = f"{MEETS[scenario.meets]}, " if scenario.meets else ""
    return f"{meets}{ON_CHIP[scenario.on_chip]}, {ROW[scenario.row]}{predicted}{decoded}"


def value(explanation: Explanation) -> str:
    """Returns the content of the line, in words; it names a repeated pattern once."""
    scenario = explanation.scenario
    line = bytes.fromhex(scenario.value)[: explanation.line_bytes]
    pattern = next((line[:size] for size in PATTERN_BYTES if line == line[:size] * (len(line) // size)), line)
    shown = "zeros" if not any(line) else pattern.hex()
    repeated = f" {len(line) // len(pattern)} times" if any(line) and pattern != line else ""
    says = "stored content:" if scenario.of in ("write", "store") else "the line holds"
    return f"{says} {shown}{repeated}"


def among(explanation: Explanation, together: Sequence[Explanation]) -> list[str]:
    """Returns the address of the line, its selection, and the spread of the tried lines' latencies, in a sentence each.
    All explanations of `together` show this line, each under another design.
    """
    spread, address = explanation.spread, f"{explanation.address:#x}"
    if spread is None:
        return [f"the line at {address}"]
    percentiles = (spread.p5_ns, spread.p50_ns, spread.p95_ns)
    waits = f"the access fetches {_pairs(spread.clashes)}, so fetches wait for each other"
    return [
        *(_selected(spread, address) if len(together) == 1 else _selected_together(spread, address, together)),
        "all {} lines: 5th percentile {:.1f}, median {:.1f}, 95th percentile {:.1f} ns".format(
            spread.lines, *percentiles
        ),
        *([waits] if spread.clashes else []),
    ]


def _selected(spread: Spread, address: str) -> list[str]:
    """Returns the selection of the line under one design."""
    if not spread.no_conflict:
        return [f"the median of all {spread.lines} lines, at {address}"]
    fetched = f"only {_pairs(spread.clashes)}" if spread.clashes else NO_PAIR
    return [f"the median of the {spread.typical} lines that fetch {fetched}, at {address}"]


def _selected_together(spread: Spread, address: str, together: Sequence[Explanation]) -> list[str]:
    """Returns the selection of the line under several designs: by the sum of their pairs, then by their medians."""
    designs = f"{'both' if len(together) == 2 else 'all'} designs"
    if not spread.no_conflict:
        return [f"of all {spread.lines} lines, the nearest to the medians of {designs}, at {address}"]
    pairs = sum(each.spread.clashes for each in together if each.spread)
    fetched = f"only {_pairs(pairs)}, added over {designs}" if pairs else f"{NO_PAIR}, under {designs}"
    return [
        f"of {spread.typical} lines, the nearest to the medians of these lines under {designs}, at {address}",
        f"each of these lines fetches {fetched}",
    ]


def _pairs(clashes: int) -> str:
    return f"{amounts.counted(clashes, 'pair')} of rows of one bank"


def aes(found: AesBandwidth) -> str:
    """Returns the peak rate of the AES units in blocks a second, in total and by place."""
    places = ((found.total, "in all"), (found.controller, "at the controller"), (found.each_l2, "in each L2"))
    said = ", ".join(f"{amounts.short_count(rate)} {position}" for rate, position in places if rate is not None)
    return f"peak AES throughput in blocks per second: {said}"


def horizon_ns(explanations: Sequence[Explanation]) -> float:
    """Returns the end of the common time axis: the end of the last piece of work, or the 95th percentile of the lines'
    latencies if that is later. It is at least a nanosecond, for timelines without any duration.
    """
    ends = [span.end_ns for explanation in explanations for span in explanation.spans]
    return max([1.0] + ends + [explanation.spread.p95_ns for explanation in explanations if explanation.spread])


def tick_step_ns(horizon: float, most: int) -> int:
    """Returns a round distance of ticks, so that the axis has at most `most`."""
    return next((step for step in STEPS_NS if horizon / step <= most), STEPS_NS[-1])


class Scale(NamedTuple):
    """Length of the time axis in nanoseconds, and widths of its parts in columns."""

    horizon_ns: float
    label: int
    """Columns for the mark and the title of a piece of work."""
    bar: int
    """Columns for the bars, from zero to the horizon."""

    @classmethod
    def of(cls, explanations: Sequence[Explanation], columns: int) -> "Scale":
        """Returns a scale that fits all timelines into this number of columns, except on a terminal too narrow for the
        shortest bars.
        """
        titles = [len(row.title) for explanation in explanations for row in rows(explanation)]
        label = max([LABEL_COLUMNS] + [len(MARK) + length + 1 for length in titles])
        return cls(horizon_ns(explanations), label, max(columns - label - TIME_COLUMNS - NOTE_COLUMNS - 3, 16))


def timelines(found: Explanations, columns: int) -> RenderableType:
    """Returns all timelines, one below the other on the same scale, and the causes of the difference between two
    designs.
    """
    scale = Scale.of(found.explanations, columns)
    parts: list[RenderableType] = []
    for explanation in found.explanations:
        parts += [_timeline(explanation, scale, found.explanations), Text("")]
    if found.difference_ns is not None:
        parts.append(difference(found))
    return Group(*parts)


def until_whole(explanation: Explanation) -> str:
    """Returns the time when the whole line is released, if the requested words were released earlier."""
    releases = [span.end_ns for span in explanation.spans if span.verb == "release"]
    return f" for the words asked for, {max(releases):.1f} ns for the line" if len(releases) > 1 else ""


def _timeline(explanation: Explanation, scale: Scale, together: Sequence[Explanation]) -> RenderableType:
    scenario = explanation.scenario
    heading = Text.assemble(
        (explanation.design, "bold"),
        f" on {explanation.machine}: one {ACCESS.get(scenario.of, scenario.of)}{START[scenario.start]}, "
        f"{condition(explanation)}: ",
        (f"{explanation.latency_ns:.1f} ns", "bold"),
        f" {UNTIL[explanation.until]}" if scenario.of != "read" else until_whole(explanation),
    )
    lines = [heading, *map(Text, among(explanation, together)), Text(value(explanation)), _axis(scale)]
    critical = {id(span) for span in explanation.critical_path()}
    for row in rows(explanation):
        lines.append(_line(row, scale, any(id(span) in critical for span in row.spans)))
    lines.append(Text(f"{MARK}on the critical path: the chain that decides the latency", style="dim"))
    if MEANING[explanation.until]:
        drain = "; a drain follows" if explanation.until == "accepted" and explanation.continues() else ""
        lines.append(Text(MEANING[explanation.until] + drain, style="dim"))
    if scenario.meets and MEETING[scenario.meets]:
        lines.append(Text(MEETING[scenario.meets], style="dim"))
    if explanation.aes.total is not None:
        lines.append(Text(aes(explanation.aes), style="dim"))
    return Group(*lines)


def _axis(scale: Scale) -> Text:
    horizon, label, width = scale
    step = tick_step_ns(horizon, max(width // 7, 2))
    axis = [" "] * (width + 8)
    tick = 0
    while tick <= horizon:
        position = min(round(tick / horizon * width), width - 1)
        text = f"{tick}" if tick + step <= horizon else f"{tick} ns"
        axis[position : position + len(text)] = text
        tick += step
    return Text(" " * label + "".join(axis).rstrip(), style="dim")


def _line(row: TimelineRow, scale: Scale, critical: bool) -> Text:
    line = Text(MARK if critical else " " * len(MARK), style="bold")
    line.append(f"{row.title:<{scale.label - len(MARK)}}", style="bold" if critical else "")
    line.append(_bar(row, scale.horizon_ns, scale.bar), style=colours.look(row.spans[0]).style)
    line.append(f" {row.start_ns:6.1f}", style="dim")
    line.append(f" {row.end_ns:6.1f} " if row.end_ns > row.start_ns else " " * 8)
    line.append(f" {row.note}", style="yellow" if row.has_waited else "dim")
    line.no_wrap = True
    return line


def _bar(row: TimelineRow, horizon: float, width: int) -> str:
    """Returns the bars of a row, to half a column; a piece of work without duration is a diamond."""
    halves: set[int] = set()
    diamonds: set[int] = set()
    for span in row.spans:
        first, last = (round(time / horizon * width * 2) for time in (span.start_ns, span.end_ns))
        if span.end == span.start:
            diamonds.add(min(first // 2, width - 1))
        else:
            halves.update(range(first, max(last, first + 1)))
    bars = {(True, True): "━", (True, False): "╸", (False, True): "╺", (False, False): " "}
    cells = [bars[2 * cell in halves, 2 * cell + 1 in halves] for cell in range(width)]
    return "".join("◆" if cell in diamonds and drawn == " " else drawn for cell, drawn in enumerate(cells))


def difference(found: Explanations) -> RenderableType:
    """Returns the times of two designs' critical paths by kind of work, side by side."""
    first, second = found.explanations
    spent = [_time_by_work(explanation.critical_path()) for explanation in (first, second)]
    names = (first.design, second.design)
    table = layouts.plain_table("on the critical path", *names, "difference", right=(*names, "difference"))
    for work in dict.fromkeys([*spent[0], *spent[1]]):
        cells = [f"{times[work]:.1f} ns" if work in times else "-" for times in spent]
        table.add_row(work, *cells, _signed(spent[0].get(work, 0.0) - spent[1].get(work, 0.0)))
    latencies = (first.latency_ns, second.latency_ns)
    table.add_section()
    cells = [f"{time:.1f} ns" for time in latencies]
    ends = dict.fromkeys(UNTIL[explanation.until] for explanation in (first, second))
    table.add_row(f"[bold]{' and '.join(ends)}[/]", *cells, _signed(latencies[0] - latencies[1]))
    if first.spread and second.spread and found.difference_of_medians_ns is not None:
        medians = [f"{spread.p50_ns:.1f} ns" for spread in (first.spread, second.spread)]
        table.add_row(f"median of all {first.spread.lines} lines", *medians, _signed(found.difference_of_medians_ns))
    return table


def _time_by_work(path: Sequence[Span]) -> dict[str, float]:
    """Returns nanoseconds for each kind of work on the critical path; it adds the levels of a tree, and the pieces of a
    line.
    """
    spent: dict[str, float] = {}
    for span in path:
        work = re.sub(r" level \d+| \d+-\d+$", "", title(span))
        spent[work] = spent.get(work, 0.0) + span.end_ns - span.start_ns
    return spent


def _signed(time: float) -> Text:
    if abs(time) < 0.05:
        return Text("0 ns", style="dim")
    return Text(f"{time:+.1f} ns", style="red" if time > 0 else "green")
