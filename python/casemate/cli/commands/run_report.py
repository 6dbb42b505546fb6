"""`casemate run --report`: the page of one run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from casemate.cli import options

if TYPE_CHECKING:
    from casemate.schemas.run import RunResults

KEPT = "casemate.report"
"""Name under which the context of the command keeps the path of the page."""


def _keep(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Checks before the run that the page can be written, and keeps its path."""
    if path is not None:
        from casemate.report import writing

        writing.check(path)
        context.meta[KEPT] = path


option = click.option(
    "--report",
    type=options.file,
    metavar="FILE.html",
    expose_value=False,
    callback=_keep,
    help="Also write the results as one page for a browser, with figures (see `casemate report`).",
)


def requested(context: click.Context) -> Path | None:
    """Returns the path of the page; `None` if the user requested none."""
    path: Any = context.meta.get(KEPT)
    return path if isinstance(path, Path) else None


def write(context: click.Context, results: "RunResults") -> list[Path]:
    """Writes the page if the user requested one and a design has results. Returns the written files."""
    path = requested(context)
    if path is None or not results.records:
        return []
    from casemate.report import writing

    writing.write_run(results, path)
    return [path]
