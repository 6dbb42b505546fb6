"""Progress on standard error: bars on a terminal, a line now and then elsewhere; both say how much is left."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from casemate.amounts import short_count, short_time

BETWEEN_LINES_SECONDS = 5.0
BETWEEN_LATER_LINES_SECONDS = 30.0
"""Between two lines when there have been some: long work does not fill a log."""

LINES_SOON = 4


class _Rate(ProgressColumn):
    """Million instructions a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed / 1e6:5.2f} M instr/s" if speed else "", style="cyan")


class _Instructions(ProgressColumn):
    def render(self, task: Task) -> Text:
        of = f" of {short_count(task.total)}" if task.total else ""
        return Text(f"{short_count(task.completed):>7}{of}" if task.completed else "starting", style="dim")


class _Left(ProgressColumn):
    """The expected end, by what the work has taken so far."""

    def render(self, task: Task) -> Text:
        share = task.completed / task.total if task.total else 0.0
        return Text(_left(task.elapsed or 0.0, share).strip(" ,"), style="dim")


def _left(elapsed: float, share: float) -> str:
    """How long it still takes, if the rest goes as what was done did; nothing where that is not known yet."""
    if not 0.005 < share < 1.0:
        return ""
    return f", about {short_time(elapsed * (1 - share) / share)} left"


class _Lines:
    """Lines about work where no bars can be shown: soon at first, and then at longer distances."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = self._said = time.monotonic()
        self._lines = 0

    def say(self, what: str, share: float) -> None:
        """Says how far the work is, if it is time to; `share` is how much of it is done, as far as that is known."""
        now = time.monotonic()
        between = BETWEEN_LINES_SECONDS if self._lines < LINES_SOON else BETWEEN_LATER_LINES_SECONDS
        if self._console.is_terminal or now - self._said < between:
            return
        self._said, self._lines = now, self._lines + 1
        elapsed = now - self._started
        self._console.print(f"  {elapsed:4.0f} s: {what}{_left(elapsed, share)}", markup=False)


class Instructions:
    """Instructions done, for one or several simulations at once; `tell` takes what the laboratory reports, and says
    `title` when it is first called: until then nothing runs.
    """

    def __init__(self, console: Console, names: Sequence[str], limit: int | None, title: str = "") -> None:
        self._console, self._names, self._limit, self._title = console, names, limit, title
        self._lines = _Lines(console)
        self._bars: Progress | None = None
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

    def tell(self, progress: dict[str, Any]) -> None:
        """Shows how many instructions each simulation has done."""
        if self._title:
            self._console.print(self._title, markup=False)
            self._title = ""
        self._limit = progress.get("of", self._limit)
        told = progress["instructions"]
        counts: list[int] = told if isinstance(told, list) else [told]
        if self._bars:
            for task, done in zip(self._tasks, counts, strict=True):
                self._bars.update(task, completed=done, total=self._limit)
            return
        of = f" of {short_count(self._limit)}" if self._limit else ""
        parts = (f"{name} {short_count(done)}{of}" for name, done in zip(self._names, counts, strict=True))
        share = min(counts, default=0) / self._limit if self._limit else 0.0
        self._lines.say(f"instructions: {', '.join(parts)}", share)


_S = TypeVar("_S", bound="_Shown")


class _Shown:
    """Bars that are on the screen as long as the work lasts."""

    _bars: Progress

    def __enter__(self: _S) -> _S:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


class Steps(_Shown):
    """Steps done of a known number, over several pieces of work of equal length."""

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
        self._lines = _Lines(console)

    def begin(self, piece: int, name: str) -> None:
        """Begins a piece of work, counted from zero."""
        self._piece, self._name = piece, name
        self._bars.update(self._task, completed=piece, piece=name)

    def tell(self, progress: dict[str, Any] | None) -> None:
        """Shows how far the piece is, and what it is about if that is given."""
        if not progress:
            return
        self._name = progress.get("about", self._name)
        share = (self._piece + progress["done"] / max(progress["of"], 1)) / self._pieces
        self._bars.update(self._task, completed=share * self._pieces, piece=self._name)
        self._lines.say(f"{self._title}: {100 * share:.0f} %, {self._name}", share)
