"""Results of attacks and losses of power, as tables that fit 100 columns."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from casemate.schemas.attack import AttackReport, Example, ExhaustiveReport, Outcome, Protection
from casemate.schemas.catalogue import SEVERITY, End, Verdict
from casemate.schemas.crash import CrashReport, ProgramReport
from casemate.tables import layouts
from casemate.text import amounts

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
"""Maximum number of columns of verdicts next to the names of the attacks."""


def _stopped(report: AttackReport) -> Text:
    protection = Protection.of(report)
    complete = protection.stopped == protection.applicable
    return Text(f"{protection.stopped} of {protection.applicable}", style="green" if complete else "red")


def _differ(number: int, claims: str) -> str:
    """Returns the phrase that this number of claims differs from the results."""
    return f"{number} of {claims} {'differs' if number == 1 else 'differ'} from the outcome"


def verdict_tables(reports: Sequence[AttackReport]) -> RenderableType:
    """Table of attacks by designs: the worst end of each attack, and differences from the claims."""
    parts: list[RenderableType] = []
    for start in range(0, len(reports), DESIGNS_PER_TABLE):
        shown = reports[start : start + DESIGNS_PER_TABLE]
        table = layouts.plain_table("attack", *(report.design for report in shown))
        rows_of_all = list(zip(*(report.rows for report in shown), strict=True))
        for outcomes in rows_of_all:
            if not outcomes[0].hypothetical:
                table.add_row(outcomes[0].attack, *map(_outcome, outcomes))
        table.add_section()
        if not all(outcomes[0].hypothetical for outcomes in rows_of_all):
            table.add_row("[bold]stopped[/]", *(_stopped(report) for report in shown))
            table.add_section()
        for outcomes in rows_of_all:
            if outcomes[0].hypothetical:
                table.add_row(f"{outcomes[0].attack} (*)", *map(_outcome, outcomes))
        parts.append(table)
    if any(row.hypothetical for row in reports[0].rows):
        parts.append(Text("(*) hypothetical: the attack assumes a fault that no design here has.", style="dim"))
    parts.extend(_left_out(reports))
    parts.extend(_counted(reports))
    rows = [(report, row) for report in reports for row in report.rows]
    differing = [(report, row) for report, row in rows if not row.agrees]
    trials = f"{amounts.counted(reports[0].trials, 'trial')} each, seeds from {reports[0].seed}"
    claims = amounts.counted(len(rows), "claim")
    missed = sum(row.agrees and not row.reached for _, row in rows)
    if missed:
        few = amounts.counted(reports[0].trials, "trial")
        ends = f"{amounts.count(missed)} of {claims} not reached in {few} (~)"
        parts.append(Text(f"{ends}: no trial ended worse, and more trials may reach them.", style="yellow"))
    if not differing and not missed:
        parts.append(Text(f"{claims}, all as claimed ({trials}).", style="green"))
    elif not differing:
        parts.append(Text(f"All other claims hold ({trials}).", style="green"))
    else:
        parts.append(Text(f"{_differ(len(differing), claims)} ({trials}):", style="bold red"))
    for report, row in differing:
        better = " (and better at some level of the tree)" if row.claim == row.worst else ""
        parts.append(
            Text(f"  {report.design}: {row.attack} ended {row.worst}, claimed {row.claim or 'nothing'}{better}")
        )
        if example := row.telling():
            parts.append(Text(f"    see it again: {example.replay}", style="dim"))
    return Group(*parts)


def _outcome(outcome: Outcome) -> Text:
    if outcome.agrees and not outcome.reached:
        worst = "-" if outcome.worst == "not-applicable" else outcome.worst
        return Text(f"{worst} ~ {outcome.claim}", style="yellow")
    return _verdict(outcome.worst, outcome.claim, outcome.agrees)


def _left_out(reports: Sequence[AttackReport]) -> Iterable[Text]:
    """Yields the features of the designs' sources that the models lack."""
    for report in reports:
        for sentence in report.leaves_out:
            yield Text(f"  {report.design} leaves out: {sentence}", style="dim")


def replayed(reports: Sequence[AttackReport]) -> RenderableType:
    """List of the end of one trial of each attack, without a comparison with the claims."""
    parts: list[RenderableType] = []
    for report in reports:
        for row in report.rows:
            parts.append(Text(f"{report.design}: {row.attack}, trial {report.seed}: ended {row.worst}"))
            parts += [Text(f"  {_where(example)}", style="dim") for example in row.examples]
            parts += [Text(f"  {what}: {amounts.count(number)}", style="dim") for what, number in row.counts.items()]
            parts.append(Text(f"  claimed at worst: {row.claim or 'nothing'}", style="dim"))
    return Group(*parts)


def _where(example: Example) -> str:
    bit = "" if example.bit is None else f", bit {example.bit}"
    level = "" if example.level is None else f", level {example.level} of the tree"
    return f"{example.verdict}: line {example.line:#x}{bit}{level}"


def _counted(reports: Sequence[AttackReport]) -> Iterable[Text]:
    """Yields further statistics of the attack, if only one attack is shown."""
    if all(len(report.rows) == 1 for report in reports):
        for report in reports:
            for what, number in report.rows[0].counts.items():
                yield Text(f"  {report.design}: {what}: {amounts.count(number)}", style="dim")


def _verdict(worst: End, claim: End | None, agrees: bool) -> Text:
    if agrees:
        return Text("-" if worst == "not-applicable" else worst, style=style_of(worst))
    return Text(f"{worst} ≠ {claim or 'no claim'}", style="bold white on red")


def style_of(end: End) -> str:
    """Returns the style of an end: that of its verdict, which its name begins with."""
    return next(style for verdict, style in VERDICT_STYLES.items() if end.startswith(verdict))


def crash_tables(reports: Sequence[CrashReport]) -> RenderableType:
    """Table of designs by kinds of losses: the worst end of each kind, and differences from the claims."""
    rows = [row.loss for row in reports[0].rows]
    counted = ("memories", "torn", "tampered")
    table = layouts.plain_table("design", *rows, *counted, right=counted)
    for report in reports:
        cells = [_verdict(row.worst, row.claim, row.agrees) for row in report.rows]
        numbers = (report.memories, report.torn, report.tampered)
        table.add_row(report.design, *cells, *map(amounts.count, numbers))
    each = ((report.points, report.memories, report.torn, report.tampered, report.histories) for report in reports)
    points, memories, torn, tampered, histories = (amounts.count(sum(numbers)) for numbers in zip(*each, strict=True))
    tried = f"{_of_each(report.workloads for report in reports)} each"
    if any(report.points for report in reports):
        tried += (
            f", {points} points in all; they left {memories} different memories, {torn} of them only by torn or "
            f"reordered writes; an attacker made {tampered} from these"
        )
    if any(report.histories for report in reports):
        tried += f"; {histories} histories over several sessions"
    differing = [(report, row) for report in reports for row in report.rows if not row.agrees]
    if not differing:
        return Group(table, Text(f"All as claimed ({tried}).", style="green"), *_counter_example(reports))
    claims = amounts.counted(sum(len(report.rows) for report in reports), "claim")
    parts = [Text(f"{_differ(len(differing), claims)} ({tried}):", style="bold red")]
    for report, row in differing:
        parts.append(Text(f"  {report.design}: {row.loss} ended {row.worst}, claimed {row.claim or 'nothing'}"))
        if row.example:
            parts.append(Text(f"    {row.example.story} (lines {row.example.workload})", style="dim"))
            parts.append(Text(f"    see it again: {row.example.replay}", style="dim"))
    return Group(table, *parts)


def _of_each(workloads: Iterable[int]) -> str:
    """Returns the number of workloads of each design as text; designs with a persist buffer have more workloads."""
    numbers = sorted(workloads)
    most = amounts.counted(numbers[-1], "workload")
    return most if numbers[0] == numbers[-1] else f"{amounts.count(numbers[0])} to {most}"


def _counter_example(reports: Sequence[CrashReport]) -> Iterable[Text]:
    """Yields a counter-example if only one design is shown and it loses data: the stores, the moment of the loss, and
    the report of the recovery.
    """
    lost = [row for report in reports for row in report.rows if row.loss == "power-loss" and row.worst != "harmless"]
    for row in lost if len(reports) == 1 else []:
        if row.example:
            yield Text(f"  {row.worst}: {row.example.story} (lines {row.example.workload})", style="dim")
            yield Text(f"    see it again: {row.example.replay}", style="dim")


def program_table(reports: Sequence[ProgramReport]) -> RenderableType:
    """Table of designs with the results of a program under each."""
    counted = ("losses", "crashes", "lives", "operations found")
    table = layouts.plain_table("design", "program", "worst", "how often", *counted, right=counted)
    for report in reports:
        often = ", ".join(f"{end} {amounts.count(number)}" for end, number in report.histogram.items())
        numbers = (report.losses, report.crashes, report.lives, report.operations)
        verdict = _verdict(report.worst, report.claim, report.agrees)
        table.add_row(report.design, report.program, verdict, often, *map(amounts.count, numbers))
    examples = []
    for report in reports:
        if report.example:
            examples.append(Text(f"  {report.design}: {report.example.end}: {report.example.story}", style="dim"))
            examples.append(Text(f"    see it again: {report.example.replay}", style="dim"))
    if all(report.agrees for report in reports):
        return Group(table, Text("All as claimed.", style="green"), *examples)
    return Group(table, Text("Not all as claimed:", style="bold red"), *examples)


def exhaustive_table(reports: Sequence[ExhaustiveReport], agrees: bool) -> RenderableType:
    """Table of the results of every flipped bit."""
    table = layouts.plain_table("design", "structure", "bits flipped", "worst", "how often", right=("bits flipped",))
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
    notes = [Text(f"{uncovered} flips were harmless: no data or metadata in use depends on those bits.", style="dim")]
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
