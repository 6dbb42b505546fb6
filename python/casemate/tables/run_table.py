"""Cost and protection of designs side by side: a column for each design, a row for each figure."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.text import Text

from casemate.schemas.attack import Protection
from casemate.schemas.checks import CandidateCheck
from casemate.schemas.origin import Exited, Killed, Seeded, Unbacked
from casemate.schemas.run import Record, RunResults
from casemate.schemas.sampling import Estimate, Sampled, Sampling
from casemate.tables import baselines, check_reasons, conditions, layouts, thread_order
from casemate.tables.run_details import (
    Cell,
    Question,
    details,
    epochs,
    largest,
    moving,
    persist_buffers,
    predicted,
    speculation,
)
from casemate.terminal import interruption
from casemate.terminal.split_table import SplitTable
from casemate.text import amounts

DESIGNS_PER_TABLE = 4
"""Maximum number of designs in a table; more designs are divided into several tables of about the same width."""
COLUMN_CHARACTERS = 17
"""Maximum width of the column of a design, unless its name needs more."""

PERSISTENT = {"mapped": "memory that is mapped shared from files", "heap": "the heap"}

AIMS = {"ipc": "an IPC", "traffic": "traffic", "latency": "a read latency"}


def run_table(results: RunResults, check_values: bool, verbose: bool = False) -> RenderableType:
    """Returns the tables and notes of a run, with the breakdowns by cause if `verbose`."""
    first = results.records[0]
    origin = first.configuration.workload
    machines = dict.fromkeys(record.machine for record in results.records)
    title = Text.assemble((first.configuration.title, "bold"), f" on {', '.join(machines)}:")
    parts: list[RenderableType] = [title, Text(f"  {part_seen(first)}")]
    parts += [
        Text(f"  {program.title}: values drawn from seed {program.values.seeded}")
        for program in dict.fromkeys((origin, *first.configuration.beside))
        if isinstance(program.values, Seeded)
    ]
    parts += [Text(f"  {line}") for line in (*thread_order.stated(first), *conditions.decided_by(results.records))]
    parts += layouts.changed(results.changes)
    if first.configuration.age == "steady":
        parts.append(Text("  counters of data at a moment of a long life (--age steady)"))
    if untimed := first.configuration.untimed:
        parts.append(Text(f"  {_without_time(untimed)}"))
    parts += [Text(f"  {line}") for line in conditions.begun_with(results.records)]
    chosen = {program.persistent for program in (origin, *first.configuration.beside)} - {"all"}
    parts += [Text(f"  only {PERSISTENT[part]} is persistent (--persistent {part})") for part in sorted(chosen)]
    parts += [Text(f"  {line}", style=style) for line, style in _sample(results.records)]
    width = math.ceil(len(results.records) / math.ceil(len(results.records) / DESIGNS_PER_TABLE))
    for start in range(0, len(results.records), width):
        parts.append(_table(results, results.records[start : start + width], check_values, verbose))
    parts += [Text(line) for line in baselines.how_compared(results, verbose)]
    parts += [Text(line, style=style) for line, style in check_reasons.lines(results.records, check_values)]
    parts += [Text(line, style="yellow") for line in _not_of_the_program(results.records)]
    parts += [
        Text(line, style="yellow")
        for line in (*baselines.not_comparable(results), *thread_order.reasons(results.records))
    ]
    parts += [Text(line, style="yellow") for line in _not_flushed(results.records)]
    parts += [Text(line, style="yellow") for line in origin.likely_causes()]
    if results.interrupted:
        parts.append(
            Text(f"Stopped by {interruption.cause()}: the results cover the part that was run.", style="yellow")
        )
    return Group(*parts)


def _not_of_the_program(records: Sequence[Record]) -> list[str]:
    """Returns a note if figures depend on memory values that were drawn from a seed, since the trace contains no
    values.
    """
    programs = [records[0].configuration.workload, *records[0].configuration.beside]
    depends = any(record.speculation or record.predicted for record in records)
    if not depends or all(program.values == "exact" for program in programs):
        return []
    return ["Values are drawn, since the trace has none: ignore their predictability and the gain from it."]


def _not_flushed(records: Sequence[Record]) -> list[str]:
    """Returns notes on flushes that had no effect although the design preserves data over a loss of power."""
    lines = list[str]()
    for record in records:
        missed = record.feed.flushes_not_simulated
        if missed and record.configuration.design.parts.persistence.exists:
            lines.append(
                f"{record.design}: {amounts.counted(missed, 'flush')} not simulated, of "
                f"{amounts.count(record.feed.flushes)} (CLWB, CLFLUSHOPT, CLFLUSH, non-temporal stores): the recording "
                "does not contain the lines that they flush, so these flushes do not wait for memory."
            )
    return lines


def _without_time(untimed: int) -> str:
    """Returns the sentence about the untimed start of a run."""
    return (
        f"the first {amounts.count(untimed)} instructions ran without time: they filled caches, locks, TLBs and "
        "metadata (--untimed)"
    )


def part_seen(record: Record) -> str:
    """Returns the part of the program that the record covers."""
    origin = record.configuration.workload
    if origin.requests:
        return (
            f"{amounts.counted(record.instructions, 'request')} behind the caches, {layouts.REQUESTS[origin.requests]}"
        )
    executed = amounts.counted(record.instructions, "instruction")
    first = amounts.first(record.instructions, "instruction")
    untimed, warm_up = record.configuration.untimed, record.configuration.warm_up
    before = [f"{amounts.count(untimed)} without time"] if untimed else []
    before += [f"a warm-up of {amounts.count(warm_up)}"] if warm_up else []
    warmed = f" after {' and '.join(before)}" if before else ""
    if record.configuration.beside:
        each = f"{warmed} each" if warmed else ""
        return f"{1 + len(record.configuration.beside)} programs at once, {executed} in all{each}"
    skipped = f" after {amounts.count(origin.skip)} that were skipped" if origin.skip else ""
    after = f"{warmed},{skipped}" if warmed and skipped else warmed or skipped
    if origin.is_marked_region:
        seen = executed if isinstance(origin.finish, Exited) else first
        return f"the marked region of the program, {seen}{after}"
    if unrecorded := record.feed.unrecorded:
        after = f" ({amounts.counted(unrecorded, 'part')} ran unrecorded: another kind of program, or threads){after}"
    match origin.finish:
        case Exited(exited=0) if not after:
            return f"the whole program, {executed}"
        case Exited(exited=status):
            return f"the program to its end, {executed}{after}, exit status {status}"
        case Killed() as ended:
            return f"the program until {ended} ended it, {executed}{after}"
        case Unbacked(unbacked=size):
            return f"the program until it reserved {amounts.size(size)}, {executed}{after}"
        case "limit-reached" if origin.medium == "stored":
            return f"the whole trace, {first} of the program{after}"
        case _:
            return f"{first}{after} (the program was stopped there)"


def _sample(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Returns the share of a sampled run that was simulated in detail, and whether the sample reached the required
    accuracy.
    """
    samples = [record.sampling for record in records if record.sampling]
    if not samples:
        return []
    lines = [(f"in detail {_share(samples)}, the remainder warmed; ± is half of the 95 % interval", "")]
    for record in records:
        detail = record.configuration.detail
        if record.sampling and not record.sampling.accurate and isinstance(detail, Sampled):
            wanted = f"{AIMS[detail.sampled.aim]} within ±{100 * detail.sampled.error:g} %"
            lines.append((f"{record.design}: the sample is too small for {wanted}", "yellow"))
    return lines


def _share(samples: Sequence[Sampling]) -> str:
    def span(values: Sequence[float], form: str) -> str:
        least, most = (f"{value:{form}}" for value in (min(values), max(values)))
        return least if least == most else f"{least} to {most}"

    percent = [100 * sample.detailed / (sample.detailed + sample.warmed) for sample in samples]
    return f"{span(percent, '.2f')} %, measured in {span([sample.units for sample in samples], ',')} units"


def _table(results: RunResults, records: Sequence[Record], check_values: bool, verbose: bool) -> SplitTable:
    table = SplitTable(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.row_names = 1
    table.add_column("")
    several = len({record.machine for record in results.records}) > 1
    for record in records:
        names = (record.machine, record.design) if several else (record.design,)
        widest = max(COLUMN_CHARACTERS, *map(len, names))
        table.add_column("\n".join(names), justify="right", min_width=15, max_width=widest)
    sections = (
        ("cost", _cost(results, records)),
        *(details(results, records[0]) if verbose and not records[0].configuration.workload.requests else ()),
        ("words from memory", predicted(results)),
        ("persist buffer", persist_buffers(results)),
        ("epochs", epochs(results)),
        ("speculation", speculation(results)),
        ("lines that move", moving(results)),
        ("protection", _protection({protection.design: protection for protection in results.protection})),
        ("check of this run", _checks(records, check_values)),
    )
    for title, questions in sections:
        if not questions:
            continue
        table.add_row(Text(title, style="bold cyan"))
        for question, answer in questions:
            table.add_row(f"  {question}", *(answer(record) for record in records))
        table.add_section()
    return table


def _cost(results: RunResults, records: Sequence[Record]) -> list[Question]:
    def ipc(record: Record) -> Cell:
        return f"{record.ipc:.3f}{_error(record.sampling.ipc if record.sampling else None)}"

    def slowdown(record: Record) -> Cell:
        return Text(times("time_fs", ".3f")(record) + mark(record), style="bold")

    def traffic(record: Record) -> Cell:
        error = _error(record.sampling.dram_bytes if record.sampling else None)
        return f"{amounts.size(record.dram_bytes)}{error}{mark(record)}"

    def mark(record: Record) -> str:
        return thread_order.MARK if record.is_disordered else ""

    def times(figure: Literal["time_fs", "dram_bytes"], form: str) -> Callable[[Record], str]:
        def ratio(record: Record) -> str:
            if not results.has_ratio(record):
                return "-"
            error = _error(results.interval(record.design, figure, record.machine))
            return f"{results.ratio(record, figure):{form}}x{error}"

        return ratio

    def latency(record: Record) -> Cell:
        return f"{record.read_latency_ns:.1f} ns{_error(record.sampling.read_latency_ns if record.sampling else None)}"

    def time(record: Record) -> Cell:
        return f"{record.time_fs / 1e9:.2f} us"

    cores: list[Question] = [
        ("mostly for", lambda record: largest(results, record)),
        ("IPC", ipc),
        *_each_core(records[0]),
    ]
    over = baselines.in_row_names(results, records)
    return [
        (f"slowdown{over}", slowdown),
        *([("time", time)] if records[0].configuration.workload.requests else cores),
        ("DRAM traffic", traffic),
        (f" {over}".rstrip(), times("dram_bytes", ".2f")),
        *thread_order.from_outside(results),
        ("read latency", latency),
        *_windows(results),
        *_in_l2(results),
        *_overflows(results),
        ("metadata in memory", lambda record: f"{record.footprint.metadata_percent:.1f} %"),
        ("metadata caches", lambda record: amounts.size(record.footprint.metadata_cache_bytes)),
    ]


def _windows(results: RunResults) -> list[Question]:
    """Time from the release of lines to their verdicts, if any design releases lines earlier."""
    if all(record.unverified_window is None for record in results.records):
        return []

    def used(record: Record) -> str:
        window = record.unverified_window
        return f"{window.mean_ns:.1f} ns" if window else ""

    def longest(record: Record) -> str:
        window = record.unverified_window
        return f"{window.longest_ns:.0f} ns" if window else ""

    return [("used unverified for", used), ("at most", longest)]


def _in_l2(results: RunResults) -> list[Question]:
    """Share of reads that L2s verified, if any design lets L2s do so."""
    if all(record.counters_in_l2 is None for record in results.records):
        return []

    def share(record: Record) -> str:
        work = record.protection
        return f"{100 * work.released_in_l2 / max(work.fetched.data, 1):.1f} %" if record.counters_in_l2 else ""

    return [("reads verified in L2", share)]


def _overflows(results: RunResults) -> list[Question]:
    """Overflows of the data's encryption counters, if any occurred; not in sampled runs, which would count only those
    in measured units.
    """
    if all(record.sampling or not record.renewals.groups for record in results.records):
        return []

    def groups(record: Record) -> str:
        return amounts.count(record.renewals.groups) if record.counters_found else ""

    return [("groups renewed", groups)]


def _error(estimate: Estimate | None) -> str:
    """Text after a figure of a sampled run: half of its 95 % interval."""
    return f" ±{100 * estimate.relative_error:.1f}%" if estimate else ""


def _each_core(first: Record) -> list[Question]:
    """Figures of each core, if the machine has several cores."""
    if len(first.cores) == 1:
        return []

    def ipc(record: Record) -> str:
        return " ".join(
            f"{core.instructions / core.cycles:.2f}" if core.instructions else "idle" for core in record.cores
        )

    return [("IPC of each core", ipc)]


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
        styles = {"passed": "green", "not checked": "yellow", "not in order": "yellow"}
        return Text(record.checks.verdict, style=styles.get(record.checks.verdict, "bold red"))

    def share(record: Record) -> str:
        values = record.checks.load_values
        return f"{100 * values.different / values.compared:.1f} %" if values else ""

    def different(record: Record) -> Cell:
        values = record.checks.load_values
        if values is None:
            return ""
        style = {"same": "green", "other-order": "yellow", "wrong": "bold red"}[values.verdict]
        return Text(amounts.count(values.different), style=style)

    questions: list[Question] = [
        ("lines compared", lambda record: amounts.count(record.checks.lines.lines_checked)),
        ("of them wrong", lambda record: wrong(record.checks.lines.lines_wrong)),
    ]
    if check_values:
        questions += [
            ("load values compared", lambda record: amounts.count(record.feed.load_values_checked)),
            ("of them different", different),
        ]
        if any(record.checks.verdict == "not in order" for record in records):
            questions.append(("", share))
    if any(record.checks.pad_reused is not None for record in records):
        questions.append(
            ("pads used twice", lambda record: Text("YES", style="bold red") if record.checks.pad_reused else "none")
        )
    if any(record.checks.candidates for record in records):
        questions += [
            ("candidates encrypted of lines", lambda record: _of_candidates(record, lambda check: str(check.lines))),
            ("chunks that disagree", lambda record: _of_candidates(record, lambda check: wrong(check.disagreeing))),
        ]
    return [*questions, ("verdict", verdict)]


def _of_candidates(record: Record, figure: Callable[[CandidateCheck], Cell]) -> Cell:
    """Returns a figure of the check on speculated candidates; empty for a design without speculation."""
    return figure(record.checks.candidates) if record.checks.candidates else ""
