"""Losses of power on a whole machine as a table: a row for each design, followed by the mismatches."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casemate.schemas.catalogue import SEVERITY
from casemate.schemas.power_loss import Mismatch, PowerLoss, PowerLosses, Tampering
from casemate.terminal import interruption
from casemate.text import amounts

LISTED = 10
"""Maximum number of losses with mismatches that are listed."""


def power_loss_table(results: PowerLosses, title: str) -> RenderableType:
    """Table of losses of power and their results."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column("design")
    for column in (
        "losses",
        "failed at",
        "stores accepted",
        "lines on battery",
        "battery needed",
        "lines compared",
        "losing",
    ):
        table.add_column(column, justify="right")
    for design, machine in dict.fromkeys((loss.design, loss.machine) for loss in results.losses):
        of = [loss for loss in results.losses if (loss.design, loss.machine) == (design, machine)]
        table.add_row(f"{design} on {machine}", *_cells(of))
    tampered = [loss for loss in results.losses if loss.tamper]
    return Group(table, *_mismatches(results.losses), *_tampering(tampered), *_verdict(results))


def _tampering(losses: Sequence[PowerLoss]) -> Iterator[RenderableType]:
    """Yields a table of tampering while power was off, and the first wrong lines of designs that claim to detect it."""
    if not losses:
        return
    title = "Tampering while power was off"
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column("design")
    for column in ("lines changed", "read right", "refused", "read wrong", "ended", "claimed"):
        table.add_column(column, justify="right")
    for design, machine in dict.fromkeys((loss.design, loss.machine) for loss in losses):
        of = [loss.tamper for loss in losses if (loss.design, loss.machine) == (design, machine) and loss.tamper]
        table.add_row(f"{design} on {machine}", *_tampering_cells(of))
    yield table
    for loss in losses:
        if loss.tamper and not loss.tamper.as_claimed:
            first = f": {_words(loss.tamper.mismatches[0])}" if loss.tamper.mismatches else ""
            claim = loss.tamper.claim or "no end"
            words = f"tampering ended {loss.tamper.end}, and the design claims {claim}{first}"
            yield Text(f"{loss.design}, seed {loss.seed}, {_when(loss)}: {words}", style="red")


def _tampering_cells(outcomes: Sequence[Tampering]) -> list[str | Text]:
    kinds = dict.fromkeys(kind for outcome in outcomes for kind in outcome.changed)
    changed = (f"{sum(outcome.changed.get(kind, 0) for outcome in outcomes):,} {kind}" for kind in kinds)
    ends = sorted({outcome.end for outcome in outcomes}, key=SEVERITY.index)
    claims = dict.fromkeys(outcome.claim or "-" for outcome in outcomes)
    as_claimed = all(outcome.as_claimed for outcome in outcomes)
    return [
        ", ".join(changed),
        amounts.count(sum(outcome.lines_right for outcome in outcomes)),
        amounts.count(sum(outcome.lines_refused for outcome in outcomes)),
        amounts.count(sum(outcome.lines_wrong for outcome in outcomes)),
        Text(", ".join(ends), style="green" if as_claimed else "bold red"),
        ", ".join(claims),
    ]


def _verdict(results: PowerLosses) -> Iterator[Text]:
    wrong = sum(not loss.passed for loss in results.losses)
    whole = all(loss.wrong == 0 and not loss.pad_used_twice for loss in results.losses)
    if results.idle:
        yield Text(f"No line was compared under {', '.join(results.idle)}: memory held no line yet.", style="yellow")
    ended = sum(loss.at.ended for loss in results.losses)
    if ended:
        yield Text(f"{amounts.counted(ended, 'loss')} happened after the programs had ended.", style="yellow")
    if results.interrupted:
        yield Text(f"Stopped by {interruption.cause()}: the table has the losses up to then.", style="yellow")
    if wrong:
        yield Text(f"{wrong} of {len(results.losses)} losses of power failed the check", style="bold red")
    if whole and not results.idle:
        said = "Recovered memory contains exactly the accepted stores."
        if any(loss.tamper for loss in results.losses):
            said = "Without the attacker, recovered memory contains exactly the accepted stores."
        yield Text(said, style="green")


def _cells(losses: Sequence[PowerLoss]) -> list[str | Text]:
    wrong = sum(not loss.passed for loss in losses)
    batteries = [loss.battery for loss in losses if loss.battery]
    return [
        amounts.count(len(losses)),
        _moments(losses),
        amounts.count(sum(loss.stores.accepted for loss in losses)),
        f"up to {max(battery.lines for battery in batteries):,}" if batteries else "-",
        f"up to {max(battery.needed_nj for battery in batteries) / 1e6:.4g} mJ" if batteries else "-",
        amounts.count(sum(loss.lines_compared for loss in losses)),
        Text(amounts.count(wrong), style="bold red" if wrong else "green"),
    ]


def _moments(losses: Sequence[PowerLoss]) -> str:
    times = [loss.at.time_fs / 1e9 for loss in losses]
    first, last = f"{min(times):,.3f}", f"{max(times):,.3f}"
    return f"{first} us" if first == last else f"{first} to {last} us"


def _mismatches(losses: Sequence[PowerLoss]) -> Iterator[Text]:
    listed = [loss for loss in losses if loss.mismatches]
    for loss in listed[:LISTED]:
        others = "" if loss.wrong == 1 else f"; and {loss.wrong - 1:,} more (--json has the first of them)"
        words = _words(loss.mismatches[0])
        yield Text(f"{loss.design}, seed {loss.seed}, {_when(loss)}: {words}{others}", style="red")
    if len(listed) > LISTED:
        yield Text(f"... and {len(listed) - LISTED:,} more losses of power (--json has them)", style="red")
    for loss in losses:
        if loss.pad_used_twice:
            yield Text(f"{loss.design}, seed {loss.seed}: a pad hid two texts", style="red")


def _when(loss: PowerLoss) -> str:
    dead = loss.battery.died_after if loss.battery else None
    died = "" if dead is None else f", battery dead after {amounts.counted(dead, 'operation')}"
    return f"{loss.at.time_fs / 1e9:.3f} us{died}"


def _words(mismatch: Mismatch) -> str:
    where = "" if mismatch.line is None else f"line {mismatch.line:#x}, "
    store = ""
    if mismatch.store is not None and mismatch.pc is not None and mismatch.address is not None:
        store = f"store {mismatch.store:,} of core {mismatch.core} at {mismatch.pc:#x} to {mismatch.address:#x}, "
    return f"{where}{store}session {mismatch.session}: {mismatch.words}"
