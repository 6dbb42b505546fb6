"""Losses of power on a whole machine: programs run until power fails, and what recovery brings back is compared."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from casemate import amounts, asked, laboratory
from casemate._core import CasemateError
from casemate.requests import Runnable, RunOptions, runnables
from casemate.results.power_loss import PowerLosses

DEFAULT_DESIGNS = ("plp-sp", "secure-eadr")
"""What is tried if nothing is said: two designs that keep their memory on the default machine."""

DEFAULT_MACHINE = "modern"


@dataclass(frozen=True, kw_only=True)
class LossOptions:
    """When power fails, how often, and what the battery holds."""

    at: str = "random"
    """When: after so many instructions of all cores together (`"1.5M"`), at a simulated time (`"20us"`), or `"random"`,
    at an event of the run that the seed draws, for which it is run as a whole once more. Programs that end before
    lose it when their last store was accepted."""
    losses: int = 1
    """How many losses, each of a machine of its own with the next seed. A program of this computer runs anew for each,
    without standard input."""
    run: RunOptions = field(default_factory=RunOptions)
    """How the programs are run; all in detail, without a warm-up, and without files beside it."""
    battery: str | None = None
    """What the battery holds, as in `"1.7mJ"`: it dies at the operation that takes more. Nothing if it always lasts."""

    def __post_init__(self) -> None:
        asked.check(self)

    def asked(self) -> dict[str, Any]:
        """The request in the form of the laboratory. Raises `CasemateError` if it makes no sense."""
        if self.losses < 1:
            raise CasemateError(f"losses is {self.losses}: expected at least 1")
        try:
            battery = None if self.battery is None else amounts.parse_energy(self.battery)
        except ValueError as error:
            raise CasemateError(str(error)) from None
        return {"at": moment(self.at), "losses": self.losses, "battery_fj": battery}


def moment(text: str) -> dict[str, int] | str:
    """When power fails, in the form of the laboratory. Raises `CasemateError` with what was expected."""
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
    """Runs programs under designs until power fails, and compares what a fresh chip recovers with what was stored.

    All but `loss` is as of `casemate.run`. Raises `CasemateError` if anything asked for is not to be had, also for a
    design that keeps nothing over a loss of power.
    """
    loss = loss or LossOptions()
    programs = runnables(what)
    names, machines = asked.names(designs, "design"), asked.names(machine, "machine")
    spec = loss.run.asked(programs) | {
        "designs": names,
        "machines": machines,
        "changes": asked.changes(changes, machines, names),
        "programs": [program.asked(loss.run.check_values) for program in programs],
    }
    told = laboratory.lose_power(
        laboratory.to_json(spec),
        laboratory.to_json(loss.asked()),
        lambda text: progress(json.loads(text)) if progress else None,
    )
    return PowerLosses.model_validate_json(told)
