"""Progress on standard error: bars on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from casemate.amounts import short_count

BETWEEN_LINES_SECONDS = 5.0
BETWEEN_STEPS_SECONDS = 30.0
"""Between two lines about steps, of which there are long ones."""


class _Rate(ProgressColumn):
    """Million instructions a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed / 1e6:5.2f} M instr/s" if speed else "", style="cyan")


class _Instructions(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{short_count(task.completed):>7}" if task.completed else "starting", style="dim")


class Instructions:
    """Instructions done, for one or several simulations at once; `tell` takes what the laboratory tells."""

    def __init__(self, console: Console, names: Sequence[str], limit: int | None) -> None:
        self._console = console
        self._names = names
        self._started = self._said = time.monotonic()
        self._bars: Progress | None = None
        if console.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(32), _Instructions(), _Rate())
            self._bars = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
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
        told = progress["instructions"]
        counts: list[int] = told if isinstance(told, list) else [told]
        if self._bars:
            for task, done in zip(self._tasks, counts, strict=True):
                self._bars.update(task, completed=done)
        elif time.monotonic() - self._said >= BETWEEN_LINES_SECONDS:
            self._said = time.monotonic()
            parts = (f"{name} {short_count(done)}" for name, done in zip(self._names, counts, strict=True))
            self._console.print(f"  {self._said - self._started:4.0f} s: instructions: {', '.join(parts)}")


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
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task(title, total=pieces, piece="")
        self._piece = 0
        self._console, self._title, self._name = console, title, ""
        self._started = self._said = time.monotonic()

    def begin(self, piece: int, name: str) -> None:
        """Begins a piece of work, counted from zero."""
        self._piece, self._name = piece, name
        self._bars.update(self._task, completed=piece, piece=name)

    def tell(self, progress: dict[str, Any] | None) -> None:
        """Shows how far the piece is."""
        if not progress:
            return
        done = self._piece + progress["done"] / max(progress["of"], 1)
        self._bars.update(self._task, completed=done)
        if not self._console.is_terminal and time.monotonic() - self._said >= BETWEEN_STEPS_SECONDS:
            self._said = time.monotonic()
            share = f"{100 * done / self._pieces:.0f} %"
            self._console.print(f"  {self._said - self._started:4.0f} s: {self._title}: {share}, {self._name}")


class Finding(_Shown):
    """Figures found, of a number that is not known beforehand; `tell` takes what the laboratory tells."""

    def __init__(self, console: Console, title: str) -> None:
        columns = (SpinnerColumn(), TextColumn(title), TextColumn("{task.description}", style="dim"))
        self._bars = Progress(
            *columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bars.add_task("starting", total=None)

    def tell(self, progress: dict[str, Any] | None) -> None:
        """Shows how many figures there are and what the last was about."""
        if progress:
            self._bars.update(self._task, description=f"{progress['rows']} figures, {progress['subject']}")
