"""Losses of power on a whole machine: programs run until power fails, and the recovered memory is compared with their
stores.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from casemate._core import CasemateError
from casemate.laboratory import arguments, native
from casemate.laboratory.requests import DEFAULT_MACHINE, Runnable, RunOptions, runnables
from casemate.schemas.power_loss import PowerLosses
from casemate.text import amounts
from casemate.text.shown import ShortRepr

DEFAULT_DESIGNS = ("plp-sp", "secure-eadr")
"""Default designs: two that preserve data over a loss of power, on the default machine."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LossOptions(ShortRepr):
    """Moment and number of the losses, the energy of the battery, and an attacker."""

    at: str = "random"
    """Moment of the loss: after a number of instructions of all cores together (`"1.5M"`), at a simulated time
    (`"20us"`), or `"random"`. A random moment is an event of the run, drawn by the seed; to know the number of events,
    the whole run is simulated once more. If the programs end before the moment, power fails once their last store has
    been accepted.
    """
    losses: int = 1
    """Number of losses, each on a separate machine with the next seed. A program of this computer runs anew for each
    loss, without standard input.
    """
    run: RunOptions = field(default_factory=RunOptions)
    """Options of the programs' run. They must simulate all instructions in detail, without a warm-up and without output
    files.
    """
    battery: str | None = None
    """Energy of the battery, as in `"1.7mJ"`; the battery fails at the first operation that needs more than the
    remaining energy. `None` for unlimited energy.
    """
    tamper: int | None = None
    """Number of stored lines, of any kind, in which an attacker flips one bit each while power is off. `None` for no
    attacker.
    """

    def __post_init__(self) -> None:
        arguments.check(self)

    def as_request(self) -> dict[str, Any]:
        """Returns the request in the form that the native functions accept. Raises `CasemateError` if a value is
        invalid.
        """
        if self.losses < 1:
            raise CasemateError(f"losses is {self.losses}: expected at least 1")
        try:
            battery = None if self.battery is None else amounts.parse_energy(self.battery)
        except ValueError as error:
            raise CasemateError(str(error)) from None
        if self.tamper is not None and self.tamper < 1:
            raise CasemateError(f"tamper is {self.tamper}: expected at least 1")
        return {"at": moment(self.at), "losses": self.losses, "battery_fj": battery, "tamper": self.tamper}


def moment(text: str) -> dict[str, int] | str:
    """Returns the moment in the form for native functions. Raises `CasemateError` with the expected form."""
    if text == "random":
        return "random"
    for key, parse in (("instructions", amounts.parse_count), ("time_fs", amounts.parse_simulated)):
        try:
            return {key: parse(text)}
        except ValueError:
            continue
    raise CasemateError(
        f"'{text}' is no moment: expected a number of instructions as in 1.5M, a simulated time as in 20us, or random"
    )


def lose_power(
    what: Runnable,
    *,
    designs: str | tuple[str, ...] | list[str] = DEFAULT_DESIGNS,
    machine: str | tuple[str, ...] | list[str] = DEFAULT_MACHINE,
    changes: Mapping[str, object] | None = None,
    loss: LossOptions | None = None,
    progress: Callable[[dict[str, Any]], object] | None = None,
) -> PowerLosses:
    """Runs programs under designs until power fails, and compares the memory that a fresh chip recovers with the
    programs' accepted stores.

    All arguments but `loss` are as for `casemate.run`. Raises `CasemateError` if anything requested does not exist, and
    for a design that preserves no data over a loss of power.
    """
    loss = loss or LossOptions()
    programs = runnables(what)
    names, machines = arguments.names(designs, "design"), arguments.names(machine, "machine")
    spec = loss.run.as_request(programs) | {
        "designs": names,
        "machines": machines,
        "changes": arguments.changes(changes, machines, names),
        "programs": [program.as_request(loss.run.check_values) for program in programs],
    }
    answer = native.lose_power(
        native.to_json(spec),
        native.to_json(loss.as_request()),
        lambda text: progress(json.loads(text)) if progress else None,
    )
    return PowerLosses.model_validate_json(answer)
