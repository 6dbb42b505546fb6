"""`casemate run --power-loss`: power is cut on the whole machine while a program runs."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from casemate._core import CasemateError
from casemate.cli.main import EXIT_INTERRUPTED, EXIT_NO
from casemate.terminal import screen
from casemate.text.amounts import parse_count, parse_energy

if TYPE_CHECKING:
    from casemate.laboratory.requests import Runnable, RunOptions


@dataclass(frozen=True)
class RequestedLoss:
    """Values of the options --power-loss, --losses, --battery and --tamper."""

    at: str
    losses: int
    battery: str | None
    tamper: int | None


class _Read(click.ParamType[str]):
    """Type of an option with a text that a function can parse."""

    name = "text"

    def __init__(self, read: Callable[[str], object]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the text unchanged, if the function can parse it."""
        try:
            self._read(str(value))
        except (ValueError, CasemateError) as error:
            self.fail(str(error), param, ctx)
        return str(value)


def _moment(text: str) -> object:
    from casemate.laboratory.power_loss import moment

    return moment(text)


def _stored_lines(text: str) -> int:
    """Returns a number of stored lines. Raises `ValueError` with the expected form."""
    try:
        number = parse_count(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(
            f"'{text}' is no number of stored lines: expected a whole number of at least 1, as in --tamper 1"
        )
    return number


def options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options of the power loss, which reach the command as one argument, `loss`."""

    @click.option(
        "--power-loss",
        "power_loss",
        metavar="AT",
        type=_Read(_moment),
        help="Cut the power of the whole machine: after N instructions of all cores (1.5M), at a simulated time "
        "(20us), or at a random moment. If the program ends sooner, power fails at its end. Let the design's "
        "battery drain, if any, recover, and compare all of memory with the program's accepted stores.  [default "
        "designs: plp-sp, secure-eadr]",
    )
    @click.option(
        "--losses",
        type=click.IntRange(1),
        metavar="N",
        help="With --power-loss: the number of losses, each with the next seed. A program runs anew for each loss, "
        "without standard input; with 'random' also once before, to measure its length.  [default: 1]",
    )
    @click.option(
        "--battery",
        metavar="ENERGY",
        type=_Read(parse_energy),
        help="With --power-loss: the energy of the battery, as in 1.7mJ; it fails at the operation that exceeds this.",
    )
    @click.option(
        "--tamper",
        metavar="N",
        type=_Read(_stored_lines),
        help="With --power-loss: an attacker flips one bit in each of N lines that memory stores, before the machine "
        "recovers. The seed draws them from lines of all kinds: data, counters, tags, nodes. The end must not be worse "
        "than the design claims for tampering while power is off.",
    )
    @functools.wraps(command)
    def with_loss(
        *given: Any,
        power_loss: str | None,
        losses: int | None,
        battery: str | None,
        tamper: str | None,
        **options: Any,
    ) -> int:
        lonely = "--losses" if losses else "--battery" if battery else "--tamper" if tamper else None
        if power_loss is None and lonely:
            raise click.UsageError(
                f"{lonely} applies to losses of power: add --power-loss AT, as in --power-loss random"
            )
        lines = None if tamper is None else _stored_lines(tamper)
        loss = RequestedLoss(power_loss, losses or 1, battery, lines) if power_loss is not None else None
        return command(*given, loss=loss, **options)

    return with_loss


def usual_designs() -> tuple[str, ...]:
    """Returns the default designs."""
    from casemate.laboratory.power_loss import DEFAULT_DESIGNS

    return DEFAULT_DESIGNS


def check(context: click.Context, **other: object) -> None:
    """Refuses options that have no meaning if power is cut."""
    for name, given in other.items():
        if given:
            option = {"folder": "--output"}.get(name, f"--{name.replace('_', '-')}")
            raise click.UsageError(
                f"{option} is for runs without a loss of power: leave it out of --power-loss", context
            )


def run(
    what: "Runnable",
    on: tuple[tuple[str, ...], tuple[str, ...]],
    changes: Mapping[str, str],
    options: "RunOptions",
    loss: RequestedLoss,
    as_json: bool,
) -> int:
    """Cuts the power as often as requested, and shows the recovered memory. `on` are the designs and the machines."""
    from casemate.laboratory.power_loss import LossOptions, lose_power
    from casemate.tables.power_loss_table import power_loss_table
    from casemate.terminal.progress import Steps

    designs, machines = on
    requested = LossOptions(at=loss.at, losses=loss.losses, run=options, battery=loss.battery, tamper=loss.tamper)
    with Steps(screen.notices(), "Cutting the power", 1) as progress:
        progress.begin(0, f"{', '.join(designs)} on {', '.join(machines)}")
        results = lose_power(
            what,
            designs=designs,
            machine=machines,
            changes=changes,
            loss=requested,
            progress=progress.report,
        )
    if as_json:
        screen.print_json(results)
    elif results.losses:
        battery = f", a battery of {loss.battery}" if loss.battery else ""
        screen.results().print(power_loss_table(results, f"Power lost at {loss.at}{battery}"))
    if results.interrupted:
        return EXIT_INTERRUPTED
    return 0 if results.passed and not results.idle else EXIT_NO
