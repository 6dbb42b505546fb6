"""Many runs side by side, each kept in a file of its own: what is there already is not run again.

A run is one case (a workload, on all cores) under one setting (a design, and what is changed of machine and designs).
The name of its file has a digest of all that decides it, so a changed machine file is another run. Of the code it has
the version alone: whoever changes that takes another folder.
"""

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from casemate import api, screen
from casemate._core import CasemateError, __version__
from casemate.results.run import Record

Changes = dict[str, object]


@dataclass(frozen=True)
class Recorded:
    """A program of this computer, of which a part is stored first."""

    command: tuple[str, ...]
    skip: int
    """Instructions before that part."""
    text: str = ""
    """A file that the command reads, named `{text}` in it."""


@dataclass(frozen=True)
class Case:
    """One workload, run on each core in memory of its own."""

    name: str
    irregular: bool
    """Whether it is one of those that counters miss for."""
    workload: str | None = None
    """A built-in one."""
    settings: dict[str, object] = field(default_factory=dict)
    recorded: Recorded | None = None
    """Or a program."""
    warm_up: int = 2_000_000
    """Instructions on each core before counting begins."""
    counted: int = 1_000_000
    """Instructions on each core that are counted."""


@dataclass(frozen=True)
class Setting:
    """A design on the machine, and what is changed of both."""

    name: str
    design: str
    changes: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One run to be done."""

    case: Case
    setting: Setting
    machine: str
    copies: int
    seed: int
    trace: str | None
    path: Path


Runs = dict[tuple[str, str], Record]
"""Records by the names of case and setting."""


class Store:
    """A folder with the runs of a study."""

    def __init__(self, folder: Path, machine: str, copies: int, seed: int = 1) -> None:
        self._folder, self._machine, self._copies, self._seed = folder, machine, copies, seed
        for part in ("runs", "traces"):
            screen.make_folder(folder / part)
        self._machines = {known.name: known for known in api.machines()}

    def trace(self, case: Case) -> Path | None:
        """The stored part of a case's program; nothing if it is a built-in workload. Raises `CasemateError` if it
        cannot be recorded.
        """
        if case.recorded is None:
            return None
        limit = case.warm_up + case.counted
        told = [*case.recorded.command, case.recorded.skip, limit, case.recorded.text]
        path = self._folder / "traces" / f"{case.name}-{_digest(told)}.trace"
        if not path.exists():
            source = path.with_suffix(".c")
            if case.recorded.text:
                screen.write_whole(source, case.recorded.text.encode())
            command = [word.replace("{text}", str(source)) for word in case.recorded.command]
            partial = path.with_suffix(".partial")
            if api.record(command, partial, skip=case.recorded.skip, limit=limit).interrupted:
                partial.unlink()
                raise KeyboardInterrupt
            partial.replace(path)
        return path

    def job(self, case: Case, setting: Setting, trace: Path | None) -> Job:
        """The run of a case under a setting."""
        told = [
            __version__, case.workload, case.settings, str(trace and trace.name), case.warm_up, case.counted,
            api.design(setting.design).parts.model_dump_json(), self._machines[self._machine].model_dump_json(),
            setting.changes, self._copies, self._seed,
        ]  # fmt: skip
        path = self._folder / "runs" / f"{case.name}-{setting.name}-{_digest(told)}.json"
        return Job(case, setting, self._machine, self._copies, self._seed, str(trace) if trace else None, path)

    def carry_out(self, jobs: Iterable[Job], tell: Callable[[int, Job], object]) -> tuple[Runs, list[str]]:
        """All runs, of which `tell` hears when each is done, and what went wrong. After Ctrl-C what is done is kept."""
        runs, failures = {}, []
        for number, (job, error) in enumerate(_done(list(jobs))):
            tell(number + 1, job)
            if error:
                failures.append(f"{job.case.name} under {job.setting.name}: {error}")
            else:
                runs[job.case.name, job.setting.name] = Record.model_validate_json(job.path.read_bytes())
        return runs, failures


def _done(jobs: list[Job]) -> Iterator[tuple[Job, str | None]]:
    """The runs as they end, those that are there already first."""
    missing = [job for job in jobs if not job.path.exists()]
    yield from ((job, None) for job in jobs if job.path.exists())
    if not missing:
        return
    # Not by forking: a process with threads in it must not be forked.
    context = multiprocessing.get_context("spawn")
    workers = min(len(os.sched_getaffinity(0)), len(missing))
    with context.Pool(workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        yield from pool.imap_unordered(_run, missing)


def _run(job: Job) -> tuple[Job, str | None]:
    """In a process of its own: carries one run out and keeps it, or says why not."""
    case = job.case
    try:
        results = api.run(
            workload=case.workload,
            trace=job.trace,
            settings=case.settings,
            copies=job.copies,
            designs=[job.setting.design],
            machine=job.machine,
            changes=job.setting.changes,
            limit=case.warm_up + case.counted,
            warm_up=case.warm_up,
            seed=job.seed,
            protection=False,
        )
        failed = [failure.error for failure in results.failures]
        if failed or not results.passed:
            return job, failed[0] if failed else "a check of the run failed"
        screen.write_whole(job.path, results.records[0].to_json().encode() + b"\n")
    except CasemateError as error:
        return job, str(error)
    return job, None


def _digest(told: object) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
