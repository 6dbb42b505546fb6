"""Campaigns over several designs: complete results are kept when the user presses Ctrl-C."""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from casemate import api
from casemate.laboratory import arguments
from casemate.schemas.attack import AttackReport, AttackResults, Campaign, Example, ExhaustiveReport
from casemate.schemas.crash import CrashExample, CrashReport, CrashResults, ProgramExample, ProgramReport
from casemate.terminal.progress import Steps
from casemate.text.amounts import short_count

T = TypeVar("T")
Shown = TypeVar("Shown", Example, CrashExample, ProgramExample)


def _each(designs: Sequence[str], steps: Steps, work: Callable[[str], T]) -> tuple[list[T], bool]:
    """Returns the result of `work` for each design, and true if Ctrl-C interrupted the work."""
    done: list[T] = []
    try:
        for index, design in enumerate(designs):
            steps.begin(index, design)
            done.append(work(design))
    except KeyboardInterrupt:
        return done, True
    return done, False


def _agree(reports: Sequence[AttackReport | ExhaustiveReport | CrashReport | ProgramReport]) -> bool:
    """Returns true if all reports agree with the claims; false for an empty list, since Ctrl-C may leave no report."""
    return bool(reports) and all(report.agrees for report in reports)


def attack(
    designs: Sequence[str], row: str | None, trials: int, seed: int, changes: Mapping[str, object], steps: Steps
) -> AttackResults:
    """Carries out all attacks, or only `row`, on each design with its changes."""

    def attacked(design: str) -> AttackReport:
        own = arguments.changes_of_design(changes, design, designs)
        report = api.attack(design, row=row, trials=trials, seed=seed, changes=own, progress=steps.report)
        rows = (
            outcome.model_copy(update={"examples": tuple(_again_with(own, each) for each in outcome.examples)})
            for outcome in report.rows
        )
        return report.model_copy(update={"rows": tuple(rows)})

    reports, interrupted = _each(designs, steps, attacked)
    agrees = _agree(reports)
    listed = arguments.listed(changes)
    return AttackResults(reports=tuple(reports), agrees=agrees, interrupted=interrupted, changes=listed)


def _again_with(changes: Mapping[str, object], example: Shown) -> Shown:
    """Returns an example with the design's changes in the command that repeats it."""
    said = "".join(f" --with {shlex.quote(f'{path}={arguments.written(value)}')}" for path, value in changes.items())
    return example.model_copy(update={"replay": example.replay + said})


def replay(
    designs: Sequence[str], row: str | None, seed: int, changes: Mapping[str, object], steps: Steps
) -> AttackResults:
    """Repeats the trial with this seed, of all attacks or only of `row`, on each design, without a comparison with the
    claims.
    """
    results = attack(designs, row, 1, seed, changes, steps)
    return results.model_copy(update={"agrees": bool(results.reports), "replay": True})


def logged(
    designs: Sequence[str],
    row: str | None,
    trials: int | None,
    budget_seconds: float | None,
    seed: int,
    log: Path,
    steps: Steps,
) -> AttackResults:
    """Carries out many trials of all attacks, or only of `row`, with a log. After Ctrl-C, it returns the content of the
    log.
    """
    rows = len(designs) * (1 if row else len(api.attacks()))
    begun = time.monotonic()

    def report(progress: dict[str, Any] | None) -> None:
        if progress:
            shares = [progress["done"] / (rows * trials)] if trials else []
            shares += [(time.monotonic() - begun) / budget_seconds] if budget_seconds else []
            done = f"{short_count(progress['done'])} trials, {short_count(progress['least'])} or more of each attack"
            steps.begin(0, done)
            steps.report({"done": min(max(shares), 1.0), "of": 1})

    def run(budget: float | None) -> Campaign:
        return api.attack_many(designs, log, row=row, trials=trials, budget_seconds=budget, seed=seed, progress=report)

    before = run(0.0).resumed
    interrupted = False
    try:
        found = run(budget_seconds)
    except KeyboardInterrupt:
        found, interrupted = run(0.0), True
    agrees = _agree(found.reports)
    return AttackResults(
        reports=found.reports, agrees=agrees, interrupted=interrupted, log=str(log), resumed=before,
        added=found.resumed + found.added - before,
    )  # fmt: skip


def attack_bits(designs: Sequence[str], steps: Steps) -> AttackResults:
    """Flips every stored bit under each design."""
    reports, interrupted = _each(designs, steps, lambda design: api.attack_bits(design, progress=steps.report))
    agrees = _agree(reports)
    return AttackResults(exhaustive=tuple(reports), agrees=agrees, interrupted=interrupted)


def crash(
    designs: Sequence[str],
    changes: Mapping[str, object],
    steps: Steps,
    tried: Callable[[str, Mapping[str, object]], CrashReport],
) -> CrashResults:
    """Tries losses of power under each design with its changes; `tried` does it for one design."""

    def one(design: str) -> CrashReport:
        own = arguments.changes_of_design(changes, design, designs)
        report = tried(design, own)
        rows = (
            found.model_copy(update={"example": found.example and _again_with(own, found.example)})
            for found in report.rows
        )
        return report.model_copy(update={"rows": tuple(rows)})

    reports, interrupted = _each(designs, steps, one)
    agrees = _agree(reports)
    listed = arguments.listed(changes)
    return CrashResults(reports=tuple(reports), agrees=agrees, interrupted=interrupted, changes=listed)


def crash_program(
    designs: Sequence[str],
    changes: Mapping[str, object],
    steps: Steps,
    tried: Callable[[str, Mapping[str, object]], ProgramReport],
) -> CrashResults:
    """Tries losses of power of a program under each design with its changes; `tried` does it for one design."""

    def one(design: str) -> ProgramReport:
        own = arguments.changes_of_design(changes, design, designs)
        report = tried(design, own)
        return report.model_copy(update={"example": report.example and _again_with(own, report.example)})

    programs, interrupted = _each(designs, steps, one)
    agrees = _agree(programs)
    listed = arguments.listed(changes)
    return CrashResults(programs=tuple(programs), agrees=agrees, interrupted=interrupted, changes=listed)
