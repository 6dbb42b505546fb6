"""Carries out the runs of a paper's evaluation: workers do those that the results folder lacks."""

from collections.abc import Sequence
from pathlib import Path

from casemate._core import CasemateError
from casemate.reproduce.runs import Case, Key, Runs
from casemate.reproduce.study import Carried, Study
from casemate.schemas.run import Record
from casemate.studies import sweep
from casemate.studies.folder import ResultsFolder
from casemate.studies.points import Checker, Kernel, Point, StoredTrace
from casemate.studies.recordings import NotInstalledError, Recordings
from casemate.studies.sweep import Observer, Workers
from casemate.terminal.work import Work

EARLIER = "runs"
"""Folder in which earlier versions of Casemate kept one file for each run."""


def carry_out(
    study: Study, numbers: Sequence[str], seeds: int, folder: Path, workers: Workers, observer: Observer
) -> Carried:
    """Carries out the runs that these figures need, all runs with one seed before any run with the next, and keeps
    each in the folder.
    """
    with ResultsFolder(folder) as results:
        for notice in [*results.notices, *_of_earlier(folder)]:
            observer.notify(notice)
        failures: list[str] = []
        left_out: list[str] = []
        wanted: dict[Key, Point] = {}
        try:
            inputs = _inputs(study, numbers, Recordings(folder, observer.notify), (failures, left_out))
            wanted, refused = _points(study, numbers, seeds, inputs)
            failures += refused
            known = {point for point, status in results.known.items() if status == "done"}
            missing = {point.hash: point for point in wanted.values() if point.hash not in known}
            work = Work(len(wanted), kept=sum(point.hash in known for point in wanted.values()))
            if work.kept:
                observer.notify(f"{work.kept} of {work.points} runs exist already")
            interrupted = sweep.carry_out(list(missing.values()), results, work, workers, observer)
        except KeyboardInterrupt:
            interrupted = True
        runs, wrong = _runs(wanted, results)
    return Carried(runs, failures + ([] if interrupted else wrong), left_out, interrupted)


def _of_earlier(folder: Path) -> list[str]:
    """Returns a notice of the runs that an earlier version kept: they do not state the content of their traces."""
    files = list((folder / EARLIER).glob("*.json"))
    where = f"'{folder / EARLIER}' has {len(files)} runs of an earlier form of Casemate's studies"
    return [f"{where}: not usable, since they do not say which code made them"] if files else []


def _inputs(
    study: Study, numbers: Sequence[str], recordings: Recordings, unusable: tuple[list[str], list[str]]
) -> dict[str, Kernel | StoredTrace]:
    """Returns the inputs of the cases; names those that fail or are not installed in `unusable`."""
    failures, left_out = unusable
    inputs: dict[str, Kernel | StoredTrace] = {}
    cases: dict[str, Case] = {case.name: case for case, _ in study.needed(numbers)}
    for name, case in cases.items():
        try:
            inputs[name] = recordings.input(case.input)
        except NotInstalledError as error:
            left_out.append(f"{name} is left out: {error}")
        except CasemateError as error:
            failures.append(f"{name} was left out: {error}")
    return inputs


def _points(
    study: Study, numbers: Sequence[str], seeds: int, inputs: dict[str, Kernel | StoredTrace]
) -> tuple[dict[Key, Point], list[str]]:
    """Returns the points of the runs, and the errors of those that cannot be carried out."""
    wanted: dict[Key, Point] = {}
    refused: list[str] = []
    checker = Checker()
    for seed in range(1, seeds + 1):
        for case, setting in study.needed(numbers):
            if case.name not in inputs:
                continue
            try:
                point = checker.with_hash(study.bench.point(case, setting, inputs[case.name], seed))
                wanted[case.name, setting.name, seed] = point
            except CasemateError as error:
                refused.append(f"{case.name} under {setting.name}, seed {seed}: {error}")
    return wanted, refused


def _runs(wanted: dict[Key, Point], results: ResultsFolder) -> tuple[Runs, list[str]]:
    """Returns the records of the runs that are done, and the reasons of those that are not."""
    rows = results.rows({point.hash for point in wanted.values()}, ["record", "error"])
    runs, failures = Runs(), list[str]()
    for (case, setting, seed), point in wanted.items():
        row = rows.get(point.hash, {})
        record = Record.model_validate_json(row["record"]) if row.get("status") == "done" else None
        if record is not None and record.checks.passed:
            runs[case, setting, seed] = record
        else:
            reason = "a check of the run failed" if record else row.get("error") or "it has no record"
            failures.append(f"{case} under {setting}, seed {seed}: {reason}")
    return runs, failures
