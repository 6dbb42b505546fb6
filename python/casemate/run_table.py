"""Cost and protection side by side: a column for each design, a row for each question."""

import math
from collections.abc import Callable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate import amounts
from casemate.results.attack import Protection
from casemate.results.origin import Exited
from casemate.results.run import Record, RunResults

DESIGNS_PER_TABLE = 4
"""Columns that fit beside the questions; more designs make more tables, all of about the same width."""

Cell = str | Text
Question = tuple[str, Callable[[Record], Cell]]


def run_table(results: RunResults, check_values: bool) -> RenderableType:
    """All that a run has to say, for people."""
    first = results.records[0]
    origin = first.configuration.workload
    title = Text.assemble((origin.title, "bold"), f" on {first.configuration.machine.name}:")
    parts: list[RenderableType] = [title, Text(f"  {part_seen(first)}")]
    tables = math.ceil(len(results.records) / DESIGNS_PER_TABLE)
    width = math.ceil(len(results.records) / tables)
    for start in range(0, len(results.records), width):
        parts.append(_table(results, results.records[start : start + width], check_values))
    if check_values and not first.feed.load_values_checked:
        parts.append(Text("No load values were compared: the trace was recorded without them.", style="yellow"))
    if results.interrupted:
        parts.append(Text("Stopped by Ctrl-C: the results are about the part that was run.", style="yellow"))
    return Group(*parts)


def part_seen(record: Record) -> str:
    """Which part of the program the record is about."""
    origin = record.configuration.workload
    executed = amounts.count(record.instructions)
    after = f" after {amounts.count(origin.skip)} that were skipped" if origin.skip else ""
    match origin.finish:
        case Exited(exited=0) if not after:
            return f"the whole program, {executed} instructions"
        case Exited(exited=status):
            return f"the program to its end, {executed} instructions{after}, exit status {status}"
        case "limit-reached" if origin.medium == "stored":
            return f"the whole trace, the first {executed} instructions of the program{after}"
        case _:
            return f"the first {executed} instructions{after} (the program was stopped there)"


def _table(results: RunResults, records: Sequence[Record], check_values: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for record in records:
        table.add_column(record.design, justify="right", min_width=15, max_width=17)
    sections = (
        ("cost", _cost(results.baseline or records[0])),
        ("protection", _protection({protection.design: protection for protection in results.protection})),
        ("check of this run", _checks(records, check_values)),
    )
    for title, questions in sections:
        table.add_row(Text(title, style="bold cyan"))
        for question, answer in questions:
            table.add_row(f"  {question}", *(answer(record) for record in records))
        table.add_section()
    return table


def _cost(baseline: Record) -> list[Question]:
    return [
        ("slowdown", lambda record: Text(f"{record.time_fs / baseline.time_fs:.3f}x", style="bold")),
        ("IPC", lambda record: f"{record.ipc:.3f}"),
        ("DRAM traffic", lambda record: amounts.size(record.dram_bytes)),
        ("", lambda record: f"{record.dram_bytes / max(baseline.dram_bytes, 1):.2f}x"),
        ("read latency", lambda record: f"{record.read_latency_ns:.1f} ns"),
        ("metadata in memory", lambda record: f"{record.footprint.metadata_percent:.1f} %"),
        ("metadata caches", lambda record: amounts.size(record.footprint.metadata_cache_bytes)),
    ]


def _protection(stopped: dict[str, Protection]) -> list[Question]:
    def attacks(record: Record) -> Cell:
        found = stopped.get(record.design)
        if found is None:
            return ""
        style = "green" if found.stopped == found.applicable else "red"
        return Text(f"{found.stopped} of {found.applicable}", style=style)

    def weak(record: Record) -> Cell:
        return Text("\n".join(record.weaknesses) or "none", style="yellow" if record.weaknesses else "green")

    questions: list[Question] = [("attacks stopped", attacks)] if stopped else []
    return [*questions, ("weak choices", weak)]


def _checks(records: Sequence[Record], check_values: bool) -> list[Question]:
    def wrong(number: int) -> Cell:
        return Text(amounts.count(number), style="bold red" if number else "green")

    def verdict(record: Record) -> Cell:
        if record.checks.false_alarm:
            return Text("FALSE ALARM", style="bold red")
        good = record.checks.passed and record.feed.load_values_wrong == 0
        return Text("passed", style="green") if good else Text("FAILED", style="bold red")

    questions: list[Question] = [
        ("lines compared", lambda record: amounts.count(record.checks.lines.lines_checked)),
        ("of them wrong", lambda record: wrong(record.checks.lines.lines_wrong)),
    ]
    if check_values:
        questions += [
            ("load values compared", lambda record: amounts.count(record.feed.load_values_checked)),
            ("of them wrong", lambda record: wrong(record.feed.load_values_wrong)),
        ]
    if any(record.checks.pad_reused is not None for record in records):
        questions.append(
            ("pads used twice", lambda record: Text("YES", style="bold red") if record.checks.pad_reused else "none")
        )
    return [*questions, ("verdict", verdict)]
