"""Verdicts, layouts and traces as tables that fit 100 columns."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate import amounts
from casemate.results.attack import AttackReport, ExhaustiveReport, Protection
from casemate.results.catalogue import SEVERITY, End, Layout, Verdict
from casemate.results.crash import CrashReport
from casemate.results.origin import Exited, Killed, Origin, TraceInfo
from casemate.results.validation import Validation
from casemate.results.window import Window

VERDICT_STYLES: dict[Verdict, str] = {
    "not-applicable": "dim",
    "harmless": "green",
    "hidden": "green",
    "refused": "green",
    "detected": "green",
    "bounded": "green",
    "unrecoverable": "yellow",
    "garbled": "yellow",
    "leaked": "yellow",
    "stale": "magenta",
    "forged": "red",
}
DESIGNS_PER_TABLE = 6
"""Columns of verdicts that fit beside the names of the attacks."""


def plain_table(*headers: str, right: Iterable[str] = ()) -> Table:
    """An empty table in the house style; the columns named in `right` hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1))
    numbers = set(right)
    for header in headers:
        table.add_column(header, justify="right" if header in numbers else "left", no_wrap=header in numbers)
    return table


def _stopped(report: AttackReport) -> Text:
    protection = Protection.of(report)
    complete = protection.stopped == protection.applicable
    return Text(f"{protection.stopped} of {protection.applicable}", style="green" if complete else "red")


def verdict_tables(reports: Sequence[AttackReport]) -> RenderableType:
    """Attacks by designs: how each ended, and where that differs from the claim."""
    parts: list[RenderableType] = []
    for start in range(0, len(reports), DESIGNS_PER_TABLE):
        shown = reports[start : start + DESIGNS_PER_TABLE]
        table = plain_table("attack", *(report.design for report in shown))
        for outcomes in zip(*(report.rows for report in shown), strict=True):
            cells = [_verdict(outcome.worst, outcome.claim, outcome.agrees) for outcome in outcomes]
            table.add_row(outcomes[0].attack, *cells)
        table.add_section()
        table.add_row("[bold]stopped[/]", *(_stopped(report) for report in shown))
        parts.append(table)
    parts.extend(_counted(reports))
    rows = [(report, row) for report in reports for row in report.rows]
    differing = [(report, row) for report, row in rows if not row.agrees]
    trials = f"{amounts.count(reports[0].trials)} trials each, seeds from {reports[0].seed}"
    if not differing:
        parts.append(Text(f"{len(rows)} claims, all as claimed ({trials}).", style="green"))
    else:
        parts.append(
            Text(f"{len(differing)} of {len(rows)} claims differ from what happened ({trials}):", style="bold red")
        )
    for report, row in differing:
        better = "" if row.claim is None or row.claim not in row.histogram else " (at another level of the tree)"
        parts.append(
            Text(f"  {report.design}: {row.attack} ended {row.worst}, claimed {row.claim or 'nothing'}{better}")
        )
        if example := row.telling():
            parts.append(Text(f"    see it again: {example.replay}", style="dim"))
    return Group(*parts)


def _counted(reports: Sequence[AttackReport]) -> Iterable[Text]:
    """What was counted beside the verdicts, where only one attack is shown."""
    if all(len(report.rows) == 1 for report in reports):
        for report in reports:
            for what, number in report.rows[0].counts.items():
                yield Text(f"  {report.design}: {what}: {amounts.count(number)}", style="dim")


def _verdict(worst: End, claim: End | None, agrees: bool) -> Text:
    if agrees:
        return Text("-" if worst == "not-applicable" else worst, style=_style(worst))
    return Text(f"{worst} ≠ {claim or 'no claim'}", style="bold white on red")


def _style(end: End) -> str:
    """That of the worse of its verdicts, which is named first."""
    return next(style for verdict, style in VERDICT_STYLES.items() if end.startswith(verdict))


def crash_tables(reports: Sequence[CrashReport]) -> RenderableType:
    """Designs by kinds of losses: how each ended, and where that differs from the claim."""
    rows = [row.loss for row in reports[0].rows]
    counted = ("memories", "torn", "tampered")
    table = plain_table("design", *rows, *counted, right=counted)
    for report in reports:
        cells = [_verdict(row.worst, row.claim, row.agrees) for row in report.rows]
        numbers = (report.memories, report.torn, report.tampered)
        table.add_row(report.design, *cells, *map(amounts.count, numbers))
    each = ((report.points, report.memories, report.torn, report.tampered) for report in reports)
    points, memories, torn, tampered = (amounts.count(sum(numbers)) for numbers in zip(*each, strict=True))
    tried = (
        f"{reports[0].workloads} workloads each, {points} points in all; they left {memories} different memories, "
        f"{torn} of them only by torn or reordered writes; an attacker made {tampered} more of them"
    )
    differing = [(report, row) for report in reports for row in report.rows if not row.agrees]
    if not differing:
        return Group(table, Text(f"All as claimed ({tried}).", style="green"))
    parts = [Text(f"{len(differing)} claims differ from what happened ({tried}):", style="bold red")]
    for report, row in differing:
        parts.append(Text(f"  {report.design}: {row.loss} ended {row.worst}, claimed {row.claim or 'nothing'}"))
        if row.example:
            parts.append(Text(f"    {row.example.story} (lines {row.example.workload})", style="dim"))
            parts.append(Text(f"    see it again: {row.example.replay}", style="dim"))
    return Group(table, *parts)


def exhaustive_table(reports: Sequence[ExhaustiveReport], agrees: bool) -> RenderableType:
    """What became of every flipped bit."""
    table = plain_table("design", "structure", "bits flipped", "worst", "how often", right=("bits flipped",))
    for report in reports:
        for index, row in enumerate(report.rows):
            worst = max(row.histogram, key=SEVERITY.index)
            often = ", ".join(f"{verdict} {amounts.count(number)}" for verdict, number in row.histogram.items())
            name = Text(report.design if index == 0 else "", style="bold")
            verdict = _verdict(worst, row.claim, row.agrees)
            table.add_row(name, row.structure, amounts.count(row.flips), verdict, often)
        table.add_row(Text("sum", style="dim"), "", amounts.count(report.flips))
        table.add_section()
    rows = [(report, row) for report in reports for row in report.rows]
    flips = amounts.count(sum(report.flips for report in reports))
    uncovered = amounts.count(sum(row.histogram.get("harmless", 0) for _, row in rows))
    notes = [Text(f"{uncovered} flips were harmless: nothing in use depends on those bits.", style="dim")]
    if agrees:
        return Group(table, *notes, Text(f"{flips} bits flipped, all as claimed.", style="green"))
    notes.append(Text(f"{flips} bits flipped, and some ended otherwise than claimed:", style="bold red"))
    for report, row in rows:
        if not row.agrees:
            worst = max(row.histogram, key=SEVERITY.index)
            slot, bit = row.first_at[worst]
            ended = f"{row.structure} ended {worst}, claimed {row.claim or 'nothing'}"
            notes.append(Text(f"  {report.design}: {ended}: bit {bit} of slot {slot:#x}"))
    return Group(table, *notes)


def layout_table(layout: Layout) -> RenderableType:
    """Where a design puts data and metadata, and what it keeps on the chip."""
    numbers = ("starts at", "lines", "size", "of data")
    memory = plain_table("in memory", *numbers, "each line serves", right=numbers)
    for region in layout.regions:
        percent = f"{region.percent:.4f} %"
        memory.add_row(
            region.role, f"{region.start:#x}", amounts.count(region.lines), amounts.size(region.bytes), percent,
            _served(region.role, region.serves),
        )  # fmt: skip
    chip = plain_table("on the chip", "size", "", right=("size",))
    for store in layout.on_chip:
        said = f"{store.ways} ways" if store.ways else f"each line serves {_served(store.what, store.serves or 0)}"
        chip.add_row(store.what, amounts.size(store.bytes), said)
    title = Text.assemble(
        (layout.design, "bold"),
        f": metadata takes {layout.overhead_percent:.3f} % of {amounts.size(layout.memory)} of data",
    )
    return Group(title, memory, *([chip] if layout.on_chip else []))


def _served(role: str, number: int) -> str:
    if role.startswith("data"):
        return ""
    return f"{number} {'children' if 'tree' in role else 'lines'}"


def trace_table(info: TraceInfo) -> RenderableType:
    """What a trace holds."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    origin, totals = info.origin, info.totals
    per_instruction = info.file_bytes * 8 / max(totals.instructions, 1)
    rows = {
        "program": origin.title,
        "part": _recorded_part(origin, totals.instructions),
        "loads, stores": f"{amounts.count(totals.loads)}, {amounts.count(totals.stores)} of at most 8 bytes",
        "lines told": f"{amounts.count(totals.lines)} of 64 bytes",
        "memory touched": f"{amounts.count(totals.pages)} pages of 4 KB",
        "load values": "recorded" if origin.load_values else "not recorded",
        "file": f"{amounts.size(info.file_bytes)}, {per_instruction:.2f} bits an instruction",
        "conditions": ", ".join(f"{name} {value}" for name, value in origin.conditions),
        "check": "every checksum fits",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    return table


def _recorded_part(origin: Origin, instructions: int) -> str:
    executed = amounts.count(instructions)
    after = f" after {amounts.count(origin.skip)} that were skipped" if origin.skip else ""
    if isinstance(origin.finish, Exited):
        whole = "the whole program" if not origin.skip else "to the program's end"
        whole = "the marked region of the program" if origin.is_marked_region else whole
        return f"{whole}, {executed} instructions{after} (exit status {origin.finish.exited})"
    if isinstance(origin.finish, Killed):
        return f"until {origin.finish} ended the program, {executed} instructions{after}"
    return f"the first {executed} instructions{after}"


def window_table(window: Window) -> RenderableType:
    """A window of a trace: its speed, and what each cache and TLB saw."""
    speed = plain_table(
        "instructions", "cycles", "IPC", "mispredicted per 1000", right=("instructions", "cycles", "IPC")
    )
    speed.add_row(f"{window.instructions:,}", f"{window.cycles:,}", f"{window.ipc:.4g}", f"{window.branch_mpki:.4g}")
    table = plain_table(
        "", "accesses", "misses", "mean miss latency", right=("accesses", "misses", "mean miss latency")
    )
    latency = window.llc_miss_latency_cycles
    for name, seen in (
        ("L1I", window.l1i), ("L1D", window.l1d), ("L2", window.l2), ("LLC", window.llc),
        ("DTLB", window.dtlb), ("STLB", window.stlb),
    ):  # fmt: skip
        said = f"{latency:.1f} cycles" if name == "LLC" and latency is not None else ""
        table.add_row(name, f"{seen.accesses:,}", f"{seen.misses:,}", said)
    return Group(speed, table)


def validation_table(report: Validation) -> RenderableType:
    """Our figures beside the references', and what is out of its tolerance."""
    table = plain_table(
        "reference", "subject", "measured", "ours", "theirs", "off", "allowed", "",
        right=("ours", "theirs", "off", "allowed"),
    )  # fmt: skip
    before = None
    for row in report.rows:
        if before is not None and (row.reference, row.subject) != before:
            table.add_section()
        names = ("", "") if (row.reference, row.subject) == before else (row.reference, row.subject)
        before = (row.reference, row.subject)
        allowed = "" if row.tolerance_percent is None else f"{row.tolerance_percent:g} %"
        if row.placement_percent:
            allowed += f" + {row.placement_percent:.1f} %"
        ours = f"{row.ours:.4g}"
        if row.interval is not None and row.interval[1] > row.interval[0]:
            ours += f" ± {row.interval[1] - row.ours:.2g}"
        off = Text(f"{row.difference_percent:+.1f} %", style="" if row.ok else "red")
        mark = Text("" if row.ok else "OUT", style="bold red")
        table.add_row(*names, row.quantity, ours, f"{row.theirs:.4g}", off, allowed, mark)
    checked = [row for row in report.rows if row.tolerance_percent is not None]
    within = sum(row.ok for row in checked)
    verdict = Text(f"{within} of {len(checked)} figures within their tolerances", style="green" if report.ok else "red")
    return Group(table, verdict)
