"""Campaigns over several designs: what is complete is kept when Ctrl-C is pressed."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from casemate import api
from casemate.progress import Steps
from casemate.results.attack import AttackResults, ExhaustiveReport
from casemate.results.catalogue import worse

T = TypeVar("T")


def _each(designs: Sequence[str], steps: Steps, work: Callable[[str], T]) -> tuple[list[T], bool]:
    """The work's result for each design, and whether it was interrupted."""
    done: list[T] = []
    try:
        for index, design in enumerate(designs):
            steps.begin(index, design)
            done.append(work(design))
    except KeyboardInterrupt:
        return done, True
    return done, False


def attack(designs: Sequence[str], row: str | None, trials: int, seed: int, steps: Steps) -> AttackResults:
    """All attacks, or only `row`, on each design."""
    reports, interrupted = _each(
        designs, steps, lambda design: api.attack(design, row=row, trials=trials, seed=seed, progress=steps.tell)
    )
    agrees = all(report.agrees for report in reports)
    return AttackResults(reports=tuple(reports), agrees=agrees, interrupted=interrupted)


def exhaustive(designs: Sequence[str], steps: Steps) -> AttackResults:
    """The flip of every bit, under each design."""
    reports, interrupted = _each(designs, steps, lambda design: api.exhaustive(design, progress=steps.tell))
    agrees = all(_as_claimed(design, report) for design, report in zip(designs, reports, strict=False))
    return AttackResults(exhaustive=tuple(reports), agrees=agrees, interrupted=interrupted)


def _as_claimed(design: str, report: ExhaustiveReport) -> bool:
    """Whether no flipped bit ended worse than the design claims for flips in that structure."""
    claims = api.design(design).claims
    flips = {row.structure: "node" if row.structure.startswith("tree") else row.structure for row in report.rows}
    return not any(
        worse(verdict, claims[f"flip-{flips[row.structure]}"]) for row in report.rows for verdict in row.histogram
    )
