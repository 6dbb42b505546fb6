"""New figures in the style of all pictures, and the files that they are saved in: SVG or PNG."""

import io
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from casemate.plots.style import style
from casemate.terminal import screen

Arguments = ParamSpec("Arguments")


def styled(points: int) -> Callable[[Callable[Arguments, Any]], Callable[Arguments, Any]]:
    """Decorates a function that draws a figure: it runs in the style with letters of this size, and the figure keeps
    this style.
    """

    def decorate(draw: Callable[Arguments, Any]) -> Callable[Arguments, Any]:
        @wraps(draw)
        def drawn(*arguments: Arguments.args, **settings: Arguments.kwargs) -> Any:
            with style(points):
                figure = draw(*arguments, **settings)
            figure.points = points
            return figure

        return drawn

    return decorate


def new(width: float, height: float) -> Any:
    """Returns an empty figure of this size in inches, which fits its axes to their labels."""
    from casemate.plots.canvas import Picture

    return Picture(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path, kind: str, dpi: int) -> None:
    """Writes a figure into a file of this kind, with `dpi` dots an inch."""
    content = io.BytesIO()
    # A date in the file would make two pictures of the same result differ.
    figure.savefig(content, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    screen.write_whole(path, content.getvalue())


def literal(text: str) -> str:
    """Returns a text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")
