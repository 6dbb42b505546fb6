"""Campaigns over several designs: what is complete is kept when Ctrl-C is pressed."""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from casemate import api, asked
from casemate.amounts import short_count
from casemate.progress import Steps
from casemate.results.attack import AttackReport, AttackResults, Campaign, Outcome
from casemate.results.crash import CrashReport, CrashResults, ProgramReport

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


def attack(
    designs: Sequence[str], row: str | None, trials: int, seed: int, changes: Mapping[str, object], steps: Steps
) -> AttackResults:
    """All attacks, or only `row`, on each design with what is changed of it."""

    def attacked(design: str) -> AttackReport:
        own = asked.changes_of_design(changes, design, designs)
        report = api.attack(design, row=row, trials=trials, seed=seed, changes=own, progress=steps.tell)
        return _replayed_with(report, own)

    reports, interrupted = _each(designs, steps, attacked)
    agrees = all(report.agrees for report in reports)
    return AttackResults(reports=tuple(reports), agrees=agrees, interrupted=interrupted)


def _replayed_with(report: AttackReport, changes: Mapping[str, object]) -> AttackReport:
    """The same, where what shows an example again also changes what was changed of the design."""
    said = "".join(f" --with {shlex.quote(f'{path}={asked.written(value)}')}" for path, value in changes.items())

    def again(outcome: Outcome) -> Outcome:
        examples = tuple(one.model_copy(update={"replay": one.replay + said}) for one in outcome.examples)
        return outcome.model_copy(update={"examples": examples})

    return report.model_copy(update={"rows": tuple(again(outcome) for outcome in report.rows)})


def replay(
    designs: Sequence[str], row: str | None, seed: int, changes: Mapping[str, object], steps: Steps
) -> AttackResults:
    """How the trial with this seed ends, of all attacks or only of `row`, on each design, whatever is claimed."""
    results = attack(designs, row, 1, seed, changes, steps)
    return results.model_copy(update={"agrees": True, "replay": True})


def logged(
    designs: Sequence[str],
    row: str | None,
    trials: int | None,
    budget_seconds: float | None,
    seed: int,
    log: Path,
    steps: Steps,
) -> AttackResults:
    """Many trials of all attacks, or only of `row`, with a log. After Ctrl-C, what the log holds."""
    rows = len(designs) * (1 if row else len(api.attacks()))
    begun = time.monotonic()

    def tell(progress: dict[str, Any] | None) -> None:
        if progress:
            shares = [progress["done"] / (rows * trials)] if trials else []
            shares += [(time.monotonic() - begun) / budget_seconds] if budget_seconds else []
            done = f"{short_count(progress['done'])} trials, {short_count(progress['least'])} or more of each attack"
            steps.begin(0, done)
            steps.tell({"done": min(max(shares), 1.0), "of": 1})

    def run(budget: float | None) -> Campaign:
        return api.campaign(designs, log, row=row, trials=trials, budget_seconds=budget, seed=seed, progress=tell)

    before = run(0.0).resumed
    interrupted = False
    try:
        found = run(budget_seconds)
    except KeyboardInterrupt:
        found, interrupted = run(0.0), True
    agrees = all(report.agrees for report in found.reports)
    return AttackResults(
        reports=found.reports, agrees=agrees, interrupted=interrupted, log=str(log), resumed=before,
        added=found.resumed + found.added - before,
    )  # fmt: skip


def exhaustive(designs: Sequence[str], steps: Steps) -> AttackResults:
    """The flip of every bit, under each design."""
    reports, interrupted = _each(designs, steps, lambda design: api.exhaustive(design, progress=steps.tell))
    agrees = all(report.agrees for report in reports)
    return AttackResults(exhaustive=tuple(reports), agrees=agrees, interrupted=interrupted)


def crash(
    designs: Sequence[str], row: str | None, workload: int | None, seed: int, thorough: bool, steps: Steps
) -> CrashResults:
    """Losses of power under each design."""

    def one(design: str) -> CrashReport:
        return api.crash(design, row=row, workload=workload, seed=seed, thorough=thorough, progress=steps.tell)

    reports, interrupted = _each(designs, steps, one)
    agrees = all(report.agrees for report in reports)
    return CrashResults(reports=tuple(reports), agrees=agrees, interrupted=interrupted)


def survive(
    designs: Sequence[str], program: str, settings: Mapping[str, str], losses: int, seed: int, steps: Steps
) -> CrashResults:
    """Losses of power of a program under each design."""

    def one(design: str) -> ProgramReport:
        return api.survive(design, program, losses=losses, settings=settings, seed=seed, progress=steps.tell)

    programs, interrupted = _each(designs, steps, one)
    agrees = all(report.agrees for report in programs)
    return CrashResults(programs=tuple(programs), agrees=agrees, interrupted=interrupted)
