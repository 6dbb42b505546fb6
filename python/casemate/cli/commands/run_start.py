"""Instructions of `casemate run` before counting begins: those without time, and the warm-up."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from casemate.cli import options as values


@dataclass(frozen=True)
class RunStart:
    """Values of the options --untimed and --warm-up."""

    untimed: int
    warm_up: int


def options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options of the start of a run, which reach the command as one argument, `start`."""

    @click.option(
        "--untimed",
        type=values.Count(finite=True),
        default=0,
        metavar="N",
        help="Execute the first N instructions without simulated time, before the warm-up, so that the run begins with "
        "full caches, locks, TLBs and metadata. The limit includes them. The machine must have one core.",
    )
    @click.option(
        "--warm-up",
        type=values.Count(finite=True),
        default=0,
        metavar="N",
        help="Simulate N instructions of each program before counting begins; the limit includes them.",
    )
    @functools.wraps(command)
    def with_start(*given: Any, untimed: int, warm_up: int, **others: Any) -> int:
        return command(*given, start=RunStart(untimed, warm_up), **others)

    return with_start
