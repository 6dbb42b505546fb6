"""Carries a study out: records its programs, has workers carry out the missing points, and reports its figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from casemate._core import CasemateError
from casemate.rows.needed import library
from casemate.schemas.sweep import FailedPoint, SweepPlan, SweepResult
from casemate.studies import cluster, figures, study_file, table
from casemate.studies.cluster import Cluster
from casemate.studies.expansion import Cell, equal_programs, expanded
from casemate.studies.folder import ResultsFolder, Status
from casemate.studies.points import Point
from casemate.studies.recordings import Recordings
from casemate.studies.study import Study
from casemate.terminal.work import Report, Work
from casemate.text.shown import ShortRepr

TABLE_BYTES, ROW_BYTES = 185_000, 4_000
"""Estimated sizes on disk: of a table without rows, with several hundred columns, and of a row."""
TABLES = 2
"""Estimated number of tables: a study of quick points writes two or three, one of slow points up to fifteen."""
BYTES_OF_A_MILLION = 800_000
"""Estimated size of the recording of a million instructions: between 350 KB of a compression and 1.9 MB of a short
program.
"""
ALL_FAILED = "failed"
"""Word that asks to repeat all failed points."""


@dataclass(frozen=True, repr=False)
class Workers(ShortRepr):
    """The workers of a study."""

    count: int | None = None
    """Number of processes of this computer; as many as processors if absent."""
    scheduler: str | None = None
    """Address of a Dask scheduler that has workers, in place of processes of this computer."""

    @staticmethod
    def of(given: int | str | None) -> "Workers":
        """Returns the workers that a number of processes or the address of a scheduler stands for."""
        return Workers(scheduler=given) if isinstance(given, str) else Workers(count=given)


@dataclass(repr=False)
class Observer(ShortRepr):
    """Functions that receive the events of a study."""

    notify: Callable[[str], object] = field(default=lambda text: None)
    """Receives notices: recordings, refused workers, damaged tables."""
    report: Report = field(default=lambda work: None)
    """Receives the state of the work, several times a second."""


def sweep(
    study: Study,
    folder: Path | str | None = None,
    *,
    workers: "Workers | int | str | None" = None,
    retry: str | Iterable[str] = (),
    observer: Observer | None = None,
) -> SweepResult:
    """Carries out all points of a study that its results folder does not have. `retry` contains hashes of failed points
    to repeat, or `"failed"` for all. `workers` may be a number of processes, or the address of a scheduler. Ctrl-C ends
    the study; finished points are kept.

    Raises `CasemateError` before any point begins if one cannot be carried out.
    """
    observer = observer or Observer()
    retry = [retry] if isinstance(retry, str) else list(retry)
    at = workers if isinstance(workers, Workers) else Workers.of(workers)
    # A design file may change while the study runs, or be absent when a report reads the kept study.
    study = study.model_copy(update={"baseline": study.compared_with})
    path = Path(folder or Path("results") / study.name)
    with ResultsFolder(path) as results:
        for notice in results.notices:
            observer.notify(notice)
        # Check all points before programs are recorded, which may take long.
        recordings = Recordings(path, observer.notify, records=False)
        cells = expanded(study, recordings)
        if recordings.not_recorded:
            recordings = Recordings(path, observer.notify)
            cells = expanded(study, recordings)
        for notice in recordings.abnormal_ends():
            observer.notify(notice)
        points = list({cell.point.hash: cell.point for cell in cells}.values())
        known = results.known
        _check_retry(points, known, retry)
        study_file.keep(path, study, {point.hash: point.program for point in points})
        missing = [
            point for point in points
            if point.hash not in known or (known[point.hash] == "failed" and _is_named(point.hash, retry))
        ]  # fmt: skip
        work = Work(len(points), kept=sum(known.get(point.hash) == "done" for point in points))
        interrupted = carry_out(missing, results, work, at, observer)
        return _result(study, cells, results, (work, interrupted))


def carry_out(points: list[Point], results: ResultsFolder, work: Work, workers: Workers, observer: Observer) -> bool:
    """Carries out points on workers of this computer or of a scheduler. Returns true if a signal ended the work."""
    if not points:
        return False
    library("distributed")
    from casemate.studies.dispatch import Dispatch

    try:
        with _cluster(points, results, workers, observer.notify) as at:
            Dispatch(at, results, work, observer.report).carry_out(points)
    except KeyboardInterrupt:
        observer.notify("stopping; all finished points are kept")
        return True
    return False


def _cluster(points: list[Point], results: ResultsFolder, workers: Workers, notify: Callable[[str], object]) -> Cluster:
    if workers.scheduler is not None:
        return Cluster.at(workers.scheduler, notify)
    return Cluster.local(results.path, processes(points, workers.count), notify)


def processes(points: list[Point], count: int | None) -> int:
    """Returns the number of worker processes for these points: fewer than processors if memory is short."""
    if count is not None:
        return count
    most = max(point.memory_bytes for point in points)
    return max(1, min(cluster.cores(), len(points), cluster.memory_bytes() // most))


def plan(study: Study, folder: Path | str | None, workers: Workers) -> SweepPlan:
    """Returns the work that a study would be, without any change of the folder."""
    path = Path(folder or Path("results") / study.name)
    rows = _rows(path)
    # A point that failed and was repeated has two rows until the tables are merged.
    known = {row["point"]: row["status"] for row in sorted(rows, key=lambda row: row["status"] == "done")}
    recordings = Recordings(path, lambda text: None, records=False)
    cells = expanded(study, recordings)
    points = list({cell.point.hash: cell.point for cell in cells}.values())
    kept = sum(known.get(point.hash) == "done" for point in points)
    failed = sum(known.get(point.hash) == "failed" for point in points)
    done = [row["seconds"] for row in rows if row["status"] == "done"]
    left = len(points) - kept - failed
    count = processes(points, workers.count)
    recorded = BYTES_OF_A_MILLION * recordings.unrecorded_instructions // 1_000_000
    return SweepPlan(
        study=study.name, folder=str(path), points=len(points), kept=kept, failed=failed,
        not_recorded=tuple(dict.fromkeys(recordings.not_recorded)),
        without_limit=tuple(dict.fromkeys(recordings.without_limit)), workers=count,
        seconds=fmean(done) * left / count if done else None,
        disk_bytes=TABLE_BYTES * min(left, TABLES) + ROW_BYTES * left + recorded,
        memory_bytes=max(point.memory_bytes for point in points) * count,
        equal_programs=equal_programs(cells),
    )  # fmt: skip


def _rows(path: Path) -> list[dict[str, Any]]:
    """Returns a few columns of all rows of a folder, without those of damaged tables."""
    rows: list[dict[str, Any]] = []
    for each in table.written(path) if path.is_dir() else ():
        with suppress(CasemateError):
            rows += table.read(each, ["point", "status", "seconds"])
    return rows


def _is_named(point: str, retry: Sequence[str]) -> bool:
    """Returns true if one of the words names a failed point, or all of them."""
    return any(word == ALL_FAILED or (word and point.startswith(word)) for word in retry)


def _check_retry(points: Sequence[Point], known: Mapping[str, Status], retry: Sequence[str]) -> None:
    """Raises `CasemateError` if a word names no failed point of the study."""
    failed = [point.hash for point in points if known.get(point.hash) == "failed"]
    for word in retry:
        if word != ALL_FAILED and not any(_is_named(point, [word]) for point in failed):
            there = f"; there are: {', '.join(point[:12] for point in failed)}" if failed else ""
            raise CasemateError(f"no failed point of the study has a hash that begins with '{word}'{there}")


def _result(study: Study, cells: list[Cell], results: ResultsFolder, ended: tuple[Work, bool]) -> SweepResult:
    work, interrupted = ended
    wanted = {cell.point.hash: cell.point for cell in cells}
    rows = results.rows(wanted, ["error", "command", "checks_passed", "agrees", *figures.columns(study)])
    failures = [
        FailedPoint(point=row["point"], title=wanted[row["point"]].title, error=row["error"], command=row["command"])
        for row in rows.values()
        if row["status"] == "failed"
    ]
    done = {point: row for point, row in rows.items() if row["status"] == "done"}
    sound = {point: row for point, row in done.items() if False not in (row.get("checks_passed"), row.get("agrees"))}
    return SweepResult(
        study=study.name, folder=str(results.path), points=work.points, kept=work.kept, done=work.done,
        failures=tuple(failures), doubtful=tuple(point for point in done if point not in sound),
        figures=figures.found(study, cells, sound),
        interrupted=interrupted, equal_programs=equal_programs(cells),
    )  # fmt: skip
