"""Work of a worker: it carries out points one after the other, and returns their rows."""

import json
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casemate import api
from casemate._core import CasemateError
from casemate.laboratory import arguments
from casemate.laboratory.requests import RunOptions
from casemate.rows.columns import Row, flat
from casemate.schemas.base import Result
from casemate.schemas.run import RunResults
from casemate.studies import cache, identity, table
from casemate.studies.points import Kernel, Point, StoredTrace


class CancelledError(Exception):
    """No client waits for the work."""


class TraceMissingError(Exception):
    """This computer has no file with the content of a trace."""


@dataclass(frozen=True)
class Failure:
    """The reason why a function failed on a worker."""

    reason: str
    missing_trace: bool = False
    """True if a trace was missing, which the client can send."""
    cancelled: bool = False
    """True if no client waited for the work."""


def guarded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the value of a function, or a `Failure`: not every exception can be sent to the client."""
    try:
        return function(*arguments)
    except TraceMissingError as error:
        return Failure(str(error), missing_trace=True)
    except CancelledError as error:
        return Failure(str(error), cancelled=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust is not an `Exception`
        return Failure(f"{type(error).__name__}: {error}")


def lacks(traces: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the hashes of the traces that this computer lacks; each is given with its path on the client."""
    return [content for content, path in traces if cache.find(content, path) is None]


def carry_out(forms: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Carries out points that can share a session, and returns the row of each. A point that fails has a row with its
    error. Raises `TraceMissingError` if a trace has to be sent, also if a file was replaced meanwhile.
    """
    points = [Point.of_json(form) for form in forms]
    paths = {trace.content: _found(trace.content, trace.path) for point in points for trace in point.traces()}
    before = {content: cache.state(path) for content, path in paths.items()}
    with tempfile.TemporaryDirectory(prefix="casemate-", dir=_own_folder()) as folder:
        given = _Given(Path(folder), points)
        is_run = points[0].kind == "run"
        rows = _run(points, given, paths) if is_run else [_campaign(point, given) for point in points]
    for content, path in paths.items():
        if cache.state(path) != before[content]:
            raise TraceMissingError(content)
    return rows


def _own_folder() -> str | None:
    """Returns the folder of this worker, which its client or its nanny removes; `None` outside a worker."""
    import distributed

    try:
        return str(distributed.get_worker().local_directory)
    except ValueError:
        return None


def _found(content: str, path: str) -> Path:
    found = cache.find(content, path)
    if found is None:
        raise TraceMissingError(content)
    return found


class _Given:
    """Design and machine files, written into a folder of this worker."""

    def __init__(self, folder: Path, points: Sequence[Point]) -> None:
        self._paths: dict[str, str] = {}
        files = {name: text for point in points for name, text in point.files.items()}
        for number, (name, text) in enumerate(files.items()):
            path = folder / str(number) / Path(name).name
            path.parent.mkdir()
            path.write_text(text)
            self._paths[name] = str(path)

    def path(self, name: str) -> str:
        """Returns the name of a built-in design or machine, or the path of a file on this worker."""
        return self._paths.get(name, name)

    def design(self, name: str) -> str:
        """Returns the name that records give a design."""
        return api.design(self.path(name)).name if name in self._paths else name

    def stated(self, text: str) -> str:
        """Returns a text with the paths of the client in place of those of this worker."""
        for name, path in self._paths.items():
            text = text.replace(path, name)
        return text


def _run(points: Sequence[Point], given: _Given, paths: Mapping[str, Path]) -> list[Row]:
    """Runs points with the same programs, machine and options in one session, each under another design."""
    first, started = points[0], time.monotonic()
    try:
        results = api.run(
            first.runnables(paths),
            designs=[given.path(point.design) for point in points],
            machine=given.path(first.machine),
            changes=session_changes(points),
            options=RunOptions(**first.options, seed=first.seed, protection=False),
            progress=_stop_if_cancelled(),
        )
    except CasemateError as error:
        if len(points) == 1:
            return [failed(first, given.stated(str(error)))]
        # If one design refuses a change or the program, the remaining designs must still run.
        return [row for point in points for row in _run((point,), given, paths)]
    if results.interrupted:
        raise KeyboardInterrupt
    seconds = (time.monotonic() - started) / len(points)
    return [_row_of_run(point, results, given, seconds) for point in points]


def _row_of_run(point: Point, results: RunResults, given: _Given, seconds: float) -> Row:
    design = given.design(point.design)
    failure = next((each.error for each in results.failures if each.design == design), None)
    return failed(point, failure) if failure is not None else done(point, results.record(design), given, seconds)


def session_changes(points: Sequence[Point]) -> dict[str, object]:
    """Returns the changes of a session: those of the machine, which all points share, and those of each design."""
    changes = {path: value for path, value in points[0].changes.items() if path.startswith("machine.")}
    for point in points:
        for path, value in point.changes.items():
            if path.startswith("design."):
                changes[f"design.{point.design_name}.{path.removeprefix('design.')}"] = value
    return changes


def _campaign(point: Point, given: _Given) -> Row:
    started = time.monotonic()
    work: Callable[..., Result] = api.attack if point.kind == "attack" else api.crash
    try:
        report = work(
            given.path(point.design), seed=point.seed, changes=point.changes, progress=_stop_if_cancelled(),
            **point.options,
        )  # fmt: skip
    except CasemateError as error:
        return failed(point, given.stated(str(error)))
    return done(point, report, given, time.monotonic() - started)


def _stop_if_cancelled() -> Callable[[dict[str, Any]], None]:
    """Returns a progress function that ends the work after its client has left or cancelled it."""
    import distributed

    try:
        worker = distributed.get_worker()
        key = worker.get_current_task()
    except (ValueError, AttributeError):
        return lambda progress: None

    def look(_progress: dict[str, Any]) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise CancelledError("no client waits for this point")

    return look


def failed(point: Point, error: str, attempts: int = 1) -> Row:
    """Returns the row of a point that failed."""
    return _heading(point) | {"status": "failed", "error": error, "attempts": attempts}


def done(point: Point, result: Result, given: _Given, seconds: float) -> Row:
    """Returns the row of a point that was carried out; `seconds` is the time that it took on the worker."""
    text = given.stated(result.model_dump_json(by_alias=True))
    columns = {name: value for name, value in flat(json.loads(text)).items() if name != "version"}
    heading = _heading(point) | {"status": "done", "seconds": seconds, "record_bytes": len(text.encode())}
    return columns | heading | {"record": text}


def _heading(point: Point) -> Row:
    """Returns the columns that every row has."""
    changes = ", ".join(f"{path}={arguments.written(value)}" for path, value in point.changes.items())
    return {
        "point": point.hash, "kind": point.kind, "version": identity.VERSION, "build": identity.BUILD,
        "program": point.program, "machine": point.machine_name or None,
        "design": point.design_name, "seed": point.seed, "changes": changes or None,
        "options": shlex.join(word for name, value in point.options.items() for word in _option(name, value)) or None,
        "command": command_line(point), "finished": table.now(),
    }  # fmt: skip


def command_line(point: Point) -> str:
    """Returns the command that repeats a point without a study; empty if no command can express it."""
    settings = [each.settings for each in point.programs if isinstance(each, Kernel)]
    persistent = [each.persistent for each in point.traces()]
    kinds = [isinstance(each, StoredTrace) for each in point.programs]
    if any(each != settings[0] for each in settings) or len(set(persistent)) > 1 or kinds != sorted(kinds):
        return ""
    words = ["casemate", point.kind]
    if point.kind == "run":
        words += ["--design", point.design, "--machine", point.machine]
        for each in point.programs:
            words += ["--workload", each.name] if isinstance(each, Kernel) else ["--trace", each.path]
        for parameter, given in settings[0].items() if settings else ():
            words += ["--set", f"{parameter}={given}"]
        words += ["--persistent", persistent[0]] if persistent and persistent[0] != "all" else []
        words += ["--no-attacks"]
    else:
        words += [point.design]
    for path, value in point.changes.items():
        words += ["--with", f"{path}={arguments.written(value)}"]
    for name, value in point.options.items():
        words += _option(name, value)
    return shlex.join([*words, "--seed", str(point.seed)])


def _option(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, Mapping):
        return [word for key, inner in value.items() for word in _option(key, inner)]
    if isinstance(value, list | tuple):
        return [word for inner in value for word in (option, str(inner))]
    return [option, f"{100 * value:g}%" if name == "error" else str(value)]
