"""A console for files and pipes, which cuts no text to fit a screen."""

from typing import Any

from rich.console import Console

LEAST_COLUMNS = 100
"""Width of pictures made of characters."""

MOST_COLUMNS = 10_000


class PlainConsole(Console):
    """Prints every table as wide as its content, so that no name is cut and every row is a single line of text."""

    def print(self, *objects: Any, **settings: Any) -> None:
        """Prints like any console, but first sets the width to that of the widest object."""
        wide = self.options.update(max_width=MOST_COLUMNS)
        widest = (self.measure(shown, options=wide).maximum for shown in objects if not isinstance(shown, str))
        self.width = max(LEAST_COLUMNS, *widest, 0)
        super().print(*objects, soft_wrap=all(isinstance(shown, str) for shown in objects), **settings)
        self.width = LEAST_COLUMNS

    def on_broken_pipe(self) -> None:
        """Passes the error of a closed pipe to the command line, which ends without a message: the work is done, and
        its files are written.
        """
        raise BrokenPipeError
