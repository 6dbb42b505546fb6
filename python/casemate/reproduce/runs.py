"""Many runs side by side, each kept in a file of its own: what is there already is not run again, unless it cannot be
read.

A run is one case (a workload, on all cores) under one setting (a design, and what is changed of machine and designs)
with one seed, which places pages and draws the keys and the data of built-in workloads. The name of its file has a
digest of all that decides it, so a changed machine file is another run. Of the code it has the version alone: a user
who changes that takes another folder.

Runs of one case and seed on one machine share one execution of the workload: to build a large graph may take longer
than to simulate a window of its use.
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

from casemate import api, screen
from casemate._core import CasemateError, __version__
from casemate.requests import BuiltIn, Persistent, Program, RunOptions, Trace
from casemate.results.base import Result
from casemate.results.run import Record, RunResults

Changes = dict[str, object]


@dataclass(frozen=True)
class Recorded:
    """A program of this computer, of which a part is stored first."""

    command: tuple[str, ...]
    skip: int
    """Instructions before that part."""
    text: str = ""
    """A file that the command reads, named `{text}` in it."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """What must be installed, the command or a file that it reads, each with Debian's package that has it."""

    def missing(self) -> str:
        """What of that is not here, and how to get it; nothing if all is."""
        absent = [(needed, package) for needed, package in self.packages.items() if _found(needed) is None]
        names = ", ".join(f"'{needed}'" for needed, _ in absent)
        packages = " ".join(sorted({package for _, package in absent}))
        return f"{names} is not installed (try: apt-get install {packages})" if absent else ""

    def words(self, text: Path) -> list[str]:
        """The command, with the file that it reads."""
        program, *rest = self.command
        return [_found(program) or program, *(word.replace("{text}", str(text)) for word in rest)]


@dataclass(frozen=True)
class Case:
    """One workload, run on each core in memory of its own."""

    name: str
    group: str
    """What kind it is of: figures are about groups of cases."""
    workload: str | None = None
    """A built-in one."""
    settings: dict[str, object] = field(default_factory=dict)
    recorded: Recorded | None = None
    """Or a program."""
    warm_up: int = 2_000_000
    """Instructions on each core before counting begins."""
    counted: int = 1_000_000
    """Instructions on each core that are counted."""
    persistent: Persistent = "all"
    """What of a program's memory has to outlive a loss of power."""
    program: str | None = None
    """The case whose recording it runs, if that is another one."""


@dataclass(frozen=True)
class Setting:
    """A design on the machine, and what is changed of both."""

    name: str
    design: str
    changes: Changes = field(default_factory=dict)

    def changed(self, of: Literal["machine", "design"]) -> Changes:
        """What is changed of the machine, or of the design."""
        return {path: value for path, value in self.changes.items() if path.startswith(f"{of}.")}


@dataclass(frozen=True)
class Job:
    """One run to be done."""

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
        """What each core runs."""
        return (
            Trace(self.trace, self.case.persistent)
            if self.trace
            else BuiltIn(self.case.workload or self.case.name, self.case.settings)
        )

    @property
    def key(self) -> tuple[str, str, int]:
        """By what its record is found."""
        return self.case.name, self.setting.name, self.seed


class NotInstalledError(CasemateError):
    """A case's program is not on this computer."""


Runs = dict[tuple[str, str, int], Record]
"""Records by the names of case and setting, and the seed."""


class Store:
    """A folder with the runs of a study."""

    def __init__(self, folder: Path, machine: str, copies: int, shared: Mapping[str, Any] | None = None) -> None:
        self._folder, self._machine, self._copies, self._shared = folder, machine, copies, dict(shared or {})
        for part in ("runs", "traces"):
            screen.make_folder(folder / part)
        self._machines = {known.name: known for known in api.machines()}

    def trace(self, case: Case) -> Path | None:
        """The stored part of a case's program; nothing if it is a built-in workload. Raises `NotInstalledError` if the
        program is not on this computer, and `CasemateError` if it cannot be recorded.
        """
        if case.recorded is None:
            return None
        limit = case.warm_up + case.counted
        told = [*case.recorded.command, case.recorded.skip, limit, case.recorded.text]
        path = self._folder / "traces" / f"{case.program or case.name}-{_digest(told)}.trace"
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
        told = [
            __version__, case.workload, case.settings, str(trace and trace.name), case.warm_up, case.counted,
            written(api.design(setting.design).parts), written(self._machines[self._machine]), setting.changes,
            self._copies, seed, self._shared, *([] if case.persistent == "all" else [case.persistent]),
        ]  # fmt: skip
        path = self._folder / "runs" / f"{case.name}-{setting.name}-{seed}-{_digest(told)}.json"
        stored = str(trace) if trace else None
        return Job(case, setting, self._machine, self._copies, seed, stored, self._shared, path)

    def carry_out(self, jobs: Iterable[Job], tell: Callable[[int, Job], object]) -> tuple[Runs, list[str]]:
        """All runs, begun in this order, and what went wrong; `tell` hears of each that was not there, and how many of
        these are done. After Ctrl-C what is done is kept.
        """
        wanted, failures = list(jobs), []
        runs = kept(wanted)
        for number, (job, error) in enumerate(_done([job for job in wanted if job.key not in runs])):
            tell(number + 1, job)
            record = _kept(job)
            if record:
                runs[job.key] = record
            else:
                failures.append(f"{job.case.name} under {job.setting.name}, seed {job.seed}: {error}")
        return runs, failures


def _found(needed: str) -> str | None:
    """Where a program or a file is. Not every user has the games in the path."""
    if "/" in needed:
        return needed if Path(needed).exists() else None
    return shutil.which(needed) or shutil.which(needed, path="/usr/games")


def _is_whole(trace: Path) -> bool:
    """Whether a stored program is there, and can be read to its end."""
    try:
        return trace.exists() and bool(api.trace_info(trace))
    except CasemateError:
        return False


def kept(jobs: Iterable[Job]) -> Runs:
    """Those of the runs that are there. A file that cannot be read, as one that was cut off, is no run."""
    return {job.key: record for job in jobs if (record := _kept(job))}


def _kept(job: Job) -> Record | None:
    try:
        return Record.model_validate_json(job.path.read_bytes()) if job.path.exists() else None
    except (ValidationError, OSError):
        return None


def _done(jobs: list[Job]) -> Iterator[tuple[Job, str | None]]:
    """The runs as they end."""
    batches = together(jobs)
    if not batches:
        return
    # Not by forking: a process with threads in it must not be forked.
    context = multiprocessing.get_context("spawn")
    workers = min(len(os.sched_getaffinity(0)), len(batches))
    with context.Pool(workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        for done in pool.imap_unordered(_run, batches):
            yield from done


def together(jobs: Iterable[Job]) -> list[tuple[Job, ...]]:
    """The runs in batches that can share one execution of their workload: of one case and seed, with the same changes
    of the machine, each under another design.
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
    """In a process of its own: carries runs out and keeps them, or says why not."""
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
        # A change that one design refuses is not the others' failure.
        return [done for each in batch for done in _run((each,))]
    return [(each, _keep(each, results)) for each in batch]


def _keep(job: Job, results: RunResults) -> str | None:
    """Keeps a run, or says why not."""
    failed = next((failure.error for failure in results.failures if failure.design == job.setting.design), None)
    if failed is not None:
        return failed
    record = results.record(job.setting.design)
    if not record.checks.passed:
        return "a check of the run failed"
    screen.write_whole(job.path, record.to_json().encode() + b"\n")
    return None


def written(part: Result) -> str:
    """What decides a run of a design or a machine. A key that it does not have is not there: a new one, of which older
    files say nothing, makes no other run of it.
    """
    return part.model_dump_json(exclude_unset=True)


def _digest(told: object) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
