"""Carries out many runs in parallel and keeps the record of each in a separate file. A run with a readable file is not
repeated.

A run is one case (a workload, on all cores) under one setting (a design, and changes of machine and design) with one
seed. The seed decides the placement of pages, the keys, and the data of built-in workloads. The file name contains a
digest of all inputs of the run, so that a run with a changed machine file has another name. The digest contains the
version of Casemate but not its code: a user who changes the code must use another folder.

Runs of one case and seed on one machine share one execution of the workload. The reason is that a program may build a
large graph for longer than the simulation of the counted window takes.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from casemate import api
from casemate._core import CasemateError, __version__
from casemate.laboratory.requests import BuiltIn, Persistent, Program, RunOptions, Trace
from casemate.schemas.base import Result
from casemate.schemas.run import Record, RunResults
from casemate.terminal import screen

Changes = dict[str, object]


@dataclass(frozen=True)
class Recorded:
    """A program of this computer; the study first records a part of its execution."""

    command: tuple[str, ...]
    skip: int
    """Number of instructions before the recorded part."""
    text: str = ""
    """Content of a generated file; the command contains `{text}` for its name."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Required commands and files, each with its Debian package."""

    def missing(self) -> str:
        """Returns the missing requirements, and how to install them; empty if all are installed."""
        absent = [(needed, package) for needed, package in self.packages.items() if _found(needed) is None]
        names = ", ".join(f"'{needed}'" for needed, _ in absent)
        packages = " ".join(sorted({package for _, package in absent}))
        return f"{names} is not installed (try: apt-get install {packages})" if absent else ""

    def words(self, text: Path) -> list[str]:
        """Returns the command with the path of the file that it reads."""
        program, *rest = self.command
        return [_found(program) or program, *(word.replace("{text}", str(text)) for word in rest)]


@dataclass(frozen=True)
class Case:
    """One workload, run on each core in separate memory."""

    name: str
    group: str
    """Group of the case: a figure covers the cases of some groups."""
    workload: str | None = None
    """Name of a built-in workload."""
    settings: dict[str, object] = field(default_factory=dict)
    recorded: Recorded | None = None
    """Recorded program instead of a built-in workload."""
    warm_up: int = 2_000_000
    """Instructions on each core before counting begins."""
    counted: int = 1_000_000
    """Instructions on each core that are counted."""
    persistent: Persistent = "all"
    """Part of a program's memory that must survive a loss of power."""
    program: str | None = None
    """Name of another case that provides the recording, if there are several with the same program."""


@dataclass(frozen=True)
class Setting:
    """A design on the study's machine, with changes of their keys."""

    name: str
    design: str
    changes: Changes = field(default_factory=dict)

    def changed(self, of: Literal["machine", "design"]) -> Changes:
        """Returns only the changes of the machine, or only those of the design."""
        return {path: value for path, value in self.changes.items() if path.startswith(f"{of}.")}


@dataclass(frozen=True)
class Job:
    """One run to carry out."""

    case: Case
    setting: Setting
    machine: str
    copies: int
    seed: int
    trace: str | None
    shared: Mapping[str, Any]
    """Options of all runs of the study."""
    path: Path

    @property
    def program(self) -> BuiltIn | Trace:
        """Program that each core runs."""
        return (
            Trace(self.trace, self.case.persistent)
            if self.trace
            else BuiltIn(self.case.workload or self.case.name, self.case.settings)
        )

    @property
    def key(self) -> tuple[str, str, int]:
        """Key of the run's record."""
        return self.case.name, self.setting.name, self.seed


class NotInstalledError(CasemateError):
    """The program of a case is not installed on this computer."""


Runs = dict[tuple[str, str, int], Record]
"""Records of runs by the name of the case, the name of the setting, and the seed."""


class Store:
    """A folder with the runs of a study."""

    def __init__(self, folder: Path, machine: str, copies: int, shared: Mapping[str, Any] | None = None) -> None:
        self._folder, self._machine, self._copies, self._shared = folder, machine, copies, dict(shared or {})
        for part in ("runs", "traces"):
            screen.make_folder(folder / part)
        self._machines = {known.name: known for known in api.machines()}

    def trace(self, case: Case) -> Path | None:
        """Returns the path of the recording of a case's program; `None` for a built-in workload. Raises
        `NotInstalledError` if the program is not on this computer, and `CasemateError` if it cannot be recorded.
        """
        if case.recorded is None:
            return None
        limit = case.warm_up + case.counted
        key = [*case.recorded.command, case.recorded.skip, limit, case.recorded.text]
        path = self._folder / "traces" / f"{case.program or case.name}-{_digest(key)}.trace"
        if not _is_whole(path):
            if missing := case.recorded.missing():
                raise NotInstalledError(missing)
            source = path.with_suffix(".c")
            if case.recorded.text:
                screen.write_whole(source, case.recorded.text.encode())
            partial = path.with_suffix(".partial")
            if api.record(
                Program(case.recorded.words(source), skip=case.recorded.skip), partial, limit=limit
            ).interrupted:
                partial.unlink()
                raise KeyboardInterrupt
            partial.replace(path)
        return path

    def job(self, case: Case, setting: Setting, trace: Path | None, seed: int = 1) -> Job:
        """The run of a case under a setting."""
        key = [
            __version__, case.workload, case.settings, str(trace and trace.name), case.warm_up, case.counted,
            written(api.design(setting.design).parts), written(self._machines[self._machine]), setting.changes,
            self._copies, seed, self._shared, *([] if case.persistent == "all" else [case.persistent]),
        ]  # fmt: skip
        path = self._folder / "runs" / f"{case.name}-{setting.name}-{seed}-{_digest(key)}.json"
        stored = str(trace) if trace else None
        return Job(case, setting, self._machine, self._copies, seed, stored, self._shared, path)

    def carry_out(self, jobs: Iterable[Job], report: Callable[[int, Job], object]) -> tuple[Runs, list[str]]:
        """Returns the records of all runs, started in this order, and the failures. After each run that had no record,
        it calls `report` with the number of these runs that are done. After Ctrl-C the files of finished runs remain.
        """
        wanted, failures = list(jobs), []
        runs = kept(wanted)
        for number, (job, error) in enumerate(_done([job for job in wanted if job.key not in runs])):
            report(number + 1, job)
            record = _kept(job)
            if record:
                runs[job.key] = record
            else:
                failures.append(f"{job.case.name} under {job.setting.name}, seed {job.seed}: {error}")
        return runs, failures


def _found(needed: str) -> str | None:
    """Returns the path of a program or a file. It also searches `/usr/games`, which not every user has in the path."""
    if "/" in needed:
        return needed if Path(needed).exists() else None
    return shutil.which(needed) or shutil.which(needed, path="/usr/games")


def _is_whole(trace: Path) -> bool:
    """Returns true if a recording exists and can be read to its end."""
    try:
        return trace.exists() and bool(api.trace_info(trace))
    except CasemateError:
        return False


def kept(jobs: Iterable[Job]) -> Runs:
    """Returns the records that the folder already contains. It ignores files that cannot be read, such as truncated
    ones.
    """
    return {job.key: record for job in jobs if (record := _kept(job))}


def _kept(job: Job) -> Record | None:
    try:
        return Record.model_validate_json(job.path.read_bytes()) if job.path.exists() else None
    except (ValidationError, OSError):
        return None


def _done(jobs: list[Job]) -> Iterator[tuple[Job, str | None]]:
    """Carries out runs in parallel processes, and yields each with its error as it ends."""
    batches = together(jobs)
    if not batches:
        return
    # Do not fork: a process that contains threads must not be forked.
    context = multiprocessing.get_context("spawn")
    workers = min(len(os.sched_getaffinity(0)), len(batches))
    with context.Pool(workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        for done in pool.imap_unordered(_run, batches):
            yield from done


def together(jobs: Iterable[Job]) -> list[tuple[Job, ...]]:
    """Groups runs into batches that can share one execution of their workload: runs of one case and seed, with the same
    changes of the machine, each under another design.
    """
    batches: dict[tuple[str, int], list[Job]] = {}
    met: Counter[tuple[str, str]] = Counter()
    for job in jobs:
        alike = _digest([job.case.name, job.seed, job.setting.changed("machine")])
        # The second run under a design is in the second batch of its kind.
        batches.setdefault((alike, met[alike, job.setting.design]), []).append(job)
        met[alike, job.setting.design] += 1
    return [tuple(batch) for batch in batches.values()]


def _run(batch: tuple[Job, ...]) -> list[tuple[Job, str | None]]:
    """Carries out a batch of runs and stores their records. Returns each run with its error, `None` on success."""
    job, case = batch[0], batch[0].case
    changes = job.setting.changed("machine")
    for each in batch:
        for path, value in each.setting.changed("design").items():
            changes[f"design.{each.setting.design}.{path.removeprefix('design.')}"] = value
    try:
        results = api.run(
            job.copies * [job.program],
            designs=[each.setting.design for each in batch],
            machine=job.machine,
            changes=changes,
            options=RunOptions(
                limit=case.warm_up + case.counted,
                warm_up=case.warm_up,
                seed=job.seed,
                protection=False,
                **job.shared,
            ),
        )
    except CasemateError as error:
        if len(batch) == 1:
            return [(job, str(error))]
        # If one design refuses a change, the remaining designs of the batch must still run.
        return [done for each in batch for done in _run((each,))]
    return [(each, _keep(each, results)) for each in batch]


def _keep(job: Job, results: RunResults) -> str | None:
    """Stores the record of a run, or returns the error."""
    failed = next((failure.error for failure in results.failures if failure.design == job.setting.design), None)
    if failed is not None:
        return failed
    record = results.record(job.setting.design)
    if not record.checks.passed:
        return "a check of the run failed"
    screen.write_whole(job.path, record.to_json().encode() + b"\n")
    return None


def written(part: Result) -> str:
    """Text of all values of a design or a machine that decide a run. It omits keys without a value, so that a new key,
    which older files do not contain, does not change the digests of their runs.
    """
    return part.model_dump_json(exclude_unset=True)


def _digest(key: object) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
