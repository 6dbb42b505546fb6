"""The state of a study while it runs: a board on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from casemate.terminal.progress import Lines
from casemate.text.amounts import short_time

if TYPE_CHECKING:
    from casemate.terminal.work import Work

SHOWN_POINTS = 8
REFRESHES_A_SECOND = 2


class Board:
    """Shows how many points are done, running and failed, their rate, and the expected end."""

    def __init__(self, console: Console, title: str) -> None:
        self._console, self._title = console, title
        self._lines = Lines(console)
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(console=console, refresh_per_second=REFRESHES_A_SECOND, transient=True)

    def __enter__(self) -> "Board":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        self._lines.end()

    def notify(self, text: str) -> None:
        """Prints a notice above the board."""
        self._console.print(text, markup=False, style="yellow" if self._live else None)

    def report(self, work: "Work") -> None:
        """Shows the state of the work."""
        ended = work.kept + work.done + work.failed
        self._lines.say(
            f"{self._title}: {', '.join(_counts(work))}", (ended - work.kept) / max(work.points - work.kept, 1)
        )
        if self._live:
            self._live.update(self._board(work))

    def _board(self, work: "Work") -> RenderableType:
        ended = work.kept + work.done + work.failed
        bar = ProgressBar(total=max(work.points, 1), completed=ended, width=40)
        shown = [Text(f"  {title}", style="dim") for title in work.running[:SHOWN_POINTS]]
        more = len(work.running) - SHOWN_POINTS
        shown += [Text(f"  and {more} more", style="dim")] if more > 0 else []
        counts = ", ".join([*_counts(work), *_left(work)])
        return Group(Text(self._title, style="bold"), bar, Text(counts), *shown)


def _counts(work: "Work") -> list[str]:
    """Returns the numbers of points, and the rate."""
    ended, seconds = work.done + work.failed, time.monotonic() - work.started
    parts = [f"{work.kept + work.done:,} of {work.points:,} points done", f"{len(work.running)} running"]
    parts += [f"{work.failed:,} failed"] if work.failed else []
    parts += [] if work.workers else ["waiting for workers"]
    return parts + ([f"{60 * ended / seconds:.0f} a minute"] if ended else [])


def _left(work: "Work") -> list[str]:
    """Returns the expected time to the end; empty as long as no point has ended."""
    ended, seconds = work.done + work.failed, time.monotonic() - work.started
    left = work.points - work.kept - ended
    return [f"about {short_time(left * seconds / ended)} left"] if ended else []
