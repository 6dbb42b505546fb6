"""A console for files and pipes: nothing is cut to fit a screen that is not there."""

from typing import Any

from rich.console import Console

LEAST_COLUMNS = 100
"""Pictures made of characters are as wide as this."""

MOST_COLUMNS = 10_000


class PlainConsole(Console):
    """Prints every table as wide as its content, so that names are whole and a row is a line."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """As that of any console."""
        wide = self.options.update(max_width=MOST_COLUMNS)
        widest = (self.measure(shown, options=wide).maximum for shown in objects if not isinstance(shown, str))
        self.width = max(LEAST_COLUMNS, *widest, 0)
        super().print(*objects, soft_wrap=all(isinstance(shown, str) for shown in objects), **settings)
        self.width = LEAST_COLUMNS

    def on_broken_pipe(self) -> None:
        """Leaves it to the command line, which ends quietly: the work is done, and its files are there."""
        raise BrokenPipeError
