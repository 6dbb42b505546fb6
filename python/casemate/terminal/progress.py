"""Progress on standard error: bars on a terminal, a line now and then elsewhere; both show the remaining time."""

import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from casemate.text import amounts
from casemate.text.amounts import short_count, short_time

BETWEEN_LINES_SECONDS = 5.0
BETWEEN_LATER_LINES_SECONDS = 30.0
"""Seconds between two later lines, so that long work does not fill a log."""

LINES_SOON = 4
BEAT_SECONDS = 1.0


class _Rate(ProgressColumn):
    """Column with the speed of the simulation, in million instructions a second."""

    def render(self, task: Task) -> Text:
        speed = None if task.fields.get("busy") else task.finished_speed or task.speed
        return Text(f"{speed / 1e6:5.2f} M instr/s" if speed else "", style="cyan")


WORK = {
    "reserve": "setting up a reservation of",
    "protect": "changing the protection of",
    "unmap": "taking down a mapping of",
}
"""Long activities of QEMU during which it executes no instruction."""


def _busy(progress: dict[str, Any]) -> str:
    """Returns the work during which the program executes no instruction, in words; empty if it executes."""
    said = ["first pass"] if progress.get("first_pass") else []
    if busy := progress.get("busy"):
        is_kernel = busy["work"] == "build"
        said.append(
            f"building the kernel {', '.join(busy['kernels'])}"
            if is_kernel
            else f"QEMU is {WORK[busy['work']]} {amounts.size(busy['bytes'])}"
        )
    return ", ".join(said)


class _Instructions(ProgressColumn):
    def render(self, task: Task) -> Text:
        if busy := task.fields.get("busy"):
            return Text(busy, style="dim")
        of = f" of {short_count(task.total)}" if task.total else ""
        return Text(f"{short_count(task.completed):>7}{of}" if task.completed else "starting", style="dim")


class _Left(ProgressColumn):
    """Column with the remaining time, extrapolated from the finished work."""

    def render(self, task: Task) -> Text:
        share = task.completed / task.total if task.total else 0.0
        elapsed = task.elapsed or 0.0
        reported = task.fields.get("reported", elapsed)
        return Text(_left(reported, share, elapsed - reported).strip(" ,"), style="dim")


def _left(elapsed: float, share: float, since: float = 0.0) -> str:
    """Returns the remaining time if the work continues at the same rate; `since` is the age of `share` in seconds.
    Empty as long as too little work is done for an estimate, and when the estimated time is over.
    """
    if not 0.005 < share < 1.0:
        return ""
    left = elapsed * (1 - share) / share - since
    return f", about {short_time(left)} left" if left > 0 else ""


class Lines:
    """Prints lines about the progress on a console without bars, at short intervals first and then at longer ones.
    `beat` repeats the last line while the work reports no progress.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = self._said = self._reported = time.monotonic()
        self._lines = 0
        self._what, self._share = "", 0.0
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._beats: threading.Thread | None = None

    def say(self, what: str, share: float) -> None:
        """Prints the progress of the work, if a line is due; `share` is the finished part, as far as it is known."""
        now = time.monotonic()
        with self._lock:
            self._what, self._share, self._reported = what, share, now
        self._line(now)

    def _line(self, now: float) -> None:
        with self._lock:
            between = BETWEEN_LINES_SECONDS if self._lines < LINES_SOON else BETWEEN_LATER_LINES_SECONDS
            if self._console.is_terminal or not self._what or now - self._said < between:
                return
            self._said, self._lines = now, self._lines + 1
            left = _left(self._reported - self._started, self._share, now - self._reported)
            self._console.print(f"  {now - self._started:4.0f} s: {self._what}{left}", markup=False)

    def beat(self) -> None:
        """Begins to repeat the last line at intervals, until `end`."""
        if not self._console.is_terminal:
            self._beats = threading.Thread(target=self._repeat, daemon=True)
            self._beats.start()

    def _repeat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self._line(time.monotonic())

    def end(self) -> None:
        """Ends the output of lines."""
        self._ended.set()
        if self._beats:
            self._beats.join()


class Instructions:
    """Progress of one or several simultaneous simulations in instructions. `report` accepts the reports of the native
    functions, and prints `title` at its first call, since no simulation runs earlier.
    """

    def __init__(self, console: Console, names: Sequence[str], limit: int | None, title: str = "") -> None:
        self._console, self._names, self._limit, self._title = console, names, limit, title
        self._lines = Lines(console)
        self._bars: Progress | None = None
        self._attacked, self._attack_task = "", TaskID(0)
        if console.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(32), _Instructions(), _Rate())
            self._bars = Progress(*columns, TimeElapsedColumn(), _Left(), console=console, transient=True)
            self._tasks = [self._bars.add_task(name, total=limit) for name in names]

    def __enter__(self) -> "Instructions":
        if self._bars:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars:
            self._bars.stop()

    def report(self, progress: dict[str, Any]) -> None:
        """Shows the number of instructions that each simulation has executed."""
        if self._title:
            self._console.print(self._title, markup=False)
            self._title = ""
        if attacked := progress.get("attacked"):
            self._attacks(attacked, progress["done"] / max(progress["of"], 1))
            return
        self._limit = progress.get("of", self._limit)
        reported = progress["instructions"]
        counts: list[int] = reported if isinstance(reported, list) else [reported]
        busy = _busy(progress)
        if self._bars:
            for task, done in zip(self._tasks, counts, strict=True):
                self._bars.update(task, completed=done, total=self._limit, busy=busy)
            return
        of = f" of {short_count(self._limit)}" if self._limit else ""
        parts = (f"{name} {short_count(done)}{of}" for name, done in zip(self._names, counts, strict=True))
        share = min(counts, default=0) / self._limit if self._limit else 0.0
        behind = f"; {busy}" if busy else ""
        self._lines.say(f"instructions: {', '.join(parts)}{behind}", share)

    def _attacks(self, design: str, share: float) -> None:
        """Shows the progress of the attacks on a design, which follow its run."""
        if self._bars is None:
            self._lines.say(f"attacks on {design}: {100 * share:.0f} %", 0.0)
            return
        if self._attacked != design:
            self._attacked, self._attack_task = design, self._bars.add_task("attacks", total=1)
        self._bars.update(self._attack_task, completed=share, busy=f"on {design}")


class Steps:
    """Progress over a known number of pieces of work, each of equal weight."""

    def __init__(self, console: Console, title: str, pieces: int) -> None:
        self._pieces = pieces
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn(title),
            BarColumn(32),
            TextColumn("{task.fields[piece]}", style="dim"),
            TimeElapsedColumn(),
            _Left(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task(title, total=pieces, piece="")
        self._piece = 0
        self._title, self._name = title, ""
        self._lines = Lines(console)

    def __enter__(self) -> "Steps":
        self._bars.start()
        self._lines.beat()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.end()
        self._bars.stop()

    def begin(self, piece: int, name: str) -> None:
        """Begins the piece of work with this number, from zero."""
        self._piece, self._name = piece, name
        self._bars.update(self._task, completed=piece, piece=name)

    def report(self, progress: dict[str, Any] | None) -> None:
        """Shows the progress of the current piece of work, and its subject if the report names one."""
        if not progress:
            return
        self._name = progress.get("about", self._name)
        share = (self._piece + progress["done"] / max(progress["of"], 1)) / self._pieces
        reported = self._bars.tasks[self._task].elapsed or 0.0
        busy = _busy(progress)
        piece = f"{self._name}; {busy}" if busy else self._name
        self._bars.update(self._task, completed=share * self._pieces, piece=piece, reported=reported)
        self._lines.say(f"{self._title}: {100 * share:.0f} %, {piece}", share)
