"""Studies, for people: the plan of a study, and its results."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from casemate.reproduce.report import of_cases
from casemate.schemas.sweep import SweepPlan, SweepResult
from casemate.terminal import interruption
from casemate.text import amounts
from casemate.text.amounts import count, short_time

SHOWN_FAILURES = 10


def plan(found: SweepPlan) -> RenderableType:
    """Returns the work that a study would be, a line for each question."""
    left = found.points - found.kept - found.failed
    time = "unknown, since no point is done yet" if found.seconds is None else f"about {short_time(found.seconds)}"
    lines = [
        ("points", f"{count(found.points)}, of which {count(found.kept)} are done"),
        ("to do", f"{count(left)} on {amounts.counted(found.workers, 'worker')}"),
        ("time", time if left else "none"),
        ("disk", f"about {amounts.size(found.disk_bytes)}{_left_out(found)}"),
        ("memory", f"up to {amounts.size(found.memory_bytes)}"),
    ]
    if found.failed:
        lines.append(("failed", f"{count(found.failed)}: --retry failed repeats them"))
    if found.not_recorded:
        lines.append(("to record", ", ".join(found.not_recorded)))
    lines += [("note", sentence) for sentence in found.equal_programs]
    width = max(len(name) for name, _ in lines)
    head = Text(f"study {found.study}, results in {found.folder}", style="bold")
    return Group(head, *(Text(f"  {name:{width}}  {value}") for name, value in lines))


def _left_out(found: SweepPlan) -> str:
    """Returns the recordings that the estimate of the disk leaves out; empty if there are none."""
    if not found.without_limit:
        return ""
    some = found.without_limit != found.not_recorded
    recordings = f"the recordings of {', '.join(found.without_limit)}" if some else "recordings"
    return f", without {recordings}, whose length is not known"


def tables(found: SweepResult) -> RenderableType:
    """Returns the figures of a study, then its failures."""
    return Group(*_parts(found))


def _parts(found: SweepResult) -> Iterator[RenderableType]:
    before = f", {count(found.kept)} of them before" if found.kept else ""
    done = f"{count(found.kept + found.done)} of {count(found.points)} points done{before}"
    yield Text(f"study {found.study}: {done}", style="bold")
    yield from (Text(sentence, style="yellow") for sentence in found.equal_programs)
    for figure in found.figures:
        yield of_cases(figure)
    for failure in found.failures[:SHOWN_FAILURES]:
        yield Text(f"{failure.title} failed: {failure.error}", style="red")
        yield Text(f"  {failure.command}", style="dim")
    if len(found.failures) > SHOWN_FAILURES:
        yield Text(f"and {len(found.failures) - SHOWN_FAILURES} more: casemate results {found.folder} --failed")
    if found.doubtful:
        points = ", ".join(point[:12] for point in found.doubtful[:SHOWN_FAILURES])
        yield Text(f"a check failed, or a campaign contradicts its claims: {points}", style="red")
    if found.failures:
        yield Text("--retry failed repeats them.")
    if found.interrupted:
        yield Text(f"Stopped by {interruption.cause()}: the same command continues from here.", style="yellow")
    yield Text(f"casemate results {found.folder} shows the rows.", style="dim")
    yield Text(f"casemate report {found.folder} -o {found.study}.html makes a page of the figures.", style="dim")
